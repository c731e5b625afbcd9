"""What `promoter-set` notes about a finished set: counts, few positives, the signal at the starts."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval
from dna_bigbird.labelled.labelled_data import LabelledData
from dna_bigbird.labelled.promoter.config import PromoterConfig
from dna_bigbird.labelled.set_files import LabelledSetFile, few_positives
from dna_bigbird.labelled.splits import VALIDATION

# Do start sites fit the genome? The two bases around a start tell, also where chromosome lengths do not.
#
# Transcription mostly starts at a purine (A, G) that follows a pyrimidine (C, T): the initiator, at
# -1/+1 ([Carninci et al. 2006](https://doi.org/10.1038/ng1789)). Anywhere else about one dinucleotide
# in four has this form. docs/labelled-sets.md has measured shares.

CHANCE = 0.25
FEWEST = 50
"""Sites that are enough to tell: of 50 with a true share of one half, 97 of 100 draws exclude chance."""
_Z = 1.96


@dataclass(frozen=True)
class StartSignal:
    """How many start sites are a purine after a pyrimidine, as their strand reads it."""

    n: int
    """Different sites with known bases at -1 and +1."""
    hits: int

    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the share (Wilson's score interval).

        Example:
            >>> [round(x, 2) for x in StartSignal(131, 31).interval()]
            [0.17, 0.32]
        """
        share, z2 = self.hits / self.n, _Z**2
        middle = share + z2 / (2 * self.n)
        half = _Z * math.sqrt(share * (1 - share) / self.n + z2 / (4 * self.n**2))
        return (middle - half) / (1 + z2 / self.n), (middle + half) / (1 + z2 / self.n)

    def __str__(self) -> str:
        if not self.n:
            return "start sites: none with known bases at -1 and +1"
        low, high = self.interval()
        return (
            f"start sites: {self.hits / self.n:.0%} have a pyrimidine at -1 and a purine at +1 "
            f"(95% CI {100 * low:.0f}-{high:.0%}, n = {self.n:,}); expected are 60 to 70% of sites "
            "known to the base (CAGE, EPDnew), 25% by chance"
        )

    def warning(self) -> str | None:
        """Return a note if there are enough sites and their share may be chance; else None."""
        if self.n < FEWEST or self.interval()[0] > CHANCE:
            return None
        return (
            f"only {self.hits / self.n:.0%} of {self.n:,} start sites have a pyrimidine at -1 and a purine at "
            "+1, no more than by chance: are the sites on another assembly than the genome, or off by one "
            "base? To move them: dna-bigbird lift-over. (Starts of genes in annotations are less exact.)"
        )


def start_signal(genome: Genome, sites: Iterable[Interval]) -> StartSignal:
    """Count start sites that are a purine after a pyrimidine.

    Args:
        sites: Single bases (the first transcribed one) with their strand, 0-based; those on
            chromosomes that the genome lacks, or at their ends, do not count, and equal ones count
            once.
    """
    n = hits = 0
    for site in set(sites):
        chrom = genome.find(site.chrom)
        if chrom is None or site.start < 1 or site.start + 1 >= genome.lengths[chrom]:
            continue
        first = site.start - (site.strand != "-")
        before, at = genome.fetch(Interval(chrom, first, first + 2, site.strand))
        if "N" not in (before, at):
            n += 1
            hits += before in "CT" and at in "AG"
    return StartSignal(n, hits)


def set_notes(
    result: LabelledSetFile,
    data: LabelledData,
    config: PromoterConfig,
    starts: Sequence[Interval],
    genome: Genome,
) -> Iterator[str]:
    """Yield the notes.

    Args:
        starts: The start sites as read.
    """
    validation = np.flatnonzero(data.split == VALIDATION)
    if text := few_positives(int(data.labels.positives(validation).sum()), result.output):
        yield text
    in_training = ""
    if config.training_negatives:
        in_training = f"; in training {len(config.training_methods)}, {config.training_negatives}"
    yield (
        f"{len(np.unique(data.pair))} promoters of {data.counts['sites_read']} sites, each with "
        f"{len(config.methods)} negative(s), {config.negatives}{in_training}: {result.counts_text()}"
    )
    signal = start_signal(genome, starts)
    yield str(signal)
    if text := signal.warning():
        yield text
