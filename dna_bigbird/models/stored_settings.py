"""Settings dataclasses from a file that may say anything."""

import functools
import math
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType
from typing import Any, TypeVar

from dna_bigbird.core.choices import ChoiceError, alternatives, check_argument
from dna_bigbird.core.errors import shortened
from dna_bigbird.core.settings import range_of

LARGEST = 2**31 - 1
"""Of a whole number whose range has no upper end: no model has larger sizes, and their products would overflow."""
_BREAKS_A_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

T = TypeVar("T")


def settings_from(config_type: type[T], values: object, *, ignore_unknown: bool = False) -> T:
    """Return settings from JSON, of the types that the dataclass declares, or a ValueError.

    Example:
        >>> from dna_bigbird.models.config import HeadConfig
        >>> settings_from(HeadConfig, {"pooling": "mean"}).pooling
        'mean'
        >>> settings_from(HeadConfig, {"centre_tokens": True})
        Traceback (most recent call last):
        ValueError: centre_tokens is True, expected a whole number
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"expected an object, found {type(values).__name__}")
    declared = {field.name: field for field in fields(config_type)}
    for name in values:
        if name not in declared and not ignore_unknown:
            raise ValueError(f"unknown setting {shortened(repr(name))}")
    for name, field in declared.items():
        if name not in values and field.default is field.default_factory is MISSING:
            raise ValueError(f"{name} is missing")
    known = {
        name: typed_value(name, value, declared[name].type, ignore_unknown=ignore_unknown)
        for name, value in values.items()
        if name in declared
    }
    try:
        return config_type(**known)
    except ValueError as error:
        for prefix in ("--model.", "--head.", "--options.", "--split."):
            error = str(error).replace(prefix, "")
        raise ValueError(error) from None


def typed_value(name: str, value: Any, hint: object, *, ignore_unknown: bool = False) -> Any:
    """Return a value of JSON as a field of this type has it, or a ValueError that names the key."""
    # Types: bool, int, float, str or choices, with or without a range; settings; lists, tuples and
    # mappings of these; each with or without None; or `Any`.
    if hint in _SCALARS:
        return _scalar(name, value, hint)
    types = [each for each in alternatives(hint) if each is not NoneType]
    if Any in types or (value is None and NoneType in alternatives(hint)):
        return value
    origin, items = typing.get_origin(types[0]) or types[0], typing.get_args(types[0])
    inner = functools.partial(typed_value, name, ignore_unknown=ignore_unknown)
    if origin in (list, tuple):
        _check(name, value, isinstance(value, list | tuple), "a list")
        return origin(inner(each, items[0]) for each in value)
    if origin is dict:
        _check(name, value, isinstance(value, Mapping), "an object")
        return {key: inner(each, items[1]) for key, each in value.items()}
    if not is_dataclass(origin):
        return _scalar(name, value, hint)
    if isinstance(value, origin):
        return value
    try:
        return settings_from(origin, value, ignore_unknown=ignore_unknown)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def wrong_value(name: str, value: object, expected: str) -> ValueError:
    """Return the error of a value that is not as expected."""
    return ValueError(f"{name} is {shortened(repr(value))}, expected {expected}")


def is_finite(value: object) -> bool:
    """Return True if a value of JSON is a number that a float can hold; `true` is none."""
    try:
        return (
            isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        )
    except OverflowError:  # JSON's whole numbers have no end
        return False


def _check(name: str, value: object, is_good: bool, expected: str) -> None:
    if not is_good:
        raise wrong_value(name, value, expected)


def _scalar(name: str, value: Any, hint: object) -> Any:
    types = (hint,) if hint in _SCALARS else alternatives(hint)  # lists may be long
    checks = [_SCALARS[each] for each in types if each in _SCALARS]
    is_good = not checks or any(fits(value) for fits, _ in checks)
    _check(name, value, is_good, " or ".join(words for _, words in checks))
    if int in types and isinstance(value, int):
        has_end = (allowed := range_of(hint)) is not None and allowed.most is not None
        _check(name, value, has_end or abs(value) <= LARGEST, f"at most {LARGEST}")
    try:
        return value if hint in _SCALARS else check_argument(name, value, hint)
    except ChoiceError as error:
        raise ValueError(str(error).removeprefix("--")) from None


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_line(value: object) -> bool:
    return isinstance(value, str) and not _BREAKS_A_LINE.search(value)


_SCALARS: dict[type, tuple[Callable[[object], bool], str]] = {
    bool: (lambda value: isinstance(value, bool), "true or false"),
    int: (_is_whole, "a whole number"),
    float: (is_finite, "a finite number"),
    str: (_is_line, "a text"),
}
