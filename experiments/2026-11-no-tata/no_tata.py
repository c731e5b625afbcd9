"""Promoters without a TATA box, cross-validated: GC content, k-mers and the bundled recipe.

    PYTHONPATH=. python experiments/2026-11-no-tata/no_tata.py --folder results/no-tata --recipes shipped --steps 100
    PYTHONPATH=. python experiments/2026-11-no-tata/no_tata.py --folder results/no-tata --recipes shipped quarter --steps 50

The EPDnew sites on the pieces of hg19, nearly all without a TATA box, are in five folds; each is held out
once. Recipes are compared on folds 1 to 4, and no training reads a row of fold 0, the test rows of the
bundled classifier; `--test` adds that fold. A recipe of `no_tata_training.py` is trained on the
sites and 300 TATA promoters; 100 steps take about 90 processor seconds per fold. Held-out scores are kept
in the folder, and a recipe that has them is not trained again. The table has means over folds of the AUROC,
with 95 % bootstrap intervals over blocks of the genome, and differences to GC content on the same draws.
The line above the table is the mean number of CG in the rows.
"""

import argparse
from pathlib import Path

import no_tata_training
import numpy as np
import torch
from no_tata_rows import FOLDS, OWN, POSITIVE, TEST_FOLD, TYPES, FoldRows, build_sets

from dna_bigbird.metrics.binary import RankedLabel
from dna_bigbird.metrics.bootstrap import draw_units, percentile_interval
from dna_bigbird.metrics.label_objectives import IndependentLabels
from dna_bigbird.training.kmer_counts import weights_of_sum

CHECKOUT = Path(__file__).resolve().parents[2]
REPLICATES = 2000
WORD_WEIGHTS = (0.25, 0.5, 1.0)
WORDS = "k-mers of sites and TATA promoters against background"
ALL_WORDS = "k-mers of sites and TATA promoters, all negatives"
HEADER = (
    "source", "AUROC, own background", "minus GC content", "AUROC, all background", "minus GC content",
    *(f"TATA, {name}" for name in TYPES[:3]), "folds",
)  # fmt: skip

Scores = dict[str, np.ndarray]
"""Scores of the held-out rows of a fold, by part."""


def ranked(scores: Scores, positives: str, negatives: str) -> RankedLabel:
    """Return the held-out rows of a fold, those of two parts, sorted by score."""
    counts = len(scores[positives]), len(scores[negatives])
    values = np.concatenate([scores[positives], scores[negatives]])
    return RankedLabel(np.repeat([1, 0], counts), values)


def area(scores: list[Scores], positives: str, negatives: str) -> float:
    """Return the mean AUROC over folds."""
    return float(np.mean([ranked(fold, positives, negatives).areas()[0] for fold in scores]))


class SiteDraws:
    """Bootstrap draws of the sites of some folds and of a part of their negatives, the same for every source.

    Sites of a block of the genome are drawn together, each with its own window; `background` windows of the
    TATA promoters, which have no block, one by one.
    """

    def __init__(self, folds: list[FoldRows], part: str, replicates: int = REPLICATES) -> None:
        self.part, self.draws = part, []
        for rows in folds:
            blocks, count = rows.blocks, len(rows.held_out[part])
            units = blocks if part == "own" else blocks.max() + 1 + np.arange(count)
            rows_drawn = np.concatenate([blocks, units])
            self.draws.append(
                draw_units(len(rows_drawn), replicates=replicates, seed=rows.fold, units=rows_drawn)
            )

    def areas(self, scores: list[Scores]) -> np.ndarray:
        """Return the mean AUROC over folds of sites against the part, of each draw, (R,)."""
        pairs = zip(scores, self.draws, strict=True)
        return np.mean([ranked(x, "site", self.part).areas(drawn)[0] for x, drawn in pairs], axis=0)


def row_of(name: str, scores: list[Scores], gc: list[Scores], draws: list[SiteDraws]) -> str:
    """Return a line of the table for one source of scores."""
    cells = [name]
    for of_part in draws:
        value, reference = (area(x, "site", of_part.part) for x in (scores, gc))
        drawn, of_gc = of_part.areas(scores), of_part.areas(gc)
        cells.append(f"{value:.3f} {_interval(drawn)}")
        cells.append(f"{value - reference:+.3f} {_interval(drawn - of_gc, '+')}")
    cells += [f"{area(scores, 'tata', negatives):.3f}" for negatives in TYPES[:3]]
    cells.append(" ".join(f"{area([x], 'site', 'own'):.3f}" for x in scores))
    return "| " + " | ".join(cells) + " |"


def _interval(drawn: np.ndarray, sign: str = "") -> str:
    low, high = percentile_interval(drawn)
    return f"[{low:{sign}.3f}, {high:{sign}.3f}]"


def mean_cpg(folds: list[FoldRows]) -> str:
    """Return the mean number of CG in held-out sites and their windows, and in the TATA rows of training."""
    held_out = [fold.cpg() for fold in folds]
    means = {part: np.concatenate([x[part] for x in held_out]).mean() for part in ("site", "own")}
    for column, part in enumerate(("TATA promoters", *TYPES)):
        rows = [x for fold in folds for x in fold.sequences(fold.tata[:, column])]
        means[part] = np.mean([bases.count("CG") for bases in rows])
    return "mean number of CG: " + ", ".join(f"{part} {x:.1f}" for part, x in means.items())


