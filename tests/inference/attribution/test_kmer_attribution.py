"""Effects of counted words: their sum, and what a substitution changes, against the part of the model itself."""

import itertools

import numpy as np
import pytest
import torch

from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.models.kmer_head import KmerHead, bases_of_pieces
from dna_bigbird.prediction.attribution.embedding_gradients import kmer_effects

PIECES = ["[PAD]", "A", "C", "G", "T", "N"]


def part_of(only_k=None, **settings):
    config = KmerHeadConfig(**{"max_k": 3, "together": True, "piece_bp": 1} | settings)
    part = KmerHead(config, len(PIECES), 2).double()
    codes = bases_of_pieces(PIECES, np.array([0, 1, 1, 1, 1, 1]))
    part.counts.bases_VI.copy_(torch.from_numpy(codes))
    generator = torch.Generator().manual_seed(0)
    torch.nn.init.normal_(part.linear.weight, generator=generator)
    torch.nn.init.normal_(part.linear.bias, generator=generator)
    if only_k is not None:
        sizes = [2, 10, 32] if config.together else [4, 16, 64]
        keep = np.repeat(np.arange(1, 4), sizes) == only_k
        keep = np.tile(keep, 2) if config.centre_bp else keep
        part.linear.weight.data *= torch.from_numpy(keep)
    return part


def logits(part, text):
    ids = torch.tensor([[PIECES.index(base) for base in text]])
    with torch.no_grad():
        return part(ids, torch.zeros_like(ids, dtype=torch.bool))[0].numpy()


def random_logits(part):
    """Of DNA in which each word is as frequent as every other: texts of one word, which is its own middle."""
    total = part.linear.bias.detach().numpy().copy()
    sizes = [2, 10, 32] if part.counts.config.together else [4, 16, 64]
    lengths = np.repeat([1, 2, 3], sizes)
    for k in (1, 2, 3):
        for word in itertools.product(range(1, 5), repeat=k):
            ids = torch.tensor([word])
            shares = part.counts(ids, torch.zeros_like(ids, dtype=torch.bool))[0].double()
            of_k = torch.from_numpy(np.resize(lengths, len(shares)) == k)
            total += (part.linear.weight.detach() @ (shares * of_k)).numpy() / 4**k
    return total


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("centre_bp", [0, 12])
def test_effects_add_up_to_the_difference_from_random_dna(together, centre_bp):
    part = part_of(together=together, centre_bp=centre_bp)
    text = "ACGTTGCANNACCGTATGCAAGT"
    effects_SL, of_bases_S4L, sums_L = kmer_effects(part, text)
    assert np.allclose(sums_L, logits(part, text) - random_logits(part), atol=1e-6)
    assert np.allclose(effects_SL.sum(0), sums_L)
    for position, base in enumerate(text):
        if base != "N":
            same = of_bases_S4L[position, "ACGT".index(base)]
            assert np.allclose(same, effects_SL[position])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_substitution_changes_the_words_that_cover_it(k):
    """A base has a k-th of the effect of each of its words, so k times its change is that of the logits."""
    part = part_of(only_k=k, centre_bp=10)
    text = "ACGTTGCAACCGTATGCAAGT"
    effects_SL, of_bases_S4L, _ = kmer_effects(part, text)
    for position in (0, 7, 20):
        for number, base in enumerate("ACGT"):
            changed = text[:position] + base + text[position + 1 :]
            change = logits(part, changed) - logits(part, text)
            of_base = of_bases_S4L[position, number] - effects_SL[position]
            assert np.allclose(k * of_base, change, atol=1e-6)


@pytest.mark.parametrize("one_hot", [True, False])
def test_a_substitution_changes_what_is_read_at_its_position(one_hot):
    """Of the base itself the whole change, of its 3-mers a third."""
    part = part_of(max_k=0, positions=40)
    weight = part.linear.weight.data
    weight[:, slice(160, None) if one_hot else slice(0, 160)] = 0
    text = "ACGTTGCAACCGTATGCAAGTNACGGATCCA"  # shorter than the window
    effects_SL, of_bases_S4L, sums_L = kmer_effects(part, text)
    assert np.allclose(effects_SL.sum(0), sums_L)
    for position in (0, 7, 14, 15, 16, 20, 30):
        for number, base in enumerate("ACGT"):
            changed = text[:position] + base + text[position + 1 :]
            change = logits(part, changed) - logits(part, text)
            of_base = of_bases_S4L[position, number] - effects_SL[position]
            assert np.allclose((1 if one_hot else 3) * of_base, change, atol=1e-6)


def test_text_without_a_word():
    effects_SL, _, sums_L = kmer_effects(part_of(), "NN")
    assert not effects_SL.any()
    assert not sums_L.any()
