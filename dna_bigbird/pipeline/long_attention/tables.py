"""Table, page and picture over the results that are complete."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dna_bigbird.evaluation.tables import to_tsv
from dna_bigbird.figures.style import save
from dna_bigbird.pipeline.long_attention.names import COST
from dna_bigbird.report.compare.attention_page import attention_page
from dna_bigbird.report.figures.attention_comparison import comparison_figure
from dna_bigbird.writing import atomic_path, json_text

FILES = ("results.json", "page.md", "comparison.png")


def write_tables(folder: Path, results: Mapping[str, dict]) -> None:
    """Write results.json, one TSV per part, page.md and comparison.png.

    Args:
        results: Of each job by name, in the order in which they are shown.
    """
    files: dict[str, bytes] = {"results.json": json_text(results).encode()}
    tables = tables_of(results)
    for name, rows in tables.items():
        files[f"{name}.tsv"] = to_tsv(rows).encode()
    files["page.md"] = attention_page(tables).encode()
    files["comparison.png"] = save(comparison_figure(tables), "png")
    for name, content in files.items():
        with atomic_path(folder / name) as out:
            out.write_bytes(content)


def tables_of(results: Mapping[str, dict]) -> dict[str, Sequence[dict]]:
    """Return the rows of each table by its name."""
    return {"cost": results[COST]["rows"]} if COST in results else {}
