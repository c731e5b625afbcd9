"""Whether `dna-bigbird mutagenesis` finds the TATA box of promoters: one window in place, or one centred on each base.

No peer. Promoters of EPDnew with TATAAA at its usual place (24 to 38 bases before the start site), drawn at random, in random
DNA on either side. The bundled promoter model may have been trained on them: this is about windows, not about new promoters.
All bases from 98 before to 41 after the start site are substituted; an effect is minus the mean of three substitutions.

    PYTHONPATH=. python experiments/2026-11-base-effects/tata_box.py --promoters human_tata_promoters_300bp.txt.gz --count 40
"""

import argparse
import gzip
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.lib.timing import header
from dna_bigbird import mutagenesis
from dna_bigbird.evaluation.long_attention.baselines import wilson

LENGTH, START_SITE = 300, 249
BOX = "TATAAA"
BEFORE = (38, 24)
CHANGED = (151, 290)
"""From 1, both ends included."""


def with_box(path: Path) -> list[str]:
    """Return the promoters of a file, one per line, that have the box at its place."""
    with gzip.open(path, "rt") as lines:
        promoters = [line.strip().upper() for line in lines]
    first, last = (START_SITE - bases for bases in BEFORE)
    usual = [x for x in promoters if len(x) == LENGTH and BOX in x[first : last + len(BOX)]]
    if not usual:
        raise SystemExit(f"{path}: no promoter of {LENGTH} bases with {BOX} at its place")
    return usual


def effect_of_box(promoter: str, flank: str, one_window: bool, folder: Path) -> tuple[bool, float]:
    """Return True if the box has the strongest base, and its mean effect by that of all bases."""
    file = folder / "promoter.fa"
    for old in folder.iterdir():
        old.unlink()
    file.write_text(f">p\n{flank}{promoter}{flank}\n")
    first, last = (len(flank) + base for base in CHANGED)
    within = f"p:{len(flank) + 1}-{len(flank) + LENGTH}" if one_window else None
    matrix = mutagenesis(
        file, f"p:{first}-{last}", model="bundled-promoter", strand="forward", within=within
    )
    effects = -np.nansum(matrix.log_odds[:, :, 0], axis=1) / 3
    box = promoter.index(BOX, START_SITE - BEFORE[0]) - CHANGED[0] + 1
    share = np.abs(effects[box : box + len(BOX)]).mean() / np.abs(effects).mean()
    return bool(box <= effects.argmax() < box + len(BOX)), float(share)


def main(arguments: list[str] | None = None) -> None:
    """Print a row for each kind of window."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--promoters", type=Path, required=True)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    usual = with_box(options.promoters)
    chosen = rng.choice(len(usual), min(options.count, len(usual)), replace=False)
    flanks = ["".join(rng.choice(list("ACGT"), LENGTH)) for _ in chosen]
    print("\n".join(header("cpu")))
    print(f"{len(chosen)} of {len(usual)} promoters, seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder:
        for name, one_window in (("one window", True), ("windows of their own", False)):
            inside, shares = zip(
                *(
                    effect_of_box(usual[number], flank, one_window, Path(folder))
                    for number, flank in zip(chosen, flanks, strict=True)
                ),
                strict=True,
            )
            low, high = wilson(sum(inside), len(chosen))
            print(
                f"{name:>20}: strongest base inside TATAAA {sum(inside)}/{len(chosen)} [{low:.2f}, {high:.2f}]; the box's mean "
                f"effect is {np.median(shares):.1f} times that of all bases (median)"
            )


if __name__ == "__main__":
    main()
