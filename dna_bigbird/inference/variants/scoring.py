"""Scores of the variants in a VCF file: `score_variants`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from dna_bigbird.bundles.choice import InputModels, load_models
from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError, checked_settings, note
from dna_bigbird.files import looks_like, sha256_of
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.labels import choose_labels
from dna_bigbird.inference.predictor import Predictor, check_together
from dna_bigbird.inference.variants.effects import EFFECTS, exact
from dna_bigbird.inference.variants.run import VariantRun, VariantSummary
from dna_bigbird.inference.variants.sites import VariantSites
from dna_bigbird.inference.variants.targets import check_targets, choose_targets
from dna_bigbird.paths import InputFile, OutputFile


@checked(rest=Compute)
def score_variants(
    vcf: InputFile,
    fasta: InputFile,
    model: InputModels = None,
    output: OutputFile | None = None,
    format: Literal["tsv", "vcf"] | None = None,
    tsv: OutputFile | None = None,
    labels: str | Sequence[str] | None = None,
    window: int | None = None,
    strand: Literal["both", "forward"] = "both",
    ref_mismatch: Literal["error", "skip"] = "error",
    probabilities: bool = False,
    resume: bool = False,
    progress: bool = False,
    **compute,
) -> VariantSummary:
    """Compare the alleles of variants: what each changes in a model's output.

    The reference window is centred on REF, on each strand in its own direction; in the window of an
    alternative allele the flank before it stays and the flank after it fills up (docs/variants.md).

    Args:
        vcf: VCF file: plain, gzip, bgzip, or '-' for standard input.
        fasta: Genome of the VCF's assembly; `22` and `chr22` are the same chromosome.
        model: Bundle, or its folder; several with the same labels are averaged. Without it the one
            that comes with the package.
        output: File to write; '-' for standard output; None returns the scores.
        format: If not given it goes by the name of `output`: .vcf, .vcf.gz (with an index) or else tsv.
        tsv: Second file, a table beside an annotated VCF.
        labels: Names or shell patterns; all if not given.
        window: Bases; the model's own if not given.
        ref_mismatch: 'skip' leaves out records that do not fit the genome: they have no row in a
            table, and no new INFO fields in a VCF. A note on standard error asks for the assembly
            if they are more than a tenth.
        probabilities: A table also has the probabilities themselves, `<label>_ref` and `<label>_alt`.
        resume: Go on with an interrupted run.
        progress: Show a bar on a terminal.
        compute: How, never what: fields of `Compute`; precision 'auto' is float32 here.

    Returns:
        `VariantScores` where `output` is None, else a `VariantSummary`.

    Raises:
        TypeError: If there is no such argument.
        InputError: If a value is not one of the choices, an input is malformed, the VCF does not fit the
            genome, no allele is left to score, or an output cannot be written.
    """
    with checked_settings():
        settings = exact(Compute(**compute))
    targets = choose_targets(output, format, tsv)
    check_targets(targets)
    bundles = load_models(model)
    check_together(bundles)
    genome = open_genome(fasta, vcf)
    chosen = choose_labels(bundles[0].config.label_names, labels)
    predictor = Predictor(bundles, compute=settings, strand=strand, labels=chosen)
    window_bp = choose_window(window, predictor.window_bp, genome)
    sites = VariantSites(
        vcf,
        genome,
        window_bp=window_bp,
        skip_misfits=ref_mismatch == "skip",
        must_be_sorted=any(target.is_indexed for target in targets),
    )
    on_disk = bool(targets) and targets[0].path is not None and not sites.streamed
    if resume and not on_disk:
        raise InputError("--resume goes on with a file: name it with --output, and the --vcf too")
    sites.check()
    if question := sites.assembly_note():
        note(question)
    run = VariantRun(
        predictor,
        sites,
        window_bp=window_bp,
        strand=strand,
        columns=EFFECTS if probabilities else EFFECTS[:2],
        targets=targets,
        models=[
            (b.folder.resolve().name, sha256_of(b.folder / "model.safetensors")) for b in bundles
        ],
        progress=progress,
    )
    if not targets:
        return run.in_memory()
    if on_disk:
        run.by_way_of_disk(resume)
    else:
        run.straight_through()
    return VariantSummary(**run.facts())


def open_genome(fasta: Path | str, vcf: Path | str) -> Genome:
    """Open the genome of a VCF file.

    Raises:
        InputError: As `Genome`; if the two files are swapped it says so.
    """
    if looks_like(fasta) == "a VCF file":
        found = looks_like(vcf)
        swapped = (
            f", and {vcf} like {found}: are the two swapped?" if found == "a FASTA file" else ""
        )
        raise InputError(
            f"{fasta}: expected the genome as FASTA, and this looks like a VCF file{swapped or '.'} "
            "Expected: --vcf variants.vcf --fasta genome.fa"
        )
    return Genome(fasta)


def choose_window(window: int | None, of_model: int, genome: Genome) -> int:
    """Return the window in bp.

    Raises:
        InputError: If one is asked for that has no middle, or is longer than every chromosome.
    """
    if window is None:
        return of_model
    longest = max(*genome.lengths.values(), of_model)
    if not 2 <= window <= longest:
        raise InputError(f"--window {window}: expected from 2 to {longest} base pairs")
    return window
