"""Examples in which every predicted token shows [MASK]."""

import numpy as np

from dna_bigbird.corpus.masking import PAPER
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.evaluation.evaluate_lm_run import AllMasked

MASK = 4


def test_only_what_predicted_tokens_show_differs(toy_corpus):
    usual = PretrainExamples(toy_corpus.store, toy_corpus.tokenizer, 128, PAPER, seed=3)
    hidden = AllMasked(usual)
    showed_something = 0
    for index in range(30):
        expected = {k: np.array(v) for k, v in usual[index].items()}
        showed_something += (expected["token_ids"][expected["positions"]] != MASK).sum()
        for position in expected["positions"].tolist():
            expected["token_ids"][position] = MASK
        found = hidden[index]
        assert found.keys() == expected.keys()
        assert all(np.array_equal(found[key], expected[key]) for key in expected)
        spans = (x.predicted_spans(index, toy_corpus.tokenizer.piece_bp) for x in (hidden, usual))
        assert all(np.array_equal(a, b) for a, b in zip(*spans, strict=True))
    assert showed_something > 50
    assert (hidden.masking.mask_share, hidden.masking.random_share) == (1.0, 0.0)
    assert hidden.masking.fraction == 0.15
