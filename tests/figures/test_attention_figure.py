"""The picture of a pattern as matplotlib sees it."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from dna_bigbird.report.plot_attention_figure import COLOURS, NOTHING, attention_figure
from dna_bigbird.report.plot_attention_options import Panel

NAMES = {1: "global", 2: "window", 3: "random", 4: "counted more than once"}


def drawn(figure):
    """The panels in use: title, and the colour of every square."""
    panels = [ax for ax in figure.axes if ax.axison]
    return [(ax.get_title("left"), squares(ax)) for ax in panels]


def squares(ax):
    (image,) = ax.images
    colours = image.cmap(image.norm(image.get_array()))
    return [[to_hex(pixel) for pixel in row] for row in colours]


def test_every_square_has_the_colour_of_its_reason():
    codes = np.array([[1, 1, 1], [4, 2, 0], [1, 3, 2]])
    figure = attention_figure([Panel("first", codes), Panel("second", codes.T)], NAMES)
    colours = [NOTHING, *(colour.lower() for colour in COLOURS)]
    expected = [[colours[code] for code in row] for row in codes]
    assert drawn(figure) == [
        ("first", expected),
        ("second", [list(row) for row in zip(*expected, strict=True)]),
    ]
    for ax in figure.axes:
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("key block", "query block")
        bottom, top = ax.get_ylim()
        assert bottom > top  # block 0 at the head, as in the text


def test_the_legend_names_what_is_there():
    figure = attention_figure([Panel("one", np.array([[1, 0], [0, 3]]))], NAMES)
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    patches = [to_hex(patch.get_facecolor()) for patch in legend.get_patches()]
    assert texts == ["global", "random"]
    assert patches == [COLOURS[0].lower(), COLOURS[2].lower()]


@pytest.mark.parametrize(
    ("count", "in_a_row", "shape"), [(1, 4, (1, 1)), (3, 4, (1, 3)), (5, 2, (3, 2))]
)
def test_panels_fill_rows(count, in_a_row, shape):
    panels = [Panel(str(i), np.ones((2, 2), dtype=int)) for i in range(count)]
    figure = attention_figure(panels, NAMES, in_a_row)
    assert [title for title, _ in drawn(figure)] == [str(i) for i in range(count)]
    assert figure.axes[0].get_gridspec().get_geometry() == shape
