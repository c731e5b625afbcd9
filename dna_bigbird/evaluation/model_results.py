"""Reads the result files of one trained model, with messages that name the rule that makes them."""

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.config_file import read_config
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import open_text, parse_json_object
from dna_bigbird.core.plain_numbers import decimal_number, whole_number
from dna_bigbird.metrics.scores import ModelMetrics, Score, is_number
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.label_types import HEADLINES


def key_share(config: EncoderConfig) -> float:
    """Return the share of (query block, key block) pairs that a model's first layer reads."""
    from dna_bigbird.models.attention_cores import block_core
    from dna_bigbird.models.flops import etc_pairs, longformer_pairs

    # Of pairs of tokens of both streams.
    if config.attention == "etc":
        num_global = -(-config.max_tokens // config.etc.tokens_per_global)
        pairs = etc_pairs(config, config.max_tokens, num_global)
        return pairs / (config.max_tokens + num_global) ** 2
    # It computes no pairs.
    if config.attention == "performer":
        return 1.0
    if config.attention == "longformer":
        pairs = longformer_pairs(config, 0, config.max_tokens)
        return pairs / config.num_heads / config.max_tokens**2
    pattern = block_core(config, layer=0).eval().pattern(config.max_tokens)
    return float((pattern.times() > 0).mean())


def read_text(path: Path, advice: str) -> str:
    """Return the text of a file; `advice` ends the message if there is none."""
    _check_exists(path, advice)
    with open_text(path) as stream:
        return stream.read()


def read_model_config(bundle: Path, rule: str) -> BundleConfig:
    """Return the settings of a bundle."""
    path = bundle / "config.json"
    _check_exists(path, f"{rule} makes it. Run the workflow to its end first")
    return read_config(path)


def read_json_object(path: Path, rule: str) -> dict:
    """Return the object of a JSON file."""
    text = read_text(path, f"{rule} makes it. Run the workflow to its end first")
    return parse_json_object(text, path, f". Run {rule} again")


def optional_json(path: Path) -> dict:
    """Return the object of a JSON file, empty if there is none."""
    return read_json_object(path, "its rule") if path.is_file() else {}


def read_table(path: Path, columns: tuple[str, ...], rule: str) -> list[dict[str, str]]:
    """Read a TSV that must have at least these columns."""
    text = read_text(path, f"{rule} makes it. Run the workflow to its end first")
    reader = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    missing = [c for c in columns if c not in (reader.fieldnames or [])]
    if missing:
        raise InputError(
            f"{path}:1: no column {missing[0]!r}; expected {', '.join(columns)}. Run {rule} again"
        )
    rows = list(reader)
    for line, row in enumerate(rows, start=2):
        if any(row[c] is None for c in columns):
            raise InputError(f"{path}:{line}: the line is cut off. Run {rule} again")
    return rows


def as_float(text: str, path: Path, line: int) -> float:
    """Return a number of a table; nothing, NA and - are NaN."""
    number = math.nan if text in ("", "NA", "-") else decimal_number(text)
    if number is None:
        raise InputError(f"{path}:{line}: {shortened(text)!r} is not a number")
    return number


def as_int(text: str, path: Path, line: int) -> int:
    """Return a whole number of a table."""
    number = whole_number(text)
    if number is None:
        raise InputError(f"{path}:{line}: {shortened(text)!r} is not a whole number")
    return number


def _check_exists(path: Path, advice: str) -> None:
    if not path.is_file():
        raise InputError(f"{path}: no such file; {advice}")


BASELINE = "kmer"


@dataclass(frozen=True)
class TargetScore:
    """The scores of one target on the test rows, by name."""

    label: str
    model: Mapping[str, Score]
    kmer: Mapping[str, Score]
    """Without intervals; None where the k-mer baseline was not run."""


def read_targets(path: Path, rule: str, label_type: str) -> list[TargetScore]:
    """Read per_label.tsv of a model of targets or tracks."""
    names = HEADLINES[label_type]
    columns = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    rows = read_table(path, ("label", *columns), rule)

    def number(row: dict[str, str], line: int, column: str) -> float:
        return as_float(row.get(column) or "nan", path, line)

    return [
        TargetScore(
            row["label"],
            {
                name: Score(*(number(row, i, f"{name}{end}") for end in ("", "_low", "_high")))
                for name in names
            },
            {name: Score(number(row, i, f"{BASELINE}_{name}")) for name in names},
        )
        for i, row in enumerate(rows, start=2)
    ]


class Profile(NamedTuple):
    """Bins of one track along a region, 0-based and half-open."""

    label: str
    chrom: str
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    measured: NDArray[np.float64]
    """NaN where it was not."""
    predicted: NDArray[np.float64]


def read_profiles(path: Path, rule: str) -> list[Profile]:
    """Read profiles.tsv of a model of tracks."""
    numbers = Profile._fields[2:]
    tracks: dict[tuple[str, str], list[list[float]]] = {}
    for line, row in enumerate(read_table(path, Profile._fields, rule), start=2):
        values = [as_float(row[name], path, line) for name in numbers]
        tracks.setdefault((row["label"], row["chrom"]), []).append(values)
    return [Profile(*key, *np.array(rows).T) for key, rows in tracks.items()]


@dataclass(frozen=True)
class HistoryRow:
    """One logged number of a training run."""

    step: int
    split: str
    name: str
    value: float


@dataclass(frozen=True)
class LabelScore:
    """Scores of one label on the test rows; NaN where they are not defined."""

    label: str
    group: str
    n_positive: int
    auroc: float
    auprc: float
    kmer_auroc: float
    kmer_auprc: float


@dataclass(frozen=True)
class Curve:
    """One drawn curve: ROC (false, true positive rate) or PR (recall, precision)."""

    label: str
    source: str
    curve_type: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class CalibrationBin:
    """Test rows of about equal probability; `probabilities` is `raw` or `calibrated`."""

    group: str
    probabilities: str
    n: int
    mean_probability: float
    share_positive: float


@dataclass(frozen=True)
class ModelResult:
    """The results of one trained model: `pretrained`, `promoter`, `chromatin` or `heads/VARIANT`."""

    name: str
    config: BundleConfig
    metrics: ModelMetrics
    validation: ModelMetrics
    """Scores on the validation split at the chosen step; empty if there is no such file."""
    parameters: int | None
    history: tuple[HistoryRow, ...]
    labels: tuple[LabelScore, ...] = ()
    curves: tuple[Curve, ...] = ()
    calibration: tuple[CalibrationBin, ...] = ()
    """Empty if the evaluation wrote none."""
    leaks: int | None = None
    """Rows of the leakage report of its set; None if there is no report."""

    @property
    def chosen_step(self) -> int | None:
        """The step whose weights were kept, if a file records it."""
        steps = (self.config.chosen_step, self.validation.number("step"))
        return next((int(x) for x in steps if is_number(x)), None)

    def logs(self, score: str) -> bool:
        """Return True if the history has a number of this name."""
        return any(row.name == score and math.isfinite(row.value) for row in self.history)


def read_model(folder: Path, name: str) -> ModelResult:
    """Read the files of a model: `pretrained`, `promoter`, `chromatin`, or `heads/VARIANT`."""
    head = name != "pretrained"
    rule = f"the rule evaluate (task {name})" if head else "the rule evaluate_lm"
    bundle, evaluation = folder / "models" / name, folder / "evaluation" / name
    return ModelResult(
        name=name,
        config=read_model_config(bundle, rule),
        metrics=ModelMetrics.from_json(read_json_object(bundle / "metrics.json", rule)),
        validation=ModelMetrics.from_json(
            optional_json(folder / "trained" / name / "metrics.json")
        ),
        parameters=count_parameters(bundle / "model.safetensors"),
        history=read_history(folder / "trained" / name / "history.tsv"),
        labels=read_labels(evaluation / "per_label.tsv", rule) if head else (),
        curves=read_curves(evaluation / "curves.tsv", rule) if head else (),
        calibration=read_calibration(evaluation / "calibration.tsv", rule) if head else (),
        leaks=count_leaks(folder / name / "leakage.tsv"),
    )


def read_history(path: Path) -> tuple[HistoryRow, ...]:
    """Read `history.tsv` (step, split, name, value); empty if there is none."""
    return _rows_of(HistoryRow, path, "the training rule")


def read_calibration(path: Path, rule: str) -> tuple[CalibrationBin, ...]:
    """Read `calibration.tsv`; empty if there is none."""
    return _rows_of(CalibrationBin, path, rule)


def _rows_of(row_type: type, path: Path, rule: str) -> tuple:
    """Read a table with a column for each field of a dataclass, of its type; empty if there is none."""
    if not path.is_file():
        return ()
    read = {str: lambda text, *_: text, int: as_int, float: as_float}
    types = get_type_hints(row_type)
    return tuple(
        row_type(*(read[each](row[name], path, line) for name, each in types.items()))
        for line, row in enumerate(read_table(path, tuple(types), rule), start=2)
    )


def read_labels(path: Path, rule: str) -> tuple[LabelScore, ...]:
    """Read `per_label.tsv`."""
    scores = ("auroc", "auprc", "kmer_auroc", "kmer_auprc")
    rows = read_table(path, ("label", "group", "n_positive", *scores[:2]), rule)
    return tuple(
        LabelScore(
            r["label"],
            r["group"] or "labels",
            as_int(r["n_positive"], path, i),
            *(as_float(r.get(s) or "nan", path, i) for s in scores),
        )
        for i, r in enumerate(rows, start=2)
    )


def read_curves(path: Path, rule: str) -> tuple[Curve, ...]:
    """Read `curves.tsv` (evaluation/curves.py), points in file order."""
    points: dict[tuple[str, str, str], tuple[list[float], list[float]]] = {}
    rows = read_table(path, ("label", "source", "curve", "x", "y"), rule)
    for line, r in enumerate(rows, start=2):
        x, y = points.setdefault((r["label"], r["source"], r["curve"]), ([], []))
        x.append(as_float(r["x"], path, line))
        y.append(as_float(r["y"], path, line))
    return tuple(Curve(*key, tuple(x), tuple(y)) for key, (x, y) in points.items())


def count_leaks(path: Path) -> int | None:
    """Count the rows of a leakage report below its header; None if there is no report."""
    if not path.is_file():
        return None
    with open(path, encoding="utf-8") as stream:
        return sum(line[:1] != "#" for line in stream) - 1


def count_parameters(path: Path) -> int | None:
    """Count the numbers in a safetensors file from its header; None if there is no file."""
    if not path.is_file():
        return None
    with open(path, "rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(length))
    return sum(math.prod(t["shape"]) for name, t in header.items() if name != "__metadata__")
