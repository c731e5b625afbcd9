"""Which arguments of a function are files it reads and which it writes, and that these never meet.

A parameter says by its type what its path is for; the check is made from the signature:

    def tokenize(documents: InputPath, output: OutputPath) -> None: ...
"""

import enum
import inspect
import os
import stat
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from dna_bigbird.core.errors import InputError, check_named
from dna_bigbird.core.file_formats import Form
from dna_bigbird.core.files import check_random_access
from dna_bigbird.core.scratch import real_path
from dna_bigbird.core.writing import check_can_write, check_can_write_in


class Role(enum.Enum):
    """What a path is for."""

    INPUT = "read"
    GENOME = "read at random: FASTA, plain or bgzip"
    RESULTS = "read: a results folder, in which other results are written"
    OUTPUT = "written: a file, or a folder that is replaced as a whole"
    STREAM = "written: a file, or standard output"
    RESULT = "written: a file, or standard output for '-'; None returns the values"
    FOLDER = "written: a folder to which files are added"


if typing.TYPE_CHECKING:  # what a caller may pass: `choices.checked` makes a Path of text
    InputPath = Path | str
    GenomePath = Path | str
    ResultsPath = Path | str
    OutputPath = Path | str
    OutputStream = Path | str
    OutputFolder = Path | str
else:
    InputPath = Annotated[Path, Role.INPUT]
    GenomePath = Annotated[Path, Role.GENOME]
    ResultsPath = Annotated[Path, Role.RESULTS]
    OutputPath = Annotated[Path, Role.OUTPUT]
    OutputStream = Annotated[Path, Role.STREAM]
    OutputFolder = Annotated[Path, Role.FOLDER, Form("a folder")]
InputText = Annotated[str, Role.INPUT]
"""A path as text, because '-' is standard input."""
InputFile = Annotated[str | Path, Role.INPUT]
"""For Python callers: a path in either form."""
GenomeFile = Annotated[str | Path, Role.GENOME]
OutputFile = Annotated[Path | str, Role.OUTPUT]
StreamFile = Annotated[Path | str, Role.RESULT]
"""Where results go: None returns them."""
Hdf5Output = Annotated[OutputPath, Form("HDF5", (".h5", ".hdf5"))]
JsonLinesOutput = Annotated[OutputPath, Form("JSON lines", (".jsonl", ".jsonl.gz"))]
JsonOutput = Annotated[OutputPath, Form("JSON", (".json",))]
HtmlOutput = Annotated[OutputPath, Form("HTML", (".html", ".htm"))]
TsvOutput = Annotated[OutputPath, Form("TSV", (".tsv",))]
BedOutput = Annotated[OutputPath, Form("BED", (".bed",))]
PackedBedOutput = Annotated[OutputPath, Form("compressed BED", (".bed.gz",))]
FastaOutput = Annotated[OutputPath, Form("FASTA", (".fa", ".fasta", ".fna"))]
FolderOutput = Annotated[OutputPath, Form("a folder")]
"""A folder whose other files stay; one that is replaced is a `dna_bigbird.core.result_folders.ResultFolder`."""
SentencePieceOutput = Annotated[OutputPath, Form("a SentencePiece model", (".model",))]

STANDARD_STREAM = "-"
STANDARD_INPUT = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
BUNDLE = ("config.json", "model.safetensors")
"""Files of every model bundle."""
COMPANIONS = (".fai", ".gzi", ".tbi", ".csi")
"""Index files, which are read and written with the file they belong to."""
PAGES = (".html", ".png", ".svg", ".pdf")
"""What is written into a results folder and read by no command."""
Mark = TypeVar("Mark", Role, Form)
WRITTEN = (Role.OUTPUT, Role.STREAM, Role.RESULT, Role.FOLDER)


@dataclass(frozen=True)
class NamedPath:
    """A path that an argument gave."""

    name: str
    """The parameter."""
    path: Path
    role: Role

    def __str__(self) -> str:
        return f"--{self.name.rstrip('_')} {self.path}"


