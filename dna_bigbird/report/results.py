"""Reads the result files of one workflow run; nothing is computed from sequence here."""

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path

import yaml

from dna_bigbird.errors import InputError
from dna_bigbird.files import open_text

HEADS = ("promoter", "chromatin")


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
    kind: str
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
    """What is known of one trained model: `pretrained`, `promoter` or `chromatin`."""

    name: str
    config: dict
    metrics: dict
    validation: dict
    """Scores on the validation split at the chosen step; empty if that file is not there."""
    parameters: int | None
    history: tuple[HistoryRow, ...]
    labels: tuple[LabelScore, ...] = ()
    curves: tuple[Curve, ...] = ()
    calibration: tuple[CalibrationBin, ...] = ()
    """Empty if the evaluation wrote none."""
    leaks: int | None = None
    """Rows of the leakage report of its set; None if there is no report."""


@dataclass(frozen=True)
class DocumentCount:
    """Documents of one split. `covered_bp` counts every base once, `total_bp` every time."""

    split: str
    documents: int
    sentences: int
    total_bp: int
    covered_bp: int


@dataclass(frozen=True)
class Stage:
    """Time and peak memory of one rule, the mean and maximum over its repeats."""

    rule: str
    seconds: float
    max_rss_mb: float
    cpu_seconds: float


@dataclass(frozen=True)
class Results:
    """Everything the report shows, apart from the predicted tracks (`report/tracks.py`)."""

    folder: Path
    config_text: str
    config: dict
    pretrained: ModelResult
    heads: dict[str, ModelResult | None]
    language: dict
    tokenizer: dict
    documents: tuple[DocumentCount, ...]
    stages: tuple[Stage, ...]
    lift: dict[str, int]


