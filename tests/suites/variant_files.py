"""A made genome of two chromosomes, and variants on it in the formats of the suites."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.tiny_bundle import draw_dna

CHROMOSOMES = {"chr1": draw_dna(30_000, 11), "chr2": draw_dna(25_000, 12)}


def write_genome(folder: Path) -> Path:
    """Write the FASTA and return its path; some bases are in lower case."""
    path = folder / "toy.fa"
    lower = {
        name: bases[:90] + bases[90:300].lower() + bases[300:]
        for name, bases in CHROMOSOMES.items()
    }
    path.write_text("".join(f">{name}\n{bases}\n" for name, bases in lower.items()))
    return path


def made_variants(number: int, seed: int = 0, *, negatives: int = 3) -> list[dict[str, object]]:
    """Draw substitutions: one positive and some negatives per group, each group on one chromosome.

    Positions count from 1, and chromosomes have no `chr`.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(number):
        group = index // (negatives + 1)
        name = list(CHROMOSOMES)[group % 2]
        pos = int(rng.integers(200, len(CHROMOSOMES[name]) - 200))
        ref = CHROMOSOMES[name][pos - 1]
        alt = str(rng.choice([base for base in "ACGT" if base != ref]))
        rows.append(
            {
                "chrom": name.removeprefix("chr"),
                "pos": pos,
                "ref": ref,
                "alt": alt,
                "maf": 0.01,
                "label": index % (negatives + 1) == 0,
                "match_group": f"PLS_{group}",
            }
        )
    return rows


def write_table(path: Path, rows: Sequence[Mapping[str, object]], delimiter: str = "\t") -> Path:
    """Write rows with the header of the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [delimiter.join(rows[0]), *(delimiter.join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_bed(
    path: Path, rows: Sequence[Mapping[str, object]], *, first: int = 0, span: int = 1
) -> Path:
    """Write variants as BEND has them; `first` is what positions count from, `span` end minus start."""
    bed = [
        {
            "chromosome": f"chr{row['chrom']}",
            "start": row["pos"] - 1 + first,
            "end": row["pos"] - 1 + first + span,
            "ref": row["ref"],
            "alt": row["alt"],
            "label": int(row["label"]),
        }
        for row in rows
    ]
    return write_table(path, bed)
