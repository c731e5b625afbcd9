"""Checks a config against its schema, and fills in what the schema knows: numbers and defaults."""

import operator
import re
from functools import reduce
from pathlib import Path

import yaml

from dna_bigbird.configs.config_files import ConfigFiles
from dna_bigbird.configs.schema_errors import mistake
from dna_bigbird.resources import resource_folder

_EXPONENT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+")
"""A number that YAML 1.1 reads as text unless it has a dot and a sign."""


def read_schema() -> dict:
    """Return the schema of the workflow's configs."""
    path: Path = resource_folder("workflow") / "schemas" / "config.schema.yaml"
    return yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def check_schema(config: dict, files: ConfigFiles) -> None:
    """Check a config, write its numbers as numbers, and add the defaults of the schema.

    Raises:
        InputError: For the first mistake, unknown keys before others: file, line, setting, what was
            found and what is expected.
    """
    schema = read_schema()
    errors = _errors_left(_validator(schema), config)
    if errors:
        order = {"additionalProperties": 0, "required": 2, "dependentRequired": 2}
        errors.sort(
            key=lambda x: (order.get(x.validator, 1), files.location(tuple(x.absolute_path)))
        )
        raise files.error(*mistake(errors[0]))
    for key, part in schema["properties"].items():
        if "default" in part:
            config.setdefault(key, part["default"])


def _validator(schema: dict):  # noqa: ANN202 - jsonschema is imported late
    import jsonschema

    base = jsonschema.Draft202012Validator
    # 10.0 is a whole number for JSON; a command would be given "10.0".
    whole = base.TYPE_CHECKER.redefine(
        "integer", lambda _, x: isinstance(x, int) and not isinstance(x, bool)
    )
    return jsonschema.validators.extend(base, type_checker=whole)(schema)


def _errors_left(validator, config: dict) -> list:  # noqa: ANN001
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


def _as_number(error) -> float | int | None:  # noqa: ANN001
    wanted, value = error.validator_value, error.instance
    if error.validator != "type" or wanted not in ("integer", "number"):
        return None
    if isinstance(value, str) and _EXPONENT.fullmatch(value):
        value = float(value)
    elif not isinstance(value, float):
        return None
    if wanted == "number":
        return value
    return int(value) if value.is_integer() else None
