"""`predict`: label probabilities of windows, in memory, as a stream or as a file."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TextIO

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.choice import InputModels, load_models
from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError, OutputError
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.labels import choose_labels
from dna_bigbird.inference.predictor import Predictor, check_together
from dna_bigbird.inference.progress import progress_bar
from dna_bigbird.inference.spool import file_identity, open_spool
from dna_bigbird.inference.windows.fasta import Coordinates
from dna_bigbird.inference.windows.inputs import check_lengths, checksums_of, window_source
from dna_bigbird.inference.windows.source import WindowSource
from dna_bigbird.inference.writers.base import WriteContext, frame_of
from dna_bigbird.inference.writers.target import Format, Target, chosen_target, write
from dna_bigbird.inference.writers.tsv import header_line, lines_of
from dna_bigbird.paths import InputFile, OutputFile

STANDARD_OUTPUT = "-"


@dataclass(frozen=True)
class Predictions:
    """Probabilities of n windows for L labels, in memory."""

    sequence: NDArray[np.str_]
    """(n,), names."""
    start: NDArray[np.int64]
    """(n,), 0-based."""
    end: NDArray[np.int64]
    """(n,), not included."""
    probabilities: NDArray[np.float32]
    """(n, L); NaN where a window holds no A, C, G or T."""
    label_names: list[str]
    notes: list[str] = field(default_factory=list)
    """What a user should know of how they were computed."""

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Written:
    """What was written."""

    output: str
    """The file or folder; '-' is standard output."""
    windows: int
    label_names: list[str]
    notes: list[str] = field(default_factory=list)
    """What a user should know of how they were computed."""


@checked(rest=Compute)
def predict(
    fasta: InputFile | None = None,
    bed: InputFile | None = None,
    sequences: Mapping[str, str] | None = None,
    *,
    model: InputModels = None,
    output: OutputFile | None = None,
    format: Format | None = None,
    labels: str | Sequence[str] | None = None,
    window: int | None = None,
    stride: int | None = None,
    strand: Literal["both", "forward", "interval"] = "both",
    coordinates: Coordinates | None = None,
    place: Literal["window", "bin"] = "window",
    assembly: str = "unknown",
    resume: bool = False,
    progress: bool = False,
    **compute,
) -> Predictions | Written:
    """Give every window of DNA the probabilities of a model's labels.

    Args:
        fasta: FASTA file: plain, gzip or bgzip, or '-' for standard input.
        bed: Score only these intervals of the FASTA, then a genome: plain or bgzip.
        sequences: DNA by name, in place of files.
        model: Bundle, or its folder; several with the same labels are averaged. Without it the
            one that comes with the package.
        output: File to write (a folder for bigWig of several labels), '-' for standard output;
            None returns the arrays.
        format: Goes by the name of `output` if not given.
        labels: Names or shell patterns (see `choose_labels`); all if not given.
        window: Window in base pairs; the model's own if not given.
        stride: Step between windows in base pairs, at least 1; the window if not given.
        strand: 'both' averages a window and its reverse complement; 'forward' takes it as it is;
            'interval' reads rows of the BED file that are on '-' on their own strand, and only that.
        coordinates: 'record' counts from the start of a FASTA record; 'genome' gives records called
            after their place (`chr1:100-200`) their coordinates there. If not given, 'genome' for
            BED and bigWig, 'record' else. Intervals of a BED file are always on the genome.
        place: What a score is drawn on in BED and bigWig: the whole 'window', or only the 'bin' in its
            middle that a model of bins (`bin_bp` in its config) was trained to label.
        assembly: Name of the assembly that the coordinates are on, for HDF5.
        resume: Continue an interrupted run of the same settings and inputs, if there is one.
        progress: Draw a bar on standard error, if that is a terminal.
        compute: Fields of `Compute`; they change time and memory, not the scores.

    Returns:
        `Predictions` without an output, else `Written`. Coordinates are 0-based and half-open.

    Raises:
        InputError: If a value is not one of the choices, settings contradict each other, an input
            or the model is wrong, or the output cannot be written. It names arguments (`stride`).
        TypeError: If there is no such argument.
        Interrupted: On Ctrl-C or SIGTERM while a file is written; `resume` continues it.
    """
    target = _target(output, format, resume)
    check_lengths(window=window, stride=stride)
    step = window if stride is None else stride
    bundles = load_models(model)
    predictor = _predictor(bundles, labels, strand, Compute(**compute))
    margin_bp = _margin(bundles[0], place, window, target)
    if target:
        target.check_labels(predictor.label_names)
    in_genome = bed is not None or (target is not None and target.is_track)
    settings = {
        "window": window or predictor.window_bp,
        "stride": step or predictor.window_bp,
        "strand": strand,
        "coordinates": coordinates or ("genome" if in_genome else "record"),
    }
    source = window_source(fasta, bed, sequences, **settings)
    source.check()
    if target:
        if resume and source.count is None:
            raise InputError(
                "--resume: standard input cannot be read from the start again; save it as a file"
            )
        settings["labels"] = predictor.label_names
        settings["precision"] = predictor.precision
        settings["float32_matmul"] = predictor.compute.float32_matmul
        context = WriteContext(
            label_names=predictor.label_names,
            lengths=lambda: source.lengths,
            settings=settings,
            margin_bp=margin_bp,
            assembly=assembly,
            files=source.files,
            checksums=checksums_of(bundles, sequences),
        )
        windows = _to_file(source, predictor, target, context, resume, progress)
    elif output is None:
        return _in_memory(source, predictor, progress)
    else:
        windows = _to_stream(source, predictor, sys.stdout, progress)
    return Written(str(output), windows, predictor.label_names, predictor.notes())


def _target(output: Path | str | None, format: Format | None, resume: bool) -> Target | None:
    if output is not None and str(output) != STANDARD_OUTPUT:
        return chosen_target(output, format)
    if format not in (None, "tsv"):
        raise InputError(f"--format {format} needs --output; without it rows go out as TSV")
    if resume:
        raise InputError("--resume needs --output: without a file there is nothing to continue")
    return None


def _margin(bundle: Bundle, place: str, window: int | None, target: Target | None) -> int:
    """Return how many bases at either end of a window its score is not drawn on."""
    if place == "window":
        return 0
    if target is None or not target.is_track:
        raise InputError("--place bin is about BED and bigWig; other formats keep whole windows")
    bin_bp = bundle.config.bin_bp
    whole = window or bundle.config.window_bp
    if not bin_bp or bin_bp > whole:
        raise InputError(
            f"--place bin: {bundle.folder} labels windows of {whole} bp as a whole, no bin in them"
        )
    return (whole - bin_bp) // 2


def _predictor(
    bundles: Sequence[Bundle], labels: str | Sequence[str] | None, strand: str, compute: Compute
) -> Predictor:
    check_together(bundles)
    columns = choose_labels(bundles[0].config.label_names, labels)
    # The strand of an interval is turned when it is read; then it is scored as it stands.
    as_read = "both" if strand == "both" else "forward"
    return Predictor(bundles, compute=compute, strand=as_read, labels=columns)


def _scored(
    source: WindowSource, predictor: Predictor, progress: bool, done: int = 0
) -> Iterator[dict[str, NDArray]]:
    """Yield windows and probabilities as columns, chunk by chunk, from window number `done`."""
    with progress_bar(progress, source.count, done) as update:
        for windows, probabilities in predictor.score_windows(source.windows(done)):
            yield frame_of(windows, probabilities)
            update(len(windows))


def _in_memory(source: WindowSource, predictor: Predictor, progress: bool) -> Predictions:
    frames = list(_scored(source, predictor, progress))
    frames = frames or [frame_of([], np.empty((0, len(predictor.label_names)), np.float32))]
    names = [name.decode() for frame in frames for name in frame["sequence"].tolist()]
    start, end, probabilities = (
        np.concatenate([frame[name] for frame in frames])
        for name in ("start", "end", "probabilities")
    )
    return Predictions(
        np.array(names, np.str_),
        start,
        end,
        probabilities,
        predictor.label_names,
        predictor.notes(),
    )


def _to_stream(source: WindowSource, predictor: Predictor, stream: TextIO, progress: bool) -> int:
    """Write rows as they come; bad input and Ctrl-C can only end them early."""
    count = 0
    try:
        stream.write(header_line(predictor.label_names))
        for frame in _scored(source, predictor, progress and not stream.isatty()):
            stream.writelines(lines_of(frame))
            stream.flush()
            count += len(frame["start"])
    except KeyboardInterrupt:
        raise InputError(
            f"interrupted: standard output ends after {count} windows, it is incomplete"
        ) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:  # an input
            raise
        raise OutputError(f"standard output: cannot write to it: {error.strerror}") from error
    return count


def _to_file(
    source: WindowSource,
    predictor: Predictor,
    target: Target,
    context: WriteContext,
    resume: bool,
    progress: bool,
) -> int:
    identity = {
        **context.settings,
        "checksums": context.checksums,
        "inputs": {role: file_identity(path) for role, path in source.files.items()},
    }
    with open_spool(target.path, identity, resume) as spool:
        for frame in _scored(source, predictor, progress, done=spool.rows):
            spool.append(frame)
        write(target, spool, context)
        return spool.rows
