"""Checks of arguments of Python functions by their type hints, as the command line checks options."""

import dataclasses
import difflib
import functools
import inspect
import numbers
import operator
import os
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_type_hints

from dna_bigbird.core.errors import InputError, checked_settings, errors_for_reader, note, shortened
from dna_bigbird.core.messages import listed_words
from dna_bigbird.core.paths import check_paths
from dna_bigbird.core.settings import range_of
from dna_bigbird.core.several import check_each, several

OTHER_WORDS = {
    "gpu": "cuda", "float32": "32-true", "fp32": "32-true", "bfloat16": "bf16-mixed",
    "h5": "hdf5", "bw": "bigwig", "logodds": "log_odds", "ignore": "skip",
}  # fmt: skip
"""Other spellings of a choice."""

OLD_CHOICES = {"merged": "cpu_chunks"}
"""Earlier names of choices; each is read wherever the new name is a choice."""

PATHS = {Path, str, types.NoneType}
Function = TypeVar("Function", bound=Callable)


class ChoiceError(InputError, ValueError):
    """An argument that is not one of the listed values, or has the wrong type."""


def choices_of(hint: object) -> tuple:
    """Return the values that a `Literal` lists, with or without None; () for other types.

    Example:
        >>> choices_of(Literal["both", "forward"] | None), choices_of(str | None)
        (('both', 'forward'), ())
    """
    options = [each for each in alternatives(hint) if each is not types.NoneType]
    if any(typing.get_origin(each) is not Literal for each in options):
        return ()
    return tuple(value for each in options for value in typing.get_args(each))


def with_current_name(value: Any, choices: tuple) -> Any:
    """Return a choice by its current name.

    Example:
        >>> with_current_name("merged", ("gather", "cpu_chunks")), with_current_name("merged", ("a", "b"))
        ('cpu_chunks', 'merged')
    """
    new = OLD_CHOICES.get(value) if isinstance(value, str) else None
    return new if new in choices else value


def check_argument(name: str, value: Any, hint: object) -> Any:
    """Return the value of an argument, checked by its type; integers of NumPy become `int`.

    Example:
        >>> check_argument("strand", "Forward", Literal["both", "forward"])
        Traceback (most recent call last):
        dna_bigbird.core.choices.ChoiceError: strand='Forward': expected 'both' or 'forward'; did you mean 'forward'?
    """
    options = alternatives(hint)
    if value is None and types.NoneType in options:
        return None
    containers = {typing.get_origin(each): each for each in options}
    if list in containers:
        has_single = bool(set(options) - {containers[list], types.NoneType})
        return _list_argument(name, value, typing.get_args(containers[list])[0], has_single)
    if Ellipsis in (item := typing.get_args(containers.get(tuple))):
        return tuple(_list_argument(name, value, item[0], has_single=False))
    is_one_path = Path in options and _is_text(options, value)
    if dict in containers and not isinstance(value, Mapping) and not is_one_path:
        raise ChoiceError(f"{_shown(name, value)}: expected a mapping, such as {{'name': value}}")
    settings = [x for x in options if isinstance(x, type) and dataclasses.is_dataclass(x)]
    if len(settings) == 1 and isinstance(value, Mapping) and dict not in containers:
        return _settings_of(name, value, settings[0])
    # What `fasta` may be instead of a name is in windows/inputs.py.
    is_path = Path in options and set(options) <= PATHS and name != "fasta"
    if is_path and value is not None and not is_one_path:
        raise ChoiceError(f"{name} is {type(value).__name__}; expected one path")
    choices = choices_of(hint)
    value = with_current_name(value, choices)
    if choices and not any(isinstance(value, type(each)) and value == each for each in choices):
        raise ChoiceError(
            f"{_shown(name, value)}: expected {listed(choices)}{near(value, choices)}"
        )
    if set(options) <= {int, types.NoneType}:
        return _in_range(name, _checked_seed(name, _whole_number(name, value)), hint)
    if set(options) <= {float, types.NoneType}:
        return _in_range(name, _number(name, value), hint)
    if set(options) <= {bool, types.NoneType} and type(value).__name__ not in ("bool", "bool_"):
        raise ChoiceError(f"{_shown(name, value)}: expected True or False")
    return value


