"""`dna-bigbird predict`."""

from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.errors import note
from dna_bigbird.inference.compute import Compute, ComputeOptions
from dna_bigbird.paths import InputPath, InputText, OutputStream


@checked()
def predict(
    fasta: InputText,
    bed: InputText | None = None,
    model: list[InputPath] | InputPath | None = None,
    output: OutputStream | None = None,
    format: Literal["tsv", "bed", "bigwig", "hdf5"] | None = None,
    labels: list[str] | str | None = None,
    window: int | None = None,
    stride: int | None = None,
    strand: Literal["both", "forward", "interval"] = "both",
    coordinates: Literal["record", "genome"] | None = None,
    place: Literal["window", "bin"] = "window",
    assembly: str = "unknown",
    resume: bool = False,
    **compute: ComputeOptions,
) -> None:
    """Give every window of DNA the probabilities of a model's labels.

    As a table (TSV), one row a window: sequence, start, end (0-based, half-open on that sequence),
    then one column a label. A sequence longer than the window is tiled, the last window moved left
    to end with the sequence; a shorter one is one row. Lower case is sequence; IUPAC codes count as
    N. A window without any A, C, G or T scores nan. BED and bigWig hold one value a base: the mean
    of the windows that cover it.

    Examples:
        dna-bigbird predict --fasta regions.fa > scores.tsv
        dna-bigbird predict --fasta genome.fa --bed peaks.bed --model results/models/chromatin --output scores.tsv
        dna-bigbird predict --fasta genome.fa --stride 100 --labels 'GM12878*' --format bigwig --output tracks

    Args:
        fasta: FASTA file: plain, gzip or bgzip, or '-' for standard input.
        bed: Score only these intervals of the FASTA (then a genome, plain or bgzip);
            rows carry genome coordinates.
        model: Model bundle, a folder such as results/models/promoter; '[one, two]' gives the mean
            of several with the same labels. If not given, the one that comes with the package.
        output: File to write; for bigWig of several labels a folder. Standard output (as TSV) if
            not given.
        format: If not given, the suffix of --output tells (.tsv, .bed, .bw, .h5); else TSV.
        labels: Labels by name or shell pattern, such as 'K562*,*CTCF*'; all if not given.
        window: Window in base pairs; the model's own if not given.
        stride: Step between windows in base pairs; the window if not given.
        strand: 'both' averages a window and its reverse complement; 'forward' takes it as it is;
            'interval' takes rows of --bed with '-' in column 6 as their own strand reads.
        coordinates: 'record' counts from the start of each FASTA record; 'genome' gives records
            called after their place, such as chr1:100-200, coordinates there. If not given,
            'genome' for BED and bigWig, else 'record'. Rows of --bed are always on the genome.
        place: What a score is drawn on in BED and bigWig: the whole 'window', or only the 'bin' in its
            middle that a chromatin model labels; then --stride should be no longer than the bin.
        assembly: Name of the assembly that the coordinates are on; HDF5 keeps it.
        resume: Continue an interrupted run with the same settings and inputs, if there is one.
        compute: How, never what: fields of `Compute`.
    """
    Compute(**compute)  # refuses contradictions before torch is imported, which takes seconds
    from dna_bigbird.bundles.choice import notes_on
    from dna_bigbird.inference import predicting

    done = predicting.predict(
        fasta,
        bed,
        sequences=None,
        model=model,
        output=output or predicting.STANDARD_OUTPUT,
        format=format,
        labels=labels,
        window=window,
        stride=stride,
        strand=strand,
        coordinates=coordinates,
        place=place,
        assembly=assembly,
        resume=resume,
        progress=True,
        **compute,
    )
    for line in (*notes_on(model), *done.notes):
        note(line)
