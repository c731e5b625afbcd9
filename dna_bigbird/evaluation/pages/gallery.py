"""Keeps the pictures of a page: inside it as data addresses, and as files of their own."""

import base64
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from dna_bigbird.core.figures.marks import marks_text
from dna_bigbird.core.figures.style import save
from dna_bigbird.core.writing import atomic_path

MOST_SVG_BYTES = 300_000
"""A larger drawing is shown as pixels, to keep the page small."""
SEMI_SYNTHETIC_TAG = "semi-synthetic demo: planted truth"


@dataclass(frozen=True)
class Picture:
    """A picture that a template shows."""

    address: str
    """The whole picture as `data:image/…`."""
    is_wide: bool
    """It keeps a least width and is scrolled sideways on a phone."""
    marks: str = ""
    """Values that are shown at the pointer: see `marks_text`."""


@dataclass
class Gallery:
    """The pictures of one report; `tag` is written in a corner of each, if it is not empty."""

    tag: str = ""
    figures: dict[str, Figure] = field(default_factory=dict)

    def add(self, name: str, figure: Figure, *, is_wide: bool = False) -> Picture:
        """Keep a figure and return its picture; `name` becomes its file name."""
        self.figures[name] = figure
        data, image_type = save(figure, "svg"), "svg+xml"
        if len(data) > MOST_SVG_BYTES:
            data, image_type = save(figure, "png"), "png"
        encoded = base64.b64encode(data).decode("ascii")
        return Picture(f"data:image/{image_type};base64,{encoded}", is_wide, marks_text(figure))

    def save_all(self, folder: Path) -> None:
        """Write every picture as `<name>.png`."""
        for name, figure in self.figures.items():
            with atomic_path(Path(folder) / f"{name}.png") as path:
                path.write_bytes(save(figure, "png", dpi=200))
