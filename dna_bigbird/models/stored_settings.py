"""Settings dataclasses from a file that may say anything."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeVar

from dna_bigbird.errors import shortened

LARGEST = 2**31 - 1
"""Of any whole number: no model has larger sizes, and their products would overflow."""

T = TypeVar("T")


def settings_from(config_type: type[T], values: object) -> T:
    """Return settings whose fields have the types that the dataclass declares.

    Args:
        config_type: `EncoderConfig`, `HeadConfig` or another with fields of type int, float, bool
            or str, tuples of int, lists of int or str, or settings again.
        values: What JSON gave; fields that are absent have their defaults.

    Raises:
        ValueError: If it is not an object, a key is unknown, a value has another type, is not
            finite or too large, or the settings contradict each other.

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
    known = {field.name: type(_default(field)) for field in fields(config_type)}
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"unknown setting {shortened(repr(name))}")
        _check(name, value, known[name])
    try:
        return config_type(**values)
    except ValueError as error:
        for prefix in ("--model.", "--head.", "--options.", "--split."):
            error = str(error).replace(prefix, "")
        raise ValueError(error) from None


def is_finite(value: object) -> bool:
    """Return True if a value of JSON is a number that a float can hold; `true` is none."""
    try:
        return (
            isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        )
    except OverflowError:  # JSON's whole numbers have no end
        return False


def _default(field: Field) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _check(name: str, value: Any, expected: type) -> None:
    if expected is int:
        good = _is_whole(value)
        is_int = isinstance(value, int) and not isinstance(value, bool)
        words = f"at most {LARGEST}" if is_int else "a whole number"
    elif expected is float:
        good, words = is_finite(value), "a finite number"
    elif expected is tuple:
        good = isinstance(value, list | tuple) and all(_is_whole(each) for each in value)
        words = "a list of whole numbers"
    elif expected is list:
        good = isinstance(value, list) and all(isinstance(x, str) or _is_whole(x) for x in value)
        words = "a list of whole numbers or texts"
    elif is_dataclass(expected):
        good, words = isinstance(value, Mapping | expected), "an object"
    else:
        good, words = isinstance(value, expected), {bool: "true or false", str: "a text"}[expected]
    if not good:
        raise ValueError(f"{name} is {shortened(repr(value))}, expected {words}")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST
