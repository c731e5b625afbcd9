"""Scores of a bundle: metrics.json with types. Read without torch."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from dna_bigbird.bundles.config_file import is_number, read_bundle_json
from dna_bigbird.core.dataframes import DataFrame, dataframe_of_rows
from dna_bigbird.core.results import Rows, representation
from dna_bigbird.core.writing import json_text

LOW, HIGH = "_low", "_high"
FACTS = (
    "n", "n_examples", "seed", "split", "step", "max_tokens", "strand", "description", "baselines",
    "initial_weights",
)  # fmt: skip
"""Keys that are not scores or counts."""
SHOWN = 3
"""Scores in the representation of metrics."""


class Estimate(NamedTuple):
    """A score with its interval; None where it is not defined or was not computed."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class Metrics(Mapping[str, Any]):
    """The scores in metrics.json of a bundle; None where the file has no value.

    `metrics["auroc"]` and `metrics.get("auroc")` return the value as in the file. They are for callers
    of earlier versions and go after one release; use the fields and `score`.

    Example:
        >>> values = {"auroc": 0.9, "auroc_low": 0.8, "auroc_high": 0.95, "n": 40, "split": "test"}
        >>> metrics = Metrics.from_json(values)
        >>> metrics.n, metrics.split, metrics.score("auroc")
        (40, 'test', Estimate(value=0.9, low=0.8, high=0.95))
    """

    n: int | None = None
    """Scored rows or examples; of pretraining, examples of the token store (`n_examples`)."""
    seed: int | None = None
    split: str | None = None
    step: int | None = None
    """Optimizer step of the weights."""
    max_tokens: int | None = None
    """Most tokens of an example, where it was chosen for the scores."""
    strand: str | None = None
    description: str | None = None
    """What a baseline is."""
    scores: dict[str, Any] = field(default_factory=dict)
    """Scores, bounds of intervals and counts by name, with the unit in the name."""
    baselines: "dict[str, Metrics]" = field(default_factory=dict)
    """Scores of each baseline on the same rows."""
    stored: dict[str, Any] = field(default_factory=dict, repr=False)
    """All keys and values of the file in its order, unknown ones included."""

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Metrics":
        """Return the typed scores of a JSON object; a fact of another type counts as absent."""
        if isinstance(values, cls):
            return values
        stored = dict(values)
        counted = (stored[key] for key in ("n", "n_examples") if is_number(stored.get(key)))
        whole = ("seed", "step", "max_tokens")
        numbers = {key: stored[key] for key in whole if is_number(stored.get(key))}
        texts = {
            key: stored[key]
            for key in ("split", "strand", "description")
            if isinstance(stored.get(key), str)
        }
        baselines = stored.get("baselines")
        return cls(
            n=next(counted, None),
            **numbers,
            **texts,
            scores={key: value for key, value in stored.items() if key not in FACTS},
            baselines={
                name: cls.from_json(entry)
                for name, entry in (baselines if isinstance(baselines, dict) else {}).items()
                if isinstance(entry, Mapping)
            },
            stored=stored,
        )

    def to_json(self) -> str:
        """Return the text of metrics.json."""
        return json_text(self.stored)

    def score(self, name: str) -> Estimate:
        """Return a score with its interval."""
        return Estimate(*(self.scores.get(name + end) for end in ("", LOW, HIGH)))

    def score_names(self) -> list[str]:
        """Return the names of all scores in the order of the file, without counts and bounds."""
        return [
            name
            for name, value in self.scores.items()
            if (isinstance(value, float) or value is None) and not name.endswith((LOW, HIGH))
        ]

    def to_dataframe(self) -> DataFrame:
        """Return a row per score of the model, then of each baseline: source, score, value, low, high, n.

        low and high are the ends of the 95 % interval; n are the scored rows or examples.
        """
        sources = {"model": self, **self.baselines}
        return dataframe_of_rows(
            {"source": source, "score": name, **metrics.score(name)._asdict(), "n": metrics.n}
            for source, metrics in sources.items()
            for name in metrics.score_names()
        )

    _repr_html_ = Rows._repr_html_
    _first_rows = Rows._first_rows

    def __repr__(self) -> str:
        facts = {name: getattr(self, name) for name in ("n", "split", "step", "seed")}
        scores = {name: self.scores[name] for name in self.score_names()[:SHOWN]}
        return representation(
            self,
            **{name: value for name, value in facts.items() if value is not None},
            **scores,
            scores=len(self.score_names()),
            baselines=list(self.baselines),
        )

    def __getitem__(self, key: str) -> Any:
        return self.stored[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)


def read_metrics(path: Path) -> Metrics:
    """Read the scores of a bundle."""
    return Metrics.from_json(read_bundle_json(path))
