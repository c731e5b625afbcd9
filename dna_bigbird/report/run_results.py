"""Reads the result files of one workflow run; nothing is computed from sequence here."""

import math
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.core.yaml_files import parse_yaml
from dna_bigbird.evaluation.model_results import (
    ModelResult,
    as_float,
    optional_json,
    read_model,
    read_table,
    read_text,
)
from dna_bigbird.genome.bed import iter_bed
from dna_bigbird.genome.coverage import merge_spans
from dna_bigbird.genome.interval import Interval
from dna_bigbird.metrics.scores import ModelMetrics

HEADS = ("promoter", "chromatin")


def duration(seconds: float) -> str:
    """Return a time in words.

    Example:
        >>> [duration(s) for s in (0.42, 59.6, 185, 7384)]
        ['0.4 s', '1 min 0 s', '3 min 5 s', '2 h 3 min']
    """
    if not math.isfinite(seconds):
        return "not measured"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


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

    @property
    def run_time(self) -> str:
        return duration(self.seconds)


@dataclass(frozen=True)
class LiftCount:
    """Start sites that were lifted to this assembly (None: not recorded), and those that were lost."""

    lifted: int | None
    lost: int


@dataclass(frozen=True)
class Results:
    """Everything the report shows except predictions (`tracks.py`, `sections/variant_section.py`)."""

    folder: Path
    config_text: str
    config: dict
    pretrained: ModelResult | None
    """None if the run starts from a bundle that was pretrained elsewhere."""
    heads: dict[str, ModelResult | None]
    language: ModelMetrics
    """The evaluation of the pretrained model, with descriptions of the baselines."""
    tokenizer: dict[str, float]
    documents: tuple[DocumentCount, ...]
    stages: tuple[Stage, ...]
    lift: LiftCount | None
    given_encoder: str
    """The bundle that the run starts from: `bundled` or a path; "" if it was pretrained here."""

    @property
    def models(self) -> dict[str, ModelResult]:
        """The models of the run by name, those that were trained."""
        heads = {name: head for name, head in self.heads.items() if head is not None}
        return heads if self.pretrained is None else {"pretrained": self.pretrained} | heads

    @property
    def first_model(self) -> ModelResult:
        """The model whose settings describe the run: the pretrained one, or the first head."""
        return next(iter(self.models.values()))

    @property
    def is_semi_synthetic(self) -> bool:
        """Whether any model of the run was trained on planted truth."""
        return any(model.config.semi_synthetic for model in self.models.values())


def read_results(folder: Path, config_file: Path) -> Results:
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(
            f"{folder}: no such results folder. Make one with: snakemake --cores 2 all"
        )
    text = read_text(Path(config_file), "it is the workflow's configuration, as config/config.yaml")
    settings = parse_yaml(text, str(config_file)).values()
    given_encoder = str(settings.get("pretrained", ""))
    heads = {
        head: read_model(folder, head) if (folder / "models" / head).is_dir() else None
        for head in HEADS
    }
    if given_encoder and not any(heads.values()):
        raise InputError(
            f"{folder / 'models'}: no model; the rule evaluate makes it. Run the workflow to its end "
            "first"
        )
    return Results(
        folder=folder,
        config_text=text,
        config=settings,
        pretrained=read_model(folder, "pretrained") if not given_encoder else None,
        heads=heads,
        language=ModelMetrics.from_json(
            optional_json(folder / "evaluation" / "pretrained" / "lm.json")
        ),
        tokenizer=optional_json(folder / "tokenizer" / "metrics.json"),
        documents=_documents(folder / "corpus"),
        stages=_stages(folder / "benchmarks"),
        lift=_lift(folder / "promoter"),
        given_encoder=given_encoder,
    )


def _documents(folder: Path) -> tuple[DocumentCount, ...]:
    paths = [(split, folder / f"{split}.bed.gz") for split in ("train", "validation", "test")]
    return tuple(count_documents(split, path) for split, path in paths if path.is_file())


def count_documents(split: str, path: Path) -> DocumentCount:
    """Count documents (rows), sentences (blocks) and bases of a BED12 file."""
    sentences = 0
    spans: dict[str, list[Interval]] = {}
    for row in iter_bed(path):
        number = whole_number(row.extra[3]) if len(row.extra) > 3 else None
        if number is None:
            raise InputError(
                f"{path}:{row.line_number}: expected BED12 with one document per line. "
                "Run the rule documents again"
            )
        sentences += number
        spans.setdefault(row.interval.chrom, []).append(row.interval)
    documents = [interval for intervals in spans.values() for interval in intervals]
    total_bp, covered_bp = sum(x.length for x in documents), 0
    for intervals in spans.values():
        starts, ends = merge_spans([x.start for x in intervals], [x.end for x in intervals])
        covered_bp += int((ends - starts).sum())
    return DocumentCount(split, len(documents), sentences, total_bp, covered_bp)


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
        seconds, cpu_seconds = (sum(values[name]) / len(rows) for name in ("s", "cpu_time"))
        stages.append(Stage(rule, seconds, max(values["max_rss"]), cpu_seconds))
    return tuple(stages)


def _lift(folder: Path) -> LiftCount | None:
    """Count the sites that were lifted to this assembly and those that were lost."""
    lifted, lost = folder / "sites.bed", folder / "unlifted.tsv"
    if not lost.is_file():
        return None
    rows = [line for _, line in numbered_lines(lost) if line.strip() and not line.startswith("#")]
    return LiftCount(
        lifted=sum(1 for _ in iter_bed(lifted)) if lifted.is_file() else None,
        lost=max(0, len(rows) - 1),  # the first is the header
    )
