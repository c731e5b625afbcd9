"""The report of a run, or of one scored model, as one HTML page that needs nothing outside itself."""

import importlib.metadata
import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from dna_bigbird import __version__
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.figures.style import GREEN, MODEL, add_marks, new_figure, style
from dna_bigbird.evaluation.model_results import (
    ModelResult,
    as_float,
    as_int,
    count_parameters,
    read_calibration,
    read_curves,
    read_json_object,
    read_labels,
    read_model_config,
    read_profiles,
    read_table,
    read_targets,
)
from dna_bigbird.evaluation.rendering import SEMI_SYNTHETIC_TAG, Gallery, Picture, render
from dna_bigbird.genome.interval import Interval
from dna_bigbird.metrics.scores import ModelMetrics
from dna_bigbird.metrics.verdicts import FEWEST_ROWS
from dna_bigbird.models.label_types import MULTI_CLASS, NUMBERS, TRACKS
from dna_bigbird.prediction.mutagenesis_figure import LETTERS, UNITS, mutagenesis_figure
from dna_bigbird.report.run_results import Results, Stage, duration, read_results
from dna_bigbird.report.sections.head_section import head
from dna_bigbird.report.sections.pretraining_section import pretraining
from dna_bigbird.report.sections.summary_section import main_score, summary
from dna_bigbird.report.sections.track_section import profile_figure, tracks
from dna_bigbird.report.sections.variant_section import variants

# The page of one scored model.

SOURCE = "dna-bigbird evaluate"


@dataclass(frozen=True)
class Rows:
    """Rows of each split of the set, and test rows that were read before; None if not recorded."""

    splits: Mapping[str, float | None]
    read: Mapping[str, float | None]
    """By what read them: `pretraining`, `fine_tuning`."""


def build_model_page(bundle: Path, report: Path) -> tuple[str, Gallery]:
    """Read a scored bundle with its detailed scores and return the page and its pictures."""
    result = read_scored_model(bundle, report)
    config = result.config
    gallery = Gallery(SEMI_SYNTHETIC_TAG if config.semi_synthetic else "")
    is_numbers = config.label_type in NUMBERS
    profiles = None
    if config.label_type == TRACKS:
        drawn = read_profiles(report / "profiles.tsv", SOURCE)
        profiles = gallery.add("profiles", profile_figure(drawn, tag=gallery.tag), is_wide=True)
    page = render(
        "model_report.html",
        head=head(result, gallery),
        rows=_rows(result.metrics),
        fewest_rows=FEWEST_ROWS,
        parameters=result.parameters,
        chance=0.0 if is_numbers or config.label_type == MULTI_CLASS else 0.5,
        targets=read_targets(report / "per_label.tsv", SOURCE, config.label_type)
        if is_numbers
        else [],
        profiles=profiles,
    )
    return page, gallery


def read_scored_model(bundle: Path, report: Path) -> ModelResult:
    """Read the result files of a model that `evaluate` or `finetune --scored` wrote; named by its type."""
    config = read_model_config(bundle, SOURCE)
    metrics = ModelMetrics.from_json(read_json_object(bundle / "metrics.json", SOURCE))
    result = ModelResult(
        name=config.label_type,
        config=config,
        metrics=metrics,
        validation=ModelMetrics(),
        parameters=count_parameters(bundle / "model.safetensors"),
        history=(),
    )
    if metrics.split != "test" or main_score(result) not in metrics:
        raise InputError(
            f"{bundle / 'metrics.json'}: split {metrics.split!r} without {main_score(result)} of test "
            f"rows; expected a bundle that {SOURCE} or finetune --scored wrote"
        )
    per_label = report / "per_label.tsv"
    if not per_label.is_file():
        raise InputError(
            f"{per_label}: no such file; name the folder that {SOURCE} wrote for {bundle} with --report"
        )
    if config.label_type in NUMBERS:
        return result
    return replace(
        result,
        labels=read_labels(per_label, SOURCE),
        curves=read_curves(report / "curves.tsv", SOURCE),
        calibration=read_calibration(report / "calibration.tsv", SOURCE),
    )


