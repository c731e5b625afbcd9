"""Options that several commands share: each is a type that carries its description.

    def pretrain(train: InputPath, output: TrainedBundle, threads: ProcessThreads = 0) -> ...

A parameter of such a type is not described in the docstring again: `--help` reads the type.
"""

import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from dna_bigbird.core.paths import (
    GenomePath,
    Hdf5Output,
    InputFile,
    InputPath,
    OutputFolder,
    OutputPath,
)
from dna_bigbird.core.result_folders import MODEL
from dna_bigbird.core.settings import Count, Positive, Range, Share


@dataclass(frozen=True)
class Doc:
    """The description of an option: `Annotated[int, Doc("CPU threads.")]`."""

    text: str


def doc_of(hint: object) -> str | None:
    """Return the description that a type carries, also within `... | None`.

    Example:
        >>> doc_of(ProcessThreads)
        'CPU threads: of one process; 0 leaves the choice to torch.'
        >>> doc_of(ProcessThreads | None) == doc_of(ProcessThreads)
        True
    """
    for part in getattr(hint, "__metadata__", ()):
        if isinstance(part, Doc):
            return part.text
    return next((text for each in typing.get_args(hint) if (text := doc_of(each))), None)


def without_doc(hint: object) -> object:
    """Return a type without its description; paths keep their role, numbers their range.

    Example:
        >>> without_doc(Assembly)
        <class 'str'>
    """
    if typing.get_origin(hint) is not Annotated:
        return hint
    plain, *rest = typing.get_args(hint)
    kept = [part for part in rest if not isinstance(part, Doc)]
    return Annotated[plain, *kept] if kept else plain


if typing.TYPE_CHECKING:
    Names: TypeAlias = Sequence[str] | str | None
else:
    Names = list[str] | str | None
    """Python callers may give several values in any form that `several` reads."""

ProcessThreads = Annotated[Count, Doc("CPU threads: of one process; 0 leaves the choice to torch.")]
Threads = Annotated[Count, Doc("CPU threads: 0 leaves the choice to torch.")]
Resume = Annotated[
    bool, Doc("Continue an interrupted run with the same settings and inputs, if there is one.")
]
ModelOutput = Annotated[OutputPath, MODEL]
TrainedBundle = Annotated[
    ModelOutput, Doc("Result to write: a model bundle (a folder) with history.tsv in it.")
]
ScoredBundle = Annotated[
    ModelOutput,
    Doc("Result to write: a bundle (folder), the same model with its test scores and card."),
]
Checkpoints = Annotated[
    OutputFolder, Doc("Folder for the state of the run; not part of the result.")
]
SetOutput = Annotated[Hdf5Output, Doc("Result to write: the labelled set, an HDF5 file.")]
Assembly = Annotated[
    str, Doc("Name of the assembly: it is kept with the set and with every model made from it.")
]
BinBp = Annotated[Positive, Doc("Bases of a bin; bins start at multiples of this, counted from 0.")]
MaxNFraction = Annotated[Share, Doc("Windows with a larger share of N are left out.")]
NearIdentical = Annotated[
    Literal["drop", "keep"],
    Doc(
        "What to do with training and validation rows that are nearly identical to one of a held-out "
        "split: drop or keep them."
    ),
]
SetGenome = Annotated[
    GenomePath,
    Doc(
        "Genome: the FASTA file that the labelled set was made from; a set of sequence-set needs none."
    ),
]
DocumentGenome = Annotated[
    GenomePath, Doc("Genome: the plain FASTA file that the documents were drawn from.")
]
FastaFile = Annotated[
    InputFile | None, Doc("FASTA file to read: plain, gzip or bgzip, or '-' for standard input.")
]
Sequences = Annotated[
    Mapping[str, str] | Iterable[str] | str | None,
    Doc(
        "DNA instead of files: a list, an array, an iterator or a column of a data frame, whose rows are named "
        "sequence_1, sequence_2, ... if the frame has no names, a mapping from names, or one text of bases."
    ),
]
Stride = Annotated[
    Positive | None, Doc("Step between windows: base pairs, at least 1. Default: the window.")
]
ModelWindow = Annotated[Positive | None, Doc("Window in base pairs: by default that of the model.")]
CoordinatesName = Annotated[
    str, Doc("Name of the assembly: that of the coordinates; HDF5 files record it.")
]
Coordinates = Annotated[
    Literal["record", "genome"] | None,
    Doc(
        "'record' counts from the start of each FASTA record; 'genome' converts records named by location, such "
        "as chr1:100-200, to coordinates of the chromosome. Default: 'genome' for BED and bigWig files, else "
        "'record'. Rows of a BED input are always on the genome."
    ),
]
Labels = Annotated[
    Names, Doc("Labels by name or shell pattern: 'GM12878*,CTCF' for example. Default: all.")
]
AlleleStrands = Annotated[
    Literal["both", "forward", "reverse"] | None,
    Doc(
        "Strands to read: 'both' averages the two, or takes the higher one of a directional model for each "
        "allele; 'forward' and 'reverse' read one. Default: 'forward' for a directional model, else 'both'."
    ),
]
WindowStrands = Annotated[
    Literal["both", "forward"] | None,
    Doc(
        "Strands to read: 'both' averages the probabilities of the two, or takes the higher one of a directional "
        "model; 'forward' reads the sequences as they are. Default: 'forward' for a directional model, else 'both'."
    ),
]
Unphased = Annotated[
    Literal["error", "reference", "both"],
    Doc(
        "Heterozygous genotypes without phase, and those of another phase set in one window: 'error', as the "
        "'reference', or the allele on 'both' haplotypes."
    ),
]
Progress = Annotated[
    bool, Doc("Show a progress bar: on standard error if that is a terminal, and in a notebook.")
]
MaxUnpackedGib = Annotated[
    float,
    Range(0, below=2**30),
    Doc(
        "GiB that a compressed file may become when it is read; 0: 20 times its size, at least 0.25."
    ),
]
FigureFolder = Annotated[
    OutputFolder | None, Doc("Folder for the pictures as PNG files too, for other documents.")
]
_CORPUS = (
    'text with blank lines between documents, or JSON lines with a "text" each in a file named '
    ".jsonl; plain or gzip."
)
Corpus = Annotated[InputPath, Doc(f"File to read: {_CORPUS}")]
TrainingCorpus = Annotated[InputPath, Doc(f"Training data: {_CORPUS}")]
TaskModel = Annotated[InputPath, Doc("Model bundle: a folder of `dna-bigbird text train`.")]
TaskData = Annotated[InputPath, Doc("Labelled set: in its native format, as for training.")]
SetPart = Annotated[
    Literal["train", "validation", "test"], Doc("Part of the set: for data that contain several.")
]
SyntheticSets = Annotated[
    list[str], Doc("Sets whose text was made by a program; the page says so.")
]
BenchData = Annotated[
    InputPath, Doc("Labelled set: a folder with the files of the suite, in its own layout.")
]
BootstrapSeed = Annotated[int, Doc("Seed of the random numbers: of the bootstrap.")]
SiteFormat = Annotated[
    Literal["auto", "bed", "gtf", "gff", "fps", "sga"],
    Doc("Format of the start sites: auto recognises it by the first row."),
]
Backend = Annotated[
    Literal["auto", "dense", "gather", "cpu_chunks", "flex", "native", "triton"],
    Doc("How attention is computed."),
]
Device = Annotated[Literal["auto", "cpu", "cuda"], Doc("'auto' takes a GPU if there is one.")]
