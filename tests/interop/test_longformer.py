"""Longformer of the library and ours: the same logits, both ways."""

import re

import pytest
import safetensors.torch
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.huggingface import read_huggingface, write_huggingface
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.attention_config import LongformerConfig
from dna_bigbird.models.config import EncoderConfig, stored_encoder
from dna_bigbird.models.pretraining_model import PretrainingModel
from tests.interop.edited import edited
from tests.interop.longformer_models import (
    BARE,
    CLASSIFIER,
    LABELS,
    MLM,
    QUESTIONS,
    questions,
    saved_longformer,
)
from tests.interop.test_writing import NEEDED, OTHER
from tests.text_vocabulary import tiny_text_tokenizer

transformers = pytest.importorskip("transformers")
CLOSE = {"rtol": 0, "atol": 1e-4}
LENGTHS = [(128, 90), (61, 40, 23), (16,)]
"""Whole windows and ragged ones: the library pads to a multiple of the largest."""


def first_only(ids_BT):
    marks_BT = torch.zeros_like(ids_BT)
    marks_BT[:, 0] = 1
    return marks_BT


def run(theirs, ids_BT, is_padding_BT, **more):
    with torch.no_grad():
        return theirs(ids_BT, attention_mask=(~is_padding_BT).long(), **more)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("settings", [{}, {"attention_window": 32, "type_vocab_size": 2}], ids=str)
def test_masked_tokens(tmp_path, lengths, settings):
    theirs, folder = saved_longformer(tmp_path, **settings)
    ours = read_huggingface(folder).model
    ids_BT, is_padding_BT, *_ = questions(lengths)
    expected = run(theirs, ids_BT, is_padding_BT, global_attention_mask=first_only(ids_BT)).logits
    real_P = (~is_padding_BT).flatten().nonzero()[:, 0]
    with torch.no_grad():
        found, _ = ours(ids_BT, is_padding_BT, None, real_P)
    assert expected.std() > 0.3
    torch.testing.assert_close(found, expected.flatten(0, 1)[real_P], **CLOSE)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("act", ["gelu", "relu", "gelu_new"])
def test_a_classifier(tmp_path, lengths, act):
    """The first token is global in the library too."""
    theirs, folder = saved_longformer(tmp_path, CLASSIFIER, hidden_act=act)
    ours = read_huggingface(folder).model
    ids_BT, is_padding_BT, segments_BT, _ = questions(lengths)
    expected = run(theirs, ids_BT, is_padding_BT).logits
    with torch.no_grad():
        found = ours(ids_BT, is_padding_BT, torch.zeros_like(segments_BT))
    assert expected.abs().max() > 0.1
    torch.testing.assert_close(found, expected, **CLOSE)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_question_answering(tmp_path, lengths):
    """All tokens before the first [SEP] are global; the library counts its three [SEP] itself."""
    theirs, folder = saved_longformer(tmp_path, QUESTIONS)
    ours = read_huggingface(folder).model
    ids_BT, is_padding_BT, segments_BT, is_global_BT = questions(lengths, question=5)
    expected = run(theirs, ids_BT, is_padding_BT)
    with torch.no_grad():
        found = ours(ids_BT, is_padding_BT, segments_BT, global_tokens=is_global_BT)
        with_first = ours(
            ids_BT, is_padding_BT, segments_BT, global_tokens=first_only(ids_BT).bool()
        )
    real_BT = ~is_padding_BT
    for logits_BT, wanted_BT in (
        (found.start_BT, expected.start_logits),
        (found.end_BT, expected.end_logits),
    ):
        torch.testing.assert_close(logits_BT[real_BT], wanted_BT[real_BT], **CLOSE)
    assert (with_first.start_BT - found.start_BT)[real_BT].abs().max() > 0.01


