"""`score_variants`: how the alleles of a VCF file change a model's predictions.

The path of one record: `sites.py` reads it and checks it against the genome, `effects.py` cuts one
window per allele, has the windows scored (`predictor.py`) and compares each allele with the
reference, `run.py` keeps the scores in order (in memory, on disk, or straight to the writers),
`writers.py` writes tables and annotated VCF files.
"""

from typing import Literal

from dna_bigbird.bundles.model_options import ModelBundles
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.paths import GenomeFile, InputFile, OutputFile, StreamFile
from dna_bigbird.core.settings import Count, NotNegative, Positive
from dna_bigbird.core.shared_options import AlleleStrands, Labels, Progress, Resume, Unphased
from dna_bigbird.prediction.compute import Compute, ComputeOptions, exact
from dna_bigbird.prediction.results import (
    HaplotypeScores,
    TrackScores,
    VariantScores,
    VariantSummary,
    ZeroShotScores,
)


@checked(rest=Compute)
def score_variants(
    vcf: InputFile,
    fasta: GenomeFile,
    model: ModelBundles | None = None,
    output: StreamFile | None = None,
    format: Literal["tsv", "csv", "vcf"] | None = None,
    tsv: OutputFile | None = None,
    labels: Labels = None,
    window: int | None = None,
    strand: AlleleStrands = None,
    sites: InputFile | None = None,
    ref_mismatch: Literal["error", "skip"] = "error",
    probabilities: bool = False,
    score: Literal["labels", "embedding", "likelihood"] = "labels",
    shifts: Positive = 1,
    shift_step: Positive = 16,
    network_weight: NotNegative = 1.0,
    breakpoints: bool = False,
    haplotypes: bool = False,
    unphased: Unphased = "error",
    central_bp: Count = 0,
    resume: Resume = False,
    progress: Progress = False,
    **compute: ComputeOptions,
) -> VariantScores | TrackScores | ZeroShotScores | HaplotypeScores | VariantSummary:
    """Score the variants of a VCF file: how each allele changes the predictions of a model.

    For every alternative allele and label: `<label>_diff`, the probability with the allele minus that
    with REF, and `<label>_log_odds`, the same difference of the log-odds; means over the strands.
    Substitutions, insertions and deletions are scored, also several alleles in one record; `<DEL>`, `<DUP>`
    and `<INV>` with END or SVLEN, `<INS>` with its bases (INFO SEQ or SVINSSEQ), and breakends of one
    chromosome. An allele longer than half the window is scored at its breakpoints alone, and has the
    larger effect of the two. Other alleles have nan in a table and '.' in a VCF, and are counted on
    standard error. REF must agree with the genome.

    The reference window is centred on REF, on each strand in its own direction. The window of an
    alternative allele has the same flank before the allele, and as much of the flank after it as fits.
    Computed in float32 unless --precision is given: bfloat16 would round away the effects of most
    variants.

    Args:
        vcf: VCF file: plain, gzip, bgzip, or '-' for standard input.
        fasta: FASTA file to read: a genome of the same assembly, plain or bgzip; chr22 and 22 are
            the same chromosome.
        model: Model bundle: a folder such as results/models/chromatin. Several (--model A B) must have
            the same labels; their probabilities are averaged. Default: the bundled model.
        output: Result to write: a table (.tsv, .csv: chrom, pos from 1, id, ref, alt, scores), or the
            VCF with the scores as INFO fields (.vcf, or .vcf.gz with an index). '-' is standard output.
        format: Format of the output: inferred from its suffix by default; a table on standard
            output.
        tsv: Second output, a table in addition to an annotated VCF.
        window: Window in base pairs: around a variant; by default that of the model.
        sites: Sites: starts of transcription, or other anchors that the model was trained on, as a BED file of
            single bases with strands (column 6) and names, or GTF, GFF, FPS. An allele is scored in the window of
            each site that contains it, on the strand of the site, and has a row for each, with the column site;
            an insertion or deletion leaves the anchor at its base. Needs a table, without --strand and --shifts.
        ref_mismatch: What to do with records that do not fit the genome (another base, a missing
            chromosome, a position past its end): 'error' stops before anything is scored, 'skip'
            leaves them out: no row in a table, no new INFO fields in a VCF. If they are more than a
            tenth, a note asks for the assembly.
        probabilities: Also write the probabilities themselves to the table, `<label>_ref` and
            `<label>_alt`.
        score: Score: 'labels' compares the predictions of a fine-tuned model. Without labels, as a
            table: 'embedding' writes embedding_distance, between the mean vectors of both alleles,
            by any model; 'likelihood' writes likelihood_log_ratio, log p(ALT) - log p(REF) by a
            pretrained model with the variant masked (nats; substitutions only, others are nan).
        shifts: Shifts of the window: effects are means over so many windows, the centred one and
            others that begin --shift_step bases earlier or later, twice as many bases, and so on.
        shift_step: Step of the shifts in base pairs.
        network_weight: Weight of the network of a model with k-mer counts: its logits are multiplied by it, and 0
            leaves the counts alone. Choose it with `rank-variants` on variants of known effect.
        breakpoints: Breakpoints of alleles of 50 or more bases: a table has rows for all of the allele in one
            window (nan if it is longer than half of it) and for the windows centred on its breakpoints; the
            column site is span, left or right.
        haplotypes: Haplotypes of the samples: alleles with the other variants of their haplotype in the window,
            by phased genotypes of a sorted VCF. A table has a row for each allele, sample and haplotype with
            changes of the log odds, of tracks of the total: alone, in_background (in the haplotype), together (all variants of the
            window), interaction (in_background minus alone).
        central_bp: Bases in the middle of the window of a model of tracks whose bins count, 0 for all. A table has for each
            track the changes of the shape (half of the sum of absolute differences of the profiles, each divided by its
            sum), of the total (sum of the bins) and of the bin that changes most (largest).
        compute: Fields of `Compute`: speed and memory.

    Examples:
        dna-bigbird score-variants --vcf variants.vcf.gz --fasta hg19.fa \\
            --model results/models/chromatin --output scored.vcf.gz --tsv scored.tsv
        dna-bigbird score-variants --vcf demo/variants.vcf --fasta demo/demo.fa --output demo_scored.tsv
        dna-bigbird score-variants --vcf variants.vcf.gz --fasta hg19.fa --sites promoters.bed --output at_sites.tsv
        dna-bigbird score-variants --vcf demo/variants.vcf --fasta demo/demo.fa --output demo_likelihood.tsv \\
            --score likelihood --model results/models/pretrained

    Returns:
        `VariantScores` if the output is None (`ZeroShotScores` for a score without labels, `TrackScores` of tracks, `HaplotypeScores` with
        haplotypes), else a `VariantSummary`. A model may also be a loaded bundle.

    Raises:
        TypeError: If there is no such argument.
        InputError: If a value is not one of the choices, an input is malformed, the VCF does not fit the
            genome, no allele is left to score, or an output cannot be written.
    """
    from dna_bigbird.prediction.variants.effects import shifts_of
    from dna_bigbird.prediction.variants.run import VariantRun
    from dna_bigbird.prediction.variants.writers import check_targets, choose_targets

    targets = choose_targets(output, format, tsv)
    check_targets(targets)
    run = VariantRun(
        vcf,
        fasta,
        model,
        targets=targets,
        labels=labels,
        window=window,
        strand=strand,
        skip_mismatches=ref_mismatch == "skip",
        probabilities=probabilities,
        compute=exact(Compute(**compute)),
        progress=progress,
        score=score,
        shifts=shifts_of(shifts, shift_step),
        anchors=sites,
        network_weight=network_weight,
        breakpoints=breakpoints,
        haplotypes=haplotypes,
        unphased=unphased,
        central_bp=central_bp,
    )
    if resume and not run.is_resumable:
        raise InputError(
            "--resume continues a file: name it with --output, and give --vcf as a file"
        )
    run.sites.check()
    if question := run.sites.assembly_note():
        note(question)
    if not targets:
        return run.in_memory()
    if run.is_resumable:
        return run.via_partial_results(resume)
    return run.streamed()
