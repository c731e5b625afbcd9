"""`dna-bigbird embed`."""

from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.errors import note
from dna_bigbird.inference.compute import Compute, ComputeOptions
from dna_bigbird.paths import InputPath, InputText, OutputPath


@checked()
def embed(
    fasta: InputText,
    output: OutputPath,
    bed: InputText | None = None,
    model: InputPath | None = None,
    format: Literal["hdf5", "npz"] | None = None,
    pooling: Literal["mean", "cls", "max", "tokens"] = "mean",
    layer: int = -1,
    window: int | None = None,
    stride: int | None = None,
    strand: Literal["both", "forward"] | None = None,
    assembly: str = "unknown",
    resume: bool = False,
    **compute: ComputeOptions,
) -> None:
    """Give every window of DNA the hidden states of a model: one vector a window, or one a token.

    The file holds arrays: sequence, start, end of each window (0-based, half-open on that sequence)
    and vectors, a row a window. With --pooling tokens vectors has a row a token, token_start and
    token_end are its bases, and the rows of window i are offset[i] to offset[i + 1]. A sequence
    longer than the window is tiled, the last window moved left to end with the sequence. A window
    without any A, C, G or T has nan, or no tokens.

    Args:
        fasta: FASTA file: plain, gzip or bgzip, or '-' for standard input.
        output: File to write, .h5 or .npz (for numpy.load).
        bed: Read only these intervals of the FASTA (then a genome, plain or bgzip); rows
            carry genome coordinates.
        model: Model bundle, pretrained or fine-tuned; the one that comes with the package if not
            given. An ensemble has no one vector: name one of its models.
        format: If not given, the suffix of --output tells.
        pooling: 'mean' or 'max' over the tokens of a window, 'cls' for the [CLS] token, 'tokens'
            for all of them. [CLS] and [SEP] count in none of the others.
        layer: Layers passed: 0 are the embeddings before the first, -1 is the last.
        window: Window in base pairs; if not given the model's own, of a pretrained model what its
            context holds on average.
        stride: Step between windows in base pairs; the window if not given.
        strand: 'both' averages the vectors of a window and of its reverse complement, 'forward'
            takes it as it is. If not given 'both', with tokens 'forward'.
        assembly: Name of the assembly that the coordinates are on; the file keeps it.
        resume: Continue an interrupted run with the same settings and inputs, if there is one.
        compute: How, never what: fields of `Compute`.

    Examples:
        dna-bigbird embed --fasta regions.fa --output vectors.npz
        dna-bigbird embed --fasta genome.fa --bed peaks.bed --model results/models/pretrained --output vectors.h5
        dna-bigbird embed --fasta regions.fa --pooling tokens --layer 2 --output tokens.h5
    """
    Compute(**compute)  # refuses contradictions before torch is imported, which takes seconds
    from dna_bigbird.bundles.choice import notes_on
    from dna_bigbird.inference import embedding

    done = embedding.embed(
        fasta,
        bed,
        sequences=None,
        model=model,
        output=output,
        format=format,
        pooling=pooling,
        layer=layer,
        window=window,
        stride=stride,
        strand=strand,
        assembly=assembly,
        resume=resume,
        progress=True,
        **compute,
    )
    for line in (*notes_on(model), *done.notes):
        note(line)
