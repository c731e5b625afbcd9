"""What the baselines of language models count and score."""

import numpy as np
import pytest

from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.evaluation.evaluate_lm_baselines import (
    MaskedBaselines,
    causal_baselines,
)
from dna_bigbird.evaluation.language_baselines import LanguageBaselines
from dna_bigbird.genome import Interval

DOCUMENT_BP = 12


class Letters:
    """Ids 5 to 8 are A, C, G and T, one base each."""

    vocab_size, first_piece_id, mask_id = 9, 5, 4
    piece_bp = np.array([0] * 5 + [1] * 4)
    pieces = (*(f"[{i}]" for i in range(5)), *"ACGT")

    def decode(self, ids):
        return "".join("ACGT"[i - 5] for i in ids)


class Documents:
    """Documents one after the other on a chromosome."""

    vocab_size = 9

    def __init__(self, count: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.ids = rng.integers(5, 9, (count, DOCUMENT_BP))
        self.num_documents = count

    def document_interval(self, d):
        return Interval("chr1", DOCUMENT_BP * d, DOCUMENT_BP * (d + 1))

    def document(self, d):
        return self.ids[d]


TRAIN, TEST = Documents(2500, seed=0), Documents(2100, seed=1)


def test_a_whole_pass_is_counted_by_default_and_2000_documents_are_scored():
    """More documents than the 2,000 that were counted until now."""
    tables = causal_baselines(TRAIN, TEST, Letters(), LanguageBaselines(), seed=0)
    for table in tables.values():
        assert (table["n_counted_bp"], table["n_counted_documents"]) == (2500 * DOCUMENT_BP, 2500)
        assert (table["n_bp"], table["n_documents"]) == (2000 * DOCUMENT_BP, 2000)
    masked = MaskedBaselines(TRAIN, Letters(), MaskingConfig(), None)
    assert masked.counted == {"n_counted_bp": 2500 * DOCUMENT_BP, "n_counted_documents": 2500}


def test_fewer_if_asked():
    tables = causal_baselines(TRAIN, TEST, Letters(), LanguageBaselines(30, 7), seed=0)
    for table in tables.values():
        assert (table["n_counted_bp"], table["n_documents"]) == (30 * DOCUMENT_BP, 7)


def test_counts_of_bases_on_the_positions_of_a_model_of_bases():
    """With [MASK] at all hidden tokens a cost is the logarithm of the mixture's own probability."""

    class Examples:
        def __getitem__(self, index):
            labels = np.concatenate([[2], TEST.ids[index], TEST.ids[index + 1], [3]])
            positions = np.array([3, 4, 9, 20])
            shown = labels.copy()
            shown[positions] = Letters.mask_id
            return {"token_ids": shown, "positions": positions, "labels": labels[positions]}

    hidden = MaskingConfig(mask_share=1.0, random_share=0.0)
    masked = MaskedBaselines(TRAIN, Letters(), hidden, None)
    of_bases = masked.of_bases(Examples(), 3)
    nats = masked.nats(Examples(), 3, of_bases)
    assert masked.names[-1] == "base_mixture_informed_masked"
    assert nats.shape == (12, len(masked.names)) == (12, 5)
    texts = [Letters().decode(TEST.ids[i : i + 2].ravel()) for i in range(3)]
    alone = masked.bases.probabilities(texts, [np.array([2, 3, 8, 19])] * 3)
    labels = np.concatenate([Examples()[i]["labels"] for i in range(3)]) - 5
    assert nats[:, -1] == pytest.approx(-np.log(np.concatenate(alone)[np.arange(12), labels]))
    assert masked.counted_by("base_mixture_informed_masked")["n_counted_documents"] == 2500
