"""The section on the effects of all substitutions in a region."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.evaluation.pages.rendering import Gallery, Picture
from dna_bigbird.evaluation.result_files import as_float, as_int, read_table
from dna_bigbird.genome.interval import Interval
from dna_bigbird.prediction.figures.mutagenesis_figure import LETTERS, UNITS, mutagenesis_figure
from dna_bigbird.report.tracks import region_text

COLUMNS = ("chrom", "pos", "ref")


@dataclass(frozen=True)
class Mutagenesis:
    """The data of the section."""

    region: str
    file_name: str
    picture: Picture | None = None
    drawn: Sequence[str] = ()
    num_labels: int = 0
    problem: str = ""
    """Why there is no picture."""


def mutagenesis(folder: Path, gallery: Gallery) -> Mutagenesis | None:
    """Return the picture of all substitutions in a region, None if they were not predicted.

    Args:
        folder: predictions/ of a results folder.

    Raises:
        InputError: If the table is damaged.
    """
    path = folder / "mutagenesis.tsv"
    if not path.is_file():
        return None
    rows = read_table(path, COLUMNS, "mutagenesis")
    columns = [name for name in (rows[0] if rows else {}) if name not in COLUMNS]
    effect = next((name for name in UNITS if columns and columns[0].endswith(f"_{name}")), None)
    if effect is None or len(columns) % 4:
        raise InputError(
            f"{path}:1: expected four columns per label, such as CTCF_A_log_odds. "
            "Run mutagenesis again"
        )
    labels = [name.removesuffix(f"_A_{effect}") for name in columns[::4]]
    values = [[as_float(row[c], path, i) for c in columns] for i, row in enumerate(rows, start=2)]
    effects_P4L = np.array(values).reshape(len(rows), len(labels), len(LETTERS)).swapaxes(1, 2)
    start = as_int(rows[0]["pos"], path, 2) - 1
    region = Interval(rows[0]["chrom"], start, start + len(rows))
    reference = "".join(row["ref"] for row in rows)
    try:
        figure, drawn = mutagenesis_figure(
            region.chrom, start, reference, labels, effects_P4L, effect=effect, tag=gallery.tag
        )
    except ValueError as error:
        return Mutagenesis(region_text(region), path.name, problem=str(error))
    picture = gallery.add("mutagenesis", figure, is_wide=True)
    return Mutagenesis(region_text(region), path.name, picture, drawn, len(labels))
