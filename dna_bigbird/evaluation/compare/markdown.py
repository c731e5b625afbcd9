"""A comparison of pretrained models as files: tab-separated for programs, Markdown for readers."""

from collections.abc import Sequence

from dna_bigbird.evaluation.compare.lm_runs import cells
from dna_bigbird.evaluation.compare.lm_tables import Comparison
from dna_bigbird.evaluation.rendering import sentence
from dna_bigbird.metrics.names import ngram_title
from dna_bigbird.metrics.scores import PredictorScores


def to_markdown(comparison: Comparison) -> str:
    """Write a comparison for readers: scores with their intervals, then the notes."""
    lines = [f"# {comparison.title}", "", *markdown_table(comparison.rows), ""]
    if comparison.parts:
        lines += ["By chromosome and repeat class:", ""]
        lines += [*markdown_table(_side_by_side(comparison.parts, comparison.parts_shown)), ""]
    if comparison.pairs:
        lines += ["Differences between models:", "", *markdown_table(comparison.pairs), ""]
    lines += [f"- {note}" for note in comparison.notes]
    return "\n".join([*lines, "", sentence("notes.brackets", "seeds" in comparison.rows[0])]) + "\n"


def _side_by_side(parts: Sequence[dict], shown: Sequence[tuple[str, str]]) -> list[dict]:
    """Return one row per part, with a column for each predictor."""
    rows: dict[tuple[str, str], dict] = {}
    for part in parts:
        key = part["positions_of"], part["predictor"]
        if key in shown:
            run, predictor = key
            name = run if predictor == "model" else f"{ngram_title(predictor)}, {run}"
            row = rows.setdefault((part["way"], part["part"]), {"part": part["part"]})
            row |= cells(name, PredictorScores(part).bits_per_base) | {
                f"masked bp of {run}": part["n_bp"]
            }
    columns = dict.fromkeys(name for row in rows.values() for name in row)
    return [dict.fromkeys(columns) | row for row in rows.values()]


def markdown_table(rows: Sequence[dict]) -> list[str]:
    """Write rows as a table, an interval after its score."""
    columns = [name for name in rows[0] if not name.endswith(("_low", "_high"))]
    lines = ["| " + " | ".join(name.replace("_", " ") for name in columns) + " |"]
    lines.append("|---" * len(columns) + "|")
    for row in rows:
        lines.append("| " + " | ".join(_cell(row, name) for name in columns) + " |")
    return lines


def _cell(row: dict, name: str) -> str:
    value = row[name]
    if value is None:
        return "–"
    if isinstance(value, float) and f"{name}_low" in row:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        return f"{value:.3f}" + (f" [{low:.3f}, {high:.3f}]" if low is not None else "")
    return f"{value:,}" if isinstance(value, int) else str(value)
