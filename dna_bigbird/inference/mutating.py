"""In-silico mutagenesis: what each of the three other bases would do at every base of a region.

Every base has windows of its own, centred on it, so that each substitution has exactly the effect
that score-variants gives it: a window that the whole region shares would be cheaper, but then the
effect of a base would depend on how far the region reaches.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dna_bigbird.bundles.choice import InputModels, load_models
from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError, checked_settings
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval, parse_region
from dna_bigbird.genome.variants import Variant
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.labels import choose_labels
from dna_bigbird.inference.mutagenesis_files import (
    EFFECTS,
    LETTERS,
    Effect,
    Mutagenesis,
    check_kind,
    write_mutagenesis,
)
from dna_bigbird.inference.predictor import Predictor
from dna_bigbird.inference.progress import progress_bar
from dna_bigbird.inference.variants.effects import Scorer, exact, site_effects
from dna_bigbird.inference.variants.scoring import choose_window
from dna_bigbird.inference.variants.sites import Site
from dna_bigbird.inference.windows.tiling import short_window_notes
from dna_bigbird.paths import InputFile, OutputFile

# P positions, L labels; 4 bases in the order of LETTERS

MOST_BP = 20_000
"""Longest region: the matrix of 919 labels takes 1.2 GB."""


@checked(rest=Compute)
def mutagenesis(
    fasta: InputFile,
    region: str | None = None,
    model: InputModels = None,
    output: OutputFile | None = None,
    labels: str | Sequence[str] | None = None,
    effect: Effect = "log_odds",
    window: int | None = None,
    strand: Literal["both", "forward"] = "both",
    progress: bool = False,
    **compute: Any,
) -> Mutagenesis:
    """Score every substitution in a region.

    Args:
        fasta: Plain FASTA file.
        region: As samtools writes it, counted from 1; None for a FASTA with one short record.
        model: Bundle folder, several for the mean of their probabilities, None for the bundled one.
        output: File for the matrix, `.tsv` or `.npz` (`write_mutagenesis`), beside what is returned.
        labels: Names or shell patterns; all if not given.
        effect: What a `.tsv` holds.
        window: Bases around each changed one; those of the model if not given.
        strand: 'both' takes the mean over the two strands.
        progress: Show a bar on a terminal.
        compute: Fields of `Compute`; precision 'auto' is float32 here.

    Raises:
        InputError: For a value that is not one of the choices, and a region, genome, model or label
            that does not fit; see `choose_region`.
        TypeError: If there is no such argument.
    """
    if output is not None:
        check_kind(Path(output))
    with checked_settings():
        settings = exact(Compute(**compute))
    genome = Genome(fasta)
    where = choose_region(genome, region)
    bundles = load_models(model)
    predictor = Predictor(
        bundles,
        compute=settings,
        labels=choose_labels(bundles[0].config.label_names, labels),
    )
    window_bp = choose_window(window, predictor.window_bp, genome)
    with progress_bar(progress, where.length, unit="bases") as done:
        found = substitute(
            predictor,
            genome,
            where,
            window_bp=window_bp,
            strand=strand,
            done=done,
        )
    short = short_window_notes(window_bp, predictor.window_bp)
    found = replace(found, notes=predictor.notes() + short)
    if output is not None:
        write_mutagenesis(found, Path(output), effect)
    return found


@checked()
def substitute(
    scorer: Scorer,
    genome: Genome,
    region: Interval,
    *,
    window_bp: int,
    strand: Literal["both", "forward"] = "both",
    done: Callable[[int], object] = lambda count: None,
) -> Mutagenesis:
    """Put each of the three other bases at every base of a region, one at a time.

    Args:
        region: Within its chromosome.
        window_bp: Bases that the model sees, centred on the changed one (variant_windows).
        done: Is told how many more bases are done.
    """
    reference = genome.fetch(region)

    def sites() -> Iterator[Site]:
        for pos, base in enumerate(reference, start=region.start + 1):
            others = tuple(letter for letter in LETTERS if letter != base)
            scored = () if base == "N" else (0, 1, 2)
            yield Site(Variant(region.chrom, pos, ".", base, others, line=0), scored)

    tables = {
        name: np.full((len(reference), 4, len(scorer.label_names)), np.nan) for name in EFFECTS
    }
    first = 0
    for chunk, columns in site_effects(scorer, genome, sites(), window_bp=window_bp, strand=strand):
        row = 0
        for place, site in enumerate(chunk, start=first):
            if site.scored:
                of_bases = [LETTERS.index(alt) for alt in site.variant.alts]
                for name, table in tables.items():
                    table[place] = 0
                    table[place, of_bases] = columns[name][row : row + 3]
            row += len(site.variant.alts)
        first += len(chunk)
        done(len(chunk))
    return Mutagenesis(region.chrom, region.start, reference, list(scorer.label_names), **tables)


def choose_region(genome: Genome, region: str | None) -> Interval:
    """Return the region that is meant, on the forward strand.

    Args:
        region: As samtools writes it, `chr22:20,000,001-20,000,200`: from 1, both ends included;
            None for the whole of a FASTA with one short record.

    Raises:
        InputError: If it is no region, lies outside its chromosome, is longer than MOST_BP, or is
            not given where the FASTA has several records.
    """
    if region is None:
        if len(genome.lengths) > 1:
            raise InputError(
                f"{genome.path}: {len(genome.lengths)} records; say which bases to change with "
                "--region, such as chr22:20,000,001-20,000,200"
            )
        ((name, length),) = genome.lengths.items()
        found = Interval(name, 0, length)
    else:
        try:
            found = parse_region(region)
        except ValueError as error:
            raise InputError(f"--region {error}") from error
        name = genome.resolve(found.chrom)
        length = genome.lengths[name]
        if found.end > length:
            raise InputError(
                f"--region {region}: {name} has {length:,} bases in {genome.path.name}. "
                "Is this the right genome?"
            )
        found = Interval(name, found.start, found.end)
    if found.length > MOST_BP:
        what = f"--region {region}" if region else f"{genome.path}, without --region,"
        raise InputError(
            f"{what}: {found.length:,} bases; at most {MOST_BP:,} are changed in one run"
        )
    return found
