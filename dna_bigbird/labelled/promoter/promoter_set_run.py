"""Promoter sets: windows around start sites, and negatives for each."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.bed import place_on_genome
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval, StartSite, promoter_window
from dna_bigbird.labelled.labelled_data import LabelledData
from dna_bigbird.labelled.promoter.config import PromoterConfig
from dna_bigbird.labelled.promoter.negatives import Negatives, draws, make_negatives
from dna_bigbird.labelled.set_files import LabelledSetFile, counts_in_words, few_positives
from dna_bigbird.labelled.splits import SPLITS, STRADDLING, TRAIN, VALIDATION, SplitConfig

# Do start sites fit the genome? The two bases around a start tell, also where chromosome lengths do not.
#
# Transcription mostly starts at a purine (A, G) that follows a pyrimidine (C, T): the initiator, at
# -1/+1 ([Carninci et al. 2006](https://doi.org/10.1038/ng1789)). Anywhere else about one dinucleotide
# in four has this form. docs/results/sites-on-another-assembly.md has measured shares.

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
    """Count start sites, 1 bp each, that are a purine after a pyrimidine; equal ones count once."""
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
    """Yield the notes."""
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


@dataclass(frozen=True)
class _Promoter:
    window: Interval
    name: str
    gene: str


def build_promoters(
    genome: Genome,
    files: Mapping[str, Sequence[StartSite]],
    config: PromoterConfig,
    split: SplitConfig,
    *,
    seed: int,
    pieces: bool = False,
    avoid: Sequence[StartSite] = (),
) -> LabelledData:
    """Build positives and negatives from start sites."""
    # Rows come in the genome's order, every positive followed by its negatives, in the same split.
    # An artificial negative depends on the seed and the place of its site only, not on other sites.
    sites = [site for part in files.values() for site in part]
    placed = [place_on_genome(part, genome, x, pieces=pieces) for x, part in files.items()]
    counts: dict[str, float] = {
        "sites_read": len(sites),
        "left_out_chromosome_absent": sum(x.absent for x in placed),
        "left_out_beyond_the_piece": sum(x.beyond for x in placed),
    }
    on_genome = [site for x in placed for site in x.rows]
    by_place: dict[Interval, StartSite] = {}
    for site in on_genome:
        by_place.setdefault(site.interval, site)
    counts["left_out_same_site_again"] = len(on_genome) - len(by_place)
    rank = {chrom: i for i, chrom in enumerate(genome.lengths)}
    ordered = sorted(by_place, key=lambda x: (rank[x.chrom], x.start, x.strand))
    whole = _whole_windows(genome, ordered, by_place, config, counts)
    nothing_left = f"{', '.join(files)}: no promoter window of {config.window_bp} bp is left"
    if not whole:
        raise InputError(f"{nothing_left} ({counts_in_words(counts)})")
    kept, splits = _split(whole, split, counts)
    if TRAIN not in splits:
        raise InputError(f"{nothing_left} for training ({counts_in_words(counts)})")
    avoided = _on_genome([*sites, *avoid], genome)
    negatives, matched = make_negatives(
        genome,
        [x.window for x in kept],
        splits,
        draws(config.methods, config.training_methods),
        avoided,
        split,
        max_n_fraction=config.max_n_fraction,
        unread=SplitConfig(test=config.unread) if config.unread else None,
        seed=seed,
    )
    counts |= matched
    return _as_rows(kept, negatives, splits, config, counts)


def _on_genome(sites: Iterable[StartSite], genome: Genome) -> list[Interval]:
    """Sites on the genome's chromosomes by its names, those beyond the end of a piece too."""
    names = {chrom: genome.find(chrom) for chrom in {x.interval.chrom for x in sites}}
    return [
        replace(x.interval, chrom=name)
        for x in sites
        if (name := names[x.interval.chrom]) is not None
    ]


def _whole_windows(
    genome: Genome,
    ordered: list[Interval],
    sites: dict[Interval, StartSite],
    config: PromoterConfig,
    counts: dict[str, float],
) -> list[_Promoter]:
    """Cut the windows, leave out those past an end or with N, and count these."""
    past = with_n = 0
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
        elif genome.unknown_bases(window).count(1) > config.max_n_fraction * window.length:
            with_n += 1
        else:
            kept.append(_Promoter(window, sites[site].name, sites[site].gene))
    counts["left_out_window_past_the_end"] = past
    counts["left_out_window_with_n"] = with_n
    return kept


def _split(
    whole: list[_Promoter], split: SplitConfig, counts: dict[str, float]
) -> tuple[list[_Promoter], NDArray[np.uint8]]:
    """Leave out, and count, what is in no split: windows across a border, genes in two splits."""
    splits = split.split_of_rows([x.window for x in whole], [x.gene for x in whole])
    lost = [x.window for x, number in zip(whole, splits, strict=True) if number == STRADDLING]
    across = sum(split.split_of(window) == STRADDLING for window in lost)
    counts["left_out_window_across_splits"] = across
    counts["left_out_gene_in_another_split"] = len(lost) - across
    kept = [x for x, number in zip(whole, splits, strict=True) if number != STRADDLING]
    splits = splits[splits != STRADDLING].astype(np.uint8)
    for number, name in enumerate(SPLITS):
        counts[f"positives_{name}"] = int((splits == number).sum())
    return kept, splits


def _as_rows(
    kept: list[_Promoter],
    negatives: list[Negatives],
    splits: NDArray[np.uint8],
    config: PromoterConfig,
    counts: dict[str, float],
) -> LabelledData:
    """Put each promoter before its negatives."""
    n = len(kept)
    owner = np.concatenate([np.arange(n), *(x.owners for x in negatives)])
    windows = [x.window for x in kept] + [window for x in negatives for window in x.windows]
    stored = [np.full(n, -1, dtype=np.int64)]
    bases: list[NDArray[np.uint8]] = []
    for x in negatives:
        if x.bases is None:
            stored.append(np.full(len(x.owners), -1, dtype=np.int64))
        else:
            stored.append(sum(map(len, bases)) + np.arange(len(x.owners)))
            bases.append(x.bases)
    order = np.argsort(owner, kind="stable")
    return LabelledData(
        task="promoter",
        window_bp=config.window_bp,
        label_names=["promoter"],
        label_groups=["promoter"],
        intervals=[windows[i] for i in order.tolist()],
        names=[kept[i].name for i in owner[order].tolist()],
        labels=(order < n).astype(np.uint8)[:, None],
        split=splits[owner[order]],
        negatives=config.negatives,
        sequences=np.concatenate(bases) if bases else None,
        stored=np.concatenate(stored)[order] if bases else None,
        pair=owner[order],
        counts=counts,
    )
