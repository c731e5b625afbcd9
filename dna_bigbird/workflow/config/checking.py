"""Checks a config against its schema, and fills in what the schema knows: numbers and defaults."""

import operator
import re
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from dna_bigbird.core.resources import resource_folder
from dna_bigbird.workflow.config.config_files import ConfigFiles
from dna_bigbird.workflow.config.schema_errors import mistake

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

_EXPONENT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+")
"""A number that YAML 1.1 reads as text unless it has a dot and a sign."""


@cache
def read_schema() -> dict:
    """Return the schema of the workflow's configs."""
    path: Path = resource_folder("workflow") / "schemas" / "config.schema.yaml"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where PyYAML has it
    return loader(path.read_text(encoding="utf-8")).get_single_data()


def check_schema(config: dict, files: ConfigFiles) -> None:
    """Check a config, write its numbers as numbers, and add the defaults of the schema.

    Raises:
        InputError: For the first mistake, unknown keys before others: file, line, setting, what was
            found and what is expected.
    """
    schema = read_schema()
    errors = _errors_left(_validator(schema), config)
    if errors:
        raise files.error(*mistake(min(errors, key=lambda error: _rank(error, files))))
    for key, part in schema["properties"].items():
        if "default" in part:
            config.setdefault(key, part["default"])


def _rank(error: "ValidationError", files: ConfigFiles) -> tuple:
    """Return the order of an error: an unknown key may be the reason for a missing one."""
    first = {"additionalProperties": 0, "required": 2, "dependentRequired": 2}
    path = tuple(error.absolute_path)
    return first.get(str(error.validator), 1), files.location(path), len(path)


def _validator(schema: dict) -> "Validator":
    import jsonschema

    base = jsonschema.Draft202012Validator
    # 10.0 is a whole number for JSON; a command would get "10.0".
    whole = base.TYPE_CHECKER.redefine(
        "integer", lambda _, x: isinstance(x, int) and not isinstance(x, bool)
    )
    return jsonschema.validators.extend(base, type_checker=whole)(schema)


def _errors_left(validator: "Validator", config: dict) -> list["ValidationError"]:
    """Return the errors that stay when 1e-3 is read as a number, and 1e4 as a whole one."""
    while True:
        errors = list(validator.iter_errors(config))
        numbers = {tuple(x.absolute_path): _as_number(x) for x in errors}
        numbers = {path: number for path, number in numbers.items() if number is not None}
        if not numbers:
            return errors
        for path, number in numbers.items():
            *above, last = path
            reduce(operator.getitem, above, config)[last] = number


def _as_number(error: "ValidationError") -> float | int | None:
    expected, value = error.validator_value, error.instance
    if error.validator != "type" or expected not in ("integer", "number"):
        return None
    if isinstance(value, str) and _EXPONENT.fullmatch(value):
        value = float(value)
    elif not isinstance(value, float):
        return None
    if expected == "number":
        return value
    return int(value) if value.is_integer() and abs(value) < 2**63 else None
