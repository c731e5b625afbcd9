"""Tables 6 and 7 as a page, as Markdown and as one table for programs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from dna_bigbird.core.figures.style import DARK, GREY, KMER, MODEL, add_marks, new_figure, style
from dna_bigbird.core.tables import Table
from dna_bigbird.evaluation.compare.head_tables import Block, HeadComparison
from dna_bigbird.evaluation.model_results import CalibrationBin, ModelResult
from dna_bigbird.evaluation.rendering import Gallery, Picture, render, sentence
from dna_bigbird.metrics.scores import Score, is_number, score_text

CALIBRATION_LOOKS = {"raw": (KMER, "s", "--"), "calibrated": (MODEL, "o", "-")}
CALIBRATION_NAMES = {"raw": "uncorrected", "calibrated": "corrected on validation"}
CALIBRATION_MARKS = "mean probability {}, share of positives {}"


def calibration_figure(bins: Sequence[CalibrationBin], title: str, tag: str = "") -> Figure:
    """Draw the share of positives over the mean probability, up to the largest of them."""
    with style():
        fig = new_figure(4.6, 4.3, tag)
        ax = fig.add_subplot()
        values = [v for x in bins for v in (x.mean_probability, x.share_positive)]
        for probabilities, (colour, mark, line) in CALIBRATION_LOOKS.items():
            here = [x for x in bins if x.probabilities == probabilities]
            if here:
                predicted = [x.mean_probability for x in here]
                shares = [x.share_positive for x in here]
                name = CALIBRATION_NAMES[probabilities]
                ax.plot(
                    predicted, shares, color=colour, marker=mark, ls=line, ms=5, lw=1.6, label=name
                )
                add_marks(ax, predicted, shares, name, CALIBRATION_MARKS, predicted, shares)
        ends = (0.0, min(1.0, 1.1 * max(values, default=1.0)))
        ax.plot(ends, ends, color=GREY, ls=(0, (1, 1.5)), lw=1.2, label="what it should be")
        ax.set(xlabel="mean probability", ylabel="share of positives", title=title)
        ax.legend(loc="upper left")
    return fig


@dataclass(frozen=True)
class Calibration:
    """The picture, and the expected calibration error of the probabilities."""

    model: str
    picture: Picture
    ece: float | None
    raw_ece: float | None
    """Before the correction; None without one."""
    weights_positives: bool
    """Training counted positives more than negatives."""


def calibration(
    result: ModelResult, gallery: Gallery, title: str = "Calibration"
) -> Calibration | None:
    """Return the calibration of a model, None if its evaluation wrote none."""
    bins = [x for x in result.calibration if x.group == "all"]
    if not bins:
        return None
    weight = result.config.training.positive_weight
    figure = calibration_figure(bins, title, gallery.tag)
    return Calibration(
        result.name,
        gallery.add(f"{result.name.replace('/', '_')}_calibration", figure),
        result.metrics.number("ece"),
        result.metrics.number("ece_raw"),
        is_number(weight) and weight > 1,
    )


LOOKS = {
    "this run": {"color": MODEL, "marker": "o", "ms": 6},
    "baseline": {"color": KMER, "marker": "s", "ms": 5},
    "published": {"color": DARK, "marker": "D", "ms": 5.5, "mfc": "white"},
}


def block_figure(block: Block, names: Sequence[str], tag: str = "") -> Figure:
    """Draw the scores of a block: one row per predictor, a panel per score, a line between sets."""
    names = [name for name in names if any(row[name] is not None for row in block.rows)]
    windows = len({row["window_bp"] for row in block.rows if row["source"] == "this run"}) > 1
    with style():
        height = 1.1 + 0.3 * len(block.rows) + 0.25 * len(block.groups)
        fig = new_figure(2.6 + 2.5 * len(names), height, tag)
        panels = fig.subplots(1, max(1, len(names)), sharey=True, squeeze=False)[0]
        heights, labels, borders, top = [], [], [], 0.0
        for _, rows in block.groups:
            heights += [top + i for i in range(len(rows))]
            labels += [_name(row, windows) for row in rows]
            top += len(rows) + 0.6
            borders.append(top - 0.8)
        for ax, name in zip(panels, names, strict=False):
            for y, row in zip(heights, block.rows, strict=True):
                _point(ax, y, row, name)
            for border in borders[:-1]:
                ax.axhline(border, color=DARK, lw=0.7)
            ax.set(xlabel=_title(name))
            ax.grid(axis="y", visible=False)
            ax.locator_params(axis="x", nbins=4)
        panels[0].set_yticks(heights, labels)
        panels[0].set_ylim(max(heights, default=0) + 0.6, -0.6)
        _legend(fig, panels[0], block)
    return fig


def _name(row: dict, windows: bool) -> str:
    if windows or row["source"] == "published":
        return f"{row['predictor']}, {row['window_bp']:,} bp"
    return row["predictor"]


def _point(ax, y: float, row: dict, name: str) -> None:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    look = LOOKS[row["source"]]
    if low is not None and high is not None and np.isfinite([low, high]).all():
        ax.plot([low, high], [y, y], color=look["color"], lw=1.6)
    if value is not None:
        ax.plot(value, y, ls="", **look)
        texts = [_title(name)], [score_text(value, low, high)]
        add_marks(ax, [value], [y], row["predictor"], "{} {}", *texts)


def _legend(fig: Figure, ax, block: Block) -> None:
    present = {row["source"] for row in block.rows}
    for source, look in LOOKS.items():
        if source in present:
            name = "published, on other data" if source == "published" else source
            ax.plot([], [], ls="", label=name, **look)
    fig.legend(loc="outside lower center", ncols=3)


def _title(name: str) -> str:
    """Write the key of a score as an axis has it.

    Example:
        >>> _title("median_auroc_TF"), _title("mcc"), _title("gain_chosen")
        ('AUROC, median of TF', 'MCC', 'gain in AUROC, chosen labels')
    """
    for start, text in (("auroc_", "AUROC"), ("gain_", "gain in AUROC")):
        if name.startswith(start):
            return f"{text}, {name.removeprefix(start)} labels"
    if name.startswith("median_auroc_"):
        return f"AUROC, median of {name.removeprefix('median_auroc_')}"
    return name.upper()


HEADERS = {
    "predictor": "model",
    "f1_at_half": "f1 at 0.5",
    "window_bp": "window bp",
    "kmer_there": "k-mer there",
    "n_positive": "positive",
    "labels_undefined": "AUROC undefined",
}


@dataclass(frozen=True)
class BlockTable:
    """A block as a template shows it."""

    title: str
    text: str
    headers: Sequence[str]
    numeric: Sequence[int]
    """Columns that are set flush right."""
    groups: Sequence[tuple[str, Sequence[Sequence[object]]]]
    """Heading and rows; a cell is a Score, a number, a text or None."""
    picture: Picture | None
    notes: dict[str, list[str]]


def comparison_page(
    comparison: HeadComparison, gallery: Gallery, calibrated: Sequence[ModelResult] = ()
) -> str:
    """Return the page; the pictures are added to the gallery."""
    calibrations = [
        calibration(model, gallery, model.name.removeprefix("heads/")) for model in calibrated
    ]
    return render(
        "comparison.html",
        title=comparison.title,
        is_semi_synthetic=bool(gallery.tag),
        has_published=comparison.has_published,
        blocks=[
            _table(comparison, block, number, gallery)
            for number, block in enumerate(comparison.blocks)
        ],
        calibrations=[x for x in calibrations if x is not None],
    )


def _table(comparison: HeadComparison, block: Block, number: int, gallery: Gallery) -> BlockTable:
    columns = _columns(block)
    right = (*comparison.scores, "n", "seed", "seeds")
    drawn = [name for name in comparison.shown if name in columns]
    picture = None
    if drawn:
        figure = block_figure(block, drawn, gallery.tag)
        picture = gallery.add(f"scores_{number}", figure, is_wide=True)
    return BlockTable(
        block.title,
        block.text,
        [HEADERS.get(name, name.replace("_", " ")) for name in columns],
        [index for index, name in enumerate(columns) if name in right],
        [
            (heading, [[_cell(row, name) for name in columns] for row in rows])
            for heading, rows in block.groups
        ],
        picture,
        block.notes,
    )


def _columns(block: Block) -> list[str]:
    """Return the columns that have a value in some row."""
    rows = [row for _, group in block.groups for row in group]
    names = [name for name in rows[0] if not name.endswith(("_low", "_high"))]
    return [name for name in names if any(row[name] not in (None, "") for row in rows)]


def _cell(row: dict, name: str) -> object:
    if f"{name}_low" in row:
        return Score(*(row[f"{name}{end}"] for end in ("", "_low", "_high")))
    return None if row[name] == "" else row[name]


def comparison_markdown(comparison: HeadComparison) -> str:
    """Write a comparison as Markdown."""
    lines = [f"# {comparison.title}", "", sentence("notes.opening", comparison.has_published), ""]
    for block in comparison.blocks:
        lines += [f"## {block.title}", ""] + ([block.text, ""] if block.text else [])
        columns = _columns(block)
        for heading, group in block.groups:
            lines += [f"**{heading}**", "", *Table(group, columns).to_markdown(), ""]
            notes = block.notes.get(heading, [])
            lines += [*(f"- {note}" for note in notes), ""] if notes else []
    return "\n".join(lines)


def comparison_tsv(comparison: HeadComparison) -> str:
    """Write all rows of all blocks as one table."""
    return Table([row for block in comparison.blocks for row in block.rows]).to_tsv()