@pytest.mark.parametrize("name", [MLM, BARE, CLASSIFIER, QUESTIONS])
def test_there_and_back_is_the_same_folder(tmp_path, name):
    """Equal tensors, but for the rows of positions up to the padding's, which no token has."""
    theirs, folder = saved_longformer(tmp_path / "theirs", name, hidden_dropout_prob=0.2)
    main(["convert", "--from-huggingface", str(folder), "--to", str(tmp_path / "bundle")])
    bundle = load_bundle(tmp_path / "bundle")
    assert bundle.config.encoder.longformer.windows == (4, 8)
    assert bundle.config.encoder.max_tokens == 128
    if name == CLASSIFIER:
        assert bundle.config.label_names == list(LABELS.values())
    main(
        ["convert", "--from", str(tmp_path / "bundle"), "--to-huggingface", str(tmp_path / "back")]
    )
    again, info = getattr(transformers, name).from_pretrained(
        tmp_path / "back", output_loading_info=True
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    state = again.state_dict()
    for key, tensor in theirs.state_dict().items():
        skipped = 1 if "position_embeddings" in key else 0
        assert torch.equal(state[key][skipped:], tensor[skipped:]), key
    for key in ("attention_window", "id2label", "pad_token_id", "max_position_embeddings"):
        assert getattr(again.config, key) == getattr(theirs.config, key), key


def test_positions_begin_after_those_of_padding(tmp_path):
    """With the published padding id 1 the first token has row 2."""
    theirs, folder = saved_longformer(tmp_path, BARE, pad_token_id=1)
    table = read_huggingface(folder).model.encoder.position.weight
    assert len(table) == 127
    assert torch.equal(table, theirs.embeddings.position_embeddings.weight[2:])


def refusal(folder, options):
    """Write a folder; return the message if that is refused."""
    try:
        write_huggingface(folder, **options)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", OTHER)
def test_each_setting_is_refused_by_name_or_computes_the_same(tmp_path, name):
    """Another value of every setting of the encoder, written for the library."""
    small = {
        "vocab_size": 400, "hidden_size": 32, "num_layers": 2, "num_heads": 2, "ffn_size": 48, "max_tokens": 100,
        "attention": "longformer", "longformer": LongformerConfig(window_tokens=4), "init_std": 0.3,
        "block_size": 8, "activation": "gelu",
    }  # fmt: skip
    other = OTHER[name] if name not in ("attention", "max_tokens") else {"max_tokens": 80}.get(name)
    needed = {k: v for k, v in NEEDED.get(name, {}).items() if k != "attention"}
    if other is None or name in ("etc", "performer"):
        return  # of other attentions
    encoder = EncoderConfig(**(small | needed | {name: other}))
    model = PretrainingModel(encoder, heads=("mlm",)).eval()
    config = {
        "task": "pretraining",
        "encoder": stored_encoder(encoder),
        "heads": ["mlm"],
        "reads": "text",
    }
    folder = tmp_path / "out"
    options = {
        "model": model,
        "config": config,
        "tokenizer": tiny_text_tokenizer(),
        "card": "",
        "source": "b",
    }
    if told := refusal(folder, options):
        assert re.search(rf"^b: the library's Longformer cannot hold .*\b{name} ", told)
        assert not folder.exists()
        return
    theirs = transformers.LongformerForMaskedLM.from_pretrained(folder).eval()
    ids_BT, is_padding_BT, *_ = questions((75, 60), most=min(400, encoder.vocab_size))
    marks_BT = first_only(ids_BT)
    expected = run(theirs, ids_BT, is_padding_BT, global_attention_mask=marks_BT).logits
    with torch.no_grad():
        found, _ = model(ids_BT, is_padding_BT, None, torch.arange(75))
    torch.testing.assert_close(found, expected[0], **CLOSE)


def test_what_it_lacks_is_left_out_on_request(tmp_path):
    """Our models of DNA have heads for the next sentence."""
    encoder = EncoderConfig(
        vocab_size=400, hidden_size=16, num_layers=1, num_heads=2, ffn_size=16, max_tokens=64,
        attention="longformer", activation="gelu",
    )  # fmt: skip
    config = {"task": "pretraining", "encoder": stored_encoder(encoder), "reads": "text"}
    options = {
        "model": PretrainingModel(encoder), "config": config, "tokenizer": tiny_text_tokenizer(), "card": "",
        "source": "here",
    }  # fmt: skip
    with pytest.raises(
        InputError, match=r"the head nsp is left out .* --allow-different-attention t"
    ):
        write_huggingface(tmp_path / "out", **options)
    different = write_huggingface(tmp_path / "out", **options, allow_different_attention=True)
    assert different == [
        f"the head {head} is left out (the library's Longformer has none)"
        for head in ("nsp", "pooler")
    ]
    _, info = transformers.LongformerForMaskedLM.from_pretrained(
        tmp_path / "out", output_loading_info=True
    )
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"attention_window": 7}, "attention_window is 7; expected an even number, or one per lay"),
        ({"attention_window": [8]}, r"attention_window is \[8\]; expected .* per layer \(2\)"),
        ({"attention_window": "8"}, "attention_window is '8'; expected an even number"),
        ({"hidden_act": "relu"}, "hidden_act is that of relu; the library's head for masked tok"),
        ({"hidden_act": "silu"}, "hidden_act is 'silu', not one of gelu_new"),
        ({"architectures": ["LongformerForMultipleChoice"]}, "a LongformerForMultipleChoice; only"),
        ({"max_position_embeddings": 1}, "max_position_embeddings is 1; expected more than 1, the"),
        (
            {"max_position_embeddings": 65},
            r"position_embeddings.weight is \(128, 32\), .*\(64, 32\)",
        ),
        ({"is_decoder": True}, "is_decoder is set; only encoders are read"),
        ({"pad_token_id": "a"}, "pad_token_id is 'a', expected a number"),
        (
            {"num_hidden_layers": 3, "attention_window": 8},
            "num_hidden_layers is 3, the weights have",
        ),
    ],
    ids=str,
)
def test_other_models_are_one_line(tmp_path, values, message):
    _, folder = saved_longformer(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        read_huggingface(edited(folder, **values))
    assert "\n" not in str(caught.value)


def test_global_projections_are_needed(tmp_path):
    path = saved_longformer(tmp_path)[1] / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    del tensors["longformer.encoder.layer.0.attention.self.query_global.weight"]
    safetensors.torch.save_file(tensors, path)
    with pytest.raises(InputError, match=r"1 tensors are missing .* encoder.layer.0.*query_global"):
        read_huggingface(tmp_path)
