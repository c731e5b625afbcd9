"""What `dna-bigbird attribute` says of the planted sites of the demo, next to mutagenesis, and what it costs.

No peer. For each factor: windows around planted sites of the held-out part of the demo. AUROC: bases of the sites of the
factor against bases within 100 of them that are in no planted site. Correlation with mutagenesis: of the effect of a
base with minus the mean effect of its three substitutions, over the 200 bases of some sites.

    python benchmarks/attribution.py --results results --sites 12 --substituted 4
"""

import argparse
import csv
import resource
import time
from pathlib import Path

import numpy as np
from scipy.stats import pearsonr
from sklearn.metrics import roc_auc_score

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval
from dna_bigbird.inference import attribute
from dna_bigbird.inference.attribution.attributor import Attributor
from dna_bigbird.inference.compute import Compute, exact
from dna_bigbird.inference.predictor import Predictor
from dna_bigbird.inference.substitutions import substitute

FACTORS = ("SP1", "NRF1", "NFYA", "GABPA", "YY1", "TBP", "CTCF", "REST", "JUN", "CEBPB", "TEAD1")
"""Labels that follow from the sites of one matrix."""
METHODS = ("constant", "gradient", "integrated")
HELD_OUT = (850_500, 999_000)
SIDE = 100
WINDOW = 1000
SMOOTHED = 5
RESAMPLES = 1000


def planted(folder: Path) -> tuple[dict[str, list[tuple[int, int]]], np.ndarray]:
    """Return the sites by factor in the held-out part, and which bases are in any site or decoy."""
    sites: dict[str, list[tuple[int, int]]] = {}
    covered = np.zeros(1_000_000, bool)
    with open(folder / "inputs/demo/truth.tsv") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            start, end = int(row["start"]), int(row["end"])
            if row["kind"] in ("site", "decoy"):
                covered[start:end] = True
            if row["kind"] == "site" and HELD_OUT[0] <= start < HELD_OUT[1]:
                sites.setdefault(row["name"], []).append((start, end))
    return sites, covered


