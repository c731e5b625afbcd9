"""In-silico mutagenesis: what each of the three other bases would do at every base of a region.

Every base has windows of its own, centred on it, so that each substitution has exactly the effect
that score-variants gives it: a window that the whole region shares would be cheaper, but then the
effect of a base would depend on how far the region reaches.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.errors import InputError, checked_settings, note
from dna_bigbird.files import atomic_path
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval, parse_region
from dna_bigbird.genome.variants import Variant
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.labels import choose_labels
from dna_bigbird.inference.loading import Models, load_models
from dna_bigbird.inference.predictor import Predictor
from dna_bigbird.inference.progress import progress_bar
from dna_bigbird.inference.variant_effects import Scorer, exact, site_effects
from dna_bigbird.inference.variant_scores import choose_window
from dna_bigbird.inference.variant_sites import Site

# P positions, L labels; 4 bases in the order of LETTERS

LETTERS = "ACGT"
MOST_BP = 20_000
"""Longest region: the matrix of 919 labels takes 1.2 GB."""
EFFECTS = ("diff", "log_odds")
KINDS = (".tsv", ".npz")
Effect = Literal["diff", "log_odds"]


@dataclass(frozen=True)
class Mutagenesis:
    """Effects of all substitutions in a region.

    0 at the reference base; NaN where the reference is N.
    """

    chrom: str
    start: int
    """0-based position of the first base."""
    reference: str
    """The bases of the region on the forward strand, (P,)."""
    label_names: list[str]
    diff: NDArray[np.float64]
    """Probability with the substitution minus that of the reference, (P, 4, L)."""
    log_odds: NDArray[np.float64]
    """The same of the log odds."""

    def effects(self, effect: Effect) -> NDArray[np.float64]:
        """Return one of the two tables, (P, 4, L)."""
        return {"diff": self.diff, "log_odds": self.log_odds}[effect]


def mutagenesis(
    fasta: Path | str,
    region: str | None = None,
    model: Models = None,
    output: Path | str | None = None,
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
        model: Bundle folder, several for the mean of their probabilities, None for the shipped one.
        output: File for the matrix, `.tsv` or `.npz` (`write_mutagenesis`), beside what is returned.
        labels: Names or shell patterns; all if not given.
        effect: What a `.tsv` holds.
        window: Bases around each changed one; those of the model if not given.
        strand: 'both' takes the mean over the two strands.
        progress: Show a bar on a terminal.
        compute: Fields of `Compute`; precision 'auto' is float32 here.

    Raises:
        InputError: For a region, genome, model or label that does not fit; see `choose_region`.
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
        labels=choose_labels(bundles[0].config["label_names"], labels),
    )
    with progress_bar(progress, where.length, unit="bases") as done:
        found = substitute(
            predictor,
            genome,
            where,
            window_bp=choose_window(window, predictor.window_bp, genome),
            strand=strand,
            done=done,
        )
    for line in predictor.notes():
        note(line)
    if output is not None:
        write_mutagenesis(found, Path(output), effect)
    return found


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


def write_mutagenesis(found: Mutagenesis, path: Path, effect: Effect) -> None:
    """Write the matrix by the ending of its name.

    `.tsv`: see `tsv_lines`. `.npz`: both effects as arrays `diff` and `log_odds` (positions, 4,
    labels), with `chrom`, `start` (0-based), `reference`, `bases` and `labels`.

    Raises:
        InputError: If the name ends otherwise.
    """
    check_kind(path)
    with atomic_path(path) as partial:
        if path.suffix == ".tsv":
            partial.write_text("".join(f"{line}\n" for line in tsv_lines(found, effect)))
            return
        with open(partial, "wb") as stream:  # given a name, numpy would add an ending
            np.savez_compressed(
                stream,
                chrom=np.array(found.chrom),
                start=np.array(found.start),
                reference=np.array(list(found.reference)),
                bases=np.array(list(LETTERS)),
                labels=np.array(found.label_names),
                diff=found.diff,
                log_odds=found.log_odds,
            )


def check_kind(path: Path) -> None:
    """Refuse a name with another ending than KINDS.

    Raises:
        InputError: Naming the endings.
    """
    if path.suffix not in KINDS:
        raise InputError(f"--output {path}: the name of a matrix ends in {' or '.join(KINDS)}")


def tsv_lines(found: Mutagenesis, effect: Effect) -> Iterator[str]:
    """Yield the matrix as a table, a line a base.

    Columns: chrom, pos (from 1), ref, then `<label>_A_<effect>` and so on for C, G, T and the next
    label; nan where the reference is N.
    """
    names = [f"{label}_{base}_{effect}" for label in found.label_names for base in LETTERS]
    yield "\t".join(["chrom", "pos", "ref", *names])
    rows_PLB = found.effects(effect).transpose(0, 2, 1)
    for i, (base, values) in enumerate(zip(found.reference, rows_PLB, strict=True)):
        numbers = (f"{value:.5g}" for value in values.ravel())
        yield "\t".join([found.chrom, str(found.start + i + 1), base, *numbers])
