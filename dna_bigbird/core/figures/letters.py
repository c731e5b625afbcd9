"""Bases as letters of any height, for sequence logos and tracks."""

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from dna_bigbird.core.figures.style import GREEN, GREY, KMER, MODEL

COLOURS = {"A": GREEN, "C": MODEL, "G": "#E69F00", "T": KMER, "N": GREY}
WIDTH = 0.92
"""Of a letter, as a share of its column."""

Letter = tuple[str, float, float, float]
"""Base, middle of its column, lower end and height; of negative height the letter is upside down."""


def draw_letters(ax: Axes, letters: Iterable[Letter]) -> None:
    """Draw every letter as a shape that fills its column up to its height."""
    listed = list(letters)
    paths = [
        Affine2D()
        .scale(WIDTH, height)
        .translate(middle - WIDTH / 2, bottom)
        .transform_path(_glyph(base))
        for base, middle, bottom, height in listed
    ]
    colours = [COLOURS[base] for base, *_ in listed]
    ax.add_collection(PathCollection(paths, facecolors=colours, linewidths=0))


def _glyph(base: str) -> Path:
    """Return the outline of a letter, one wide and one high, its left lower corner at 0, 0."""
    path = TextPath((0, 0), base, size=1, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    box = path.get_extents()
    return (
        Affine2D()
        .translate(-box.x0, -box.y0)
        .scale(1 / box.width, 1 / box.height)
        .transform_path(path)
    )
