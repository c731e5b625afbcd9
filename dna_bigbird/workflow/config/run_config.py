"""Reads the config of a run, or checks the one that Snakemake has read."""

import operator
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import yaml

from dna_bigbird.core.choices import near
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.messages import listed_words
from dna_bigbird.core.resources import resource_folder
from dna_bigbird.core.yaml_files import KeyPath
from dna_bigbird.workflow.config.config_files import ConfigFiles, read_config_files
from dna_bigbird.workflow.config.head_checks import check_heads, check_suites, check_text
from dna_bigbird.workflow.config.run_checks import CHECKS, Check, check_peaks, check_regions
from dna_bigbird.workflow.config.run_settings import check_settings

# Checks a config against its schema, and fills in what the schema knows: numbers and defaults.

# What is wrong with a setting, in words: made of an error of jsonschema.
#
# The schema may help with keywords that jsonschema leaves alone: `message` is the text for a `not`,
# `oneOf`, `anyOf` or `pattern` that fails, `examples` what to write for a missing key.

if TYPE_CHECKING:
    from jsonschema import ValidationError

_NAMES = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "string": "text",
    "array": "a list",
    "object": "a section with keys",
    "null": "nothing",
}
_LIMITS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}


def mistake(error: "ValidationError") -> tuple[KeyPath, str]:
    """Return the path of the setting, and what was found and expected."""
    path = tuple(error.absolute_path)
    describe = _DESCRIBE.get(error.validator)
    if describe is not None:
        more, text = describe(error)
        return (*path, *more), text
    message = error.schema.get("message", "")
    if error.validator == "not":
        message = error.validator_value.get("message", message)
    if error.validator in _LIMITS or not message:
        message = f"expected {expected(error.schema)}"
    if message.startswith("expected"):
        message = f"found {shown(error.instance)}; {message}"
    return path, message


def shown(value: object) -> str:
    """Return a value as a message shows it.

    Example:
        >>> [shown(x) for x in ("auto", 3, True, None, [])]
        ["'auto'", '3', 'true', 'nothing', 'an empty list']
    """
    if value is None:
        return "nothing"
    if value == {}:
        return "an empty section"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"a section with the keys {shortened(', '.join(map(str, value)))}"
    if isinstance(value, list):
        return shortened(str(value)) if value else "an empty list"
    return shortened(repr(value))


def expected(schema: Mapping) -> str:
    """Return what a schema asks for.

    Example:
        >>> expected({"type": "number", "minimum": 0, "maximum": 1})
        'a number, at least 0 and at most 1'
        >>> expected({"enum": ["both", "forward"]})
        'both or forward'
    """
    if "enum" in schema:
        return listed_words([str(x) for x in schema["enum"]])
    if schema.get("minItems"):
        return f"a list, at least {schema['minItems']} long"
    types = schema.get("type", "string")
    text = listed_words([_NAMES[x] for x in ([types] if isinstance(types, str) else types)])
    limits = [f"{word} {schema[key]}" for key, word in _LIMITS.items() if key in schema]
    if "pattern" in schema and "description" in schema:
        limits.append(schema["description"].rstrip("."))
    return f"{text}, {' and '.join(limits)}" if limits else text


def _unknown_key(error: "ValidationError") -> tuple[KeyPath, str]:
    known = list(error.schema.get("properties", {}))
    allowed = [*known, *error.schema.get("patternProperties", {})]
    key = next(k for k in error.instance if not _is_allowed(k, error.schema, known))
    if not known:
        return (key,), f"this name is not allowed; expected one such as {allowed[0]}"
    hint = near(key, tuple(known))
    return (key,), "no such option" + (hint or f"; expected one of {', '.join(known)}")


def _is_allowed(key: object, schema: Mapping, known: list[str]) -> bool:
    patterns = schema.get("patternProperties", {})
    return key in known or any(re.search(pattern, str(key)) for pattern in patterns)


def _missing_key(error: "ValidationError") -> tuple[KeyPath, str]:
    key = next(k for k in error.validator_value if k not in error.instance)
    examples = error.schema.get("examples") or error.schema["properties"][key].get("examples")
    return (key,), f"missing{_example(key, examples)}{error.schema.get('otherwise', '')}"


def _example(key: str, examples: list | None) -> str:
    if not examples:
        return ""
    text = yaml.safe_dump({key: examples[0]}, default_flow_style=True, width=200)
    return f"; add for example `{text.strip()[1:-1]}`"


def _missing_partner(error: "ValidationError") -> tuple[KeyPath, str]:
    for key, partners in error.validator_value.items():
        for partner in partners:
            if key in error.instance and partner not in error.instance:
                return (key,), f"needs {partner} next to it"
    raise AssertionError(error.message)


