"""The parser of one command, built from the signature and docstring of its function."""

import ast
import functools
import inspect
import itertools
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from dna_bigbird.cli.commands import REQUIRED, Command, find_command
from dna_bigbird.cli.option_types import GENERAL, CommandOption
from dna_bigbird.core.choices import without_annotations
from dna_bigbird.core.errors import note
from dna_bigbird.core.lazy_names import load
from dna_bigbird.core.shared_options import doc_of, without_doc
from dna_bigbird.core.yaml_files import read_yaml

# `text train`: its options depend on the task, which is looked up before they are read.

TRAIN = "text train"
END_OF_OLD_NAMES = "0.2"


def current_name(command: str, rest: list[str]) -> tuple[str, list[str]]:
    """Return the current name of a command and its arguments; 0.1 had `text train-hotpotqa`."""
    if not command.startswith(f"{TRAIN}-"):
        return command, rest
    from dna_bigbird.bundles.text_tasks import tasks

    for task in tasks().values():
        if task.old_command and command == f"text {task.old_command}":
            note(
                f"{command} is now: dna-bigbird {TRAIN} --task {task.name}; the old name goes with "
                f"version {END_OF_OLD_NAMES}"
            )
            return TRAIN, ["--task", task.name, *rest]
    return command, rest


def train_function(argv: list[str]) -> Callable:
    """Return `text.train` with the options of the task in the arguments, else of all tasks."""
    from dna_bigbird.text.set_options import check_task
    from dna_bigbird.text.text_train import typed_train

    help_only = not argv or not {"-h", "--help", "--help_all", "--help-all"}.isdisjoint(argv)
    name = task_of(argv)
    if name is not None or not help_only:
        check_task(name)
    return typed_train(name)


def task_of(argv: list[str]) -> str | None:
    """Return the value of --task, or of `task:` in the last --config file that has it.

    Example:
        >>> task_of(["--seed", "1", "--task", "hotpotqa"]), task_of(["--seed", "1"])
        ('hotpotqa', None)
    """
    named, configured = None, None
    for position, argument in enumerate(argv):
        name, equals, value = argument.partition("=")
        if not equals:
            value = argv[position + 1] if position + 1 < len(argv) else ""
        if name == "--task":
            named = value
        elif name == "--config" and value:
            task = read_yaml(Path(value)).values().get("task")
            configured = configured if task is None else str(task)
    return named or configured


_SECTION = re.compile(r"^(?P<name>[A-Z]\w+):\n(?P<body>(?:[ ]+.*\n?|\n)*)", flags=re.MULTILINE)
_ARGUMENT = re.compile(
    r"^(?P<indent> +)(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*): (?P<text>.*(?:\n(?P=indent) +.*)*)",
    flags=re.MULTILINE,
)


@dataclass(frozen=True)
class Option:
    """One parameter of a function."""

    parameter: str
    hint: object
    default: object
    """`REQUIRED` if the option must be given."""
    help: str

    @property
    def name(self) -> str:
        """Its name on the command line: `from` is a keyword of Python, so the parameter is `from_`."""
        return self.parameter.rstrip("_")


def load_function(command: Command, argv: Sequence[str] = ()) -> Callable:
    """Import the function of a command, for `text train` that of the task in its arguments."""
    function = load(command.function_for or command.function)
    return function(argv) if command.function_for else function


def options_of(function: Callable) -> list[Option]:
    """Return the parameters of a function, those of its `**keywords` included.

    Example:
        >>> def copy(source: str, times: int = 1) -> None:
        ...     '''Copy.
        ...
        ...     Args:
        ...         source: What to copy.
        ...         times: How often.
        ...     '''
        >>> [(option.name, option.help) for option in options_of(copy)]
        [('source', 'What to copy.'), ('times', 'How often.')]
    """
    # `**run: Annotated[object, train]`: the keyword-only parameters of `train`, or fields of that dataclass.
    texts = arguments_in(function.__doc__)
    defaults = factory_defaults(function) if is_dataclass(function) else {}
    hints = typing.get_type_hints(function, include_extras=True)
    options, passed_on = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            hint = hints.get(name)
            text = texts.get(name) or doc_of(hint) or ""
            options[name] = Option(
                name, without_doc(hint), defaults.get(name, parameter.default), text
            )
            continue
        for target in filter(callable, getattr(hints.get(name), "__metadata__", ())):
            passed_on += _keywords_of(target)
    for option in passed_on:
        options.setdefault(option.parameter, option)
    return list(options.values())


def _keywords_of(target: Callable) -> Iterator[Option]:
    if inspect.isclass(target):
        yield from fields_of(target)
        return
    parameters = inspect.signature(target).parameters
    for option in options_of(target):
        parameter = parameters.get(option.parameter)
        if parameter is None or parameter.kind is parameter.KEYWORD_ONLY:
            yield option


def fields_of(settings: type) -> Iterator[Option]:
    """Yield the fields of a dataclass, each with its description: of its type, or the text below it."""
    texts: dict[str, str] = {}
    for each in filter(is_dataclass, reversed(settings.__mro__)):
        texts |= field_texts(each)
    for option in options_of(settings):
        yield replace(option, help=option.help or texts.get(option.parameter, ""))


def factory_defaults(settings: type) -> dict[str, object]:
    """Return the defaults of the fields of a dataclass that a function makes, such as lists."""
    return {
        each.name: each.default_factory()
        for each in fields(settings)
        if each.default_factory is not MISSING
    }


