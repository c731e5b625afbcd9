"""Turns figures into markup, and keeps them so that they can be saved as files too."""

from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from dna_bigbird.report.figures.style import save
from dna_bigbird.report.markup import Html, figure
from dna_bigbird.writing import atomic_path

MOST_SVG_BYTES = 300_000
"""A drawing with more than this is shown as pixels, to keep the page small."""


@dataclass
class Gallery:
    """The pictures of one report.

    `tag` is written at the foot of each: "semi-synthetic demo" or nothing.
    """

    tag: str = ""
    figures: dict[str, Figure] = field(default_factory=dict)

    def show(
        self, name: str, fig: Figure, *, alt: str, caption: object, wide: bool = False
    ) -> Html:
        """Return the markup of a picture; `name` becomes its file name."""
        self.figures[name] = fig
        data = save(fig, "svg")
        kind = "svg+xml"
        if len(data) > MOST_SVG_BYTES:
            data, kind = save(fig, "png"), "png"
        return figure(data, kind, alt=alt, caption=caption, wide=wide)

    def save_all(self, folder: Path) -> None:
        """Write every picture shown so far as `<name>.png`."""
        for name, fig in self.figures.items():
            with atomic_path(Path(folder) / f"{name}.png") as path:
                path.write_bytes(save(fig, "png", dpi=200))
