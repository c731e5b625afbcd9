"""`dna-bigbird compare-heads`."""

from typing import Annotated, Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath, OutputPath, ResultsPath
from dna_bigbird.core.result_folders import COMPARISON, atomic_directory
from dna_bigbird.core.results import Comparison


@checked()
def compare_heads(
    results: ResultsPath,
    runs: list[str],
    data: list[InputPath],
    table: Literal["table6", "table7", "context"],
    output: Annotated[OutputPath, COMPARISON],
    labels: list[str] = [],  # noqa: B006 - --help shows the default
    seed: int = 0,
    replicates: int = 1000,
) -> Comparison:
    """Compare promoter or chromatin models with each other and with published ones.

    It reads result files only. Models are ranked only if they were scored on the same test rows; published scores are shown with their protocol and never ranked.

    Examples:
        dna-bigbird compare-heads --results results --runs promoter heads/genomic \\
            --data results/promoter/set.h5 results/heads/genomic/set.h5 --table table6 --output results/table6

    Args:
        results: Results folder: of a workflow run.
        runs: Models to compare, in the order of the rows: `promoter`, `chromatin` or
            `heads/VARIANT`; a variant with evaluation/heads/VARIANT/seeds.json (`compare-seeds`) is the
            mean of models/heads/VARIANT/seed0, seed1, ...
        data: Labelled set: one for each model, in their order.
        table: Comparison to write: promoters by their negatives (table6), medians of the AUROC by
            group of labels (table7), or one set of bins seen through windows of several lengths
            (context).
        output: Result to write: a folder with index.html, table.md, table.tsv, and the pictures as
            PNG.
        labels: Labels by name or shell pattern: those that `context` is about; the others are shown
            next to them.
        seed: Seed of the random numbers: of the bootstrap of `context`.
        replicates: Bootstrap draws: of `context`.
    """
    from dna_bigbird.evaluation import compare_heads_run as steps
    from dna_bigbird.evaluation.compare import head_pages
    from dna_bigbird.evaluation.compare.head_tables import TABLES
    from dna_bigbird.evaluation.rendering import SEMI_SYNTHETIC_TAG, Gallery

    if not runs or len(runs) != len(data):
        raise InputError(
            f"--runs names {len(runs)} models and --data {len(data)} sets: expected one set per model"
        )
    models = steps.read_runs(results, runs, data, table)
    if table == "context":
        areas, names = steps.areas_of(results, runs, data, seed=seed, replicates=replicates)
        comparison = steps.context_table(models, areas, steps.label_sets(names, labels))
    else:
        comparison = TABLES[table](models)
    semi_synthetic = any(run.result.config.semi_synthetic for run in models)
    gallery = Gallery(SEMI_SYNTHETIC_TAG if semi_synthetic else "")
    texts = {
        "index.html": head_pages.comparison_page(
            comparison, gallery, [run.result for run in models]
        ),
        "table.md": head_pages.comparison_markdown(comparison),
        "table.tsv": head_pages.comparison_tsv(comparison),
    }
    with atomic_directory(output, COMPARISON) as folder:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        gallery.save_all(folder)
    rows = [row for block in comparison.blocks for row in block.rows]
    findings = [
        line for block in comparison.blocks for lines in block.notes.values() for line in lines
    ]
    return Comparison(output, rows, findings)
