"""ROUGE against values worked by hand and against its package."""

import importlib
import sys

import numpy as np
import pytest
from rouge_score import rouge_scorer, scoring

from dna_bigbird.text.tasks.summarization import ROUGE_TYPES, rouge_scores

REFERENCES = [
    "police found the gunman\nhe was armed",
    "the cat sat on the mat",
    "results were measured twice",
    "nobody came",
]
PREDICTIONS = [
    "he was armed\nthe police found gunmen",
    "the cat was on the mat today",
    "we measure the result",
    "",
]


def f_measure(hits: int, reference: int, prediction: int) -> float:
    """In percent, from counts of matching, reference and predicted units."""
    if not hits:
        return 0.0
    precision, recall = hits / prediction, hits / reference
    return 100 * 2 * precision * recall / (precision + recall)


def test_by_hand():
    """Counted on paper, from the definitions of Lin (2004) and of release 1.5.5.

    The stemmer makes 'result(s)' and 'measure(d)' equal, but not 'gunman' and 'gunmen'.
    Longest common subsequences of the first pair by reference sentence: 'police found' (2) with
    the second line, 'he was armed' (3) with the first; against one joined line it would be 'he was
    armed' or 'the police …' alone.
    """
    expected = [
        [f_measure(6, 7, 7), f_measure(3, 6, 6), f_measure(5, 7, 7)],
        [f_measure(5, 6, 7), f_measure(3, 5, 6), f_measure(5, 6, 7)],
        [f_measure(2, 4, 4), 0.0, f_measure(1, 4, 4)],
        [0.0, 0.0, 0.0],
    ]
    np.testing.assert_allclose(rouge_scores(REFERENCES, PREDICTIONS), expected, atol=1e-12)


def test_lines_are_sentences():
    """With other order of sentences the score stays; on one line each, their order counts."""
    turned = "\n".join(reversed(REFERENCES[0].split("\n")))
    assert rouge_scores([REFERENCES[0]], [turned])[0, 2] == pytest.approx(100)
    joined = rouge_scores([REFERENCES[0].replace("\n", " ")], [turned.replace("\n", " ")])
    assert joined[0, 2] == pytest.approx(f_measure(4, 7, 7))  # 'police found the gunman'


def test_equals_the_package_and_its_mean():
    """The official script adds up `fmeasure` and divides by the count; the package's own aggregate agrees."""
    scorer = rouge_scorer.RougeScorer(list(ROUGE_TYPES), use_stemmer=True)
    aggregator = scoring.BootstrapAggregator(n_samples=2000)
    official = np.zeros(3)
    for reference, prediction in zip(REFERENCES, PREDICTIONS, strict=True):
        score = scorer.score(reference, prediction)
        aggregator.add_scores(score)
        official += [score[name].fmeasure for name in ROUGE_TYPES]
    ours = rouge_scores(REFERENCES, PREDICTIONS).mean(axis=0)
    np.testing.assert_allclose(ours, 100 * official / len(REFERENCES), atol=1e-12)
    np.random.seed(0)  # the package draws from the global generator
    for value, (name, aggregate) in zip(ours, aggregator.aggregate().items(), strict=True):
        assert aggregate.low.fmeasure < value / 100 < aggregate.high.fmeasure, name
        assert value / 100 == pytest.approx(aggregate.mid.fmeasure, abs=0.03)


def test_no_summaries():
    assert rouge_scores([], []).shape == (0, 3)


def test_unequal_counts():
    with pytest.raises(ValueError, match="shorter"):
        rouge_scores(REFERENCES, PREDICTIONS[:2])


def test_a_missing_package_ends_the_import_and_not_the_first_score(monkeypatch):
    monkeypatch.setitem(sys.modules, "rouge_score", None)
    with pytest.raises(ModuleNotFoundError, match="rouge_score"):
        importlib.reload(sys.modules["dna_bigbird.text.tasks.summarization"])
