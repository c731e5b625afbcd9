"""Scores with their intervals, those of one predictor as in metrics.json, and which of two is better."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dna_bigbird.metrics.names import direction

NOT_DEFINED = "not defined"
COUNTS = (
    "n", "n_positive", "n_labels", "n_labels_undefined", "n_classes", "n_targets", "n_examples",
    "n_masked_tokens", "n_masked_bp",
)  # fmt: skip
_GROUP_KEY = re.compile(r"(median|mean)_(auroc|auprc)_(.+)(?<!_low)(?<!_high)")


def is_number(value: object) -> bool:
    """Return True for a finite number, not for NaN, None or a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def shown(value: object, digits: int = 3) -> str:
    """Return a number as a reader sees it: fixed digits, whole numbers with commas.

    Example:
        >>> shown(0.91237), shown(1234567), shown(float("nan"))
        ('0.912', '1,234,567', 'not defined')
    """
    if not is_number(value):
        return NOT_DEFINED
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def score_text(value: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    """Return a score with its interval, if it has one, as text.

    Example:
        >>> score_text(0.91237, 0.9, 0.93), score_text(0.5, None, None)
        ('0.912 [0.900, 0.930]', '0.500')
    """
    if not (is_number(low) and is_number(high)):
        return shown(value, digits)
    return f"{shown(value, digits)} [{shown(low, digits)}, {shown(high, digits)}]"


@dataclass(frozen=True)
class Score:
    """A score with the two ends of its 95 % interval; None or NaN where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def has_interval(self) -> bool:
        """Whether both ends of the interval are numbers."""
        return is_number(self.low) and is_number(self.high)

    def times(self, factor: float) -> "Score":
        """Return the score in another unit."""
        ends = (self.value, self.low, self.high)
        return Score(*(x * factor if is_number(x) else None for x in ends))


NO_SCORE = Score(None)


class GroupScore(NamedTuple):
    """An average over the labels of one group, and its key in metrics.json."""

    key: str
    average: str
    area: str
    group: str


@dataclass(frozen=True)
class PredictorScores:
    """The scores of one predictor (a model or a baseline) on one set of test rows."""

    values: Mapping[str, object] = field(default_factory=dict)
    """By their keys in metrics.json."""

    @classmethod
    def from_json(cls, entry: object) -> "PredictorScores":
        """Read an entry of metrics.json: a table of scores, or bits per base as a number."""
        return cls(entry if isinstance(entry, dict) else {"bits_per_base": entry})

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def number(self, key: str) -> float | int | None:
        """Return a value if it is a number."""
        value = self.values.get(key)
        return value if is_number(value) else None

    def score(self, key: str) -> Score:
        """Return `key` with the interval from `key_low` to `key_high`."""
        return Score(*(self.values.get(f"{key}{end}") for end in ("", "_low", "_high")))

    @property
    def bits_per_base(self) -> Score:
        """Bits per base, masked or causal, whichever the predictor has.

        Example:
            >>> PredictorScores({"bits_per_base_causal": 1.94, "n_bp": 1000}).bits_per_base.value
            1.94
        """
        keys = (k for k in self.values if k.startswith("bits_per_base"))
        score = self.score(next((k for k in keys if not k.endswith(("_low", "_high"))), ""))
        return score if is_number(score.value) else NO_SCORE

    @property
    def description(self) -> str:
        """How the predictor works, in the words of the file; may be empty."""
        return str(self.values.get("description", ""))

    def parts(self, division: str) -> dict[str, "PredictorScores"]:
        """Return the scores of each part of `by_chromosome` or `by_repeat_class` that has bases."""
        entries = self.values.get(division, {})
        return {name: PredictorScores(x) for name, x in entries.items() if x["n_bp"]}

    @property
    def group_scores(self) -> list[GroupScore]:
        """The averages over groups of labels, in the order of the file."""
        matches = [_GROUP_KEY.fullmatch(key) for key in self.values]
        return [GroupScore(match[0], *match.groups()) for match in matches if match]


@dataclass(frozen=True)
class ModelMetrics(PredictorScores):
    """A metrics.json: the scores of a model and of its baselines on the same test rows."""

    baselines: Mapping[str, PredictorScores] = field(default_factory=dict)

    @classmethod
    def from_json(cls, entry: dict) -> "ModelMetrics":
        """Read the object of a metrics.json."""
        baselines = entry.get("baselines", {})
        return cls(entry, {k: PredictorScores.from_json(x) for k, x in baselines.items()})

    @property
    def split(self) -> str | None:
        """The split that was scored."""
        return self.values.get("split")

    @property
    def seed(self) -> object:
        """The seed of the run, None if it is not recorded."""
        return self.values.get("seed")

    @property
    def strand(self) -> str | None:
        """The strands that were read: `both` or `forward`."""
        return self.values.get("strand")

    @property
    def kmer(self) -> PredictorScores:
        """The k-mer baseline; without scores if none was run."""
        return self.baselines.get("kmer", PredictorScores())

    def gain(self, baseline: str, score: str = "auroc") -> Score:
        """Return the difference to a baseline on the same bootstrap draws, if it was computed."""
        return self.score(f"{score}_gain_over_{baseline}")

    @property
    def counts(self) -> list[tuple[str, int | float]]:
        """How many rows, positives, labels or tokens were scored, by key; those not recorded are left out."""
        known = [(key, self.number(key)) for key in COUNTS]
        undefined = "n_labels_undefined"
        return [(k, n) for k, n in known if n is not None and not (k == undefined and n == 0)]


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
        """Whether the difference is clear, by its interval, else by both; None without any."""
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


def best_masked(metrics: ModelMetrics, *, is_causal: bool = False) -> tuple[str, Score]:
    """Return name and score of the masked (or causal) baseline with the fewest bits, or "" and none."""
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
        scores = metrics.baselines[name]
        gain = scores.score("model_minus_baseline_masked")  # absent of a causal one
        return NamedVerdict(name, Verdict(bits, scores.bits_per_base, gain, higher_is_better=False))

    masked = dict.fromkeys([UNIGRAM, best_masked(metrics)[0]])
    known = [n for n in masked if n in metrics.baselines]
    known = [n for n in known if is_number(metrics.baselines[n].bits_per_base.value)]
    causal, _ = best_masked(metrics, is_causal=True)
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
