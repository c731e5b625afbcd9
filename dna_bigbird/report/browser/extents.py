"""Which bases a page shows: regions with the bases around them, joined where they overlap."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dna_bigbird.genome.coverage import Spans, covered_bp, merge_spans
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval


@dataclass(frozen=True)
class Extents:
    """Disjoint stretches of a genome, by chromosome."""

    genome: Genome
    spans: dict[str, Spans]

    @classmethod
    def around(cls, genome: Genome, regions: Sequence[Interval], margin_bp: int) -> "Extents":
        """Return the regions with `margin_bp` bases on either side, cut at the ends of the chromosomes."""
        spans = {}
        for chrom in dict.fromkeys(region.chrom for region in regions):
            here = [region for region in regions if region.chrom == chrom]
            starts = [max(0, region.start - margin_bp) for region in here]
            ends = [min(genome.lengths[chrom], region.end + margin_bp) for region in here]
            spans[chrom] = merge_spans(starts, ends)
        return cls(genome, spans)

    def __iter__(self) -> Iterator[Interval]:
        for chrom, (starts, ends) in self.spans.items():
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
                yield Interval(chrom, start, end)

    @property
    def length_bp(self) -> int:
        return sum(stretch.length for stretch in self)

    def overlap(self, interval: Interval) -> bool:
        """Return True if an interval shares a base with the stretches."""
        if interval.chrom not in self.spans:
            return False
        shared = covered_bp(self.spans[interval.chrom], [interval.start], [interval.end])
        return bool(np.any(shared > 0))

    def fasta(self) -> str:
        """Return the bases as FASTA, as igv.js reads it: `>chr1:101-200 @len=LENGTH OF chr1`, from 1."""
        lines = []
        for stretch in self:
            length = self.genome.lengths[stretch.chrom]
            lines.append(f">{stretch.chrom}:{stretch.start + 1}-{stretch.end} @len={length}")
            lines.append(self.genome.fetch(stretch))
        return "\n".join(lines) + "\n"
