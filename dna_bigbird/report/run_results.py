"""Reads the result files of one workflow run; nothing is computed from sequence here."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from dna_bigbird.errors import InputError
from dna_bigbird.files import open_text
from dna_bigbird.report.model_results import ModelResult, read_model
from dna_bigbird.report.reading import as_float, optional_json, read_table, read_text

HEADS = ("promoter", "chromatin")


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
    text = read_text(Path(config_file), "it is the workflow's configuration, as config/config.yaml")
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
        language=optional_json(folder / "evaluation" / "pretrained" / "lm.json"),
        tokenizer=optional_json(folder / "tokenizer" / "metrics.json"),
        documents=_documents(folder / "corpus"),
        stages=_stages(folder / "benchmarks"),
        lift=_lift(folder / "promoter"),
    )


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
        rows = read_table(path, ("s", "max_rss"), "that rule")
        if not rows:
            continue
        values = {
            c: [as_float(r.get(c) or "NA", path, i) for i, r in enumerate(rows, start=2)]
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