@functools.cache
def field_texts(settings: type) -> dict[str, str]:
    """Return the text below each field of a dataclass; an optional one has that of its declaration and a sentence."""
    declared, sentences = settings.__dict__.get("OPTIONAL", (settings, {}))
    texts = {name: f"{field_texts(declared)[name]} {sentences[name]}".strip() for name in sentences}
    body = ast.parse(inspect.cleandoc(inspect.getsource(settings))).body[0].body
    for statement, after in itertools.pairwise(body):
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(statement, ast.AnnAssign) and is_text:
            texts[statement.target.id] = inspect.cleandoc(after.value.value)
    return texts


def sections_of(docstring: str | None) -> dict[str, str]:
    """Return the sections of a docstring by name; the text before the first has the name "".

    Example:
        >>> sections_of("Bake.\\n\\nArgs:\\n    salt: Grams.\\n")
        {'': 'Bake.', 'Args': '    salt: Grams.'}
    """
    text = inspect.cleandoc(docstring or "")
    matches = list(_SECTION.finditer(text))
    start = text[: matches[0].start()] if matches else text
    return {"": start.rstrip()} | {each["name"]: each["body"].rstrip() for each in matches}


def arguments_in(docstring: str | None) -> dict[str, str]:
    """Return the text of each argument in a docstring."""
    body = sections_of(docstring).get("Args", "")
    return {
        name.strip("*"): inspect.cleandoc(f" {argument['text']}")
        for argument in _ARGUMENT.finditer(body)
        for name in argument["names"].split(", ")
    }


class Settings(NamedTuple):
    """A group of options: the fields of a dataclass."""

    title: str
    default: Any


@dataclass
class Parser:
    """The options of a command."""

    function: Callable
    command: Command
    prog: str
    options: list[CommandOption] = field(default_factory=list)
    """In the order of the signature; those of every command are in `GENERAL`."""
    groups: dict[str, Settings] = field(default_factory=dict)
    """By their names: `model`, `model.etc`."""

    @property
    def description(self) -> str:
        """The docstring before the arguments."""
        return sections_of(self.function.__doc__)[""]

    @property
    def epilog(self) -> str:
        """The examples, with a heading."""
        examples = sections_of(self.function.__doc__).get("Examples", "")
        for name, value in self.command.values.items():  # of a function for several commands
            examples = examples.replace(f"{{{name}}}", str(value))
        return f"examples:\n{examples}" if examples else ""

    @cached_property
    def every_option(self) -> list[CommandOption]:
        """Those of every command included, and those that stand for a group: `--model FILE`."""
        # The last are not shown: elsewhere `--model` is a bundle.
        groups = (
            CommandOption(name, (f"--{name}",), "", type(group.default))
            for name, group in self.groups.items()
        )
        return [*self.options, *GENERAL, *groups]

    @cached_property
    def by_dest(self) -> dict[str, CommandOption]:
        return {option.dest: option for option in self.options}

    @property
    def aliases(self) -> dict[str, str]:
        """Other names of options -> their names."""
        return {**self.command.aliases, **self.command.second_names}

    @property
    def option_names(self) -> set[str]:
        """The names of all options, without dashes."""
        return {name.lstrip("-") for option in self.every_option for name in option.names}

    def add(
        self, option: Option, default: object, group: str = "", names: Sequence[str] = ()
    ) -> None:
        """Add an option, or the group of options that a dataclass is."""
        dest = f"{group}.{option.name}" if group else option.name
        settings = without_annotations(option.hint)
        if not is_dataclass(settings):
            self.options.append(
                CommandOption(dest, tuple(names), option.help, option.hint, default)
            )
            return
        default = settings() if default is REQUIRED else default
        self.groups[dest] = Settings(option.help.rstrip("."), default)
        for each in fields_of(settings):
            name = f"{dest}.{each.name}"
            names = [f"--{name}", *_second_names(name, self.command)]
            self.add(each, getattr(default, each.parameter), dest, names)

    @property
    def shown_by(self) -> str:
        """Return the command that shows the options."""
        return f"{self.prog}{getattr(self.function, 'chosen_by', '')} --help"


def build_parser(name: str, argv: Sequence[str] = ()) -> tuple[Parser, Callable]:
    """Return the parser of a command, such as "text evaluate", and the function that it calls."""
    command = find_command(name)
    function = load_function(command, argv)
    return parser_of(function, command, f"dna-bigbird {name}"), function


def parsers_of(name: str) -> list[Parser]:
    """Return parsers that together have all options of a command; the first has the shared options."""
    if not find_command(name).function_for:
        return [build_parser(name)[0]]
    from dna_bigbird.bundles.text_tasks import tasks

    return [build_parser(name, argv)[0] for argv in ([], *(["--task", task] for task in tasks()))]


def parser_of(function: Callable, command: Command, prog: str) -> Parser:
    """Return a parser whose options are the parameters of a function."""
    parser = Parser(function, command, prog)
    for option in options_of(function):
        if option.parameter in command.python_only:
            continue
        default = command.defaults.get(option.parameter, option.default)
        parser.add(option, default, names=_names(option, command))
    return parser


def _names(option: Option, command: Command) -> list[str]:
    """Return the names of an option on the command line, short ones first."""
    if option.parameter in command.positional:
        return []
    short = ["-o"] if option.name == "output" else []
    return [*short, f"--{option.name}", *_second_names(option.name, command)]


def _second_names(option: str, command: Command) -> list[str]:
    return [f"--{name}" for name, of in command.second_names.items() if of == option]
