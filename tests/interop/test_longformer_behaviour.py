"""What the library's Longformer and LED do that ours do not: both sides of docs/results/hugging-face-library.md."""

import pytest
import torch

from dna_bigbird.bundles.huggingface import read_huggingface
from dna_bigbird.core.errors import InputError
from tests.interop.bart_models import library_summarizer
from tests.interop.longformer_models import BARE, MLM, QUESTIONS, questions, saved_longformer
from tests.interop.pegasus_models import save

pytest.importorskip("transformers")
CLOSE = {"rtol": 0, "atol": 1e-4}


def states(theirs, ids_BT, is_padding_BT, **more):
    with torch.no_grad():
        found = theirs(ids_BT, attention_mask=(~is_padding_BT).long(), **more)
    return found.last_hidden_state


def pair(folder, name=BARE, **settings):
    theirs, folder = saved_longformer(folder, name, **settings)
    return theirs, read_huggingface(folder).model


def our_states(ours, *inputs, **more):
    with torch.no_grad():
        return ours.encoder(*inputs, **more)


def marked(ids_BT):
    marks_BT = torch.zeros_like(ids_BT)
    marks_BT[:, 0] = 1
    return marks_BT


def test_no_global_token_by_default(tmp_path):
    theirs, ours = pair(tmp_path)
    ids_BT, is_padding_BT, *_ = questions((90,))
    without, first = (
        states(theirs, ids_BT, is_padding_BT, **more)
        for more in ({}, {"global_attention_mask": marked(ids_BT)})
    )
    assert (without - first).abs().max() > 0.05
    torch.testing.assert_close(our_states(ours, ids_BT, is_padding_BT), first, **CLOSE)
    none_BT = torch.zeros_like(is_padding_BT)
    found = our_states(ours, ids_BT, is_padding_BT, is_global_BT=none_BT)
    torch.testing.assert_close(found, without, **CLOSE)


def test_questions_need_three_separators(tmp_path):
    theirs, ours = pair(tmp_path, QUESTIONS)
    ids_BT, is_padding_BT, segments_BT, is_global_BT = questions((60,), question=5)
    ids_BT[ids_BT == 4] = 9
    ids_BT[:, 5] = 4  # one separator, as our rows have it
    with pytest.raises(AssertionError, match="exactly three separator tokens"):
        theirs(ids_BT)
    with torch.no_grad():
        expected = theirs(ids_BT, global_attention_mask=is_global_BT.long()).start_logits
        found = ours(ids_BT, is_padding_BT, segments_BT, global_tokens=is_global_BT).start_BT
    torch.testing.assert_close(found, expected, **CLOSE)


def test_it_computes_whole_windows(tmp_path):
    """17 tokens cost 32 there."""
    theirs, ours = pair(tmp_path)
    ids_BT, is_padding_BT, *_ = questions((17,))
    widths = []
    theirs.encoder.layer[0].register_forward_hook(lambda _, x, y: widths.append(y[0].shape[-2]))
    expected = states(theirs, ids_BT, is_padding_BT, global_attention_mask=marked(ids_BT))
    assert widths == [32]
    ours.encoder.layers[0].register_forward_hook(lambda _, x, y: widths.append(len(y)))
    ours.encoder.config.__dict__["block_size"] = 1
    torch.testing.assert_close(our_states(ours, ids_BT, is_padding_BT), expected, **CLOSE)
    assert widths == [32, 17]


def test_positions_follow_the_ids_of_padding(tmp_path):
    """A padding id within a text has no number of its own there; here every real token has one."""
    theirs, ours = pair(tmp_path)
    ids_BT, is_padding_BT, *_ = questions((40,))
    ids_BT[0, 7] = 0
    marks = {"global_attention_mask": marked(ids_BT)}
    numbered = torch.arange(1, 41)[None]
    automatic = states(theirs, ids_BT, is_padding_BT, **marks)
    given = states(theirs, ids_BT, is_padding_BT, position_ids=numbered, **marks)
    assert (automatic - given).abs().max() > 0.05
    torch.testing.assert_close(our_states(ours, ids_BT, is_padding_BT), given, **CLOSE)