def trained(rows: FoldRows, recipe: str, seed: int, step: int, folder: Path) -> Scores:
    """Return the held-out logits of a training, which is started if the folder does not have them."""
    path = folder / "{}_seed{}_fold{}_step{}.npz"
    if not Path(str(path).format(recipe, seed, rows.fold, step)).exists():
        settings = no_tata_training.RECIPES[recipe]
        for reached, scores in no_tata_training.train(rows, settings, seed, step):
            np.savez(str(path).format(recipe, seed, rows.fold, reached), **scores)
    return dict(np.load(str(path).format(recipe, seed, rows.fold, step)))


def with_words(network: Scores, words: Scores, weight: float) -> Scores:
    """Return the sum of both, each divided by its standard deviation over the held-out rows."""
    deviations = [np.concatenate(list(x.values())).std() for x in (network, words)]
    return {
        part: network[part] / deviations[0] + weight * words[part] / deviations[1]
        for part in network
    }


def word_rows(folds: list[FoldRows]) -> dict[str, list[Scores]]:
    """Return the k-mers by what they are fitted on."""
    own, every = [POSITIVE, OWN], list(range(1 + len(TYPES)))
    names: dict[str, tuple] = {
        f"k-mers of {share:.0%} of the sites": (own, False, share) for share in (0.25, 0.5, 1.0)
    }
    names |= {WORDS: (own, True, 1.0), ALL_WORDS: (every, True, 1.0)}
    return {
        name: [fold.kmers(columns, with_tata=tata, share=share) for fold in folds]
        for name, (columns, tata, share) in names.items()
    }


def validation_weights(network: Scores, words: Scores) -> str:
    """Return the weights that `finetune --words.max_k` would give the two on the held-out rows."""
    parts = [part for part in network if part != "background"]
    labels = np.concatenate([np.full(len(network[x]), x in ("site", "tata")) for x in parts])
    columns = [np.concatenate([x[part] for part in parts]) for x in (network, words)]
    *parts, truth = (
        torch.from_numpy(np.asarray(x, np.float32))[:, None] for x in (*columns, labels)
    )
    logits = dict(zip(("network", "words"), parts, strict=True))
    weights, _ = weights_of_sum(logits, truth, IndependentLabels(4.0))
    return f"{weights['network']:.2f} and {weights['words']:.2f}"


def table(
    folds: list[FoldRows], recipes: list[str], steps: list[int], seed: int, folder: Path
) -> list[str]:
    """Return the lines of the table; trainings that the folder does not have are done first."""
    draws = [SiteDraws(folds, part) for part in ("own", "background")]
    gc = [fold.gc() for fold in folds]
    sources = {"GC content": gc, "number of CG": [fold.cpg() for fold in folds]}
    sources |= word_rows(folds)
    words = sources[WORDS]
    for recipe in recipes:
        for step in sorted(steps, reverse=True):
            sources[f"{recipe}, {step} steps"] = [
                trained(fold, recipe, seed, step, folder) for fold in folds
            ]
        network = sources[f"{recipe}, {max(steps)} steps"]
        for weight in WORD_WEIGHTS if recipe == "shipped" else ():
            pairs = zip(network, words, strict=True)
            sources[f"{recipe}, {max(steps)} steps, k-mers times {weight}"] = [
                with_words(*pair, weight) for pair in pairs
            ]
    lines = ["| " + " | ".join(HEADER) + " |", "|---" * len(HEADER) + "|"]
    lines += [row_of(name, scores, gc, draws) for name, scores in sources.items()]
    for recipe in recipes:
        pairs = zip(sources[f"{recipe}, {max(steps)} steps"], sources[ALL_WORDS], strict=True)
        weights = "; ".join(validation_weights(*pair) for pair in pairs)
        lines.append(f"\n{recipe}: weights of network and {ALL_WORDS}: {weights}")
    return lines


def main(argv: list[str] | None = None) -> None:
    """Train what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=CHECKOUT.parent / "shared" / "data")
    parser.add_argument("--folder", type=Path, default=CHECKOUT / "results" / "no-tata")
    parser.add_argument("--recipes", nargs="*", default=[], choices=no_tata_training.RECIPES)
    parser.add_argument("--steps", type=int, nargs="+", default=[50], choices=[50, 100, 150])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--test", action="store_true", help="also read the bundled model's test rows"
    )
    asked = parser.parse_args(argv)
    torch.set_num_threads(1)
    asked.folder.mkdir(parents=True, exist_ok=True)
    sets = build_sets(asked.data, asked.folder)
    numbers = [fold for fold in range(FOLDS) if asked.test or fold != TEST_FOLD]
    folds = [FoldRows(sets, fold, no_tata_training.NUM_TATA) for fold in numbers]
    count = sum(len(fold.held_out["site"]) for fold in folds)
    print(f"{count} sites, each with a background window of its own; folds {numbers}\n")
    print(mean_cpg(folds), "\n")
    print(*table(folds, asked.recipes, asked.steps, asked.seed, asked.folder), sep="\n")


if __name__ == "__main__":
    main()
