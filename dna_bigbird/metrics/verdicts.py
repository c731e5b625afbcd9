"""Which of two predictors is better, and how clear that is; templates/sentences.html says it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dna_bigbird.metrics.names import direction
from dna_bigbird.metrics.scores import NO_SCORE, ModelMetrics, Score, is_number

MASKED_BITS = "bits_per_base_masked"
UNIGRAM = "token_unigram_masked"


@dataclass(frozen=True)
class Verdict:
    """Two scores compared."""

    model: Score
    baseline: Score
    gain: Score = NO_SCORE
    """Model minus baseline on the same draws of rows, if it was computed."""
    higher_is_better: bool = True

    @property
    def winner(self) -> str:
        """ "model", "baseline", "tie" (equal to three digits) or "undecided" (a score is missing).

        Example:
            >>> Verdict(Score(1.9), Score(1.95), higher_is_better=False).winner
            'model'
        """
        if not (is_number(self.model.value) and is_number(self.baseline.value)):
            return "undecided"
        difference = round(self.model.value, 3) - round(self.baseline.value, 3)
        if abs(difference) < 5e-4:
            return "tie"
        return "model" if (difference > 0) == self.higher_is_better else "baseline"

    @property
    def is_clear(self) -> bool | None:
        """Whether the difference is clear, None if there are no intervals.

        The interval of the difference decides if there is one, because it is narrower. Otherwise
        the difference is clear if the two intervals do not overlap.
        """
        if self.gain.has_interval:
            return self.gain.low > 0 or self.gain.high < 0
        if not (self.model.has_interval and self.baseline.has_interval):
            return None
        return self.model.low > self.baseline.high or self.baseline.low > self.model.high


class NamedVerdict(NamedTuple):
    """A comparison with the baseline of this name."""

    baseline: str
    verdict: Verdict


@dataclass(frozen=True)
class LanguageVerdict:
    """Bits per base of a model compared with n-gram baselines."""

    bits: Score
    masked: Sequence[NamedVerdict]
    """The unigram and the best masked baseline, those that were run."""
    causal: NamedVerdict | None
    """The best causal baseline. It answers another question, so it is not ranked."""


def best_masked(metrics: ModelMetrics) -> tuple[str, Score]:
    """Return name and score of the masked baseline with the fewest bits per base, or "" and none."""
    return _fewest_bits(metrics, is_causal=False)


def _fewest_bits(metrics: ModelMetrics, *, is_causal: bool) -> tuple[str, Score]:
    bits = {
        name: scores.bits_per_base
        for name, scores in metrics.baselines.items()
        if ("causal" in name) == is_causal
        and direction(name) != "one_hidden"  # other positions than the model's
        and is_number(scores.bits_per_base.value)
    }
    best = min(bits, key=lambda name: bits[name].value, default="")
    return best, bits.get(best, NO_SCORE)


def language_verdict(metrics: ModelMetrics) -> LanguageVerdict:
    """Compare the model with the unigram, the best masked and the best causal baseline."""
    bits = metrics.score(MASKED_BITS)

    def compare(name: str) -> NamedVerdict:
        score = metrics.baselines[name].bits_per_base
        return NamedVerdict(name, Verdict(bits, score, higher_is_better=False))

    masked = dict.fromkeys([UNIGRAM, best_masked(metrics)[0]])
    known = [n for n in masked if n in metrics.baselines]
    known = [n for n in known if is_number(metrics.baselines[n].bits_per_base.value)]
    causal, _ = _fewest_bits(metrics, is_causal=True)
    return LanguageVerdict(bits, [compare(n) for n in known], compare(causal) if causal else None)


class Ranked(NamedTuple):
    """The best of several predictors (the model of the verdict) compared with another."""

    best: str
    other: str
    verdict: Verdict


def ranking(named: Sequence[tuple[str, Score]], *, higher_is_better: bool) -> list[Ranked]:
    """Compare the best of some scores with each of the others; predictors without a score are left out."""
    known = [(name, score) for name, score in named if is_number(score.value)]
    if not known:
        return []
    sign = -1 if higher_is_better else 1
    (best, top), *others = sorted(known, key=lambda pair: sign * pair[1].value)
    return [
        Ranked(best, name, Verdict(top, score, higher_is_better=higher_is_better))
        for name, score in others
    ]
