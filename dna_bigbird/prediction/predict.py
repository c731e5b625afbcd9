"""`predict`: label probabilities of windows of DNA.

The path of one FASTA record: `windows/inputs.py` chooses the source and reads
the record in pieces, `windows/tiling.py` cuts it into windows. `predictor.py` collects windows into
chunks, adds the other strand and averages; `runner.py` makes tokens, and `engine.py` computes
logits batch by batch. `predict_run.py` takes the chunks in order: to arrays, to standard output,
or to a folder of finished rows (`partial_results.py`), from which a module of `writers/` makes the
file: `writers/target.py` makes a table.
"""

from typing import Any, Literal

from dna_bigbird.bundles.model_options import ModelBundles
from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import check_random_access
from dna_bigbird.core.paths import InputFile, StreamFile
from dna_bigbird.core.shared_options import (
    Coordinates,
    CoordinatesName,
    FastaFile,
    Labels,
    ModelWindow,
    Progress,
    Resume,
    Sequences,
    Stride,
    Unphased,
)
from dna_bigbird.prediction.compute import Compute, ComputeOptions
from dna_bigbird.prediction.results import Predictions, WrittenPredictions
from dna_bigbird.prediction.writers.target import Format, file_target


@renamed(place="span")
@checked(rest=Compute)
def predict(
    fasta: FastaFile = None,
    bed: InputFile | None = None,
    sequences: Sequences = None,
    *,
    model: ModelBundles | None = None,
    output: StreamFile | None = None,
    format: Format | None = None,
    labels: Labels = None,
    window: ModelWindow = None,
    stride: Stride = None,
    strand: Literal["both", "forward", "interval"] | None = None,
    coordinates: Coordinates = None,
    span: Literal["window", "bin", "bins"] = "window",
    vcf: InputFile | None = None,
    sample: str | None = None,
    unphased: Unphased = "error",
    raw: bool = False,
    assembly: CoordinatesName = "unknown",
    resume: Resume = False,
    progress: Progress = False,
    **compute: ComputeOptions,
) -> Predictions | WrittenPredictions:
    """Predict the probability of every label for windows of DNA.

    The result is a table with one row per window: sequence, start, end (0-based, half-open on that
    sequence), then one column per label. A sequence longer than the window is cut into several
    windows; the last one is moved left so that it ends with the sequence. A shorter sequence is one
    window. Lower-case bases count as upper case, IUPAC codes as N. A window without any A, C, G or T
    has nan. BED and bigWig files have one value per base: the mean of the windows that cover it.

    Examples:
        dna-bigbird predict --fasta regions.fa > scores.tsv
        dna-bigbird predict --fasta hg19.fa --bed regions.bed --model results/models/chromatin --output scores.tsv
        dna-bigbird predict --fasta hg19.fa --bed regions.bed --model results/models/chromatin --labels 'GM12878*' \\
            --span bin --stride 200 --format bigwig --output tracks

    Args:
        bed: BED file: only its intervals of the FASTA are read, which is then a genome (plain or
            bgzip); rows have genome coordinates. If the BED has names (column 4), the last column
            has the name of each row.
        model: Model bundle: a folder such as results/models/promoter. Several (--model A B) must
            have the same labels; their probabilities are averaged. Default: the bundled model.
        output: Result to write: a file; for bigWig with several labels a folder. '-' is standard
            output (TSV).
        format: Format of the output: inferred from its suffix by default (.tsv, .csv, .bed, .bw,
            .h5); TSV if it has none.
        strand: Strands to read: 'both' averages a window and its reverse complement, or takes the higher
            probability if the model is directional (its card says so); 'forward'
            reads windows as they are; 'interval' reads each BED row on the strand in its column 6.
            Default: 'forward' for a directional model, else 'both'.
        span: Bases that get a score in BED and bigWig files: the whole 'window', or only the 'bin'
            in its middle that a chromatin model labels. The stride should then be no longer than
            the bin. 'bins': in any format, a row for each bin within a quarter of a window from its middle, all
            predicted at once by a model of --head.pooling bin; by default the stride is as long as these. A model of
            tracks always has a row for each bin of the middle of a window.
        vcf: VCF file: plain, gzip, bgzip, or '-' for standard input. The two haplotypes of a sample are read
            instead of the reference, by phased genotypes: two rows for each window of --bed, of as many bases
            around the same base, with the coordinates of the reference. The column name says which.
        sample: Sample of the VCF file, by name. Default: the only one.
        raw: Leave out the correction of probabilities that `finetune` fitted on validation rows.
        compute: Fields of `Compute`: speed and memory.

    Returns:
        `Predictions` if the output is None, else `WrittenPredictions`. A model may also be a loaded bundle.

    Raises:
        InputError: If a value is not one of the choices, settings contradict each other, an input
            or the model is wrong, or the output cannot be written. It names arguments (`stride`).
        TypeError: If there is no such argument.
        Interrupted: On Ctrl-C or SIGTERM while a file is written; `resume` continues it.
    """
    target = file_target(output, format, resume)
    if fasta is not None and bed is not None:
        check_random_access(fasta)
    from dna_bigbird.prediction.predict_run import PredictionRun, write  # imports torch: seconds
    from dna_bigbird.prediction.windows.inputs import named_sequences, window_source

    sequences = named_sequences(sequences)
    run = PredictionRun(model, labels, strand, Compute(**compute), progress, span, window, raw)
    margin_bp = run.margin_bp(span, window, target)
    if target:
        target.check_labels(run.label_names)
        if target.format == "bed":
            run.computer.check_probabilities("a BED file")
    in_genome = bed is not None or (target is not None and target.is_track)
    settings: dict[str, Any] = {
        "window": window or run.window_bp,
        "stride": stride or (run.bins.stride_bp if run.bins else window or run.window_bp),
        "strand": run.strand,
        "coordinates": coordinates or ("genome" if in_genome else "record"),
    }
    haplotypes = None
    if vcf is None and sample is not None:
        raise InputError(f"--sample {sample} is a sample of a --vcf file; none was given")
    if vcf is not None:
        if run.bins or (target is not None and target.is_track):
            raise InputError(
                "--vcf: the rows of two haplotypes are written as a table or HDF5, of whole windows"
            )
        haplotypes = (vcf, sample, unphased)
    source = window_source(
        fasta,
        bed,
        sequences,
        **settings,
        model_bp=run.window_bp,
        resume=resume,
        haplotypes=haplotypes,
    )
    settings |= {"haplotypes": [sample or "", unphased]} if vcf is not None else {}
    settings |= {"span": span} if run.bins else {}
    settings |= {"raw": raw} if raw else {}
    if output is None:
        return run.in_memory(source)
    if target is None:
        windows = run.to_stdout(source)
    else:
        context = run.context(source, settings, sequences, assembly, margin_bp)
        windows = run.to_file(
            source, target.path, context, resume, lambda stored: write(target, stored, context)
        )
    return WrittenPredictions(str(output), windows, run.label_names, run.notes(source))
