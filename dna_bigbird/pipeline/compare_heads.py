"""`dna-bigbird compare-heads`."""

from pathlib import Path
from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError
from dna_bigbird.paths import InputPath, OutputPath, ResultsPath


@checked()
def compare_heads(
    results: ResultsPath,
    runs: list[str],
    data: list[InputPath],
    table: Literal["table6", "table7", "context"],
    output: OutputPath,
    labels: list[str] = [],  # noqa: B006 - jsonargparse shows the default
    seed: int = 0,
    replicates: int = 1000,
) -> None:
    """Set promoter or chromatin models beside each other and beside published ones.

    It reads result files only. Who is ahead is computed, and only among rows that were scored on the
    same test rows; published scores are shown with their protocol and never ranked.

    Args:
        results: Results folder of a workflow run.
        runs: Models in it: `promoter`, `chromatin` or `heads/VARIANT`, in the order of the rows.
        data: The labelled set of each.
        table: Promoters by their negatives (table6), medians of the AUROC by group of labels (table7),
            or one set of bins seen through windows of several lengths (context).
        output: Folder to write: index.html, table.md, table.tsv, and the pictures as PNG.
        labels: Labels that `context` is about; the others stand beside them.
        seed: Seed of the bootstrap of `context`.
        replicates: Bootstrap draws of `context`.
    """
    from dna_bigbird.pipeline.same_bins import areas_on_same_bins
    from dna_bigbird.report.calibration import calibration_section
    from dna_bigbird.report.compare.context_table import context_table
    from dna_bigbird.report.compare.head_pages import (
        comparison_markdown,
        comparison_page,
        comparison_tsv,
    )
    from dna_bigbird.report.compare.head_tables import TABLES
    from dna_bigbird.report.gallery import Gallery
    from dna_bigbird.report.page import TAG
    from dna_bigbird.writing import atomic_directory, refuse_other_folder

    if not runs or len(runs) != len(data):
        raise InputError(
            f"--runs names {len(runs)} models and --data {len(data)} sets: expected one set a model"
        )
    read = [read_head_run(results, name, path) for name, path in zip(runs, data, strict=True)]
    expected = "promoter" if table == "table6" else "chromatin"
    for run in read:
        if run.facts.task != expected:
            raise InputError(
                f"--runs {run.name}: a {run.facts.task} model; {table} is of {expected} models"
            )
    semi_synthetic = any(run.result.config.get("semi_synthetic") for run in read)
    gallery = Gallery(TAG if semi_synthetic else "")
    if table == "context":
        scores = [results / "evaluation" / name / "scores.h5" for name in runs]
        areas, names = areas_on_same_bins(data, scores, seed=seed, replicates=replicates)
        comparison = context_table(read, areas, label_sets(names, labels))
    else:
        comparison = TABLES[table](read)
    calibration = calibration_section([run.result for run in read], gallery)
    page = comparison_page(comparison, gallery, [calibration])
    refuse_other_folder(output, ("table.tsv", "table.md"), "comparison")
    with atomic_directory(output) as folder:
        (folder / "index.html").write_text(page, encoding="utf-8")
        (folder / "table.md").write_text(comparison_markdown(comparison), encoding="utf-8")
        (folder / "table.tsv").write_text(comparison_tsv(comparison), encoding="utf-8")
        gallery.save_all(folder)
    for block in comparison.blocks:
        for notes in block.notes.values():
            print("\n".join(notes))


def label_sets(names: list[str], chosen: list[str]) -> dict[str, list[int]]:
    """Return the columns of the chosen labels and of the others; of all if none is chosen.

    Raises:
        InputError: If a chosen label is not there.
    """
    missing = [name for name in chosen if name not in names]
    if missing:
        raise InputError(f"--labels: no label {missing[0]!r}; there are {', '.join(names[:20])}")
    if not chosen:
        return {"all": list(range(len(names)))}
    return {
        "chosen": [i for i, name in enumerate(names) if name in chosen],
        "others": [i for i, name in enumerate(names) if name not in chosen],
    }


def read_head_run(results: Path, name: str, data: Path):
    """Read one model's results and what its labelled set says of itself."""
    from dna_bigbird.datasets.labelled import LabelledSet
    from dna_bigbird.files import sha256_of
    from dna_bigbird.report.compare.head_runs import HeadRun, SetFacts
    from dna_bigbird.report.model_results import count_leaks, read_model

    labelled = LabelledSet(data)
    facts = SetFacts(
        sha256=sha256_of(data),
        task=labelled.task,
        negatives=labelled.negatives,
        window_bp=labelled.window_bp,
        command=labelled.command,
        rows={split: len(labelled.rows(split)) for split in ("train", "validation", "test")},
        leaks=count_leaks(data.with_name("leakage.tsv")),
    )
    return HeadRun(read_model(results, name), facts)
