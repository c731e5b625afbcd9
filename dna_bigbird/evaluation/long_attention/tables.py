"""Table, page and picture over the results of all jobs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from dna_bigbird.core.figures.style import (
    DARK,
    GREEN,
    GREY,
    KMER,
    MODEL,
    PURPLE,
    SKY,
    new_figure,
    save,
    style,
)
from dna_bigbird.core.tables import Table
from dna_bigbird.core.writing import atomic_path, json_text
from dna_bigbird.evaluation.long_attention.baselines import Z, wilson
from dna_bigbird.evaluation.long_attention.names import BASELINES, COST, IDENTITY

MEGABYTE = 1e6
WORD_BP = 6
TITLES = {
    "dna": "Hidden words of real DNA: bits per base (lower is better)",
    "partner": "Planted partner in DNA: accuracy by distance",
    "pretrained": "Planted partner, after pretraining on sequences of the task: accuracy by distance",
    "text": "Evidence in text: accuracy by distance",
}
BUDGET_NAMES = {
    "equal_steps": "equal steps",
    "equal_seconds": "equal processor time",
    "baseline": "baseline",
}
Rows = Sequence[Mapping]


def attention_page(tables: Mapping[str, Rows]) -> str:
    """Return the Markdown page of the tables that there are."""
    lines = ["# Long attention: a comparison", ""]
    if "cost" in tables:
        lines += ["## What a layer reads", "", *Table(_reading(tables["cost"])).to_markdown(), ""]
        lines += ["## What a layer costs", "", *Table(_costs(tables["cost"])).to_markdown(), ""]
        lines += [
            "Processor time: median [lowest, highest] of the rounds, in which the cores take turns. Memory: what the "
            "forward pass keeps for the backward pass, weights aside.",
            "",
        ]
    for part, title in TITLES.items():
        rows = [row for row in tables.get("learning", []) if row["part"] == part]
        if rows:
            lines += [f"## {title}", "", *Table(learning_table(rows)).to_markdown(), ""]
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
        first = {"core": row["core"], "budget": BUDGET_NAMES[row["budget"]]}
        first["seeds"] = row["seeds"] or None
        first["processor s"] = None if row["seconds"] is None else round(row["seconds"])
        line = table.setdefault((row["core"], row["budget"]), first)
        name = distance_title(row["part"], row["distance"])
        line |= {f"{name}{end}": row[f"score{end}"] for end in ("", "_low", "_high")}
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
        if row["core"] != IDENTITY
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


LOOKS = {
    "full": (GREY, "-", "o"),
    "bigbird": (MODEL, "-", "s"),
    "etc": (SKY, (0, (5, 1)), "D"),
    "longformer": (GREEN, "-.", "^"),
    "performer": (KMER, "--", "v"),
    IDENTITY: (DARK, ":", "x"),
}
"""Colour, dashes and marker of each core."""
OTHER = (PURPLE, ":", "x")
COLUMNS = 3
WORD_KB = 0.006
PLANTED = {
    "partner": ("planted partner in DNA", "distance, kb", WORD_KB),
    "pretrained": ("the same, pretrained", "distance, kb", WORD_KB),
    "text": ("evidence in text", "distance, tokens", 1.0),
}
"""Title, axis and unit of each planted task."""
Tables = Mapping[str, Rows]
Panel = Callable[[Axes], None]


def comparison_figure(tables: Tables) -> Figure:
    """Draw a panel for each result that there is; without any, a title that says so."""
    panels = panels_of(tables) or [lambda ax: ax.set(title="no result yet")]
    rows = -(-len(panels) // COLUMNS)
    with style():
        fig = new_figure(3.5 * min(COLUMNS, len(panels)), 3.1 * rows)
        axes = fig.subplots(rows, min(COLUMNS, len(panels)), squeeze=False).ravel()
        for ax, draw in zip(axes, panels, strict=False):
            draw(ax)
        for ax in axes[len(panels) :]:
            ax.set_axis_off()
        drawn = {line.get_label(): line for ax in fig.axes for line in ax.get_lines()}
        lines = {name: line for name, line in drawn.items() if name in LOOKS}
        fig.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=len(LOOKS))
    return fig


def panels_of(tables: Tables) -> list[Panel]:
    """Return a function that draws each panel."""
    panels: list[Panel] = []
    if "cost" in tables:
        draw = partial(_cost, rows=tables["cost"])
        panels.append(partial(draw, column="forward_backward_s", title="time", unit=("ms", 1e3)))
        panels.append(partial(draw, column="saved_bytes", title="memory", unit=("MB", 1e-6)))
    learning = tables.get("learning", [])
    for part in PLANTED:
        rows = [row for row in learning if row["part"] == part and row["budget"] == "equal_steps"]
        if rows:
            panels.append(partial(_planted, rows=rows, part=part))
    bits = [row for row in learning if row["part"] == "dna" and row["budget"] != "equal_seconds"]
    if bits:
        panels.append(partial(_bits, rows=bits))
    return panels


def _cost(
    ax: Axes, *, rows: Sequence[Mapping], column: str, title: str, unit: tuple[str, float]
) -> None:
    name, scale = unit
    for core in dict.fromkeys(row["core"] for row in rows):
        points = sorted((row["tokens"], scale * row[column]) for row in rows if row["core"] == core)
        _line(ax, core, points)
    lengths = sorted({row["tokens"] for row in rows})
    ax.set(xscale="log", yscale="log", xlabel="tokens", ylabel=name, title=f"{title} of a layer")
    _log_ticks(ax, lengths, [f"{length:,}" for length in lengths])
    ax.yaxis.set_major_formatter("{x:,g}")  # not the default, as for minor ticks
    ax.yaxis.set_minor_formatter(NullFormatter())


def _planted(ax: Axes, *, rows: Sequence[Mapping], part: str) -> None:
    title, axis, unit = PLANTED[part]
    for core in dict.fromkeys(row["core"] for row in rows):
        of_core = sorted((row for row in rows if row["core"] == core), key=lambda x: x["distance"])
        x = [row["distance"] * unit for row in of_core]
        _line(ax, core, [(at, row["score"]) for at, row in zip(x, of_core, strict=True)])
        low, high = ([row[f"score_{end}"] for row in of_core] for end in ("low", "high"))
        ax.fill_between(x, low, high, color=LOOKS.get(core, OTHER)[0], alpha=0.12, lw=0)
    ax.axhline(0.5, color=DARK, lw=0.8, ls=":")
    distances = sorted({row["distance"] * unit for row in rows})
    ax.set(xscale="log", ylim=(0.35, 1.02), xlabel=axis, ylabel="accuracy", title=title)
    _log_ticks(ax, distances, [f"{x:,.0f}" if x >= 1 else f"{x:.2g}" for x in distances])


def _log_ticks(ax: Axes, values: Sequence[float], labels: Sequence[str]) -> None:
    ax.set_xticks(values, labels)
    ax.tick_params(axis="x", which="minor", bottom=False)
    # The default writes markup, which the style does not read.
    ax.xaxis.set_minor_formatter(NullFormatter())


def _bits(ax: Axes, *, rows: Sequence[Mapping]) -> None:
    for y, row in enumerate(rows):
        colour, _, marker = LOOKS.get(row["core"], OTHER)
        ax.plot(row["score"], y, marker, color=colour, ms=5)
        ax.plot([row["score_low"], row["score_high"]], [y, y], color=colour, lw=1.6)
    ax.set_yticks(range(len(rows)), [row["core"] for row in rows])
    ax.invert_yaxis()
    ax.set(xlabel="bits per base", title="hidden words of real DNA")


def _line(ax: Axes, core: str, points: Sequence[tuple[float, float]]) -> None:
    colour, dashes, marker = LOOKS.get(core, OTHER)
    ax.plot(*zip(*points, strict=True), color=colour, ls=dashes, marker=marker, ms=4, label=core)


BUDGETS = ("equal_steps", "equal_seconds")
BASELINE = "baseline"
Results = Mapping[str, Mapping]


def write_tables(folder: Path, results: Results) -> dict[str, list[dict]]:
    """Write the tables, results.json, page.md and comparison.png; return the tables."""
    tables = tables_of(results)
    files: dict[str, bytes] = {"results.json": json_text(results).encode()}
    files |= {f"{name}.tsv": Table(rows).to_tsv().encode() for name, rows in tables.items()}
    files["page.md"] = attention_page(tables).encode()
    files["comparison.png"] = save(comparison_figure(tables), "png")
    for name, content in files.items():
        with atomic_path(folder / name) as out:
            out.write_bytes(content)
    return tables


def tables_of(results: Results) -> dict[str, list[dict]]:
    """Return the rows of each table by its name; a table without rows is left out."""
    trainings: dict[tuple[str, str], list[Mapping]] = {}
    for result in results.values():
        settings = result["settings"]
        if "core" in settings:
            trainings.setdefault((settings["part"], settings["core"]), []).append(result)
    learning = [row for key, group in trainings.items() for row in _learned(*key, group)]
    if BASELINES in results:
        learning += [row for x in results[BASELINES]["rows"] for row in _baseline(x)]
    curves = [row for group in trainings.values() for result in group for row in _curve(result)]
    cost = results[COST]["rows"] if COST in results else []
    tables = {"cost": cost, "learning": learning, "curves": curves}
    return {name: list(rows) for name, rows in tables.items() if rows}


def _learned(part: str, core: str, group: Sequence[Mapping]) -> list[dict]:
    rows = []
    for budget in BUDGETS:
        reached = [result[budget] for result in group]
        shared = {
            "part": part, "core": core, "budget": budget, "seeds": len(group),
            "steps": float(np.mean([x["step"] for x in reached])),
            "seconds": float(np.mean([x["seconds"] for x in reached])),
        }  # fmt: skip
        if part == "dna":
            rows.append(shared | _of_bits([x["bits_per_base"] for x in reached]))
        else:
            rows += [shared | row for row in _of_distances([x["by_distance"] for x in reached])]
    return rows


def _baseline(row: Mapping) -> list[dict]:
    shared = {
        "part": row["part"], "core": row["predictor"], "budget": BASELINE, "seeds": 0,
        "steps": None, "seconds": None,
    }  # fmt: skip
    if "bits_per_base" in row:
        return [shared | _of_bits([row["bits_per_base"]])]
    return [shared | x for x in _of_distances([row["by_distance"]])]


def _of_bits(bits: Sequence[Sequence[float]]) -> dict:
    """Return mean bits per base; the interval is of the mean over sequences (normal), for the mean of the seeds."""
    per_sequence = np.mean(bits, axis=0)
    n = len(per_sequence)
    half = Z * float(per_sequence.std(ddof=1)) / n**0.5 if n > 1 else float("nan")
    seeds = np.mean(bits, axis=1)
    mean = float(per_sequence.mean())
    return _score(None, "bits_per_base", (mean, mean - half, mean + half), seeds, n)


def _of_distances(groups: Sequence[Sequence[Mapping]]) -> list[dict]:
    """Return accuracy by distance; the interval is Wilson's, of the mean of the seeds on one test set."""
    rows = []
    for of_seeds in zip(*groups, strict=True):
        n = of_seeds[0]["n"]
        right = float(np.mean([x["right"] for x in of_seeds]))
        seeds = np.array([x["right"] / n for x in of_seeds])
        score = (right / n, *wilson(right, n))
        rows.append(_score(of_seeds[0]["distance"], "accuracy", score, seeds, n))
    return rows


def _score(
    distance: int | None, metric: str, score: tuple[float, float, float], seeds: np.ndarray, n: int
) -> dict:
    return {
        "distance": distance, "metric": metric, "score": score[0], "score_low": score[1],
        "score_high": score[2], "lowest_seed": float(seeds.min()), "highest_seed": float(seeds.max()),
        "n": n,
    }  # fmt: skip


def _curve(result: Mapping) -> list[dict]:
    settings = result["settings"]
    names = {name: settings[name] for name in ("part", "core", "seed")}
    return [names | dict(point) for point in result["curve"]]
