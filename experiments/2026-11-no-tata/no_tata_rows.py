"""Rows of experiments/2026-11-no-tata/no_tata.py: the labelled set of the bundled classifier, dealt five times."""

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np
import yaml
from threadpoolctl import threadpool_limits

from dna_bigbird.baselines.kmer import KmerBaseline, KmerConfig
from dna_bigbird.cli.main import main as dna_bigbird
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet, block_units
from tools import bundled

FOLDS = 5
TEST_FOLD = 0
"""Fold whose rows are the test rows of the bundled classifier."""
TYPES = ("random_base", "permuted", "genomic", "background")
POSITIVE, OWN = 0, 4
"""Columns of a promoter's rows: the promoter, and its `background` negative."""
HELD_OUT_TATA = 80
"""TATA promoters of a held-out fold that are scored."""
LEAST_SHARE = 1e-6


def build_sets(data: Path, folder: Path) -> list[LabelledSet]:
    """Return the labelled set of the recipe with each fold held out; what exists is read."""
    recipe = yaml.safe_load(bundled.RECIPE.read_text())
    settings = bundled.settings_of(recipe)
    genome = folder / "genome.fa"
    if not (folder / "set.h5").exists():
        bundled.build_set(recipe, data, folder)
    sites = json.dumps([str(folder / "tata.bed"), str(folder / "sites.bed")])
    for fold in range(FOLDS):
        output = folder / f"fold{fold}.h5"
        if not output.exists():
            dna_bigbird(
                [
                    "promoter-set",
                    f"--genome={genome}",
                    f"--sites={sites}",
                    f"--output={output}",
                    "--pieces=true",
                    f"--assembly={recipe['assembly']}",
                    f"--seed={recipe['seed']}",
                    f"--upstream={settings['upstream']}",
                    f"--downstream={settings['downstream']}",
                    f"--negatives={','.join(TYPES)}",
                    f"--unread={json.dumps(settings['unread'])}",
                    f"--split.folds={FOLDS}",
                    f"--split.fold={fold}",
                ]
            )
    return [LabelledSet(folder / f"fold{fold}.h5", Genome(genome)) for fold in range(FOLDS)]


def promoters_of(labelled: LabelledSet) -> tuple[np.ndarray, list[tuple]]:
    """Return the rows of each promoter, (promoters, 5), and what identifies its window in every set."""
    starts = np.flatnonzero(labelled.labels[:, 0])
    windows = [labelled.interval(int(row)) for row in starts]
    names = [(window.chrom, window.start, window.strand) for window in windows]
    return starts[:, None] + np.arange(1 + len(TYPES)), names


def folds_of(sets: list[LabelledSet]) -> dict[tuple, int]:
    """Return the fold of every promoter: that of the set in which it is held out."""
    folds = {}
    for fold, labelled in enumerate(sets):
        groups, names = promoters_of(labelled)
        held_out = labelled.split[groups[:, POSITIVE]] == 2
        folds |= {name: fold for name, is_held in zip(names, held_out, strict=True) if is_held}
    return folds


class FoldRows:
    """Training rows and held-out rows of a fold.

    Training rows are those of all other folds, without the test rows of the bundled classifier. So a
    choice by held-out rows of folds 1 to 4 uses no test row.

    Args:
        num_tata: TATA promoters in training, drawn from all.
    """

    def __init__(self, sets: list[LabelledSet], fold: int, num_tata: int) -> None:
        self.labelled, self.fold = sets[fold], fold
        folds = folds_of(sets)
        groups, names = promoters_of(self.labelled)
        of_group = np.array([folds.get(name, -1) for name in names])
        on_pieces = np.array([chrom.startswith("chr") for chrom, *_ in names])
        held_out = self.labelled.split[groups[:, POSITIVE]] == 2
        trained = ~held_out & (of_group != TEST_FOLD)
        rng = np.random.default_rng([0, 7, fold])
        self.sites = groups[trained & on_pieces]
        self.all_tata = groups[trained & ~on_pieces]
        self.tata = _drawn(self.all_tata, num_tata, rng)
        held_sites, held_tata = groups[held_out & on_pieces], groups[held_out & ~on_pieces]
        scored_tata = _drawn(held_tata, HELD_OUT_TATA, rng)
        self._fold_of_site = of_group[trained & on_pieces]
        self.held_out = {
            "site": held_sites[:, POSITIVE],
            "own": held_sites[:, OWN],
            "background": held_tata[:, OWN],
            "tata": scored_tata[:, POSITIVE],
        } | {name: scored_tata[:, 1 + TYPES.index(name)] for name in TYPES[:3]}

    @cached_property
    def blocks(self) -> np.ndarray:
        """Block of the genome of each held-out site; a bootstrap draws its sites together."""
        rows = np.stack([self.held_out["site"], self.held_out["own"]], axis=1).flatten()
        return np.unique(block_units(self.labelled, rows)[0][::2], return_inverse=True)[1]

    def sequences(self, rows: np.ndarray) -> list[str]:
        """Return the bases of some rows."""
        return [self.labelled.sequence(int(row)) for row in rows]

    def gc(self) -> dict[str, np.ndarray]:
        """Return the GC content of the held-out rows."""
        return self._measured(lambda bases: (bases.count("G") + bases.count("C")) / len(bases))

    def cpg(self) -> dict[str, np.ndarray]:
        """Return the number of CG in the held-out rows."""
        return self._measured(lambda bases: bases.count("CG"))

    def _measured(self, measure: Callable[[str], float]) -> dict[str, np.ndarray]:
        return {
            part: np.array([measure(bases) for bases in self.sequences(rows)], dtype=float)
            for part, rows in self.held_out.items()
        }

    def kmers(self, columns: list[int], *, with_tata: bool, share: float = 1.0) -> dict:
        """Return log odds of word counts; the penalty is chosen on the sites of the next fold.

        Args:
            columns: Rows of each promoter that are fitted.
            with_tata: Fit the TATA promoters too: half of them, a quarter chooses the penalty.
            share: Share of the sites that is used.
        """
        chooses = self._fold_of_site == self.fold % (FOLDS - 1) + 1
        order = np.random.default_rng([9, self.fold]).permutation(len(self.sites))
        used = np.isin(np.arange(len(self.sites)), order[: round(share * len(self.sites))])
        parts = [self.sites[used & ~chooses], self.sites[used & chooses]]
        if with_tata:
            more = self.all_tata[::2], self.all_tata[1::4]
            parts = [np.concatenate(pair) for pair in zip(parts, more, strict=True)]
        model = KmerBaseline(KmerConfig(max_k=5, strands="apart", centre_bp=0))
        with threadpool_limits(1):
            pairs = [self._counted(model, part[:, columns].flatten()) for part in parts]
            model.fit(*pairs[0], *pairs[1])
            shares = {
                part: model.predict(model.features(self.sequences(rows)))[:, 0]
                for part, rows in self.held_out.items()
            }
        return {part: log_odds(values) for part, values in shares.items()}

    def _counted(self, model: KmerBaseline, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return model.features(self.sequences(rows)), self.labelled.labels_of(rows)


def log_odds(shares: np.ndarray) -> np.ndarray:
    """Return log odds of probabilities, finite."""
    shares = np.clip(shares.astype(np.float64), LEAST_SHARE, 1 - LEAST_SHARE)
    return np.log(shares / (1 - shares))


def _drawn(groups: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    return groups[np.sort(rng.permutation(len(groups))[:count])]
