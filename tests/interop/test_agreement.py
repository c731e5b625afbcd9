"""With the same weights we compute what the library computes, in training and in evaluation."""

import copy

import pytest
import torch

from dna_bigbird.bundles.huggingface import read_huggingface

CLOSE = {"rtol": 0, "atol": 1e-4}
LENGTHS = [768, 1024, 1536, 2048, 3072, 4096]
ODD = [705, 1000]
FULL = [1, 63, 64, 65, 400, 703, 704]
"""The library answers these with full attention and keeps it: each needs a fresh model."""


@pytest.fixture(scope="module")
def pair(library_model, save_library_model, tmp_path_factory):
    """Function (settings) -> (model of the library, the same model of ours)."""
    kept = {}

    def build(**settings):
        key = tuple(sorted(settings.items()))
        if key not in kept:
            theirs = library_model(**({"hidden_size": 32, "intermediate_size": 48} | settings))
            folder = save_library_model(theirs, tmp_path_factory.mktemp("library"))
            kept[key] = theirs, read_huggingface(folder).model
        return kept[key]

    return build


def batch(lengths, seed=0):
    """Random tokens, padded on the right to the first length, with two segments."""
    generator = torch.Generator().manual_seed(seed)
    shape = (len(lengths), lengths[0])
    ids_BT = torch.randint(5, 120, shape, generator=generator)
    is_padding_BT = torch.arange(lengths[0]) >= torch.tensor(lengths)[:, None]
    segments_BT = (torch.rand(shape, generator=generator) < 0.5).long()
    return ids_BT.masked_fill(is_padding_BT, 3), is_padding_BT, segments_BT


def of_library(model, ids_BT, is_padding_BT, segments_BT):
    """Hidden states, logits of masked tokens, logits of the next sentence."""
    mask_BT = (~is_padding_BT).long()
    found = model.bert(ids_BT, attention_mask=mask_BT, token_type_ids=segments_BT)
    return found.last_hidden_state, *model.cls(found.last_hidden_state, found.pooler_output)


def of_ours(model, ids_BT, is_padding_BT, segments_BT):
    hidden_BTE = model.encoder(ids_BT, is_padding_BT, segments_BT)
    logits_BTV = model.mlm(hidden_BTE, model.encoder.word.weight)
    return hidden_BTE, logits_BTV, model.nsp(model.pooler(hidden_BTE, is_padding_BT))


def assert_agree(theirs, ours, inputs):
    real_BT = ~inputs[1]
    with torch.no_grad():
        *expected, nsp = of_library(theirs, *inputs)
        *found, our_nsp = of_ours(ours, *inputs)
    for name, a, b in zip(("hidden states", "logits"), expected, found, strict=True):
        torch.testing.assert_close(
            b[real_BT], a[real_BT], **CLOSE, msg=lambda m, n=name: f"{n}: {m}"
        )
    torch.testing.assert_close(our_nsp, nsp, **CLOSE)


def set_mode(models, mode):
    for model in models:
        model.train(mode == "training")
    return models


@pytest.mark.parametrize("mode", ["evaluation", "training"])
@pytest.mark.parametrize("length", [*LENGTHS, *ODD])
def test_hidden_states_and_logits_agree(pair, length, mode):
    assert_agree(*set_mode(pair(), mode), batch([length]))


@pytest.mark.parametrize("mode", ["evaluation", "training"])
@pytest.mark.parametrize("length", LENGTHS)
def test_padded_batches_agree(pair, length, mode):
    assert_agree(*set_mode(pair(), mode), batch([length, length // 2 + 3]))


@pytest.mark.parametrize("mode", ["evaluation", "training"])
@pytest.mark.parametrize("length", FULL)
def test_short_inputs_agree(pair, length, mode):
    theirs, ours = set_mode(pair(), mode)
    assert_agree(copy.deepcopy(theirs), ours, batch([length, length // 2 + 1]))


SMALL_BLOCKS = {"block_size": 16, "num_random_blocks": 2, "max_position_embeddings": 2048}


@pytest.mark.parametrize("mode", ["evaluation", "training"])
@pytest.mark.parametrize("length", [145, 160, 500, 1024, 2048])
def test_blocks_of_16_agree(pair, length, mode):
    """The table of 1,024 tokens is drawn for all 2,048 positions and cut."""
    assert_agree(*set_mode(pair(**SMALL_BLOCKS), mode), batch([length, length - 20]))


@pytest.mark.parametrize("mode", ["evaluation", "training"])
@pytest.mark.parametrize(
    "settings",
    [
        {"attention_type": "original_full"},
        {"hidden_act": "gelu"},
        {"hidden_act": "relu", "layer_norm_eps": 1e-3},
        {"hidden_act": "gelu_fast", "use_bias": False},
        {"rescale_embeddings": True, "type_vocab_size": 3},
        {"num_random_blocks": 1, "num_attention_heads": 4},
    ],
    ids=lambda s: "-".join(s),
)
def test_other_settings_agree(pair, settings, mode):
    assert_agree(*set_mode(pair(**settings), mode), batch([832, 700]))


def test_another_plan_is_another_function(pair, library_model, save_library_model, tmp_path):
    """The agreement above would see one lost random block: here all of them are other ones."""
    theirs, ours = set_mode(pair(), "training")
    folder = save_library_model(theirs, tmp_path)
    inputs = batch([1024])
    with torch.no_grad():
        expected = of_ours(ours, *inputs)[0]
        for plan in ("uniform", "original"):
            other = read_huggingface(folder, plan).model.train()
            gap = (of_ours(other, *inputs)[0] - expected).abs().max()
            if plan == "uniform":
                assert gap > 100 * CLOSE["atol"]
            else:  # in training the library repeats the published plan at this length
                assert gap < CLOSE["atol"]
            assert (of_ours(other.eval(), *inputs)[0] - expected).abs().max() == gap


def test_gradients_agree(pair):
    """Training at 1,024 tokens, where random blocks repeat a global one."""
    theirs, ours = (copy.deepcopy(model) for model in set_mode(pair(), "training"))
    inputs = batch([1024, 900])
    real_BT = ~inputs[1]
    weights = torch.randn((*inputs[0].shape, 120), generator=torch.Generator().manual_seed(1))
    for model, run in ((theirs, of_library), (ours, of_ours)):
        _, logits_BTV, nsp_B2 = run(model, *inputs)
        (10 * (logits_BTV * weights)[real_BT].mean() + nsp_B2.square().sum()).backward()
    their_layer, our_layer = theirs.bert.encoder.layer[0], ours.encoder.layers[0]
    attention = their_layer.attention.self
    qkv = torch.cat(
        [part.weight.grad for part in (attention.query, attention.key, attention.value)]
    )
    words = theirs.bert.embeddings.word_embeddings.weight.grad
    for a, b in (
        (qkv, our_layer.attention.qkv.weight.grad),
        (their_layer.output.dense.weight.grad, our_layer.ffn_out.weight.grad),
        (words, ours.encoder.word.weight.grad),
        (theirs.cls.predictions.bias.grad, ours.mlm.bias.grad),
        (theirs.bert.embeddings.position_embeddings.weight.grad, ours.encoder.position.weight.grad),
    ):
        assert a.abs().max() > 1e-3
        torch.testing.assert_close(b, a, rtol=0, atol=1e-4 * float(a.abs().max()))
