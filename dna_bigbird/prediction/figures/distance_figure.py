"""The picture of `marginalise`: what inserted motifs change, by the distance between them."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dna_bigbird.core.figures.style import GREY, KMER, MODEL, SKY, new_figure, style

LOOKS = {"both": (MODEL, "o-"), "second": (KMER, "s--"), "interaction": (SKY, "^:")}
MOST_LABELS = 8


def distance_figure(rows: Sequence[Mapping[str, object]]) -> Figure:
    """Draw a panel per label: mean changes of the log odds with intervals; a line for the motif alone.

    Args:
        rows: Of the table; of more than MOST_LABELS labels only the first.
    """
    labels = list(dict.fromkeys(str(row["label"]) for row in rows))[:MOST_LABELS]
    with style():
        fig = new_figure(5.2, 0.4 + 2.4 * len(labels))
        panels = fig.subplots(len(labels), 1, sharex=True, squeeze=False)[:, 0]
        for ax, label in zip(panels, labels, strict=True):
            own = [row for row in rows if row["label"] == label]
            alone = next(float(str(row["change"])) for row in own if row["inserted"] == "motif")
            ax.axhline(0, color=GREY, lw=0.6)
            ax.axhline(alone, color=GREY, lw=1, ls="--", label="motif")
            for inserted, (colour, line) in LOOKS.items():
                for side, name in ((1, inserted), (-1, "_")):
                    _curve(
                        ax, [x for x in own if x["inserted"] == inserted], side, colour, line, name
                    )
            ax.set_title(label)
            ax.set_ylabel("change of log odds")
        panels[-1].set_xlabel("bases between the motifs (negative: second on the left)")
        handles, names = panels[0].get_legend_handles_labels()
        fig.legend(handles, names, loc="outside upper center", ncols=len(names))
    return fig


def _curve(
    ax: Axes,
    rows: Sequence[Mapping[str, object]],
    side: int,
    colour: str,
    line: str,
    name: str,
) -> None:
    """Draw one line with its intervals: of the distances from 0 on (side 1), or of the negative ones (-1)."""
    points = sorted(
        tuple(float(str(row[x])) for x in ("distance", "change", "low", "high")) for row in rows
    )
    points = [x for x in points if (x[0] >= 0) == (side > 0)]
    if points:
        distances, means, lows, highs = zip(*points, strict=True)
        ax.plot(distances, means, line, color=colour, ms=4, label=name)
        ax.fill_between(distances, lows, highs, color=colour, alpha=0.2, lw=0)
