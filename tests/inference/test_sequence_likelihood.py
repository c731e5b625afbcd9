"""Pseudo-log-likelihoods: against tokens hidden by hand, one pass at a time."""

import numpy as np
import pytest
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.variants.scorers import STRIDE, SequenceLikelihood
from tests.tiny_bundle import write_pretrained_bundle

EXACT = Compute(precision="32-true", threads=1)


@pytest.fixture(scope="module", params=["bases", "bpe"])
def bundle(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("likelihood") / request.param
    return load_bundle(write_pretrained_bundle(folder, algorithm=request.param))


@torch.no_grad()
def by_hand(bundle, text: str) -> float:
    """Sum of log p of each token over the bases, a window at a time and without batches."""
    tokens, total = bundle.tokenizer.encode(text).tolist(), 0.0
    for first in range(STRIDE):
        hidden = range(first, len(tokens), STRIDE)
        seen = [bundle.tokenizer.mask_id if i in hidden else t for i, t in enumerate(tokens)]
        ids = torch.tensor([[bundle.tokenizer.cls_id, *seen, bundle.tokenizer.sep_id]])
        for i in hidden:
            position = torch.tensor([i + 1])
            logits, _ = bundle.model(ids, torch.zeros_like(ids, dtype=torch.bool), None, position)
            total += float(logits[0].log_softmax(dim=-1)[tokens[i]])
    return total / len(text)


def test_all_tokens_are_hidden_once(bundle, random_dna):
    texts = [random_dna(length, length) for length in (60, 41, 60, 3)]
    nats = SequenceLikelihood(bundle, EXACT).nats_per_base(texts)
    np.testing.assert_allclose(nats, [by_hand(bundle, text) for text in texts], atol=1e-5)
    assert np.std(nats) > 0.01


def test_a_sequence_beyond_the_context_is_cut_into_equal_parts(bundle, random_dna):
    most = bundle.config.encoder.max_tokens - 2
    text = random_dna(3 * most, 0)
    tokens = bundle.tokenizer.encode(text)
    cut = np.array_split(tokens, -(-len(tokens) // most))
    parts = [bundle.tokenizer.decode(part) for part in cut]
    if not all((bundle.tokenizer.encode(p) == c).all() for p, c in zip(parts, cut, strict=True)):
        pytest.skip("the parts alone have other tokens")
    expected = sum(by_hand(bundle, part) * len(part) for part in parts) / len(text)
    assert len(parts) > 1
    assert SequenceLikelihood(bundle, EXACT).nats_per_base([text])[0] == pytest.approx(
        expected, abs=1e-5
    )


def test_nothing_has_no_likelihood(bundle):
    assert np.isnan(SequenceLikelihood(bundle, EXACT).nats_per_base([""])).all()


def test_a_classifier_is_refused(bundle_folder):
    with pytest.raises(InputError, match="needs a pretrained model, which predicts masked tokens"):
        SequenceLikelihood(load_bundle(bundle_folder), EXACT)
