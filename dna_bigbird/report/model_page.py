"""The report of one scored model as one HTML page that needs nothing outside itself."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.evaluation.model_results import (
    ModelResult,
    count_parameters,
    read_calibration,
    read_curves,
    read_json_object,
    read_labels,
    read_model_config,
    read_targets,
)
from dna_bigbird.evaluation.rendering import SEMI_SYNTHETIC_TAG, Gallery, render
from dna_bigbird.metrics.scores import ModelMetrics
from dna_bigbird.metrics.task_results import FEWEST_ROWS
from dna_bigbird.models.label_types import MULTI_CLASS, REGRESSION
from dna_bigbird.report.sections.head_section import head
from dna_bigbird.report.sections.summary_section import main_score

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
    is_regression = config.label_type == REGRESSION
    page = render(
        "model_report.html",
        head=head(result, gallery),
        rows=_rows(result.metrics),
        fewest_rows=FEWEST_ROWS,
        parameters=result.parameters,
        chance=0.0 if config.label_type in (REGRESSION, MULTI_CLASS) else 0.5,
        targets=read_targets(report / "per_label.tsv", SOURCE) if is_regression else [],
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
    if config.label_type == REGRESSION:
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
