"""In-silico mutagenesis of a region: which bases, and the effect of every substitution."""

# P positions, L labels; 4 bases in the order of LETTERS

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from dna_bigbird.bundles.choice import Models, choose_labels, load_models, notes_on
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.fasta import Genome, find_region
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.variants import Variant
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.partial_results import progress_bar
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.prediction.results import LETTERS, Mutagenesis
from dna_bigbird.prediction.variants.effects import LogitModel, choose_window, site_effects
from dna_bigbird.prediction.variants.sites import Site
from dna_bigbird.prediction.windows.tiling import short_window_notes

MOST_BP = 20_000
"""Longest region: the matrix of 919 labels takes 1.2 GB."""


@checked()
def score_substitutions(
    genome: Genome,
    region: Interval,
    model: Models,
    *,
    labels: str | Sequence[str] | None,
    window: int | None,
    within: Interval | None = None,
    strand: Literal["both", "forward"],
    compute: Compute,
    progress: bool,
) -> Mutagenesis:
    """Load the model and score every substitution in a region; `within` replaces `window`."""
    bundles = load_models(model)
    chosen = choose_labels(bundles[0].config.label_names, labels)
    predictor = Predictor(bundles, compute=compute, labels=chosen)
    predictor.check_probabilities("a comparison of bases")
    window_bp = within.length if within else choose_window(window, predictor.window_bp, genome)
    with progress_bar(progress, region.length, unit="bases") as done:
        result = substitute(
            predictor, genome, region, window_bp=window_bp, within=within, strand=strand, done=done
        )
    short = short_window_notes(window_bp, predictor.window_bp)
    return replace(result, notes=[*notes_on(model), *predictor.notes(), *short])


@checked()
def substitute(
    scorer: LogitModel,
    genome: Genome,
    region: Interval,
    *,
    window_bp: int,
    within: Interval | None = None,
    strand: Literal["both", "forward"] = "both",
    done: Callable[[int], object] = lambda count: None,
) -> Mutagenesis:
    """Replace every base of a region by each other one, in windows of their own or `within` one."""
    reference = genome.fetch(region)

    def sites() -> Iterator[Site]:
        for pos, base in enumerate(reference, start=region.start + 1):
            others = tuple(letter for letter in LETTERS if letter != base)
            scored = () if base == "N" else (0, 1, 2)
            yield Site(Variant(region.chrom, pos, ".", base, others, line=0), scored)

    tables = {
        name: np.full((len(reference), 4, len(scorer.label_names)), np.nan)
        for name in ("diff", "log_odds")
    }
    first = 0
    windows = {"window_bp": window_bp, "within": within}
    for chunk, columns in site_effects(scorer, genome, sites(), strand=strand, **windows):
        row = 0
        for position, site in enumerate(chunk, start=first):
            if site.scored:
                columns_of_bases = [LETTERS.index(alt) for alt in site.variant.alts]
                for name, table in tables.items():
                    table[position] = 0
                    table[position, columns_of_bases] = columns[name][row : row + 3]
            row += len(site.variant.alts)
        first += len(chunk)
        done(len(chunk))
    return Mutagenesis(region.chrom, region.start, reference, list(scorer.label_names), **tables)


def choose_within(genome: Genome, within: str, region: str | None) -> tuple[Interval, Interval]:
    """Return the window of all changed bases, and the bases to change: by default all of it."""
    window = choose_region(genome, within, "--within")
    bases = choose_region(genome, region) if region else window
    if bases.chrom != window.chrom or not window.start <= bases.start < bases.end <= window.end:
        raise InputError(
            f"--region {region} is not inside of --within {within}; expected bases of that window"
        )
    return window, bases


def choose_region(genome: Genome, region: str | None, option: str = "--region") -> Interval:
    """Return the bases to change: 'chr22:20,000,001-20,000,200', or all of one short record."""
    if region is None:
        if len(genome.lengths) > 1:
            raise InputError(
                f"{genome.path}: {len(genome.lengths)} records; say which bases to change with "
                "--region, such as chr22:20,000,001-20,000,200"
            )
        ((name, length),) = genome.lengths.items()
        bases = Interval(name, 0, length)
    else:
        bases = find_region(genome, region, option)
    if bases.length > MOST_BP:
        source = f"{option} {region}" if region else f"{genome.path}, without --region,"
        raise InputError(
            f"{source}: {bases.length:,} bases; at most {MOST_BP:,} are changed in one run"
        )
    return bases
