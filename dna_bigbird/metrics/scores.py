"""Scores with their intervals, and those of one predictor as in metrics.json."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dna_bigbird.metrics.language import CLASSES
from dna_bigbird.models.label_types import MONITORS

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
        """Return the scores of each part of a division, such as `by_chromosome`, that has bases."""
        entries = self.values.get(division, {})
        return {name: PredictorScores(x) for name, x in entries.items() if x["n_bp"]}

    @property
    def group_scores(self) -> list[GroupScore]:
        """The averages over groups of labels, in the order of the file."""
        matches = [_GROUP_KEY.fullmatch(key) for key in self.values]
        return [GroupScore(match[0], *match.groups()) for match in matches if match]


PARTS = {"network": "network", "words": "k-mer counts", "positions": "positions"}
"""Keys of the weights of the parts of a model that has k-mer counts next to its network."""


def parts_in(values: Mapping[str, object]) -> dict[str, float]:
    """Return the weights of a model's parts in its logits, and their validation scores by `part_score_key`."""
    keys = [
        x
        for part in PARTS
        for x in (part, f"{part}_mean", *(part_score_key(m, part) for m in MONITORS.values()))
    ]
    return {key: value for key in keys if is_number(value := values.get(key))}


def part_score_key(score: str, part: str) -> str:
    """Return the key of the validation score of a part alone."""
    return f"{score}_of_{part}"


def parts_in_words(values: Mapping[str, object]) -> str:
    """Return weight and validation score of a model's parts in words; "" where they are not recorded.

    Example:
        >>> parts_in_words({"network": 0.4, "words": 0.9, "mcc_of_network": 0.51234})
        'network: weight 0.40, 0.512 alone on validation; k-mer counts: weight 0.90'
    """
    known, told = parts_in(values), []
    for part in (x for x in PARTS if x in known):
        alone = [known[key] for key in known if key.endswith(f"_of_{part}")]
        after = f", {alone[0]:.3f} alone on validation" if alone else ""
        mean = known.get(f"{part}_mean", 0.0)
        more = f" and {mean:.2f} of its mean over labels" if mean else ""
        told.append(f"{PARTS[part]}: weight {known[part]:.2f}{more}{after}")
    return "; ".join(told)


def lacks_network(values: Mapping[str, object]) -> bool:
    """Return True if a model is its counts alone."""
    return values.get("network") == 0 and not values.get("network_mean")


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
    def has_counts(self) -> bool:
        """Whether the model has k-mer counts next to its network, which were scored alone."""
        return "counts" in self.baselines

    @property
    def short(self) -> str:
        """The name of the model in a table."""
        return "BigBird with counts" if self.has_counts else "BigBird"

    @property
    def described(self) -> str:
        """What the model is: with k-mer counts, their weights in its logits.

        Example:
            >>> ModelMetrics({"network": 0.4, "words": 0.9}, {"counts": PredictorScores()}).described
            'BigBird with k-mer counts (network: weight 0.40; k-mer counts: weight 0.90)'
        """
        if not (self.has_counts or self.number("words") or self.number("positions")):
            return "BigBird"
        weights = parts_in_words(self.values)
        if lacks_network(self.values):
            return f"the regression on k-mer counts alone, without the network ({weights})"
        return "BigBird with k-mer counts" + (f" ({weights})" if weights else "")

    @property
    def kmer(self) -> PredictorScores:
        """The k-mer baseline; without scores if none was run."""
        return self.baselines.get("kmer", PredictorScores())

    def gain(self, baseline: str, score: str = "auroc") -> Score:
        """Return the difference to a baseline on the same bootstrap draws, if it was computed."""
        return self.score(f"{score}_gain_over_{baseline}")

    @property
    def unseen_bp(self) -> int | None:
        """Hidden bases of a language model outside of every 32-mer of its training text, if recorded."""
        table = self.values.get("by_class")
        return table[CLASSES[0]]["n_bp"] if table else None

    @property
    def counts(self) -> list[tuple[str, int | float]]:
        """How many rows, positives, labels or tokens were scored, by key; those not recorded are left out."""
        known = [(key, self.number(key)) for key in COUNTS]
        undefined = "n_labels_undefined"
        return [(k, n) for k, n in known if n is not None and not (k == undefined and n == 0)]
