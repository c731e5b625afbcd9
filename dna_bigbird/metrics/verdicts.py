"""Which of two predictors is better on the same rows: the only rule, for every page, card and summary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dna_bigbird.metrics.language import CLASSES
from dna_bigbird.metrics.names import direction
from dna_bigbird.metrics.scores import NO_SCORE, ModelMetrics, PredictorScores, Score, is_number
from dna_bigbird.models.label_types import gain_key

FEWEST_ROWS = 200
"""Of fewer test rows no claim is made."""
BETTER, WORSE, NOT_CLEAR = "better", "worse", "not_clear"
TOO_FEW, NOT_DEFINED = "too_few_rows", "not_defined"
OUTCOMES = (BETTER, WORSE, NOT_CLEAR, TOO_FEW, NOT_DEFINED)

MEASURED = ("replicate", "other_tracks")
"""Sources of scores that were measured, not predicted from sequence; none is the best baseline."""


def outcome(difference: Score, n: float | None = None, *, higher_is_better: bool = True) -> str:
    """Return one of `OUTCOMES` for a paired difference and its test rows; None: not counted.

    Example:
        >>> outcome(Score(0.02, 0.01, 0.03), 316), outcome(Score(0.02, 0.0, 0.04), 316)
        ('better', 'not_clear')
        >>> outcome(Score(0.02, 0.01, 0.03), 100), outcome(Score(0.02))
        ('too_few_rows', 'not_defined')
    """
    if n is not None and n < FEWEST_ROWS:
        return TOO_FEW
    if not (is_number(difference.value) and difference.has_interval):
        return NOT_DEFINED
    if difference.low <= 0 <= difference.high:
        return NOT_CLEAR
    return BETTER if (difference.low > 0) == higher_is_better else WORSE


@dataclass(frozen=True)
class Verdict:
    """Two scores of the same rows compared."""

    model: Score
    baseline: Score
    gain: Score = NO_SCORE
    """Model minus baseline on the same draws of rows, if it was computed."""
    higher_is_better: bool = True
    n: float | None = None
    """Test rows, if they can be too few."""

    @property
    def outcome(self) -> str:
        """One of `OUTCOMES`."""
        return outcome(self.gain, self.n, higher_is_better=self.higher_is_better)

    def in_words(self, baseline: str) -> str:
        """Return the outcome in words; `baseline` is the name of the other predictor.

        Example:
            >>> gain = Score(-0.05, -0.06, -0.04)
            >>> Verdict(Score(1.9), Score(1.95), gain, higher_is_better=False).in_words("the bigram")
            'the model is better'
            >>> Verdict(Score(0.9), Score(0.95), gain).in_words("kmer")
            'kmer is better'
        """
        return {
            BETTER: "the model is better",
            WORSE: f"{baseline} is better",
            NOT_CLEAR: "not clear",
            TOO_FEW: f"no claim on {self.n} rows",
            NOT_DEFINED: "no claim without an interval of the difference",
        }[self.outcome]


class NamedVerdict(NamedTuple):
    """A comparison with the baseline of this name."""

    baseline: str
    verdict: Verdict


def compared(metrics: ModelMetrics, score: str, n: str = "n") -> list[NamedVerdict]:
    """Compare a score with that of each baseline, the best first, `MEASURED` last; `n`: key of the test rows."""
    scores = {name: x.score(score) for name, x in metrics.baselines.items()}
    known = {name: x for name, x in scores.items() if is_number(x.value)}
    rows = metrics.number(n)
    return [
        NamedVerdict(
            name,
            Verdict(metrics.score(score), x, metrics.score(gain_key(score, name)), n=rows),
        )
        for name, x in sorted(known.items(), key=lambda x: (x[0] in MEASURED, -x[1].value))
    ]


MASKED_BITS = "bits_per_base_masked"
MASKED_GAIN = "model_minus_baseline_masked"
UNIGRAM = "token_unigram_masked"
NETWORK = "network_alone_masked"
"""The network of a model that copies, without the copies: a part of the model, not a baseline to be ahead of."""


@dataclass(frozen=True)
class LanguageVerdict:
    """Bits per base of a model compared with n-gram baselines."""

    bits: Score
    """Of the whole test split."""
    masked: Sequence[NamedVerdict]
    """The best masked baseline and the unigram, those that were run, on `unseen_bp` if that is known."""
    causal: tuple[str, Score] | None
    """The best causal baseline. It answers another question, so it is not ranked."""
    unseen_bp: int | None = None
    """Hidden bases outside of every 32-mer of the training text; 0: none, and the verdicts are on all
    of the split; None in files of version 0.1."""


def on_unseen(metrics: ModelMetrics) -> ModelMetrics:
    """Return the scores of model and masked baselines on sequence not seen in training, if it has bases."""
    if not metrics.unseen_bp:
        return metrics
    part = metrics.parts("by_class")[CLASSES[0]]
    baselines = {name: x.parts("by_class") for name, x in metrics.baselines.items()}
    unseen = {name: x[CLASSES[0]] for name, x in baselines.items() if x}
    return ModelMetrics(part.values, unseen)


@dataclass(frozen=True)
class PartRow:
    """Bits per base on a chromosome or class of sequence."""

    part: str
    model: Score
    baseline: Score
    gain: Score
    """Model minus baseline on the same draws of blocks, if it was computed."""
    n_bp: int


def part_rows(metrics: ModelMetrics, division: str, baseline: str) -> list[PartRow]:
    """Compare a model with a masked baseline on each part of a division that has bases."""
    theirs = metrics.baselines.get(baseline, PredictorScores()).parts(division)
    rows = []
    for name, model in metrics.parts(division).items():
        of_baseline = theirs.get(name, PredictorScores())
        bits = [predictor.score(MASKED_BITS) for predictor in (model, of_baseline)]
        gain = of_baseline.score(MASKED_GAIN)
        rows.append(PartRow(name.replace("_", " "), *bits, gain, model.values["n_bp"]))
    return rows


def best_masked(metrics: ModelMetrics, *, is_causal: bool = False) -> tuple[str, Score]:
    """Return name and score of the masked (or causal) baseline with the fewest bits, or "" and none."""
    bits = {
        name: scores.bits_per_base
        for name, scores in metrics.baselines.items()
        if ("causal" in name) == is_causal
        and direction(name) != "one_hidden"  # other positions than the model's
        and name != NETWORK
        and is_number(scores.bits_per_base.value)
    }
    best = min(bits, key=lambda name: bits[name].value, default="")
    return best, bits.get(best, NO_SCORE)


def language_verdict(metrics: ModelMetrics) -> LanguageVerdict:
    """Compare the model with the best masked baseline and the unigram; name the best causal one."""
    unseen = on_unseen(metrics)
    bits = unseen.score(MASKED_BITS)
    known: Mapping[str, PredictorScores] = {
        name: unseen.baselines[name]
        for name in dict.fromkeys([best_masked(unseen)[0], UNIGRAM])
        if name in unseen.baselines and is_number(unseen.baselines[name].bits_per_base.value)
    }
    masked = [
        NamedVerdict(
            name,
            Verdict(bits, x.bits_per_base, x.score(MASKED_GAIN), higher_is_better=False),
        )
        for name, x in known.items()
    ]
    causal, causal_bits = best_masked(metrics, is_causal=True)
    return LanguageVerdict(
        metrics.score(MASKED_BITS),
        masked,
        (causal, causal_bits) if causal else None,
        metrics.unseen_bp,
    )
