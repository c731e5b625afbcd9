"""`embed`: hidden states of a model for windows of DNA.

Windows come from the same sources as those of `predict`; `embedder.py` computes their vectors
and collects them into arrays or, via partial results, into a file (`writers/arrays.py`).
"""

from pathlib import Path
from typing import Literal

from dna_bigbird.bundles.model_options import ModelBundle
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.file_formats import check_known
from dna_bigbird.core.files import check_random_access
from dna_bigbird.core.paths import InputFile, OutputFile
from dna_bigbird.core.settings import Positive
from dna_bigbird.core.shared_options import FastaFile, Progress, Resume, Sequences, Stride
from dna_bigbird.core.writing import check_can_write
from dna_bigbird.prediction.compute import Compute, ComputeOptions
from dna_bigbird.prediction.results import Embeddings, Pooling, VectorFormat, WrittenVectors
from dna_bigbird.prediction.writers.target import check_same_format

SUFFIXES: dict[str, VectorFormat] = {".h5": "hdf5", ".hdf5": "hdf5", ".npz": "npz"}


@checked(rest=Compute)
def embed(
    fasta: FastaFile = None,
    bed: InputFile | None = None,
    sequences: Sequences = None,
    *,
    model: ModelBundle | None = None,
    output: OutputFile | None = None,
    format: VectorFormat | None = None,
    pooling: Pooling = "mean",
    layer: int = -1,
    window: Positive | None = None,
    stride: Stride = None,
    strand: Literal["both", "forward"] | None = None,
    assembly: str = "unknown",
    resume: Resume = False,
    progress: Progress = False,
    **compute: ComputeOptions,
) -> Embeddings | WrittenVectors:
    """Turn windows of DNA into vectors, the hidden states of a model: one per window or per token.

    The file has arrays: sequence, start, end of each window (0-based, half-open on that sequence)
    and vectors, one row per window. With pooling 'tokens' vectors has one row per token, token_start
    and token_end are its bases, and the rows of window i are offset[i] to offset[i + 1]. A sequence
    longer than the window is cut into several windows; the last one is moved left so that it ends
    with the sequence. A window without any A, C, G or T has nan, or no tokens.

    Args:
        bed: BED file: only its intervals of the FASTA are read, which is then a genome (plain or
            bgzip); rows have genome coordinates. If the BED has names (column 4), an array name has
            them.
        model: Model bundle: pretrained or fine-tuned. An ensemble has several encoders: name one of
            its models. Default: the bundled model.
        output: Result to write: a file, .h5 or .npz (for numpy.load).
        format: Format of the output: inferred from its suffix by default.
        pooling: How the tokens of a window become a vector: their 'mean' or 'max', 'tokens' for the
            vectors of all of them, 'cls' for the vector of [CLS]. In the others [CLS] and [SEP] do
            not count.
        layer: Number of layers to apply: 0 are the embeddings before the first layer, -1 is the
            output of the last.
        window: Window in base pairs: by default that of the model; for a pretrained model, what
            its context holds on average.
        strand: Strands to read: 'both' averages the vectors of a window and of its reverse
            complement, 'forward' reads windows as they are. Default: 'both'; with pooling 'tokens'
            'forward'.
        assembly: Name of the assembly: that of the coordinates; the file records it.
        compute: Fields of `Compute`: speed and memory.

    Examples:
        dna-bigbird embed --fasta regions.fa --output vectors.npz
        dna-bigbird embed --fasta hg19.fa --bed regions.bed --model results/models/pretrained --output vectors.h5
        dna-bigbird embed --fasta regions.fa --pooling tokens --layer 2 --output tokens.h5

    Returns:
        `Embeddings` if the output is None, else `WrittenVectors`. The model may also be a loaded
        bundle.

    Raises:
        InputError: If a value is not one of the choices, settings contradict each other, an input
            or the model is wrong, or the output cannot be written. It names arguments (`stride`).
        TypeError: If there is no such argument.
        Interrupted: On Ctrl-C or SIGTERM while a file is written; `resume` continues it.

    Example:
        >>> result = embed(sequences={"repeat": "ACGT" * 100}, window=300, stride=50)
        >>> result.start.tolist(), len(result.vectors)
        ([0, 50, 100], 3)
    """
    if fasta is not None and bed is not None:
        check_random_access(fasta)
    from dna_bigbird.prediction.embedder import (  # imports torch: seconds
        EmbeddingRun,
        usual_window_bp,
    )
    from dna_bigbird.prediction.windows.inputs import named_sequences, window_source

    sequences = named_sequences(sequences)
    path = None if output is None else Path(output)
    if path is None and (resume or format):
        raise InputError("--resume and --format need --output: without it no file is written")
    chosen = chosen_format(path, format) if path else None
    if pooling == "tokens" and strand == "both":
        raise InputError("--pooling tokens reads one strand; leave out --strand both")
    both_strands = pooling != "tokens" and strand != "forward"
    run = EmbeddingRun(model, pooling, layer, both_strands, Compute(**compute), progress)
    window = window or usual_window_bp(run.bundle)
    source = window_source(
        fasta,
        bed,
        sequences,
        window=window,
        stride=stride or window,
        strand="forward",
        model_bp=run.model_bp,
        resume=resume,
    )
    if path is None or chosen is None:
        return run.in_memory(source)
    return run.to_vectors(
        source, path, chosen, sequences=sequences, assembly=assembly, resume=resume
    )


@checked()
def chosen_format(output: Path, format: VectorFormat | None) -> VectorFormat:
    """Return the format that the suffix of an output and `format` name; the file can be written."""
    by_name = SUFFIXES.get(output.suffix.lower())
    if format:
        check_known("--output", output, tuple(SUFFIXES), format)
    check_same_format(output, by_name, format)
    chosen = format or by_name
    if chosen is None:
        raise InputError(
            f"--output {output}: expected a name that ends in .h5 or .npz, or --format hdf5 or npz"
        )
    check_can_write(output)
    return chosen
