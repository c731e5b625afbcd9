"""What the evaluations of text tasks say: scores, baselines, and on what they were scored."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.datasets.text.published import Column
from dna_bigbird.errors import InputError
from dna_bigbird.files import read_json
from dna_bigbird.report.markup import is_number
from dna_bigbird.report.published_text import PRETRAINED, published_tables
from dna_bigbird.report.words import NO_SCORE, Score, score_of


def run_names() -> list[str]:
    """Return the names that the folders of evaluations may have, sorted."""
    columns = (column for table in published_tables() for column in table.columns)
    return sorted({column.run for column in columns if column.run})


@dataclass(frozen=True)
class TextRun:
    """One evaluated model."""

    name: str
    metrics: dict
    is_made: bool = False
    """The data were made by a program."""

    def score(self, key: str, baseline: str = "") -> Score:
        """Return a score with its interval, of the model or of a baseline; empty where there is none."""
        found = self.metrics.get("baselines", {}).get(baseline, {}) if baseline else self.metrics
        score = score_of(found, key)
        return score if is_number(score.value) else NO_SCORE

    def best_baseline(self, key: str, *, higher_is_better: bool) -> str:
        """Return the name of the baseline that is best by this score; "" if none has it."""
        values = {
            name: found[key]
            for name, found in self.metrics.get("baselines", {}).items()
            if is_number(found.get(key))
        }
        sign = -1 if higher_is_better else 1
        return min(values, key=lambda name: (sign * values[name], name), default="")

    def gain(self, key: str, baseline: str) -> Score:
        """Return the difference to a baseline on the same draws of examples, where it was drawn."""
        return score_of(self.metrics, f"{key}_gain_over_{baseline}")

    @property
    def num_seen(self) -> int:
        """How many of the scored examples are training examples; 0 where nobody counted."""
        return self.metrics.get("n_in_training", 0)

    @property
    def about(self) -> str:
        """Say what the scores were measured on."""
        words = ["made text" if self.is_made else "real text"]
        seen, count = self.num_seen, self.metrics["n"]
        if seen:
            some = f"{seen:,} of {count:,} examples are training examples"
            words.append("scored on its training examples" if seen == count else some)
        words += [f"{self.metrics['runs']} runs"] if "runs" in self.metrics else []
        return ", ".join(words)


def read_runs(
    folder: Path,
    made: Collection[str] = (),
    pretrained: Path | None = None,
) -> dict[str, TextRun]:
    """Read `<name>/metrics.json` for every name that a table has; what is absent was not run.

    Args:
        made: Names whose data were made by a program.
        pretrained: The bundle of masked language modelling, which holds its own scores.

    Raises:
        InputError: If there is none, one is damaged, or a name is unknown.
    """
    for name in made:
        if name not in run_names():
            known = ", ".join(run_names())
            raise InputError(f"--synthetic: no table has {name!r}; expected some of {known}")
    folders = {name: folder / name for name in run_names()}
    if pretrained is not None:
        folders[PRETRAINED] = pretrained
    runs = {
        name: TextRun(name, _read_metrics(place), name in made)
        for name, place in folders.items()
        if (place / "metrics.json").is_file()
    }
    if not runs:
        raise InputError(
            f"{folder}: no <name>/metrics.json in it for any of {', '.join(run_names())}; "
            "`dna-bigbird text evaluate --output` writes them"
        )
    return runs


def _read_metrics(folder: Path) -> dict:
    path = folder / "metrics.json"
    metrics = read_json(path)
    metrics.setdefault("n", metrics.get("n_examples"))
    for key in ("n", "split"):
        if metrics.get(key) is None:
            raise InputError(
                f"{path}: no {key!r}; expected what `dna-bigbird text evaluate` writes"
            )
    return metrics


def scores_of_column(run: TextRun, column: Column, baseline: str = "") -> list[Score]:
    """Return the scores of a cell in the units of the table."""
    found = [run.score(key, baseline) for key in column.keys]
    return [_scaled(score, column.factor) for score in found]


def _scaled(score: Score, factor: float) -> Score:
    def times(value: float | None) -> float | None:
        return value * factor if is_number(value) else None

    return Score(times(score.value), times(score.low), times(score.high))
