"""With the same weights we compute what the library computes, training and evaluation."""

import pytest
import torch

from dna_bigbird.interop import read_huggingface

CLOSE = {"rtol": 0, "atol": 1e-4}


@pytest.fixture(scope="module")
def pair(library_model, save_library_model, tmp_path_factory):
    """Function (class name, settings) -> (model of the library, the same model of ours)."""
    kept = {}

    def build(name="BigBirdForPreTraining", **settings):
        key = (name, *sorted(settings.items()))
        theirs = library_model(name, **settings)
        if key not in kept:
            folder = save_library_model(theirs, tmp_path_factory.mktemp("library"))
            kept[key] = read_huggingface(folder).model
        return theirs, kept[key]

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
    base = getattr(model, "bert", model)
    hidden_BTE = base(
        ids_BT, attention_mask=(~is_padding_BT).long(), token_type_ids=segments_BT
    ).last_hidden_state
    return hidden_BTE, model.cls.predictions(hidden_BTE)


def of_ours(model, ids_BT, is_padding_BT, segments_BT):
    hidden_BTE = model.encoder(ids_BT, is_padding_BT, segments_BT)
    return hidden_BTE, model.mlm(hidden_BTE, model.encoder.word.weight)


def assert_agree(theirs, ours, inputs):
    real_BT = ~inputs[1]
    with torch.no_grad():
        for a, b in zip(of_library(theirs, *inputs), of_ours(ours, *inputs), strict=True):
            torch.testing.assert_close(b[real_BT], a[real_BT], **CLOSE)


@pytest.mark.parametrize("mode", ["evaluation", "training"])
@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize("length", [705, 768, 1000, 1024, 1536, 2048, 3072, 4096])
def test_hidden_states_and_logits_agree(pair, length, padded, mode):
    theirs, ours = pair()
    for model in (theirs, ours):
        model.train(mode == "training")
    lengths = [length, length // 2 + 3] if padded else [length]
    assert_agree(theirs, ours, batch(lengths))