def _rows(metrics: ModelMetrics) -> Rows:
    keys = {"training": "n_train_rows", "validation": "n_validation_rows", "test": "n"}
    read = {x: f"n_test_windows_read_in_{x}" for x in ("pretraining", "fine_tuning")}
    numbers = ({name: metrics.number(key) for name, key in x.items()} for x in (keys, read))
    return Rows(*numbers)


COLUMNS = ("chrom", "pos", "ref")


@dataclass(frozen=True)
class Mutagenesis:
    region: str
    file_name: str
    picture: Picture | None = None
    drawn: Sequence[str] = ()
    num_labels: int = 0
    problem: str = ""
    """Why there is no picture."""


def mutagenesis(folder: Path, gallery: Gallery) -> Mutagenesis | None:
    """Return the picture of all substitutions in a region, None if they were not predicted."""
    path = folder / "mutagenesis.tsv"
    if not path.is_file():
        return None
    rows = read_table(path, COLUMNS, "mutagenesis")
    columns = [name for name in (rows[0] if rows else {}) if name not in COLUMNS]
    effect = next((name for name in UNITS if columns and columns[0].endswith(f"_{name}")), None)
    if effect is None or len(columns) % 4:
        raise InputError(
            f"{path}:1: expected four columns per label, such as CTCF_A_log_odds. "
            "Run mutagenesis again"
        )
    labels = [name.removesuffix(f"_A_{effect}") for name in columns[::4]]
    values = [[as_float(row[c], path, i) for c in columns] for i, row in enumerate(rows, start=2)]
    effects_P4L = np.array(values).reshape(len(rows), len(labels), len(LETTERS)).swapaxes(1, 2)
    start = as_int(rows[0]["pos"], path, 2) - 1
    region = Interval(rows[0]["chrom"], start, start + len(rows))
    reference = "".join(row["ref"] for row in rows)
    try:
        figure, drawn = mutagenesis_figure(
            region.chrom, start, reference, labels, effects_P4L, effect=effect, tag=gallery.tag
        )
    except ValueError as error:
        return Mutagenesis(region.text, path.name, problem=str(error))
    picture = gallery.add("mutagenesis", figure, is_wide=True)
    return Mutagenesis(region.text, path.name, picture, drawn, len(labels))


def stage_figure(stages: Sequence[Stage], *, tag: str = "") -> Figure:
    """Draw run time and peak memory of every stage as bars side by side."""
    with style():
        fig = new_figure(9.6, 1.0 + 0.21 * len(stages), tag)
        left, right = fig.subplots(1, 2, sharey=True)
        y = np.arange(len(stages))
        seconds = np.array([s.seconds for s in stages])
        memory = np.array([s.max_rss_mb for s in stages]) / 1024
        for ax, values, colour, text in (
            (left, seconds, MODEL, duration),
            (right, memory, GREEN, lambda v: f"{v:.2f} GiB" if v >= 1 else f"{v * 1024:,.0f} MiB"),
        ):
            ax.barh(y, np.nan_to_num(values), color=colour, height=0.68)
            shown = [text(value) if np.isfinite(value) else "not measured" for value in values]
            for position, value, words in zip(y, values, shown, strict=True):
                ax.text(np.nan_to_num(value), position, f" {words}", va="center", fontsize=7.5)
            add_marks(ax, np.nan_to_num(values), y, "", "{}: {}", [s.rule for s in stages], shown)
            ax.grid(axis="y", visible=False)
            ax.margins(x=0.18)
            ax.tick_params(axis="y", length=0)
        left.set_yticks(y, [s.rule for s in stages])
        left.set_ylim(len(stages) - 0.4, -0.6)
        left.set(title="Run time", xlabel="seconds")
        right.set(title="Peak memory", xlabel="GiB (resident)")
    return fig