def _wrong_type(error: "ValidationError") -> tuple[KeyPath, str]:
    hint = ""
    if error.instance is None:
        hint = "; write {} for the defaults" if error.validator_value == "object" else ""
    elif error.validator_value == "string" and isinstance(error.instance, int | float):
        hint = "; put it in quotes"
    elif error.validator_value == "array" and isinstance(error.instance, str):
        hint = f", such as [{shortened(error.instance)}]"
    return (), f"found {shown(error.instance)}; expected {expected(error.schema)}{hint}"


def _wrong_choice(error: "ValidationError") -> tuple[KeyPath, str]:
    choices = tuple(map(str, error.validator_value))
    hint = near(error.instance, choices)
    return (), f"found {shown(error.instance)}; expected {expected(error.schema)}{hint}"


def _lacks_item(error: "ValidationError") -> tuple[KeyPath, str]:
    item = error.validator_value.get("const")
    return (), f"found {shown(error.instance)}; {item} must be in the list"


def _fixed(error: "ValidationError") -> tuple[KeyPath, str]:
    return (), str(error.validator_value)


def _repeated(error: "ValidationError") -> tuple[KeyPath, str]:
    twice = next(x for x in error.instance if error.instance.count(x) > 1)
    return (), f"{shown(twice)} is in the list twice"


_DESCRIBE = {
    "additionalProperties": _unknown_key,
    "required": _missing_key,
    "dependentRequired": _missing_partner,
    "type": _wrong_type,
    "enum": _wrong_choice,
    "contains": _lacks_item,
    "const": _fixed,
    "uniqueItems": _repeated,
}


if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

_EXPONENT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+")
"""A number that YAML 1.1 reads as text unless it has a dot and a sign."""


@cache
def read_schema() -> dict:
    path: Path = resource_folder("workflow") / "schemas" / "config.schema.yaml"
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where PyYAML has it
    return loader(path.read_text(encoding="utf-8")).get_single_data()


def check_schema(config: dict, files: ConfigFiles) -> None:
    """Check a config, write its numbers as numbers, and add the defaults of the schema."""
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


def check_config(config: dict, files: ConfigFiles, *, is_job: bool = False) -> None:
    """Check a merged config, and change it: numbers become numbers, and defaults are added."""
    # A job leaves out the settings of the commands and the suites, which the run has checked before.
    if files.files and not files.section and "__use_yte__" not in files.values():  # no template
        _take_texts(config, files.values())
    _check_keys(config, files, ())
    if isinstance(config.get("tokenizer"), str):
        config["tokenizer"] = {"algorithm": config["tokenizer"]}
    check_schema(config, files)
    _raise_first((*CHECKS, check_heads, check_text), config, files)
    check_peaks(config)
    if not is_job:
        check_settings(config, files)
        _raise_first((check_regions, check_suites), config, files)


def _raise_first(checks: Iterable[Check], config: Mapping, files: ConfigFiles) -> None:
    for check in checks:
        for path, text in check(config):
            raise files.error(path, text)


def _take_texts(config: dict | list, read: dict | list) -> None:
    """Replace what Snakemake reads as another type and `read_yaml` as text: `1_0`, `010`, `2001-01-01`, the key `NO`."""
    if isinstance(read, dict):
        values = dict(config)
        other = {yaml.safe_load(key) for key in read if key not in values}  # such as False for NO
        config.clear()
        config.update({key: values.get(key, value) for key, value in read.items()})
        config.update({key: values[key] for key in values if key not in {*read, *other}})
    for key, text in read.items() if isinstance(read, dict) else enumerate(read):
        if isinstance(text, dict | list) and isinstance(config[key], type(text)):
            _take_texts(config[key], text)
        elif isinstance(text, str):
            config[key] = text


def _check_keys(values: object, files: ConfigFiles, path: KeyPath) -> None:
    """Raise InputError for a key of another type than text, which a workflow that uses this as a module may have."""
    for key, value in values.items() if isinstance(values, dict) else ():
        if not isinstance(key, str):
            raise files.error(path, f"the key {key!r} is not text; put it in quotes")
        _check_keys(value, files, (*path, key))


def read_config(paths: Sequence[Path]) -> dict:
    """Read, merge and check the config of a run."""
    files = read_config_files(paths)
    config = files.values()
    check_config(config, files)
    return config


def end_with(error: InputError) -> NoReturn:
    """End Snakemake with one line and exit status 2; an exception would add the Snakefile's lines."""
    print(f"dna-bigbird: error: {error}", file=sys.stderr)
    raise SystemExit(2)