def read_results(folder: Path, config_file: Path) -> Results:
    """Read a results folder.

    Raises:
        InputError: If the folder, the configuration or a file that every run has is missing or
            damaged; the message names the rule that makes it.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(
            f"{folder}: no such results folder. Make one with: snakemake --cores 2 all"
        )
    text = _text(Path(config_file), "it is the workflow's configuration, as config/config.yaml")
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(
            f"{config_file}: not valid YAML: {' '.join(str(error).split())}"
        ) from error
    if not isinstance(config, dict):
        raise InputError(f"{config_file}: expected keys with values, found {type(config).__name__}")
    return Results(
        folder=folder,
        config_text=text,
        config=config,
        pretrained=read_model(folder, "pretrained"),
        heads={
            head: read_model(folder, head) if (folder / "models" / head).is_dir() else None
            for head in HEADS
        },
        language=_optional_json(folder / "evaluation" / "pretrained" / "lm.json"),
        tokenizer=_optional_json(folder / "tokenizer" / "metrics.json"),
        documents=_documents(folder / "corpus"),
        stages=_stages(folder / "benchmarks"),
        lift=_lift(folder / "promoter"),
    )


def read_model(folder: Path, name: str) -> ModelResult:
    """Read what a results folder has of one model.

    Args:
        name: `pretrained`, `promoter`, `chromatin`, or `heads/VARIANT`.

    Raises:
        InputError: If a file is missing or damaged.
    """
    head = name != "pretrained"
    rule = f"the rule evaluate (task {name})" if head else "the rule evaluate_lm"
    bundle, evaluation = folder / "models" / name, folder / "evaluation" / name
    return ModelResult(
        name=name,
        config=_json(bundle / "config.json", rule),
        metrics=_json(bundle / "metrics.json", rule),
        validation=_optional_json(folder / "trained" / name / "metrics.json"),
        parameters=count_parameters(bundle / "model.safetensors"),
        history=read_history(folder / "trained" / name / "history.tsv"),
        labels=read_labels(evaluation / "per_label.tsv", rule) if head else (),
        curves=read_curves(evaluation / "curves.tsv", rule) if head else (),
        calibration=read_calibration(evaluation / "calibration.tsv", rule) if head else (),
        leaks=count_leaks(folder / name / "leakage.tsv"),
    )


def _text(path: Path, made_by: str) -> str:
    if not path.is_file():
        raise InputError(f"{path}: no such file; {made_by}")
    with open_text(path) as stream:
        return stream.read()


def _json(path: Path, rule: str) -> dict:
    try:
        value = json.loads(_text(path, f"{rule} makes it. Run the workflow to its end first"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: not valid JSON: {error}. Run {rule} again") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


def _optional_json(path: Path) -> dict:
    return _json(path, "its rule") if path.is_file() else {}


def _table(path: Path, columns: tuple[str, ...], rule: str) -> list[dict[str, str]]:
    """Read a TSV that must have at least these columns."""
    text = _text(path, f"{rule} makes it. Run the workflow to its end first")
    reader = csv.DictReader(text.splitlines(), delimiter="\t")
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


def _float(text: str, path: Path, line: int) -> float:
    try:
        return float(text) if text not in ("", "NA", "-") else math.nan
    except ValueError:
        raise InputError(f"{path}:{line}: {text!r} is not a number") from None


def _int(text: str, path: Path, line: int) -> int:
    if not text.isdigit():
        raise InputError(f"{path}:{line}: {text!r} is not a whole number")
    return int(text)


def read_history(path: Path) -> tuple[HistoryRow, ...]:
    """Read `history.tsv` (step, split, name, value); empty if there is none."""
    if not path.is_file():
        return ()
    rows = _table(path, ("step", "split", "name", "value"), "the training rule")
    return tuple(
        HistoryRow(_int(r["step"], path, i), r["split"], r["name"], _float(r["value"], path, i))
        for i, r in enumerate(rows, start=2)
    )


def read_labels(path: Path, rule: str) -> tuple[LabelScore, ...]:
    """Read `per_label.tsv`."""
    scores = ("auroc", "auprc", "kmer_auroc", "kmer_auprc")
    rows = _table(path, ("label", "group", "n_positive", *scores[:2]), rule)
    return tuple(
        LabelScore(
            r["label"],
            r["group"] or "labels",
            _int(r["n_positive"], path, i),
            *(_float(r.get(s) or "nan", path, i) for s in scores),
        )
        for i, r in enumerate(rows, start=2)
    )


def read_curves(path: Path, rule: str) -> tuple[Curve, ...]:
    """Read `curves.tsv` (evaluation/curves.py), points in file order."""
    points: dict[tuple[str, str, str], tuple[list[float], list[float]]] = {}
    rows = _table(path, ("label", "source", "curve", "x", "y"), rule)
    for line, r in enumerate(rows, start=2):
        x, y = points.setdefault((r["label"], r["source"], r["curve"]), ([], []))
        x.append(_float(r["x"], path, line))
        y.append(_float(r["y"], path, line))
    return tuple(Curve(*key, tuple(x), tuple(y)) for key, (x, y) in points.items())


def read_calibration(path: Path, rule: str) -> tuple[CalibrationBin, ...]:
    """Read `calibration.tsv`; empty if there is none."""
    if not path.is_file():
        return ()
    columns = ("group", "probabilities", "n", "mean_probability", "share_positive")
    return tuple(
        CalibrationBin(
            r["group"],
            r["probabilities"],
            _int(r["n"], path, i),
            _float(r["mean_probability"], path, i),
            _float(r["share_positive"], path, i),
        )
        for i, r in enumerate(_table(path, columns, rule), start=2)
    )


def count_leaks(path: Path) -> int | None:
    """Count the rows of a leakage report below its header; None if there is no report."""
    if not path.is_file():
        return None
    with open(path) as stream:
        return sum(line[:1] != "#" for line in stream) - 1


def count_parameters(path: Path) -> int | None:
    """Count the numbers in a safetensors file from its header; None if there is no file."""
    if not path.is_file():
        return None
    with open(path, "rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(length))
    return sum(math.prod(t["shape"]) for name, t in header.items() if name != "__metadata__")


def _documents(folder: Path) -> tuple[DocumentCount, ...]:
    paths = [(split, folder / f"{split}.bed.gz") for split in ("train", "validation", "test")]
    return tuple(count_documents(split, path) for split, path in paths if path.is_file())


def count_documents(split: str, path: Path) -> DocumentCount:
    """Count documents (lines), sentences (blocks) and bases of a BED12 file."""
    sentences = total = 0
    spans: dict[str, list[tuple[int, int]]] = {}
    with open_text(path) as stream:
        for line_number, line in enumerate(stream, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.rstrip("\n").split("\t")
            try:
                chrom, start, end, blocks = (
                    fields[0],
                    int(fields[1]),
                    int(fields[2]),
                    int(fields[9]),
                )
            except (IndexError, ValueError):
                raise InputError(
                    f"{path}:{line_number}: expected BED12 with one document a line. "
                    "Run the rule documents again"
                ) from None
            sentences += blocks
            total += end - start
            spans.setdefault(chrom, []).append((start, end))
    documents = sum(map(len, spans.values()))
    covered = sum(end - start for found in spans.values() for start, end in merge(found))
    return DocumentCount(split, documents, sentences, total, covered)


def merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join overlapping and touching spans.

    Example:
        >>> merge([(5, 8), (0, 3), (3, 4), (6, 9)])
        [(0, 4), (5, 9)]
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _stages(folder: Path) -> tuple[Stage, ...]:
    """Read Snakemake's benchmark files; a value it could not measure ('NA', '-') is NaN."""
    stages = []
    for path in sorted(folder.rglob("*.tsv")) if folder.is_dir() else []:
        rows = _table(path, ("s", "max_rss"), "that rule")
        if not rows:
            continue
        values = {
            c: [_float(r.get(c) or "NA", path, i) for i, r in enumerate(rows, start=2)]
            for c in ("s", "max_rss", "cpu_time")
        }
        rule = path.relative_to(folder).with_suffix("").as_posix()
        stages.append(
            Stage(
                rule,
                sum(values["s"]) / len(rows),
                max(values["max_rss"]),
                sum(values["cpu_time"]) / len(rows),
            )
        )
    return tuple(stages)


def _lift(folder: Path) -> dict[str, int]:
    """Count the sites that were lifted to this assembly and those that were not."""
    counts = {}
    for name, file in (("lifted", "sites.bed"), ("unlifted", "unlifted.tsv")):
        path = folder / file
        if path.is_file():
            with open_text(path) as stream:
                lines = [x for x in stream if x.strip() and not x.startswith(("#", "track"))]
            header = bool(lines) and name == "unlifted" and not _is_bed(lines[0])
            counts[name] = len(lines) - header
    return counts if "unlifted" in counts else {}


def _is_bed(line: str) -> bool:
    fields = line.split("\t")
    return len(fields) > 2 and fields[1].isdigit() and fields[2].isdigit()