def test_the_head_has_gelu_in_any_case(tmp_path):
    """So a model of masked tokens with another activation is not read."""
    theirs, folder = saved_longformer(tmp_path, MLM, hidden_act="relu")
    head, states_TE = theirs.lm_head, torch.randn(5, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        inner_TE = torch.nn.functional.gelu(head.dense(states_TE))
        expected = head.decoder(head.layer_norm(inner_TE))
        torch.testing.assert_close(head(states_TE), expected)
    with pytest.raises(InputError, match="hidden_act is that of relu"):
        read_huggingface(folder)


def test_states_of_padding(tmp_path):
    theirs, ours = pair(tmp_path)
    ids_BT, is_padding_BT, *_ = questions((40, 21))
    expected = states(theirs, ids_BT, is_padding_BT)
    assert expected[is_padding_BT].abs().max() > 0.1
    assert our_states(ours, ids_BT, is_padding_BT)[is_padding_BT].abs().max() == 0


def test_one_segment_in_a_question(tmp_path):
    """Its documents have segment 0, as questions; ours have 1, if the model has two segments."""
    theirs, ours = pair(tmp_path, QUESTIONS, type_vocab_size=2)
    ids_BT, is_padding_BT, segments_BT, is_global_BT = questions((60,), question=5)
    with torch.no_grad():
        default = theirs(ids_BT).start_logits
        expected = theirs(ids_BT, token_type_ids=segments_BT).start_logits
        found = ours(ids_BT, is_padding_BT, segments_BT, global_tokens=is_global_BT).start_BT
    assert (default - expected).abs().max() > 0.01
    torch.testing.assert_close(found, expected, **CLOSE)


@pytest.mark.parametrize("name", ["Longformer", "LED"])
def test_dropout_after_the_norm_of_the_embeddings(tmp_path, name):
    """In training: a first layer reads zeros there; here dropout comes before the norm."""
    if name == "LED":
        theirs = library_summarizer(name, dropout=0.5)
        ours = read_huggingface(save(theirs, tmp_path)).model
        layer = theirs.led.encoder.layers[0]
        inputs = {"decoder_input_ids": torch.tensor([[2]])}
    else:
        theirs, ours = pair(tmp_path, hidden_dropout_prob=0.5)
        layer, inputs = theirs.encoder.layer[0], {}
    ids_BT, is_padding_BT, *_ = questions((64,))
    shares = []
    for each in (layer, ours.encoder.layers[0]):
        each.register_forward_pre_hook(
            lambda _, x: shares.append(float((x[0] == 0).float().mean()))
        )
    torch.manual_seed(0)
    with torch.no_grad():
        theirs.train()(ids_BT, **inputs)
        ours.train().encoder(ids_BT, is_padding_BT)
    assert 0.4 < shares[0] < 0.6
    assert shares[1] == 0


def test_dropout_of_whole_layers(tmp_path):
    """`encoder_layerdrop` leaves out layers in training; here every layer is computed."""
    theirs = library_summarizer("LED", encoder_layerdrop=0.999)
    ours = read_huggingface(save(theirs, tmp_path)).model
    ids_BT, is_padding_BT, *_ = questions((64,))
    calls = []
    for layer in (*theirs.led.encoder.layers, *ours.encoder.layers):
        layer.register_forward_pre_hook(lambda module, x: calls.append(type(module).__name__))
    torch.manual_seed(0)
    with torch.no_grad():
        ours.train().encoder(ids_BT, is_padding_BT)
        theirs.train()(ids_BT, decoder_input_ids=torch.tensor([[2]]))
    assert calls == ["EncoderLayer", "EncoderLayer"]
