"""Promoter sets: windows around start sites, and one artificial negative for each."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dna_bigbird.datasets.labelled import LabelledData
from dna_bigbird.datasets.negatives import NEGATIVES, PARTS, make_negative
from dna_bigbird.datasets.splits import SPLITS, STRADDLING, SplitConfig
from dna_bigbird.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.bed import BedRow, place, start_site


@dataclass(frozen=True)
class PromoterConfig:
    """Which window is cut around a start site, and how its negative is made."""

    upstream: int = 5000
    """Bases before the start site, in the direction of transcription."""
    downstream: int = 3000
    """Bases from the start site on, the first transcribed base included."""
    negatives: str = "random_base"
    """How negatives are made: random_base or permuted."""
    max_n_fraction: float = 0.0
    """Windows with a larger share of N are left out."""

    def __post_init__(self) -> None:
        if self.upstream < 0 or self.downstream < 1:
            raise ValueError(
                f"--upstream {self.upstream} --downstream {self.downstream}: the window must hold "
                "the start site (upstream 0 or more, downstream 1 or more)"
            )
        if self.window_bp < PARTS:
            raise ValueError(f"a window of {self.window_bp} bp cannot be cut into {PARTS} parts")
        if self.negatives not in NEGATIVES:
            raise ValueError(
                f"--negatives {self.negatives!r} does not exist; choose one of: {', '.join(NEGATIVES)}"
            )
        if not 0 <= self.max_n_fraction <= 1:
            raise ValueError(f"--max_n_fraction {self.max_n_fraction} is not between 0 and 1")

    @property
    def window_bp(self) -> int:
        """Length of the window."""
        return self.upstream + self.downstream


def promoter_window(
    chrom: str, tss: int, strand: str, *, upstream: int, downstream: int
) -> Interval:
    """Cut the window around a transcription start site, oriented with the gene.

    Args:
        tss: 0-based position of the first transcribed base.
        upstream, downstream: Bases before and after the start, in the direction of
            transcription. The first transcribed base counts as downstream.

    Returns:
        A 0-based, half-open interval, `upstream + downstream` long on either strand.
        It may run past the chromosome; `Genome.fetch` decides what to do then.

    Raises:
        ValueError: If `strand` is neither '+' nor '-'.

    Example:
        >>> promoter_window("chr1", 1000, "+", upstream=200, downstream=50)
        Interval(chrom='chr1', start=800, end=1050, strand='+')
        >>> promoter_window("chr1", 1000, "-", upstream=200, downstream=50)
        Interval(chrom='chr1', start=951, end=1201, strand='-')
    """
    if strand == "+":
        return Interval(chrom, tss - upstream, tss + downstream, strand)
    if strand == "-":
        return Interval(chrom, tss + 1 - downstream, tss + 1 + upstream, strand)
    raise ValueError(f"strand must be '+' or '-', got {strand!r}")


def build_promoters(
    genome: Genome,
    rows: list[BedRow],
    config: PromoterConfig,
    split: SplitConfig,
    *,
    seed: int,
    path: Path | str,
    pieces: bool = False,
) -> LabelledData:
    """Build positives and negatives from the start sites of a BED file.

    Rows come in the genome's order, every positive followed by its negative, which has the same
    interval and split and keeps its bases in the set. A negative depends on the seed and on the
    place of its site only, not on which other sites there are.

    Args:
        path: The BED file, for messages.
        pieces: The genome holds only the first part of its chromosomes; sites beyond it are
            left out and counted.

    Raises:
        InputError: If a site lies beyond its chromosome, none is on the genome, or no window
            is left for training.
    """
    placed = place(rows, genome, path, pieces=pieces)
    counts = {
        "sites_read": len(rows),
        "left_out_chromosome_absent": placed.absent,
        "left_out_beyond_the_piece": placed.beyond,
    }
    sites = {}
    for row in placed.rows:
        sites.setdefault(start_site(row, path), row.name)
    counts["left_out_same_site_again"] = len(placed.rows) - len(sites)
    kept = _keep_windows(genome, _in_genome_order(sites, genome), sites, config, split, counts)
    if not any(number == 0 for *_, number in kept):
        raise InputError(
            f"{path}: no promoter window of {config.window_bp} bp is left for training ({_told(counts)})"
        )
    return _as_rows(genome, kept, config, seed, counts)


def _in_genome_order(sites: Iterable[Interval], genome: Genome) -> list[Interval]:
    rank = {chrom: i for i, chrom in enumerate(genome.lengths)}
    return sorted(sites, key=lambda x: (rank[x.chrom], x.start, x.strand))


def _keep_windows(
    genome: Genome,
    ordered: list[Interval],
    names: dict[Interval, str],
    config: PromoterConfig,
    split: SplitConfig,
    counts: dict[str, int],
) -> list[tuple[Interval, str, str, int]]:
    """Return (window, name, bases, split) of the windows that are whole, and count the others."""
    past = with_n = straddling = 0
    kept = []
    for site in ordered:
        window = promoter_window(
            site.chrom,
            site.start,
            site.strand,
            upstream=config.upstream,
            downstream=config.downstream,
        )
        if window.start < 0 or window.end > genome.lengths[site.chrom]:
            past += 1
            continue
        bases = genome.fetch(window)
        if bases.count("N") > config.max_n_fraction * len(bases):
            with_n += 1
            continue
        number = split.split_of(window)
        if number == STRADDLING:
            straddling += 1
            continue
        kept.append((window, names[site], bases, number))
    counts["left_out_window_past_the_end"] = past
    counts["left_out_window_with_n"] = with_n
    counts["left_out_window_across_splits"] = straddling
    for number, name in enumerate(SPLITS):
        counts[f"positives_{name}"] = sum(x[-1] == number for x in kept)
    return kept


def _as_rows(
    genome: Genome,
    kept: list[tuple[Interval, str, str, int]],
    config: PromoterConfig,
    seed: int,
    counts: dict[str, int],
) -> LabelledData:
    n = len(kept)
    sequences = np.empty((n, config.window_bp), dtype=np.uint8)
    for i, (window, _, bases, _) in enumerate(kept):
        where = zlib.crc32(f"{window.chrom}:{window.start}:{window.strand}".encode())
        rng = np.random.default_rng([seed, where])
        positive = np.frombuffer(bases.encode("ascii"), dtype=np.uint8)
        sequences[i] = make_negative(positive, config.negatives, rng)
    pairs = [x for x in kept for _ in range(2)]
    stored = np.full(2 * n, -1, dtype=np.int64)
    stored[1::2] = np.arange(n)
    return LabelledData(
        task="promoter",
        window_bp=config.window_bp,
        label_names=["promoter"],
        label_groups=["promoter"],
        intervals=[x[0] for x in pairs],
        names=[x[1] for x in pairs],
        labels=np.tile(np.array([[1], [0]], dtype=np.uint8), (n, 1)),
        split=np.array([x[3] for x in pairs], dtype=np.uint8),
        negatives=config.negatives,
        sequences=sequences,
        stored=stored,
        counts=counts,
    )


def _told(counts: dict[str, int]) -> str:
    return ", ".join(f"{key.replace('_', ' ')}: {value}" for key, value in counts.items() if value)
