"""`dna-bigbird score-variants`."""

from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.inference.compute import Compute, ComputeOptions
from dna_bigbird.paths import InputPath, InputText, OutputPath, OutputStream


@checked()
def score_variants(
    vcf: InputText,
    fasta: InputPath,
    model: list[InputPath] | InputPath | None = None,
    output: OutputStream | None = None,
    format: Literal["tsv", "vcf"] | None = None,
    tsv: OutputPath | None = None,
    labels: list[str] | str | None = None,
    window: int | None = None,
    strand: Literal["both", "forward"] = "both",
    ref_mismatch: Literal["error", "skip"] = "error",
    probabilities: bool = False,
    resume: bool = False,
    **compute: ComputeOptions,
) -> None:
    """Score the variants of a VCF file: what each allele changes in a model's predictions.

    For every alternative allele and label: `<label>_diff`, the probability with the allele minus that
    with REF, and `<label>_log_odds`, the same of the log-odds; means over both strands. Substitutions,
    insertions and deletions are scored, several alleles of a record too. Symbolic alleles, breakends,
    `*` and alleles longer than half the window are not: nan in a table, '.' in a VCF, counted on
    standard error. REF must stand in the genome. Computed in float32 unless --precision says
    otherwise: bfloat16 would round away what most variants do.

    Args:
        vcf: VCF file: plain, gzip, bgzip, or '-' for standard input.
        fasta: Genome of the same assembly, plain or bgzip FASTA; chr22 and 22 are the same chromosome.
        model: Model bundle, a folder such as results/models/chromatin, or several as [A,B] for the mean
            of their probabilities; the one that comes with the package if not given.
        output: File to write: a table (.tsv: chrom, pos from 1, id, ref, alt, scores), or the VCF with the
            scores as INFO fields (.vcf, or .vcf.gz with an index). Standard output if not given.
        format: What to write; if not given it goes by the name of the output, and is a table on standard output.
        tsv: A table beside an annotated VCF.
        labels: Labels wanted: names or shell patterns between commas, such as 'GM12878*,CTCF'; all if not given.
        window: Base pairs around a variant; the model's own window if not given.
        strand: 'both' averages the strands, each with its window centred in its own direction; 'forward' reads one.
        ref_mismatch: What to do with records that do not fit the genome (another base, a chromosome that is
            missing, a position past its end): 'error' stops before anything is scored, 'skip' leaves them out: no
            row in a table, no new INFO fields in a VCF.
        probabilities: The table also has the probabilities themselves, `<label>_ref` and `<label>_alt`.
        resume: Go on with an interrupted run of the same command.
        compute: How, never what: fields of `Compute`.

    Examples:
        dna-bigbird score-variants --vcf variants.vcf.gz --fasta hg19.fa \\
            --model results/models/chromatin --output scored.vcf.gz --tsv scored.tsv
    """
    from dna_bigbird.bundles.choice import notes_on
    from dna_bigbird.errors import note
    from dna_bigbird.inference.variants import scoring as variant_scores

    settings = Compute(**compute)
    summary = variant_scores.score_variants(
        vcf,
        fasta,
        model,
        "-" if output is None else output,
        format,
        tsv,
        labels,
        window,
        strand,
        ref_mismatch,
        probabilities,
        resume,
        progress=True,
        **vars(settings),
    )
    for line in (*notes_on(model), *summary.notes):
        note(line)