def _settings_of(name: str, values: Mapping, settings: type) -> Any:
    """Return the settings that a mapping of their fields gives."""
    hints = get_type_hints(settings, include_extras=True)
    fields = {each.name: each for each in dataclasses.fields(settings) if each.init}
    if unknown := [key for key in values if key not in fields]:
        advice = near(unknown[0], tuple(fields)) or f"; expected {listed(tuple(fields))}"
        raise ChoiceError(f"{name} has no setting {unknown[0]!r}{advice}")
    for field in fields.values():
        has_default = not (field.default is field.default_factory is dataclasses.MISSING)
        if field.name not in values and not has_default:
            raise ChoiceError(f"{name} needs the setting {field.name!r}")
    with checked_settings():
        return settings(
            **{k: check_argument(f"{name}.{k}", v, hints[k]) for k, v in values.items()}
        )


def _list_argument(name: str, value: Any, item: object, has_single: bool) -> Any:
    """Return the values of an argument that takes several; one value stays one if the type has it."""
    items = alternatives(item)
    listed = several(name, value)
    values = [value] if listed is None else listed
    if str in items or Path in items:
        expected = "a path" if Path in items else "text"
        check_each(name, values, functools.partial(_is_text, items), expected)
        values = [
            os.fspath(each) if Path not in items and isinstance(each, os.PathLike) else each
            for each in values
        ]
    else:
        values = [check_argument(name, each, item) for each in values]
    return values[0] if listed is None and has_single else values


def _is_text(types_: tuple, value: object) -> bool:
    """Return True for text; for a path or a loaded model where a path is expected; for a number where it may be one."""
    is_number = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    is_model = Path in types_ and hasattr(value, "folder")
    return isinstance(value, str | os.PathLike) or is_model or (int in types_ and is_number)


def check_fields(settings: Any, group: str = "") -> None:
    """Check the fields of a dataclass, for its `__post_init__`; `group` is that of its options."""
    prefix = f"--{group}." if group else ""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        checked = check_argument(prefix + field.name, value, field.type)
        if checked is not value:
            object.__setattr__(settings, field.name, checked)  # the dataclass is frozen


def checked(*, rest: type | None = None) -> Callable[[Function], Function]:
    """Make a decorator that checks the arguments of each call, and makes paths of text."""
    # `rest`: dataclass or function of the further keywords, if no `**name: Annotated[object, rest]` is there.

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        # Not before the first call: a type may be defined below the function.
        hints_of = functools.cache(functools.partial(get_type_hints, function, include_extras=True))

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            hints = hints_of()
            passed_on = rest or _passed_on_to(signature, hints)
            _check_keywords(function.__qualname__, kwargs, _keywords(signature, passed_on))
            try:
                bound = signature.bind_partial(*args, **kwargs)
            except TypeError:
                return function(*args, **kwargs)  # Python's own words
            with errors_for_reader():
                for name in bound.arguments.keys() & hints.keys():
                    value = check_argument(name, bound.arguments[name], hints[name])
                    bound.arguments[name] = _with_paths(value, hints[name])
                check_paths(function, bound.arguments)
                if dataclasses.is_dataclass(passed_on):
                    with checked_settings():
                        passed_on(
                            **{k: v for k, v in kwargs.items() if k not in signature.parameters}
                        )
                return function(*bound.args, **bound.kwargs)

        return cast(Function, call)

    return decorate


