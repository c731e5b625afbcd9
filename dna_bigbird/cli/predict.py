"""`dna-bigbird predict`."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from dna_bigbird.errors import InputError
from dna_bigbird.files import atomic_path
from dna_bigbird.inference.compute import Compute


def predict(
    fasta: str,
    model: Path | None = None,
    bed: Path | None = None,
    output: Path | None = None,
    window: int | None = None,
    stride: int | None = None,
    strand: Literal["both", "forward"] = "both",
    **compute,
) -> None:
    """Write label probabilities for every window of a FASTA file, as TSV.

    One row a window: sequence, start, end (0-based, half-open on that sequence), then one
    column a label. A sequence longer than the window is tiled, the last window moved left to end
    with the sequence; a shorter one is one row. Lower case is sequence; IUPAC codes count as N.
    A window without any A, C, G or T scores nan.

    Args:
        fasta: FASTA file: plain, gzip or bgzip, or '-' for standard input.
        model: Model bundle, a folder such as results/models/promoter.
        bed: Score only these intervals of the FASTA (which must then be plain, as a genome);
            rows carry genome coordinates.
        output: TSV file to write; standard output if not given.
        window: Window in base pairs; the model's own if not given.
        stride: Step between windows in base pairs; the window if not given.
        strand: 'both' averages a window and its reverse complement; 'forward' takes it as it is.
        compute: How, never what: fields of `Compute`.
    """
    if model is None:
        raise InputError(
            "no --model given, and this version ships none. Make one with `make demo`, then: "
            "dna-bigbird predict --model results/models/promoter --fasta regions.fa"
        )
    for name, value in (("window", window), ("stride", stride)):
        if value is not None and value < 1:
            raise InputError(f"--{name} {value}: expected at least 1")
    from tqdm import tqdm

    from dna_bigbird.inference.bundle import load_bundle
    from dna_bigbird.inference.predictor import Predictor

    predictor = Predictor(load_bundle(model), strand=strand, compute=Compute(**compute))
    window_bp = window or predictor.window_bp
    windows = _windows(fasta, bed, window_bp, stride or window_bp)
    with contextlib.ExitStack() as stack:
        if output is None:
            stream = sys.stdout
        else:
            stream = stack.enter_context(open(stack.enter_context(atomic_path(output)), "w"))
        progress = stack.enter_context(tqdm(desc="predict", unit=" windows", disable=None))
        print("sequence", "start", "end", *predictor.label_names, sep="\t", file=stream)
        for chunk, probabilities in predictor.score_windows(windows):
            for item, row in zip(chunk, probabilities, strict=True):
                values = (f"{p:.5g}" for p in row)
                print(item.name, item.start, item.end, *values, sep="\t", file=stream)
            progress.update(len(chunk))
    for note in predictor.notes():
        print(f"dna-bigbird: note: {note}", file=sys.stderr)


def _windows(fasta: str, bed: Path | None, window_bp: int, stride_bp: int) -> Iterator:
    from dna_bigbird.genome import Genome
    from dna_bigbird.genome.fasta_stream import dna_of, read_fasta
    from dna_bigbird.inference.windows import windows_of

    if bed is None:
        for record in read_fasta(fasta):
            yield from windows_of(record.name, dna_of(record, fasta), window_bp, stride_bp)
        return
    from dna_bigbird.genome.bed import check_inside, read_bed

    genome = Genome(fasta)
    rows = read_bed(bed)
    check_inside(rows, genome, bed)
    for row in rows:
        interval = row.interval
        bases = genome.fetch(type(interval)(interval.chrom, interval.start, interval.end, "+"))
        yield from windows_of(interval.chrom, bases, window_bp, stride_bp, offset=interval.start)
