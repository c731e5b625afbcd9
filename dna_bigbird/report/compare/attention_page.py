"""The page of `compare-attention`: its tables for readers."""

from collections.abc import Mapping, Sequence

from dna_bigbird.report.compare.markdown import markdown_table

MEGABYTE = 1e6


def attention_page(tables: Mapping[str, Sequence[Mapping]]) -> str:
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
    return "\n".join([*lines, "![The comparison](comparison.png)", ""])


def _reading(rows: Sequence[Mapping]) -> list[dict]:
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


def _costs(rows: Sequence[Mapping]) -> list[dict]:
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
    median, low, high = (1000 * row[f"{name}{end}"] for end in ("", "_low", "_high"))
    return f"{median:.3g} [{low:.3g}, {high:.3g}]"
