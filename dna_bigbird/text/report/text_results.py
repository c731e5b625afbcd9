"""Reads the evaluations of text tasks next to the published tables; Table 1 by attention pattern as a page."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.bundles import text_tasks
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.config_file import read_config
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import read_json
from dna_bigbird.evaluation.rendering import render
from dna_bigbird.metrics.published_table import Column, PublishedTable, cells_by_system, joined
from dna_bigbird.metrics.scores import NO_SCORE, ModelMetrics, Score, is_number
from dna_bigbird.metrics.seed_means import mean_and_sd
from dna_bigbird.metrics.verdicts import Verdict
from dna_bigbird.models.config import EncoderConfig

PRETRAINED = "pretrained"
"""Name under which the scores of a pretrained model are read."""
PRETRAINED_LARGE = "large-pretrained"
"""As `PRETRAINED`, of the large size: a column of Table 10 alone."""
MASKED_LANGUAGE_MODEL = PublishedTable(
    10,
    "Masked language modelling",
    "Bits per masked token on held-out text, fewer is better. The paper writes BPC; its numbers are those "
    "of Longformer's code, which divides by tokens, not by characters.",
    (
        Column("base", PRETRAINED, ("bits_per_token",), 1.0, higher_is_better=False),
        Column("large", PRETRAINED_LARGE, ("bits_per_token",), 1.0, higher_is_better=False),
    ),
    cells_by_system("""
        RoBERTa (512 tokens) | 1.846 | 1.496
        Longformer (4096) | 1.705 | 1.358
        BigBird-ITC (4096) | 1.678 | 1.456
        BigBird-ETC (4096) | 1.611 | 1.274
    """),
)
MASKED_TOKENS = PublishedTable(
    1,
    "Building blocks, 512 tokens, in per cent",
    "MLM: masked tokens that are predicted exactly (the paper names no unit).",
    (Column("MLM", PRETRAINED, ("mlm_accuracy",)),),
    cells_by_system("""
        BERT-base | 64.2
        Random | 60.1
        Window | 58.3
        Random + Window | 62.7
    """),
)


def published_tables() -> list[PublishedTable]:
    return joined([MASKED_TOKENS, MASKED_LANGUAGE_MODEL, *text_tasks.published_tables()])


@dataclass(frozen=True)
class TextRun:
    """One evaluated model."""

    name: str
    metrics: ModelMetrics
    is_synthetic: bool = False
    """A program generated the text."""

    def score(self, key: str, baseline: str = "") -> Score:
        """Return a score of the model or of a baseline; without a value if there is none."""
        predictor = self.metrics.baselines.get(baseline) if baseline else self.metrics
        score = predictor.score(key) if predictor else NO_SCORE
        return score if is_number(score.value) else NO_SCORE

    def best_baseline(self, column: Column, key: str) -> str:
        """Return the name of the baseline that is best by this score; "" if none has it."""
        values = {name: x.number(key) for name, x in self.metrics.baselines.items() if key in x}
        values = {name: value for name, value in values.items() if value is not None}
        sign = -1 if column.higher_is_better else 1
        return min(values, key=lambda name: (sign * values[name], name), default="")

    def verdict(self, column: Column) -> tuple[str, Verdict]:
        """Compare the first score of a column with the best baseline, and return its name."""
        key = column.keys[0]
        best = self.best_baseline(column, key)
        gain = self.metrics.gain(best, key)
        theirs = self.score(key, best) if best else NO_SCORE
        n = self.num_examples
        return best, Verdict(self.score(key), theirs, gain, column.higher_is_better, n)

    def cell(self, column: Column, baseline: str = "") -> list[Score]:
        """Return the scores of a cell in the units of the table."""
        return [self.score(key, baseline).times(column.factor) for key in column.keys]

    def spread(self, column: Column) -> float | None:
        """Return the standard deviation of a cell over several runs, if there were several."""
        spread = self.metrics.number(f"{column.keys[0]}_sd")
        return None if spread is None else spread * column.factor

    @property
    def num_examples(self) -> int:
        return self.metrics.values["n"]

    @property
    def num_in_training(self) -> int:
        """How many of the scored examples are training examples; 0 if they were not counted."""
        return self.metrics.number("n_in_training") or 0

    @property
    def num_runs(self) -> int | None:
        """How many trainings the scores are the mean of, if there were several."""
        return self.metrics.number("runs")


def run_names() -> list[str]:
    """Return the names that the folders of evaluations may have."""
    columns = (column for table in published_tables() for column in table.columns)
    return sorted({column.run for column in columns if column.run})


def read_runs(
    folder: Path, synthetic: Collection[str] = (), pretrained: Path | None = None
) -> dict[str, TextRun]:
    """Read `<name>/metrics.json` for every name in a table; missing ones were not run."""
    names = run_names()
    for name in synthetic:
        if name not in names:
            raise InputError(
                f"--synthetic: no table has {name!r}; expected some of {', '.join(names)}"
            )
    folders = {name: folder / name for name in names}
    if pretrained is not None:
        folders[PRETRAINED] = pretrained
    runs = {
        name: TextRun(name, _read_metrics(run_folder), name in synthetic)
        for name, run_folder in folders.items()
        if (run_folder / "metrics.json").is_file()
    }
    if not runs:
        raise InputError(
            f"{folder}: no <name>/metrics.json in it for any of {', '.join(names)}; "
            "`dna-bigbird text evaluate --output` writes them"
        )
    return runs


def _read_metrics(folder: Path) -> ModelMetrics:
    path = folder / "metrics.json"
    values = read_json(path)
    values.setdefault("n", values.get("n_examples"))
    for key in ("n", "split"):
        if values.get(key) is None:
            raise InputError(
                f"{path}: no {key!r}; expected what `dna-bigbird text evaluate` writes"
            )
    return ModelMetrics.from_json(values)


_SEED = re.compile(r"seed([0-9]+)")


@dataclass(frozen=True)
class PatternTraining:
    """The models of one pattern and one seed: pretrained, and fine-tuned on each set."""

    folder: Path
    config: BundleConfig
    """Of the pretrained model."""
    runs: Mapping[str, TextRun]
    """By set, and of the pretrained model."""

    @property
    def seed(self) -> int:
        return int(self.folder.name.removeprefix("seed"))

    def score(self, column: Column) -> Score:
        """Return the first score of a column, in the units of the table."""
        return self.runs[column.run].cell(column)[0]


@dataclass(frozen=True)
class PatternTrainings:
    """The trainings of one attention pattern, by their seeds."""

    name: str
    trainings: Sequence[PatternTraining]

    @property
    def config(self) -> BundleConfig:
        """The model; all seeds have the same settings."""
        return self.trainings[0].config

    def mean(self, column: Column) -> tuple[float, float | None]:
        """Return mean and standard deviation over the seeds; of one seed its score and None."""
        values = [training.score(column).value for training in self.trainings]
        return mean_and_sd(values) if len(values) > 1 else (values[0], None)


def read_patterns(
    folders: Sequence[Path], table: PublishedTable, synthetic: Collection[str] = ()
) -> tuple[list[PatternTrainings], list[Column]]:
    """Read `PATTERN/seedN` folders; return patterns and the columns that were scored."""
    if not folders:
        raise InputError("--runs []: expected the folder of at least one training")
    trainings = [_training(folder, synthetic) for folder in folders]
    columns = [column for column in table.columns if column.run in trainings[0].runs]
    patterns: dict[Path, list[PatternTraining]] = {}
    for training in trainings:
        _check_scores(training, trainings[0], columns)
        same = patterns.setdefault(training.folder.parent, [])
        if training.seed in [other.seed for other in same]:
            raise InputError(f"{training.folder}: is there twice; name it once")
        same.append(training)
    return [PatternTrainings(path.name, each) for path, each in patterns.items()], columns


def _training(folder: Path, synthetic: Collection[str]) -> PatternTraining:
    if not _SEED.fullmatch(folder.name):
        raise InputError(f"{folder}: expected a folder PATTERN/seedN, such as full/seed0")
    runs = read_runs(folder / "evaluation", synthetic, folder / "pretrained")
    config = read_config(folder / "pretrained" / "config.json")
    return PatternTraining(folder.absolute(), config, runs)


def _check_scores(
    training: PatternTraining, first: PatternTraining, columns: Sequence[Column]
) -> None:
    """Check that a training has the scores of the first one, on as many examples of the same split."""
    for column in columns:
        run, other = training.runs.get(column.run), first.runs[column.run]
        if run is None or not is_number(run.cell(column)[0].value):
            raise InputError(
                f"{training.folder}: no {column.keys[0]} of {column.run} in it, and {first.folder} "
                "has it; expected the same scores of every training"
            )
        data = (run.num_examples, run.metrics.split)
        if data != (other.num_examples, other.metrics.split):
            raise InputError(
                f"{training.folder}: {column.run} was scored on {data[0]} examples ({data[1]}), in "
                f"{first.folder} on {other.num_examples} ({other.metrics.split}); expected the same"
            )


TABLE = 1


def pattern_page(
    folders: Sequence[Path], synthetic: Collection[str], key_share: Callable[[EncoderConfig], float]
) -> tuple[str, list[dict]]:
    """Return the page, and a row per pattern, seed and score."""
    published = next(table for table in published_tables() if table.number == TABLE)
    patterns, columns = read_patterns(folders, published, synthetic)
    runs = [patterns[0].trainings[0].runs[column.run] for column in columns]
    chosen = [published.columns.index(column) for column in columns]
    page = render(
        "text_patterns.html",
        published={name: [cells[i] for i in chosen] for name, cells in published.rows.items()},
        about=published.about,
        columns=columns,
        rows=patterns,
        key_share=key_share,
        baselines=[_baseline(column, run) for column, run in zip(columns, runs, strict=True)],
        data=runs,
        encoder=patterns[0].config.encoder,
    )
    return page, _table_rows(patterns, columns)


def _baseline(column: Column, run: TextRun) -> tuple[str, Score]:
    """Return name and score of the best baseline, "" if none: the same for every training."""
    name = run.best_baseline(column, column.keys[0])
    return name, run.cell(column, name)[0]


def _table_rows(patterns: Sequence[PatternTrainings], columns: Sequence[Column]) -> list[dict]:
    return [
        {"pattern": pattern.name, "seed": training.seed}
        | {"column": column.title, "score": column.keys[0]}
        | {"value": score.value, "low": score.low, "high": score.high}
        for pattern in patterns
        for training in pattern.trainings
        for column in columns
        for score in [training.score(column)]
    ]
