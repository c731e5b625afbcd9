"""`dna-bigbird compare-lm`."""

from typing import Annotated, Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath, OutputPath
from dna_bigbird.core.result_folders import COMPARISON, atomic_directory
from dna_bigbird.core.results import Comparison


@checked()
def compare_lm(
    runs: list[InputPath],
    table: Literal["table5", "figure8", "table1"],
    output: Annotated[OutputPath, COMPARISON],
) -> Comparison:
    """Compare pretrained models, in the form of a table or figure of the paper.

    It reads result files only. Folders seed0, seed1, ... of one folder are trainings of one variant,
    which has one row, with their mean. If all runs have examples.tsv (`dna-bigbird evaluate-lm
    --example_scores`), every pair of models has a difference with its interval; else no model is called
    better where 95 % intervals overlap.

    Examples:
        dna-bigbird compare-lm --runs results/experiments/runs/bigbird results/experiments/runs/full \\
            --table table5 --output results/table5

    Args:
        runs: Models to compare, in the order of the rows: folders, each with model/ (a bundle of
            `dna-bigbird evaluate-lm`) and trained/ (one of `dna-bigbird pretrain`), and examples.tsv
            if there are several seeds.
        table: Comparison to write: bits per base next to n-grams (table5), scores over steps by
            length (figure8), or by building block of the pattern (table1).
        output: Result to write: a folder with table.tsv, table.md, table.json, figure.png,
            parts.tsv if scores by chromosome or repeat class are shown, and pairs.tsv if there are
            differences between models.
    """
    from dna_bigbird.core.figures.style import save
    from dna_bigbird.core.tables import Table
    from dna_bigbird.core.writing import json_text
    from dna_bigbird.evaluation.compare.lm_runs import join_seeds, read_run
    from dna_bigbird.evaluation.compare.lm_tables import (
        TABLES,
        scores_figure,
        steps_figure,
        to_markdown,
    )

    if not runs:
        raise InputError("--runs []: expected the folder of at least one variant")
    read = join_seeds([read_run(folder) for folder in runs])
    comparison = TABLES[table](read)
    tag = "semi-synthetic" if any(run.config.semi_synthetic for run in read) else ""
    if table == "figure8":
        figure = steps_figure(read, tag)
    else:
        names = {"table5": ["bits_per_base"], "table1": ["mlm_accuracy", "bits_per_base"]}
        figure = scores_figure(comparison.rows, names[table], tag)
    facts = {
        name: getattr(comparison, name) for name in ("title", "rows", "notes", "parts", "pairs")
    }
    with atomic_directory(output, COMPARISON) as folder:
        (folder / "table.tsv").write_text(Table(comparison.rows).to_tsv())
        (folder / "table.md").write_text(to_markdown(comparison))
        (folder / "table.json").write_text(json_text(facts))
        for name in ("parts", "pairs"):
            if facts[name]:
                (folder / f"{name}.tsv").write_text(Table(facts[name]).to_tsv())
        (folder / "figure.png").write_bytes(save(figure, "png"))
    return Comparison(output, comparison.rows, comparison.notes)
