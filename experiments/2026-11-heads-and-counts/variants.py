"""How much of the network a sum with counts should have when variants of the demo are ranked.

    python experiments/2026-11-heads-and-counts/variants.py --results results

after `make demo`. AUROC of the largest change over labels, variants that break a site (or create one) above neutral
ones, by weight of the network in the sum: 0 are the counts alone, 1 is the model. Only the validation region chooses.
Last column: minus the counts alone, blocks of 5 kb, paired.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from dna_bigbird.evaluation.rank_variants_baselines import own_count_changes
from dna_bigbird.genome import Genome
from dna_bigbird.genome.variants import read_vcf

REGIONS = {"validation": (730_000, 850_000), "test": (850_000, 1_000_000)}
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
BLOCK_BP, DRAWS = 5_000, 1_000


def main() -> None:
    """Print a row for each region, effect and weight."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True)
    results = parser.parse_args().results
    table = pd.read_csv(results / "predictions/variants/chromatin.tsv", sep="\t")
    labels = [x.removesuffix("_log_odds") for x in table if x.endswith("_log_odds")]
    both = table[[f"{x}_log_odds" for x in labels]].to_numpy()
    variants = list(read_vcf(results / "inputs/demo/variants.vcf"))
    genome = Genome(results / "genome/genome.fa")
    counts = own_count_changes(variants, genome, results / "models/chromatin", labels)
    effects = np.array([v.text.split("EFFECT=")[1].split(";")[0] for v in variants])
    starts = np.array([v.interval.start for v in variants])
    rng = np.random.default_rng(0)
    for region, (low, high) in REGIONS.items():
        for effect in ("break", "create"):
            chosen = (starts >= low) & (starts < high) & np.isin(effects, (effect, "none"))
            truth, blocks = effects[chosen] == effect, starts[chosen] // BLOCK_BP
            rows = [np.flatnonzero(blocks == x) for x in np.unique(blocks)]
            draws = [
                np.concatenate([rows[i] for i in rng.integers(len(rows), size=len(rows))])
                for _ in range(DRAWS)
            ]
            draws = [x for x in draws if 0 < truth[x].sum() < len(x)]
            alone = np.abs(counts[chosen]).max(1)
            for weight in WEIGHTS:
                score = np.abs(counts + weight * (both - counts))[chosen].max(1)
                gains = [
                    roc_auc_score(truth[x], score[x]) - roc_auc_score(truth[x], alone[x])
                    for x in draws
                ]
                area, interval = roc_auc_score(truth, score), np.percentile(gains, [2.5, 97.5])
                gain = area - roc_auc_score(truth, alone)
                print(region, effect, weight, f"{area:.3f}", f"{gain:+.3f}", interval.round(3))


if __name__ == "__main__":
    main()
