"""The options of a command, read from the signature and docstring of its function."""

import ast
import functools
import inspect
import itertools
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace

from dna_bigbird.cli.commands import Command
from dna_bigbird.core.lazy_names import load
from dna_bigbird.core.shared_options import doc_of, without_doc

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
    """Import the function of a command.

    Args:
        argv: Its arguments, for a command whose options depend on one of them.
    """
    function = load(command.function_for or command.function)
    return function(argv) if command.function_for else function


def options_of(function: Callable) -> list[Option]:
    """Return the parameters of a function, those of its `**keywords` included.

    The type of `**keywords` names where they are passed on: `**run: Annotated[object, train]`. They
    are the keyword-only parameters of that function, or the fields of that dataclass.

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
    """Return the text below each field of a dataclass."""
    texts, body = {}, ast.parse(inspect.cleandoc(inspect.getsource(settings))).body[0].body
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
