"""Calls that every command refuses before any work, and the table of them in docs/reference/output-files.md.

python -m tests.cli.situations      # writes the table again
"""

import functools
import itertools
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from dna_bigbird.cli.commands import every_command
from dna_bigbird.cli.main import build_parser
from dna_bigbird.core.choices import without_annotations
from dna_bigbird.core.file_formats import Form
from dna_bigbird.core.paths import WRITTEN, Role, _marks_of, roles_of
from dna_bigbird.core.result_folders import ResultFolder, atomic_directory

PAGE = Path(__file__).parents[2] / "docs/reference/output-files.md"
HEADER = ("situation", "commands", "calls", "the line says")
NOTES = ("notes.md", "predictions/a.tsv", ".hidden")
"""What a user puts next to a result."""


class Option(NamedTuple):
    """An option of a command."""

    name: str
    hint: object
    is_required: bool
    is_positional: bool


class Command(NamedTuple):
    """A command with its options; paths by option."""

    name: str
    options: list[Option]
    roles: dict[str, Role]
    forms: dict[str, Form]

    @property
    def inputs(self) -> list[str]:
        return [name for name, role in self.roles.items() if role not in WRITTEN]

    @property
    def outputs(self) -> list[str]:
        return [name for name, role in self.roles.items() if role in WRITTEN]

    @property
    def results(self) -> dict[str, ResultFolder]:
        return {k: form for k, form in self.forms.items() if isinstance(form, ResultFolder)}

    def argv(self, changed: dict[str, str]) -> list[str]:
        """The arguments of a call with all its paths, NAME.in and NAME.out but for those that are changed."""
        paths = {name: f"{name}.in" for name in self.inputs}
        paths |= {name: f"{name}.out" for name in self.outputs} | changed
        argv = self.name.split()
        for name, hint, is_required, is_positional in self.options:
            if name in paths or is_required:
                argv += [f"--{name}"] * (not is_positional)
                argv.append(_as_option(hint, paths[name]) if name in paths else _example(hint))
        return argv


@functools.cache
def command_of(name: str) -> Command:
    """The command of a name."""
    parser, function = build_parser(name)
    return Command(
        name,
        [Option(o.dest, o.hint, o.is_required, not o.names) for o in parser.options],
        {option.rstrip("_"): role for option, role in roles_of(function).items()},
        {option.rstrip("_"): form for option, form in _marks_of(function, Form).items()},
    )


def _example(hint: object) -> str:
    """Some text that an option of this type accepts."""
    if typing.get_origin(hint) is typing.Literal:
        return str(typing.get_args(hint)[0])
    if without_annotations(hint) in (int, float):
        return "1"
    return "[]" if "list" in str(hint) else "{}" if "dict" in str(hint) else "x"


def _as_option(hint: object, path: str) -> str:
    text = str(hint)
    return f"{{x: {path}}}" if "dict[" in text else f"[{path}]" if text.startswith("list") else path


class Case(NamedTuple):
    """A call: the paths that make the situation, the files that must be there, words of the line."""

    changed: dict[str, str]
    words: tuple[str, ...]
    prepare: Callable[[], object] = lambda: None


def put(path: str) -> None:
    """Write a file of the user."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(f"precious {path}")


def _output_is_input(command: Command) -> Iterator[Case]:
    for output, source in itertools.product(command.outputs, command.inputs):
        yield Case({output: f"{source}.in"}, (f"--{output} ", "would be overwritten"))


def _outputs_are_one(command: Command) -> Iterator[Case]:
    for first, second in itertools.combinations(command.outputs, 2):
        yield Case({second: f"{first}.out"}, (f"--{first} ", f"--{second} ", "are the same path"))


def _input_in_folder(command: Command) -> Iterator[Case]:
    folders = [
        name for name in command.outputs if name in command.forms and command.forms[name].is_folder
    ]
    for output, source in itertools.product(folders, command.inputs):
        path = f"{output}.out/{source}.in"
        yield Case(
            {source: path}, (f"--{output} ", "is in this folder"), functools.partial(put, path)
        )


def _with_notes(folder: str, form: ResultFolder, note: str) -> None:
    with atomic_directory(Path(folder), form) as result:
        (result / "result.txt").write_text("of an earlier run")
    put(f"{folder}/{note}")


def _folder_holds_notes(command: Command) -> Iterator[Case]:
    for (output, form), note in itertools.product(command.results.items(), NOTES):
        prepare = functools.partial(_with_notes, f"{output}.out", form, note)
        words = f"the folder holds {Path(note).parts[0]}, which no run of this command wrote"
        yield Case({}, (f"{output}.out: {words}",), prepare)


def _folder_is_file(command: Command) -> Iterator[Case]:
    for output in command.results:
        prepare = functools.partial(put, f"{output}.out")
        yield Case({}, (f"{output}.out: this is not a folder",), prepare)


def _file_is_folder(command: Command) -> Iterator[Case]:
    for output in command.outputs:
        is_file = output not in command.forms or not command.forms[output].is_folder
        if is_file and command.roles[output] not in (Role.FOLDER, Role.RESULT):
            prepare = functools.partial(put, f"{output}.out/notes.md")
            yield Case({}, (f"{output}.out: this is a folder",), prepare)


def _suffix_of_another(command: Command) -> Iterator[Case]:
    for output in command.outputs:
        if output in command.forms:
            words = (f"{output} x.xlsx: ", "is the suffix of Excel", "this is written as")
            yield Case({output: "x.xlsx"}, words)


def _output_below_file(command: Command) -> Iterator[Case]:
    for output in command.outputs:
        prepare = functools.partial(put, "file")
        yield Case({output: "file/x"}, ("file/x: cannot write it", "is not a folder"), prepare)


SITUATIONS: dict[str, tuple[Callable[[Command], Iterator[Case]], str]] = {
    "an output is an input": (_output_is_input, "this is the input …, which would be overwritten"),
    "two outputs are the same path": (_outputs_are_one, "… are the same path"),
    "an input is in the folder of an output": (_input_in_folder, "the input … is in this folder"),
    "a result folder holds something of the user": (
        _folder_holds_notes,
        "the folder holds notes.md, which no run of this command wrote",
    ),
    "a result folder is a file": (_folder_is_file, "this is not a folder"),
    "an output is an existing folder, and a file is written": (
        _file_is_folder,
        "this is a folder; expected the name of a file to write",
    ),
    "the suffix of an output is that of another format": (
        _suffix_of_another,
        ".xlsx is the suffix of Excel, but this is written as …",
    ),
    "the folder of an output is a file": (_output_below_file, "cannot write it: … is not a folder"),
}
"""By description: the calls of a command in this situation, and what the line says."""


def cases(situation: str, command: str) -> list[Case]:
    """The calls of a command that bring it into a situation."""
    return list(SITUATIONS[situation][0](command_of(command)))


def table() -> str:
    """The table of the page."""
    rows = [HEADER, ("---",) * len(HEADER)]
    every = list(every_command())
    for situation, (_, words) in SITUATIONS.items():
        calls = {command: len(cases(situation, command)) for command in every}
        refusing = sum(count > 0 for count in calls.values())
        rows.append((situation, f"{refusing} of {len(every)}", str(sum(calls.values())), words))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def replaced(page: str) -> str:
    """A page with the table as it should be."""
    before, head, rest = page.partition(f"| {' | '.join(HEADER)} |\n")
    assert head, f"{PAGE} has no table that begins with {HEADER}"
    _, end, after = rest.partition("\n\n")
    return before + table() + end[1:] + after


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text()))