PIPELINE = [
    "demo", "fetch", "genome", "documents", "tokenizer", "tokenize", "pretrain", "evaluate_lm",
    "lift", "sites", "set", "leakage", "baseline", "finetune", "evaluate", "predict",
    "score_variants", "zero_shot", "rank_variants", "mutagenesis", "browser_",
]  # fmt: skip
"""Words in the names of rules, in the order in which the rules run."""


@dataclass(frozen=True)
class Stages:
    """The data of the section, the stages in the order of the workflow."""

    stages: Sequence[Stage]
    total: str
    largest: Stage | None
    """The stage with the highest peak memory, None if no memory was measured."""
    picture: Picture


def stages(measured: Sequence[Stage], gallery: Gallery) -> Stages | None:
    """Return time and memory of every stage, None if nothing was measured."""
    if not measured:
        return None
    ordered = sorted(measured, key=lambda stage: (_order(stage.rule), stage.rule))
    seconds = math.fsum(x.seconds for x in ordered if math.isfinite(x.seconds))
    with_memory = [x for x in ordered if math.isfinite(x.max_rss_mb)]
    figure = stage_figure(ordered, tag=gallery.tag)
    return Stages(
        ordered,
        duration(seconds),
        max(with_memory, key=lambda x: x.max_rss_mb, default=None),
        gallery.add("time_and_memory", figure, is_wide=True),
    )


def _order(rule: str) -> int:
    """Return the position of a rule in the workflow, by the longest known word in its name."""
    words = [word for word in PIPELINE if word in rule.lower()]
    return PIPELINE.index(max(words, key=len)) if words else len(PIPELINE)


PACKAGES = [
    "torch", "pytorch-lightning", "snakemake", "sentencepiece", "tokenizers", "safetensors",
    "h5py", "numpy", "scipy", "scikit-learn", "pysam", "pyfaidx", "pybedtools", "pyBigWig",
    "pyliftover", "matplotlib",
]  # fmt: skip


@dataclass(frozen=True)
class Versions:
    versions: Sequence[tuple[str, str]]
    seeds: Sequence[tuple[str, object]]
    """Where a seed is set, and the seed."""
    config_text: str


def versions(results: Results) -> Versions:
    """Return the versions of the packages, the seeds and the configuration."""
    known = [("dna-bigbird", __version__), ("python", platform.python_version())]
    seeds = list(_seeds(results.config))
    seeds += [
        (f"models/{name}/metrics.json", model.metrics.seed)
        for name, model in results.models.items()
        if model.metrics.seed is not None
    ]
    return Versions([*known, *((x, _version(x)) for x in PACKAGES)], seeds, results.config_text)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _seeds(config: object, parent: str = "") -> Iterator[tuple[str, object]]:
    """Yield every setting whose name is or ends in `seed`, with its path in the configuration."""
    for key, value in config.items() if isinstance(config, dict) else ():
        path = f"{parent}.{key}" if parent else str(key)
        if isinstance(value, dict):
            yield from _seeds(value, path)
        elif str(key).endswith("seed"):
            yield path, value


def build_report(
    folder: Path,
    config_file: Path,
    truth_promoters: Path | None = None,
    truth_peaks: Path | None = None,
) -> tuple[str, Gallery]:
    """Read a results folder and return the page and its pictures."""
    results = read_results(folder, config_file)
    gallery = Gallery(SEMI_SYNTHETIC_TAG if results.is_semi_synthetic else "")
    predictions = results.folder / "predictions"
    page = render(
        "run_report.html",
        results=results,
        has_text_report=(results.folder / "text" / "report.html").is_file(),
        has_browser=(results.folder / "browser.html").is_file(),
        summary=summary(results),
        pretraining=pretraining(results, gallery) if results.pretrained else None,
        heads={
            name: head(result, gallery) if result else None
            for name, result in results.heads.items()
        },
        tracks=tracks(results, truth_promoters, truth_peaks, gallery),
        variants=variants(predictions, gallery),
        mutagenesis=mutagenesis(predictions, gallery),
        stages=stages(results.stages, gallery),
        versions=versions(results),
    )
    return page, gallery
