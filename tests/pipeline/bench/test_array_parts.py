"""Scores in parts: a run that stops in the middle goes on, and every file is one part."""

import numpy as np
import pytest

from dna_bigbird.bench.parts import ArrayParts

TEXTS = [f"{'ACGT'[i % 4]}" * (i + 1) for i in range(12)]


class Counter:
    """Scores by length, NaN for 3 letters; stops at the given call."""

    def __init__(self, stop=None):
        self.read, self.stop = [], stop

    def __call__(self, texts):
        if self.stop is not None and len(self.read) >= self.stop:
            raise KeyboardInterrupt
        self.read += texts
        return {"scores": np.array([[len(x) if len(x) != 3 else np.nan, 0.5] for x in texts])}


def stored_scores(folder, texts, score, settings):
    return ArrayParts(folder, settings).scored("scores", texts, score, at_once=5)["scores"]


def expected():
    return [[len(x) if len(x) != 3 else np.nan, 0.5] for x in TEXTS]


def test_a_run_that_was_stopped_computes_the_rest(tmp_path):
    folder = tmp_path / "deep" / "model"
    with pytest.raises(KeyboardInterrupt):
        stored_scores(folder, TEXTS, Counter(stop=10), {"model": "a"})
    assert sorted(path.name for path in folder.glob("*")) == [
        "scores-0000000.npz",
        "scores-0000005.npz",
    ]
    rest = Counter()
    np.testing.assert_array_equal(stored_scores(folder, TEXTS, rest, {"model": "a"}), expected())
    assert rest.read == TEXTS[10:]


def test_other_settings_or_sequences_are_computed_again(tmp_path):
    stored_scores(tmp_path, TEXTS, Counter(), {"model": "a"})
    for texts, settings, again in (
        (TEXTS, {"model": "a"}, []),
        (TEXTS, {"model": "b"}, TEXTS),
        ([*TEXTS[:9], "GG", *TEXTS[10:]], {"model": "b"}, [*TEXTS[5:9], "GG"]),
    ):
        scorer = Counter()
        stored_scores(tmp_path, texts, scorer, settings)
        assert scorer.read == again


@pytest.mark.parametrize("content", [b"", b"PK not an archive"])
def test_a_damaged_part_is_computed_again(tmp_path, content):
    stored_scores(tmp_path, TEXTS, Counter(), {"model": "a"})
    (tmp_path / "scores-0000005.npz").write_bytes(content)
    scorer = Counter()
    np.testing.assert_array_equal(
        stored_scores(tmp_path, TEXTS, scorer, {"model": "a"}), expected()
    )
    assert scorer.read == TEXTS[5:10]