def renamed(**new_names: str) -> Callable[[Function], Function]:
    """Make a decorator that still accepts old names of keywords (old=new), with a note."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for old, new in new_names.items():
                if old in kwargs and new not in kwargs:
                    note(f"{function.__name__}(): the argument {old} is now called {new}")
                    kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return cast(Function, call)

    return decorate


def listed(choices: tuple) -> str:
    """Return choices as text.

    Example:
        >>> listed(("both", "forward", "interval"))
        "'both', 'forward' or 'interval'"
    """
    return listed_words([repr(each) for each in choices])


def near(value: object, choices: tuple) -> str:
    """Return a question that names the choice closest to a value, or nothing.

    Example:
        >>> near("bf16", ("auto", "32-true", "bf16-mixed"))
        "; did you mean 'bf16-mixed'?"
        >>> near("minus", ("both", "forward"))
        ''
    """
    closest = nearest(value, choices)
    return "" if closest is None else f"; did you mean {closest!r}?"


def nearest(value: object, choices: tuple) -> Any:
    """Return the choice closest to a value, None if none is close.

    Example:
        >>> nearest("Forwad", ("both", "forward"))
        'forward'
    """
    folded = {str(each).casefold(): each for each in choices}
    word = str(value).casefold()
    if (other := OTHER_WORDS.get(word)) in choices:
        return other
    return next((folded[key] for key in difflib.get_close_matches(word, folded, 1, 0.55)), None)


def alternatives(hint: object) -> tuple:
    """Return the types of a union, without their annotations."""
    hint = without_annotations(hint)
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return tuple(map(without_annotations, typing.get_args(hint))) if is_union else (hint,)


def _shown(name: str, value: object) -> str:
    return f"{name}={shortened(repr(value))}"


def _in_range(name: str, value: float, hint: object) -> float:
    allowed = range_of(hint)
    if allowed is not None and value not in allowed:
        raise ChoiceError(f"--{name.removeprefix('--')} {value}: expected {allowed}")
    return value


def _number(name: str, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)  # of NumPy, such as float32
    raise ChoiceError(f"{_shown(name, value)}: expected a number")


def _checked_seed(name: str, value: int) -> int:
    if value < 0 and (name == "seed" or name.endswith("_seed")):
        raise ChoiceError(f"--{name} {value}: expected a whole number of at least 0")
    return value


def _whole_number(name: str, value: Any) -> int:
    try:
        if not isinstance(value, bool):
            number = operator.index(value)
            if number.bit_length() < 64:
                return number
            raise ChoiceError(
                f"{name}: expected a whole number of at most 64 bits, found {number.bit_length()}"
            )
    except TypeError:
        pass
    is_integral = isinstance(value, float) and value.is_integer()
    advice = f"; write {int(value)}" if is_integral else ""
    raise ChoiceError(f"{_shown(name, value)}: expected a whole number{advice}")


def _passed_on_to(signature: inspect.Signature, hints: Mapping[str, object]) -> Callable | None:
    """Return the dataclass or function that gets the `**keywords` of a function."""
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            return next(filter(callable, getattr(hints.get(name), "__metadata__", ())), None)
    return None


def _keywords(signature: inspect.Signature, passed_on: Callable | None) -> tuple[str, ...]:
    """Return the names of all arguments, those that are passed on included."""
    names = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    return (*names, *(inspect.signature(passed_on).parameters if passed_on else ()))


def _with_paths(value: Any, hint: object) -> Any:
    """Return a value with `Path` in place of text where the type is a path, also in lists."""
    options = alternatives(hint)
    if isinstance(value, str):
        return Path(value) if Path in options and str not in options else value
    for option in options:
        items = typing.get_args(option)
        if typing.get_origin(option) is list and isinstance(value, list | tuple):
            changed = [_with_paths(each, items[0]) for each in value]
            return changed if changed != list(value) else value
        if typing.get_origin(option) is dict and isinstance(value, Mapping):
            return {key: _with_paths(each, items[1]) for key, each in value.items()}
    return value


def without_annotations(hint: object) -> object:
    """Return a type without its annotations: the role of a path, a description."""
    is_annotated = typing.get_origin(hint) is typing.Annotated
    return typing.get_args(hint)[0] if is_annotated else hint


def _check_keywords(function: str, kwargs: Mapping[str, object], known: tuple[str, ...]) -> None:
    for name in kwargs:
        if name not in known:
            raise TypeError(
                f"{function}() got an unexpected keyword argument {name!r}{near(name, known)}"
            )
