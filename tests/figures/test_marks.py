"""Values at the pointer are where matplotlib draws the points, and draw nothing."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from dna_bigbird.core.figures.style import add_marks, marks_text, new_figure, save, style


def test_positions_and_texts_by_hand():
    fig = Figure((4, 2))
    ax = fig.add_axes((0.1, 0.2, 0.8, 0.5))  # from 100 to 900 across, from 800 up to 300 down
    ax.set(xlim=(0, 10), ylim=(0, 1))
    names = ["a\tb\nc", "é", "outside"]
    add_marks(
        ax, [5, 10, 11], [0.5, 0, 0.5], "n  n", "{} {} {}", names, [12345] * 3, [0.123456] * 3
    )
    add_marks(ax, [], [], "none", "{}", [])
    assert marks_text(fig).split("\n") == [
        "=n n\t{} {} {}", "500\t550\ta b c\t12,345\t0.1235", "900\t800\té\t12,345\t0.1235",
    ]  # fmt: skip


@pytest.mark.parametrize("equal", [False, True])
def test_positions_are_those_of_the_svg(equal):
    """With a layout that is made while drawing, a logarithmic axis, and axes that are made square."""
    x, y = np.array([1, 3, 40, 700]), np.array([0.2, 0.9, 0.4, 0.6])
    with style():
        fig = new_figure(5, 3, "tag")
        ax = fig.add_subplot()
        ax.plot(x, y, "o", gid="points")
        ax.set(xscale="log", title="title", ylabel="a long label")
        if equal:
            ax.set_box_aspect(1)
        add_marks(ax, x, y, "", "{}", y)
    svg = save(fig, "svg").decode()
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
    points = re.findall(
        r'<use xlink:href="#\w+" x="([\d.]+)" y="([\d.]+)"', svg.partition('id="points"')[2]
    )[:4]
    expected = [(1000 * float(a) / width, 1000 * float(b) / height) for a, b in points]
    read = [row.split("\t")[:2] for row in marks_text(fig).split("\n")[1:]]
    assert np.abs(np.array(read, float) - expected).max() <= 0.51


def test_a_picture_is_the_same_with_and_without_marks():
    pictures = []
    for marked in (False, True):
        with style():
            fig = new_figure(3, 2)
            ax = fig.add_subplot()
            ax.plot([0, 1], [0, 1], label="line")
            if marked:
                add_marks(ax, [0, 1], [0, 1], "line", "{}", [0, 1])
            ax.legend()
        pictures.append(save(fig, "svg"))
    assert pictures[0] == pictures[1]


def test_a_value_for_every_point():
    with pytest.raises(ValueError, match="2 points have 1 rows of values"):
        add_marks(Figure().add_subplot(), [0, 1], [0, 1], "", "{}", ["a"])
