"""What `dna-bigbird attribute` says of the planted sites of the demo, next to mutagenesis, and what it costs.

No peer. For each factor: windows around planted sites of the held-out part of the demo. AUROC: bases of the sites of the
factor against bases within 100 of them that are in no planted site. Correlation with mutagenesis: of the effect of a
base with minus the mean effect of its three substitutions, over the 200 bases of some sites.

    python experiments/2026-11-base-effects/attribution.py --results results --sites 12 --substituted 4
"""

import argparse
import csv
import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.stats import pearsonr
from sklearn.metrics import roc_auc_score

from dna_bigbird import attribute
from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval
from dna_bigbird.prediction.attribution.attributor import Attributor
from dna_bigbird.prediction.compute import Compute, exact
from dna_bigbird.prediction.mutagenesis import substitute
from dna_bigbird.prediction.predictor import Predictor

FACTORS = ("SP1", "NRF1", "NFYA", "GABPA", "YY1", "TBP", "CTCF", "REST", "JUN", "CEBPB", "TEAD1")
"""Labels that follow from the sites of one matrix."""
METHODS = ("constant", "gradient", "integrated")
SEQUENCE = "demo22"
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


@dataclass
class Measured:
    """What is collected over the factors, by method."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    kilobases: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    correlations: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    aurocs: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    missed: float = 0.0
    """Largest part of a difference of log odds that integrated gradients miss."""

    @contextmanager
    def timed(self, method: str, num_bases: int) -> Iterator[None]:
        """Add the processor time of a block."""
        started_at = time.process_time()
        yield
        self.seconds[method] += time.process_time() - started_at
        self.kilobases[method] += num_bases / 1000


class Factor:
    """One label, and 2 SIDE bases around planted sites of its factor.

    Args:
        sites: Start and end of the sites that are used.
        covered: Which bases are in any site or decoy.
    """

    def __init__(
        self,
        model: Bundle,
        genome: Genome,
        name: str,
        sites: list[tuple[int, int]],
        covered: np.ndarray,
    ) -> None:
        self.model, self.genome, self.sites, self.covered = model, genome, sites, covered
        self.label = model.config.label_names.index(name)
        self.centres = [(start + end) // 2 for start, end in sites]

    def substituted(self, count: int, measured: Measured) -> list[np.ndarray]:
        """Return minus the mean effect of the substitutions of each base, for the first sites."""
        predictor = Predictor([self.model], compute=exact(Compute()), labels=[self.label])
        effects = []
        for centre in self.centres[:count]:
            region = Interval(SEQUENCE, centre - SIDE, centre + SIDE)
            with measured.timed("mutagenesis", 2 * SIDE):
                effects_of = substitute(predictor, self.genome, region, window_bp=WINDOW)
            effects.append(-np.nansum(effects_of.log_odds[..., 0], axis=1) / 3)
        return effects

    def attributed(self, method: str, measured: Measured) -> list[np.ndarray]:
        """Return the effect of each base, for all sites."""
        attributor = Attributor([self.model], [self.label], exact(Compute()), method)
        windows = [Interval(SEQUENCE, x - WINDOW // 2, x + WINDOW // 2) for x in self.centres]
        texts = [self.genome.fetch(window) for window in windows]
        with measured.timed(method, len(texts) * WINDOW):
            of_windows = attributor.of_windows(texts)
        measured.missed = max(measured.missed, attributor.missed)
        middle = slice(WINDOW // 2 - SIDE, WINDOW // 2 + SIDE)
        return [window.effects[middle, 0] for window in of_windows]

    def compared(self, values: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, per site, which of the compared bases are in a site, and their values."""
        groups = []
        for centre, of_site in zip(self.centres, values, strict=False):
            is_used, own = chosen_bases(centre - SIDE, self.sites, self.covered)
            groups.append((own[is_used], of_site[is_used]))
        return groups


def auroc_of(groups: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the AUROC of all bases of all sites."""
    own, values = (np.concatenate(x) for x in zip(*groups, strict=True))
    return roc_auc_score(own, values)


def compare(args: argparse.Namespace) -> Measured:
    """Print a row per factor and method."""
    model, measured = load_bundle(args.results / "models/chromatin"), Measured()
    genome = Genome(args.results / "inputs/demo/demo.fa")
    sites, covered = planted(args.results)
    print(
        "| factor | sites | method | AUROC of bases [95 %] | of means of 5 bases | correlation with mutagenesis |"
    )
    print("|---|---|---|---|---|---|")
    for name in FACTORS:
        factor = Factor(model, genome, name, sites[name][: args.sites], covered)
        substituted = factor.substituted(args.substituted, measured)
        effects = {"mutagenesis": substituted} if substituted else {}
        effects |= {method: factor.attributed(method, measured) for method in METHODS}
        for method, values in effects.items():
            groups = factor.compared(values)
            auroc = auroc_of(groups)
            of_means = auroc_of(factor.compared([smoothed(x) for x in values]))
            measured.aurocs[method].append(auroc)
            measured.aurocs[f"{method}, 5 bases"].append(of_means)
            related = []
            if method != "mutagenesis":
                pairs = zip(values, substituted, strict=False)
                related = [pearsonr(*pair).statistic for pair in pairs]
                measured.correlations[method] += related
            low, high = interval_of_auroc(groups, args.seed)
            shown = f"{np.mean(related):.2f}" if related else ""
            print(
                f"| {name} | {len(groups)} | {method} | {auroc:.3f} [{low:.3f}, {high:.3f}] | {of_means:.3f} | {shown} |",
                flush=True,
            )
    return measured


def summarise(measured: Measured, seed: int) -> None:
    """Print means, correlations, what is missed, and times."""
    print()
    for method, values in measured.aurocs.items():
        print(
            f"{method}: mean AUROC {np.mean(values):.3f}, lowest {min(values):.3f}, {len(values)} factors"
        )
    rng = np.random.default_rng(seed)
    for method, values in measured.correlations.items():
        drawn = [np.mean(rng.choice(values, len(values))) for _ in range(RESAMPLES)]
        low, high = np.quantile(drawn, [0.025, 0.975])
        print(
            f"{method}: correlation with mutagenesis {np.mean(values):.3f} [{low:.3f}, {high:.3f}], n = {len(values)} sites"
        )
    print(
        f"integrated: largest part of a difference of log odds that is missed: {100 * measured.missed:.2f} %"
    )
    per_kb = {
        name: seconds / measured.kilobases[name] for name, seconds in measured.seconds.items()
    }
    for method, value in per_kb.items():
        of_mutagenesis = per_kb.get("mutagenesis")
        ratio = f", mutagenesis {of_mutagenesis / value:,.0f} times" if of_mutagenesis else ""
        print(f"{method}: {value:.3f} processor s per kb{ratio}")


def stream(args: argparse.Namespace) -> None:
    """Print the growth of memory and the time of many regions, written to bigWig."""
    rng = np.random.default_rng(args.seed)
    starts = rng.integers(1000, 990_000, args.streamed)
    folder = args.results / "attribution-benchmark"
    folder.mkdir(parents=True, exist_ok=True)
    peaks = []
    for count in (args.streamed // 10, args.streamed):
        bed = folder / "regions.bed"
        bed.write_text("".join(f"{SEQUENCE}\t{s}\t{s + 200}\n" for s in starts[:count]))
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


def main(arguments: list[str] | None = None) -> None:
    """Print both tables."""
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
    args = parser.parse_args(arguments)
    summarise(compare(args), args.seed)
    if args.streamed:
        stream(args)


if __name__ == "__main__":
    main()