def named_paths(**values: Path | str | None) -> tuple[Path, ...]:
    """Return the paths of options that have no default, in their order.

    Example:
        >>> data, output = named_paths(data="set.h5", output=Path("model"))
        >>> data.name, output.name
        ('set.h5', 'model')
    """
    check_named(**values)
    return tuple(Path(value) for value in values.values() if value is not None)


def optional_path(value: Path | str | None) -> Path | None:
    """Return the path of an option that may be left out."""
    return None if value is None else Path(value)


def listed_paths(value: Sequence[Path | str] | Path | str) -> list[Path]:
    """Return the paths of an option that takes one or several."""
    return [Path(value)] if isinstance(value, str | Path) else [Path(each) for each in value]


def roles_of(function: Callable) -> dict[str, Role]:
    """Return the parameters of a function that are paths, with their roles.

    Example:
        >>> def copy(source: InputPath, output: OutputPath | None = None) -> None: ...
        >>> [f"{name}: {role.name}" for name, role in roles_of(copy).items()]
        ['source: INPUT', 'output: OUTPUT']
    """
    return _marks_of(function, Role)


def _marks_of(function: Callable, mark: type[Mark]) -> dict[str, Mark]:
    """Return the parameters of a function whose types carry a mark, with the mark."""
    marks: dict[str, Mark] = {}
    hints = typing.get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            for called in filter(callable, getattr(hints.get(name), "__metadata__", ())):
                marks |= _marks_of(called, mark)
        elif part := _mark_in(hints.get(name), mark):
            marks[name] = part
    return marks


def _mark_in(hint: object, mark: type[Mark]) -> Mark | None:
    for part in getattr(hint, "__metadata__", ()):
        if isinstance(part, mark):
            return part
    inner = (_mark_in(each, mark) for each in typing.get_args(hint))
    return next(filter(None, inner), None)


def next_to(output: Path, what: str) -> Path:
    """Return where what belongs to an output goes by default.

    Example:
        >>> str(next_to(Path("models/promoter"), "checkpoints"))
        'models/promoter.checkpoints'
    """
    return output.with_name(f"{output.name}.{what}")


def paths_of(function: Callable, arguments: Mapping[str, object]) -> list[NamedPath]:
    """Return the paths among the arguments of a call, '-' and empty ones left out."""
    return [
        NamedPath(name, path, role)
        for name, role in roles_of(function).items()
        for path in _paths_in(arguments.get(name))
    ]


def check_paths(
    function: Callable, arguments: Mapping[str, object], also_read: Iterable[Path | str] = ()
) -> None:
    """Raise InputError if a call would write over an input, twice to one name, or where it cannot."""
    # Compared are the files, not their names: through links, hard links and `..`. Nothing is created.
    named = paths_of(function, arguments)
    read = [each for each in named if each.role not in WRITTEN]
    read += [NamedPath("input", Path(path), Role.INPUT) for path in also_read]
    written = [each for each in named if each.role in WRITTEN]
    for number, output in enumerate(written):
        for other in written[:number]:
            _check_two_outputs(other, output)
        for source in read:
            _check_output(output, source)
    if _writes_standard_output(function, arguments):
        for source in read:
            _check_standard_output(source)
    for each in named:
        if each.role is Role.GENOME:
            check_random_access(each.path)
    forms = _marks_of(function, Form)
    for name, form in forms.items():
        for path in _paths_in(arguments.get(name)):
            form.check(f"--{name.rstrip('_')}", path)
    for output in written:
        _check_writable(output, is_folder=output.name in forms and forms[output.name].is_folder)


def _check_writable(output: NamedPath, is_folder: bool) -> None:
    if output.role is Role.RESULT:  # its format says whether it is a folder; the command finds it
        check_can_write_in(output.path)
    else:
        check_can_write(output.path, folder=is_folder, into=output.role is Role.FOLDER)


