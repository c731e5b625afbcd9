"""`mutagenesis`: the effect of each of the three other bases at every base of a region, and its files.

Every base is scored in a window of its own, centred on it, as `score_variants` does: in one window
the effect of a base depends on its distance from the middle. Models of promoters were trained on
windows with the start site at a certain base; for them one window can be named.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dna_bigbird.bundles.choice import Models, allele_notes, choose_labels, load_models, notes_on
from dna_bigbird.bundles.model_options import ModelBundles
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.messages import listed_words
from dna_bigbird.core.paths import STANDARD_STREAM, GenomeFile, OutputFile, StreamFile
from dna_bigbird.core.settings import Count
from dna_bigbird.core.shared_options import AlleleStrands, Labels, Progress
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.genome.fasta import Genome, find_region
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.variants import Variant
from dna_bigbird.models.label_types import TRACKS
from dna_bigbird.prediction.compute import Compute, ComputeOptions, exact
from dna_bigbird.prediction.results import (
    LETTERS,
    Mutagenesis,
    SubstitutionEffect,
    Substitutions,
    TrackMutagenesis,
)
from dna_bigbird.prediction.variants.effects import (
    Effects,
    LogitModel,
    Strands,
    choose_window,
    site_effects,
    window_cutter,
)
from dna_bigbird.prediction.variants.sites import Site
from dna_bigbird.prediction.windows.bins import check_central
from dna_bigbird.prediction.windows.tiling import short_window_notes
from dna_bigbird.prediction.writers.target import table_line

# P positions, L labels; 4 bases in the order of LETTERS

SUFFIXES = (".tsv", ".csv", ".npz")
PICTURES = (".png", ".svg", ".pdf")
Result = TypeVar("Result", Mutagenesis, TrackMutagenesis)
MOST_BP = 20_000
"""Longest region: the matrix of 919 labels takes 1.2 GB."""


@checked(rest=Compute)
def mutagenesis(
    fasta: GenomeFile,
    region: str | None = None,
    model: ModelBundles | None = None,
    output: StreamFile | None = None,
    labels: Labels = None,
    effect: SubstitutionEffect | None = None,
    window: int | None = None,
    strand: AlleleStrands = None,
    progress: Progress = False,
    picture: OutputFile | None = None,
    within: str | None = None,
    central_bp: Count = 0,
    **compute: ComputeOptions,
) -> Mutagenesis | TrackMutagenesis:
    """Replace every base of a region by each of the three others and score each substitution.

    The table has one row per base: chrom, pos (from 1), ref, then for every label four columns, one
    for each of A, C, G, T: 0 at the reference base, nan where the genome has N. Every base has a
    window of its own, centred on it, so a substitution has the effect that score-variants gives it.
    In the picture a letter points up where changing it lowers the score of the label; the colours below
    are the effects of the single substitutions. With --within all bases share one window. Computed in
    float32 unless --precision is given.

    Args:
        fasta: FASTA file to read: plain, a genome with a region, or one short record.
        region: Region of the genome, from 1 and both ends included, as chr22:20,000,001-20,000,200: the bases
            to change. Default: the whole record.
        model: Model bundle: several (--model A B) are averaged. Default: the bundled model.
        output: Result to write: the matrix, .tsv, .csv or .npz. '-' writes the table to standard
            output if there is no picture.
        effect: log_odds, the change of the log odds, or diff, the change of the probability; of tracks total, shape
            or largest, as score-variants has them. An .npz file has all. Default: log_odds, of tracks total.
        window: Window in base pairs: around each changed base; by default that of the model.
        picture: Heat map to write, .png, .svg or .pdf, of regions of up to 1,000 bases. If there
            are many labels, those with the largest effects are drawn.
        within: Region that is the window of every changed base: for a model that is aligned, the window with its
            start site where the model had it in training, of a promoter on the other strand with
            --strand reverse. Default: windows of their own, centred on each base.
        central_bp: Bases in the middle of the window of a model of tracks whose bins count, 0 for all.
        compute: Fields of `Compute`: speed and memory.

    Examples:
        dna-bigbird mutagenesis --fasta hg19.fa --region chr8:128,748,301-128,748,400 \\
            --model results/models/chromatin --labels 'GM12878*' --output effects.tsv --picture effects.png

    Returns:
        The matrix, also if it is written; of tracks `TrackMutagenesis`. A model may also be a loaded bundle.

    Raises:
        InputError: If a value is not one of the choices, or a region, genome, model or label does
            not fit; see `choose_region`.
        TypeError: If there is no such argument.
    """
    file = None if output is None or str(output) == STANDARD_STREAM else Path(output)
    if file and file.suffix.lower() not in SUFFIXES:
        raise InputError(f"--output {file}: the name of a matrix ends in {listed_words(SUFFIXES)}")
    picture = None if picture is None else Path(picture)
    genome = Genome(fasta)
    one_window = None
    if within is None:
        bases = choose_region(genome, region)
    elif window is not None:
        raise InputError(f"--window {window} and --within {within}: one window only; leave one out")
    else:
        one_window, bases = choose_within(genome, within, region)
    if picture:
        check_picture(picture, bases.length)
    result = score_substitutions(
        genome,
        bases,
        model,
        labels=labels,
        window=window,
        within=one_window,
        strand=strand,
        compute=exact(Compute(**compute)),
        progress=progress,
        central_bp=central_bp,
        effect=effect,
    )
    effect = effect or result.usual
    if file:
        write_matrix(result, file, effect)
    if picture:
        notes = write_picture(result, picture, effect)
        result = replace(result, notes=[*result.notes, *notes])
    elif output is not None and file is None:
        sys.stdout.writelines(table_line(row, "tsv") for row in table_rows(result, effect))
    return result


@checked()
def score_substitutions(
    genome: Genome,
    region: Interval,
    model: Models,
    *,
    labels: str | Sequence[str] | None,
    window: int | None,
    within: Interval | None = None,
    strand: Strands | None,
    compute: Compute,
    progress: bool,
    central_bp: int = 0,
    effect: str | None = None,
) -> Mutagenesis | TrackMutagenesis:
    """Load the model and score every substitution in a region; `within` replaces `window`, `effect` must be one."""
    from dna_bigbird.prediction.partial_results import progress_bar  # imports torch: seconds
    from dna_bigbird.prediction.predictor import Predictor
    from dna_bigbird.prediction.variants.scorers import TrackScorer

    bundles = load_models(model)
    is_tracks = bundles[0].config.label_type == TRACKS
    check_central(central_bp, is_tracks)
    columns = (TrackMutagenesis if is_tracks else Mutagenesis).columns
    if effect is not None and effect not in columns:
        raise InputError(f"--effect {effect}: this model has {listed_words(columns)}")
    predictor: Predictor | TrackScorer
    if is_tracks:
        own = within.length if within else window
        predictor = TrackScorer(bundles, compute, labels, own, central_bp)
    else:
        chosen = choose_labels(bundles[0].config.label_names, labels)
        predictor = Predictor(bundles, compute=compute, labels=chosen)
        predictor.check_probabilities("a comparison of bases")
    window_bp = within.length if within else choose_window(window, predictor.window_bp, genome)
    strand = strand or bundles[0].config.default_strand
    has_anchor = within is not None and window_bp == predictor.window_bp
    notes = [*notes_on(model), *allele_notes(bundles, "--within", has_anchor)]
    result: Mutagenesis | TrackMutagenesis
    options: dict[str, Any] = {"window_bp": window_bp, "within": within, "strand": strand}
    with progress_bar(progress, region.length, unit="bases") as done:
        if isinstance(predictor, TrackScorer):
            bases = genome.fetch(region)
            cut = window_cutter(genome, **options)
            effects = predictor.effects(_sites(region, bases), cut)
            result = _filled(TrackMutagenesis, region, bases, predictor.label_names, effects, done)
        else:
            result = substitute(predictor, genome, region, **options, done=done)
    short = short_window_notes(window_bp, predictor.window_bp)
    return replace(result, notes=[*notes, *predictor.notes(), *short])


@checked()
def substitute(
    scorer: LogitModel,
    genome: Genome,
    region: Interval,
    *,
    window_bp: int,
    within: Interval | None = None,
    strand: Strands = "both",
    done: Callable[[int], object] = lambda count: None,
) -> Mutagenesis:
    """Replace every base of a region by each other one, in windows of their own or `within` one."""
    bases = genome.fetch(region)
    sites = _sites(region, bases)
    effects = site_effects(scorer, genome, sites, window_bp=window_bp, within=within, strand=strand)
    return _filled(Mutagenesis, region, bases, scorer.label_names, effects, done)


def _sites(region: Interval, reference: str) -> Iterator[Site]:
    """Yield the three substitutions of each base; of N none is scored."""
    for pos, base in enumerate(reference, start=region.start + 1):
        others = tuple(letter for letter in LETTERS if letter != base)
        scored = () if base == "N" else (0, 1, 2)
        yield Site(Variant(region.chrom, pos, ".", base, others, line=0), scored)


def _filled(
    result_type: type[Result],
    region: Interval,
    reference: str,
    labels: Sequence[str],
    effects: Iterable[tuple[list[Site], Effects]],
    done: Callable[[int], object],
) -> Result:
    """Return the tables of the effects of all sites."""
    shape = (len(reference), 4, len(labels))
    tables: dict[str, Any] = {name: np.full(shape, np.nan) for name in result_type.columns}
    first = 0
    for chunk, columns in effects:
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
    return result_type(region.chrom, region.start, reference, list(labels), **tables)


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


@checked()
def write_matrix(result: Substitutions, path: Path, effect: SubstitutionEffect) -> None:
    """Write the matrix in the format of the suffix: `table_rows`, or NPZ with all effects."""
    with atomic_path(path) as partial:
        if path.suffix.lower() != ".npz":
            format = path.suffix.lower().removeprefix(".")
            lines = (table_line(row, format) for row in table_rows(result, effect))
            partial.write_text("".join(lines), encoding="utf-8")
            return
        tables: dict[str, Any] = {name: getattr(result, name) for name in result.columns}
        with open(partial, "wb") as stream:  # numpy would add a suffix to a name
            np.savez_compressed(
                stream,
                chrom=np.array(result.chrom),
                start=np.array(result.start),
                reference=np.array(list(result.reference)),
                bases=np.array(list(LETTERS)),
                labels=np.array(result.label_names),
                **tables,
            )


@checked()
def table_rows(result: Substitutions, effect: SubstitutionEffect) -> Iterator[list[str]]:
    """Yield the names of the columns, then one row per base: chrom, pos (from 1), ref, effects."""
    names = [f"{label}_{base}_{effect}" for label in result.label_names for base in LETTERS]
    yield ["chrom", "pos", "ref", *names]
    rows_PLB = result.effects(effect).transpose(0, 2, 1)
    for i, (base, values) in enumerate(zip(result.reference, rows_PLB, strict=True)):
        numbers = (f"{value:.5g}" for value in values.ravel())
        yield [result.chrom, str(result.start + i + 1), base, *numbers]


def check_picture(picture: Path, length_bp: int) -> None:
    """Raise InputError for a picture of another format, or of too many bases."""
    if picture.suffix.lower() not in PICTURES:
        raise InputError(f"--picture {picture}: the name ends in {', '.join(PICTURES)}")
    from dna_bigbird.prediction.mutagenesis_figure import MOST_BASES

    if length_bp > MOST_BASES:
        raise InputError(
            f"--picture {picture}: a picture shows at most {MOST_BASES:,} bases, the region has "
            f"{length_bp:,}; write --output instead"
        )


@checked()
def write_picture(result: Substitutions, picture: Path, effect: SubstitutionEffect) -> list[str]:
    """Draw the matrix; return a note if not every label is drawn."""
    from dna_bigbird.core.figures.style import save
    from dna_bigbird.prediction.mutagenesis_figure import mutagenesis_figure

    figure, drawn = mutagenesis_figure(
        result.chrom, result.start, result.reference, result.label_names, result.effects(effect),
        effect=effect,
    )  # fmt: skip
    with atomic_path(picture) as partial:
        partial.write_bytes(save(figure, picture.suffix[1:].lower(), dpi=200))
    if len(drawn) == len(result.label_names):
        return []
    return [f"{picture} shows the labels with the largest effects: {', '.join(drawn)}"]
