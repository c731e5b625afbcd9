"""`attribute`: how much each base of a window adds to the log odds of a label.

`attribution/` computes it; `attribution/run.py` follows the path of `predicting.py` from records to windows and files.
"""

from typing import Any, Literal

from dna_bigbird.bundles.model_options import ModelBundles
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import check_random_access
from dna_bigbird.core.paths import InputFile, StreamFile
from dna_bigbird.core.settings import Count
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
)
from dna_bigbird.prediction.compute import Compute, ComputeOptions
from dna_bigbird.prediction.results import Attributions, WrittenAttributions
from dna_bigbird.prediction.writers.target import Format, file_target

PER_LABEL: tuple[Format, ...] = ("bigwig", "hdf5")


@checked(rest=Compute)
def attribute(
    fasta: FastaFile = None,
    bed: InputFile | None = None,
    sequences: Sequences = None,
    *,
    model: ModelBundles | None = None,
    output: StreamFile | None = None,
    format: Literal["tsv", "csv", "bigwig", "hdf5"] | None = None,
    labels: Labels = None,
    method: Literal["constant", "gradient", "integrated"] = "constant",
    window: ModelWindow = None,
    stride: Stride = None,
    strand: Literal["both", "forward", "interval"] | None = None,
    coordinates: Coordinates = None,
    assembly: CoordinatesName = "unknown",
    central_bp: Count = 0,
    resume: Resume = False,
    progress: Progress = False,
    **compute: ComputeOptions,
) -> Attributions | WrittenAttributions:
    """Attribute the log odds of labels to the bases of windows.

    The effect of a base is what it adds to the log odds of the label, compared with the mean vector of all bases or
    pieces in its place. The bases of a token have equal parts of the effect of the token. One pass, forward and
    backward, serves all bases of a window, so it is far cheaper than mutagenesis. Computed in float32 unless
    --precision is given. See docs/how-to/mutagenesis-and-attribution.md.

    Examples:
        dna-bigbird attribute --fasta regions.fa > effects.tsv
        dna-bigbird attribute --fasta hg19.fa --bed regions.bed --model results/models/chromatin \\
            --labels 'GM12878|CTCF' --output ctcf.bw
        dna-bigbird attribute --fasta hg19.fa --bed regions.bed --model results/models/chromatin \\
            --labels 'GM12878*' --format hdf5 --output effects

    Args:
        bed: BED file: only its intervals of the FASTA are read, which is then a genome (plain or bgzip); rows have
            genome coordinates.
        model: Model bundle: several (--model A B) must have the same labels; their effects are averaged. Default:
            the bundled model.
        output: Result to write: a table with a row per base, a bigWig file with a value per base (the mean of
            overlapping windows), or an HDF5 file that tfmodisco-lite reads. bigWig and HDF5 files have one label;
            of several labels they are in a folder. '-' is standard output (TSV).
        format: Format of the output: inferred from its suffix by default (.tsv, .csv, .bw, .h5); TSV if it has none.
        method: Method: gradient times input with 'constant' attention weights and norms; the plain
            'gradient' times input; or 'integrated' gradients, which add up to the difference of the log odds from those
            of the reference, and take about ten times as long.
        strand: Strands to read: 'both' averages the effects on a window and on its reverse complement, of labels
            that have no direction; 'forward' reads windows as they are; 'interval' reads each BED row on the strand
            in its column 6. Default: 'forward' for a directional model, else 'both'.
        central_bp: Bases in the middle of the window of a model of tracks whose bins count, 0 for all: effects are those on
            their sum, in the unit of the track.
        compute: Fields of `Compute`: speed and memory.

    Returns:
        `Attributions` if the output is None, else `WrittenAttributions`. A model may also be a loaded bundle.

    Raises:
        InputError: If a value is not one of the choices, settings contradict each other, an input or the model is
            wrong, or the output cannot be written.
        TypeError: If there is no such argument.
        Interrupted: On Ctrl-C or SIGTERM while a file is written; `resume` continues it.
    """
    target = file_target(output, format, resume, PER_LABEL)
    if target and target.format == "bed":
        raise InputError(
            f"--output {output}: effects are not written as BED; use .bw, .h5, .tsv or .csv"
        )
    if fasta is not None and bed is not None:
        check_random_access(fasta)
    from dna_bigbird.prediction.attribution.run import AttributionRun, write  # torch: seconds
    from dna_bigbird.prediction.windows.inputs import named_sequences, window_source

    sequences = named_sequences(sequences)
    with_bases = output is None or (target is not None and target.format == "hdf5")
    run = AttributionRun(
        model, labels, method, strand, Compute(**compute), progress, with_bases, window, central_bp
    )
    if target:
        target.check_labels(run.label_names)
    in_genome = bed is not None or (target is not None and target.format == "bigwig")
    settings: dict[str, Any] = {
        "window": window or run.window_bp,
        "stride": stride or window or run.window_bp,
        "strand": run.strand,
        "coordinates": coordinates or ("genome" if in_genome else "record"),
    }
    source = window_source(fasta, bed, sequences, **settings, model_bp=run.window_bp, resume=resume)
    settings |= {"method": method}
    if output is None:
        return run.in_memory(source)
    if target is None:
        windows = run.to_stdout(source)
    else:
        context = run.context(source, settings, sequences, assembly)
        windows = run.to_file(
            source,
            target.path,
            context,
            resume,
            lambda stored: write(target, stored, context),
            format="hdf5" if run.with_bases else "effects",
        )
    return WrittenAttributions(str(output), windows, run.label_names, run.notes(source))