def as_streams(function: Callable, arguments: Mapping[str, object]) -> dict[str, object]:
    """Return arguments with '-' in place of /dev/stdin, and none in place of /dev/stdout."""
    changed = dict(arguments)
    for name, role in roles_of(function).items():
        text = str(arguments.get(name))
        if role is Role.INPUT and text in STANDARD_INPUT:
            changed[name] = STANDARD_STREAM
        if role not in WRITTEN or text not in (STANDARD_STREAM, *STANDARD_OUTPUT):
            continue
        if role is Role.RESULT:
            changed[name] = STANDARD_STREAM
            continue
        if role is not Role.STREAM:
            raise InputError(
                f"--{name} {text}: this is written to a file, not to standard output; name a file"
            )
        changed[name] = None
    return changed


def _paths_in(value: object) -> Iterator[Path]:
    """Yield the paths in an argument: one, several, by name, or the folder of a loaded bundle."""
    if isinstance(value, str | os.PathLike):
        if str(value) not in ("", STANDARD_STREAM):
            yield Path(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _paths_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _paths_in(each)
    elif folder := getattr(value, "folder", None):
        yield from _paths_in(folder)


def _check_output(output: NamedPath, source: NamedPath) -> None:
    target, read = real_path(output.path), real_path(source.path)
    for mine in _with_companions(target):
        for theirs in _with_companions(read):
            if mine == theirs or _is_same(mine, theirs):
                raise _refusal(output, f"is the input {source}", theirs, read)
    if os.path.isdir(read):  # False for a name that the system refuses
        _check_folder(output, source, target, read)
    if output.role is Role.FOLDER and target == read.parent:
        raise InputError(
            f"{output}: the input {source} is in this folder, to which files are added; name "
            "another folder"
        )
    if output.role is not Role.FOLDER and os.path.isdir(target) and target in read.parents:
        raise InputError(
            f"{output}: the input {source} is in this folder, which is replaced as a whole; name "
            "another folder"
        )


def _check_folder(output: NamedPath, source: NamedPath, target: Path, read: Path) -> None:
    """Raise InputError if an output is part of an input folder."""
    is_inside = read in target.parents
    if is_inside and all((read / name).is_file() for name in BUNDLE):
        raise _refusal(output, f"is in the input model {source}", target, target)
    if not os.path.isfile(target) or (source.role is Role.RESULTS and target.suffix in PAGES):
        return
    if is_inside:
        raise _refusal(output, f"is a file of the input folder {source}", target, target)
    for path in read.iterdir():
        if _is_same(path, target):  # a hard link
            raise _refusal(output, f"is the input {path}", path, path)


def _check_two_outputs(output: NamedPath, other: NamedPath) -> None:
    first, second = real_path(output.path), real_path(other.path)
    if first == second or _is_same(first, second):
        raise InputError(f"{output} and {other} are the same path; give each output its own name")
    for outer, inner, paths in ((output, other, (first, second)), (other, output, (second, first))):
        if outer.role is not Role.FOLDER and paths[0] in paths[1].parents:
            raise InputError(f"{inner} is inside {outer}, which is written as a whole; move it out")


def _writes_standard_output(function: Callable, arguments: Mapping[str, object]) -> bool:
    roles = roles_of(function).items()
    return any(
        role is Role.STREAM or (role is Role.RESULT and str(arguments.get(name)) == STANDARD_STREAM)
        for name, role in roles
    )


def _check_standard_output(source: NamedPath) -> None:
    """Raise InputError if standard output is appended to an input: `... --fasta g.fa >> g.fa`."""
    try:
        out, read = os.fstat(1), os.stat(source.path)
    except OSError:
        return
    if stat.S_ISREG(out.st_mode) and os.path.samestat(out, read):
        raise InputError(f"standard output is the input {source}; send it to another file")


def _refusal(output: NamedPath, what: str, theirs: Path, read: Path) -> InputError:
    index = f", whose index is {theirs}" if theirs != read else ""
    return InputError(
        f"{output}: this {what}{index}, which would be overwritten; name another output"
    )


def _with_companions(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + suffix) for suffix in COMPANIONS)]


def _is_same(path: Path, other: Path) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:  # one of them does not exist
        return False