def chosen_bases(
    first: int, sites: list[tuple[int, int]], covered: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which of 2 SIDE bases from `first` are compared, and which of these are in sites."""
    own = np.zeros(2 * SIDE, bool)
    for start, end in sites:
        own[max(0, start - first) : max(0, min(2 * SIDE, end - first))] = True
    return own | ~covered[first : first + 2 * SIDE], own


def smoothed(values: np.ndarray) -> np.ndarray:
    """Return the mean of SMOOTHED neighbours."""
    return np.convolve(values, np.ones(SMOOTHED) / SMOOTHED, "same")


def interval_of_auroc(
    groups: list[tuple[np.ndarray, np.ndarray]], seed: int
) -> tuple[float, float]:
    """Return the 95 % bootstrap interval over windows."""
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(RESAMPLES):
        drawn = [groups[i] for i in rng.integers(len(groups), size=len(groups))]
        own, values_of = (np.concatenate(x) for x in zip(*drawn, strict=True))
        values.append(roc_auc_score(own, values_of))
    return tuple(np.quantile(values, [0.025, 0.975]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--results", type=Path, default=Path("results"), help="folder of `make demo`"
    )
    parser.add_argument("--sites", type=int, default=12, help="sites of each factor")
    parser.add_argument("--substituted", type=int, default=4, help="of these, with mutagenesis")
    parser.add_argument(
        "--streamed", type=int, default=10_000, help="regions of the last measurement; 0: none"
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    bundle = load_bundle(args.results / "models/chromatin")
    genome = Genome(args.results / "inputs/demo/demo.fa")
    sites, covered = planted(args.results)
    names = bundle.config.label_names
    seconds = dict.fromkeys((*METHODS, "mutagenesis"), 0.0)
    kilobases = dict.fromkeys(seconds, 0.0)
    correlations: dict[str, list[float]] = {method: [] for method in METHODS}
    missed = 0.0
    print(
        "| factor | sites | method | AUROC of bases [95 %] | of means of 5 bases | correlation with mutagenesis |"
    )
    print("|---|---|---|---|---|---|")
    means: dict[str, list[float]] = {}
    for factor in FACTORS:
        label = names.index(factor)
        of_factor = sites[factor][: args.sites]
        centres = [(start + end) // 2 for start, end in of_factor]
        substituted = []
        predictor = Predictor([bundle], compute=exact(Compute()), labels=[label])
        for centre in centres[: args.substituted]:
            started_at = time.process_time()
            region = Interval("demo22", centre - SIDE, centre + SIDE)
            matrix = substitute(predictor, genome, region, window_bp=WINDOW).log_odds[..., 0]
            seconds["mutagenesis"] += time.process_time() - started_at
            kilobases["mutagenesis"] += 2 * SIDE / 1000
            substituted.append(-np.nansum(matrix, axis=1) / 3)
        effects: dict[str, list[np.ndarray]] = {"mutagenesis": substituted}
        for method in METHODS:
            attributor = Attributor([bundle], [label], exact(Compute()), method)
            texts = [
                genome.fetch(Interval("demo22", x - WINDOW // 2, x + WINDOW // 2)) for x in centres
            ]
            started_at = time.process_time()
            of_windows = attributor.of_windows(texts)
            seconds[method] += time.process_time() - started_at
            kilobases[method] += len(texts) * WINDOW / 1000
            missed = max(missed, attributor.missed)
            middle = slice(WINDOW // 2 - SIDE, WINDOW // 2 + SIDE)
            effects[method] = [x.effects[middle, 0] for x in of_windows]
            correlations[method] += [
                pearsonr(by_gradient, by_substitution).statistic
                for by_gradient, by_substitution in zip(effects[method], substituted, strict=False)
            ]
        for method, of_windows in effects.items():
            groups, smooth = [], []
            for centre, values in zip(centres, of_windows, strict=False):
                is_used, own = chosen_bases(centre - SIDE, of_factor, covered)
                groups.append((own[is_used], values[is_used]))
                smooth.append((own[is_used], smoothed(values)[is_used]))
            if not groups:
                continue
            own, values = (np.concatenate(x) for x in zip(*groups, strict=True))
            auroc = roc_auc_score(own, values)
            own_5, values_5 = (np.concatenate(x) for x in zip(*smooth, strict=True))
            auroc_5 = roc_auc_score(own_5, values_5)
            means.setdefault(method, []).append(auroc)
            means.setdefault(f"{method}, 5 bases", []).append(auroc_5)
            low, high = interval_of_auroc(groups, args.seed)
            related = (
                correlations.get(method, [])[-len(substituted) :] if method in correlations else []
            )
            shown = f"{np.mean(related):.2f}" if related else ""
            print(
                f"| {factor} | {len(groups)} | {method} | {auroc:.3f} [{low:.3f}, {high:.3f}] | {auroc_5:.3f} | {shown} |"
            )
    print()
    for method, values in means.items():
        print(
            f"{method}: mean AUROC {np.mean(values):.3f}, lowest {min(values):.3f}, {len(values)} factors"
        )
    rng = np.random.default_rng(args.seed)
    for method, values in correlations.items():
        drawn = [np.mean(rng.choice(values, len(values))) for _ in range(RESAMPLES)]
        low, high = np.quantile(drawn, [0.025, 0.975])
        print(
            f"{method}: correlation with mutagenesis {np.mean(values):.3f} [{low:.3f}, {high:.3f}], n = {len(values)} sites"
        )
    print(
        f"integrated: largest part of a difference of log odds that is missed: {100 * missed:.2f} %"
    )
    per_kb = {
        method: seconds[method] / kilobases[method] for method in seconds if kilobases[method]
    }
    for method, value in per_kb.items():
        ratio = (
            f", mutagenesis {per_kb['mutagenesis'] / value:,.0f} times"
            if "mutagenesis" in per_kb
            else ""
        )
        print(f"{method}: {value:.3f} processor s per kb{ratio}")
    if args.streamed:
        stream(args)


def stream(args: argparse.Namespace) -> None:
    """Print the growth of memory and the time of many regions, written to bigWig."""
    rng = np.random.default_rng(args.seed)
    starts = rng.integers(1000, 990_000, args.streamed)
    folder = args.results / "attribution-benchmark"
    folder.mkdir(parents=True, exist_ok=True)
    peaks = []
    for count in (args.streamed // 10, args.streamed):
        bed = folder / "regions.bed"
        bed.write_text("".join(f"demo22\t{s}\t{s + 200}\n" for s in starts[:count]))
        started_at = time.process_time()
        attribute(
            args.results / "inputs/demo/demo.fa", bed, model=args.results / "models/chromatin",
            labels="CTCF", output=folder / "effects.bw", window=200,
        )  # fmt: skip
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        print(
            f"{count:,} regions of 200 bp to bigWig: {time.process_time() - started_at:.0f} processor s, peak {peaks[-1]:,.0f} MiB"
        )
    print(f"ten times as many regions: {peaks[1] / peaks[0]:.2f} times the peak memory")


if __name__ == "__main__":
    main()
