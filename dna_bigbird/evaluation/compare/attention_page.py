"""The page of `compare-attention`: its tables for readers."""

from collections.abc import Mapping, Sequence

from dna_bigbird.evaluation.compare.markdown import markdown_table

MEGABYTE = 1e6
WORD_BP = 6
TITLES = {
    "dna": "Hidden words of real DNA: bits per base (lower is better)",
    "partner": "Planted partner in DNA: accuracy by distance",
    "pretrained": "Planted partner, after pretraining on sequences of the task: accuracy by distance",
    "text": "Evidence in text: accuracy by distance",
}
BUDGETS = {
    "equal_steps": "equal steps",
    "equal_seconds": "equal processor time",
    "baseline": "baseline",
}
Rows = Sequence[Mapping]


def attention_page(tables: Mapping[str, Rows]) -> str:
    """Return the Markdown page of the tables that there are."""
    lines = ["# Long attention: a comparison", ""]
    if "cost" in tables:
        lines += ["## What a layer reads", "", *markdown_table(_reading(tables["cost"])), ""]
        lines += ["## What a layer costs", "", *markdown_table(_costs(tables["cost"])), ""]
        lines += [
            "Processor time: median [lowest, highest] of the rounds, in which the cores take turns. Memory: what the "
            "forward pass keeps for the backward pass, weights aside.",
            "",
        ]
    for part, title in TITLES.items():
        rows = [row for row in tables.get("learning", []) if row["part"] == part]
        if rows:
            lines += [f"## {title}", "", *markdown_table(learning_table(rows)), ""]
    if "learning" in tables:
        lines += [
            "Brackets: 95 % intervals over the questions (Wilson) or the sequences (normal) of one test set, for the "
            "mean of the seeds; they say nothing about other seeds. learning.tsv has the lowest and the highest seed.",
            "",
        ]
    return "\n".join([*lines, "![The comparison](comparison.png)", ""])


def learning_table(rows: Rows) -> list[dict]:
    """Return one row per core and budget with a column for each distance."""
    table: dict[tuple[str, str], dict] = {}
    for row in rows:
        first = {
            "core": row["core"],
            "budget": BUDGETS[row["budget"]],
            "seeds": row["seeds"] or None,
        }
        first["processor s"] = None if row["seconds"] is None else round(row["seconds"])
        line = table.setdefault((row["core"], row["budget"]), first)
        name = distance_title(row["part"], row["distance"])
        line |= {
            name: row["score"],
            f"{name}_low": row["score_low"],
            f"{name}_high": row["score_high"],
        }
    return list(table.values())


def distance_title(part: str, distance: int | None) -> str:
    """Return the heading of a distance in tokens.

    Example:
        >>> distance_title("partner", 85), distance_title("text", 256), distance_title("dna", None)
        ('0.51 kb', '256 tokens', 'bits per base')
    """
    if distance is None:
        return "bits per base"
    return f"{distance:,} tokens" if part == "text" else f"{distance * WORD_BP / 1000:.2g} kb"


def _reading(rows: Rows) -> list[dict]:
    return [
        {
            "tokens": row["tokens"],
            "core": row["core"],
            "keys per query": row["keys_per_query"],
            "share of pairs": f"{row['share_of_pairs']:.3f}",
            "mean distance": f"{row['mean_distance']:.2f}",
            "diameter": row["diameter"],
            "computes": row["class"],
            "error of its reference": f"{row['error_of_reference']:.1g}",
        }
        for row in rows
    ]


def _costs(rows: Rows) -> list[dict]:
    return [
        {
            "tokens": row["tokens"],
            "core": row["core"],
            "forward, ms": _milliseconds(row, "forward_s"),
            "forward and backward, ms": _milliseconds(row, "forward_backward_s"),
            "memory, MB": f"{row['saved_bytes'] / MEGABYTE:.1f}",
        }
        for row in rows
    ]


def _milliseconds(row: Mapping, name: str) -> str:
    median, low, high = (_short(1000 * row[f"{name}{end}"]) for end in ("", "_low", "_high"))
    return f"{median} [{low}, {high}]"


def _short(value: float) -> str:
    """Return a number with three digits, or all before the point.

    Example:
        >>> _short(4.925), _short(6289.7)
        ('4.92', '6,290')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
