"""Writes the schema of the workflow's config from the settings classes and options of the commands: `make schema`.

    python -m tools.schema

workflow/schemas/config.parts.yaml has what only the workflow knows. Where it says `settings`, a list of
`MODULE:NAME` of settings classes and functions of commands, their fields and options become the properties of the
section: all of them, those named after it, or, `without`, all but these. Properties that the section states win.
`choices_of` is one option of a command, `MODULE:NAME OPTION`, whose choices are allowed, perhaps `without` some.
"""

import importlib
import typing
from dataclasses import is_dataclass
from pathlib import Path
from types import NoneType

import yaml

from dna_bigbird.cli.commands import REQUIRED
from dna_bigbird.cli.parser import Option, fields_of, options_of
from dna_bigbird.core.choices import OLD_CHOICES, alternatives, choices_of
from dna_bigbird.core.settings import range_of

SCHEMAS = Path(__file__).parents[1] / "workflow" / "schemas"
PARTS, SCHEMA = SCHEMAS / "config.parts.yaml", SCHEMAS / "config.schema.yaml"
HEAD = "# Made by `make schema` from config.parts.yaml and the settings classes; edit those.\n"
TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string"}
ENDS = {
    "least": "minimum",
    "most": "maximum",
    "above": "exclusiveMinimum",
    "below": "exclusiveMaximum",
}


def schema_text() -> str:
    """Return the text of config.schema.yaml."""
    definitions: dict[str, dict] = {}
    schema = _expanded(yaml.safe_load(PARTS.read_text(encoding="utf-8")), definitions)
    schema["$defs"] |= definitions
    return HEAD + yaml.dump(schema, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


class _Dumper(yaml.SafeDumper):
    """Writes every value in full, without anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _expanded(part: object, definitions: dict[str, dict]) -> object:
    """Return a part of the schema with properties in place of `settings`."""
    if isinstance(part, list):
        return [_expanded(each, definitions) for each in part]
    if not isinstance(part, dict):
        return part
    part = {key: _expanded(value, definitions) for key, value in part.items()}
    if isinstance(sources := part.get("settings"), list):
        del part["settings"]
        part = {"type": "object", "additionalProperties": False} | part
        properties: dict[str, object] = {}
        for source in sources:
            properties |= _properties(*source.split(), definitions=definitions)
        part["properties"] = properties | part.get("properties", {})
    if "choices_of" in part:
        option, _, others = part.pop("choices_of").partition(" without ")
        source, name = option.split()
        choices = _properties(source, name, definitions=definitions)[name]["enum"]
        part["enum"] = [each for each in choices if each not in others.split()]
    return part


def _properties(path: str, *names: str, definitions: dict[str, dict]) -> dict[str, dict]:
    """Return the schemas of the fields of a settings class or of the options of a function."""
    module, _, name = path.partition(":")
    source = getattr(importlib.import_module(module), name)
    listed = fields_of(source) if isinstance(source, type) else options_of(source)
    options = {each.name: each for each in listed}
    if names[:1] == ("without",):
        kept = [each for each in options if each not in names[1:]]
    else:
        kept = list(names or options)
    return {each: _property(options[each], definitions) for each in kept}


def _property(option: Option, definitions: dict[str, dict]) -> dict:
    (hint,) = [each for each in alternatives(option.hint) if each is not NoneType]
    if is_dataclass(hint):
        if hint.__name__ not in definitions:
            path = f"{hint.__module__}:{hint.__name__}"
            definitions[hint.__name__] = {}  # its place, before those that it needs
            definitions[hint.__name__] |= _expanded({"settings": [path]}, definitions)
        return {"description": option.help, "$ref": f"#/$defs/{hint.__name__}"}
    schema = {"description": option.help} | type_schema(option.hint)
    if isinstance(option.default, bool | int | float | str) and option.default is not REQUIRED:
        schema["default"] = option.default
    if option.name == "seed" or option.name.endswith("_seed"):  # as choices.check_argument
        schema["minimum"] = 0
    return schema


def type_schema(hint: object) -> dict:
    """Return the schema of a type: a choice, a number with its range, text, or a list of these.

    Example:
        >>> type_schema(list[typing.Literal["query", "value"]])
        {'type': 'array', 'items': {'enum': ['query', 'value']}}
    """
    if choices := choices_of(hint):
        old = [name for name, new in OLD_CHOICES.items() if new in choices]
        return {"enum": [*choices, *old]}
    plain, *others = [each for each in alternatives(hint) if each is not NoneType]
    if typing.get_origin(plain) in (list, tuple):
        return {"type": "array", "items": type_schema(typing.get_args(plain)[0])}
    if others:
        return {"type": [TYPES[each] for each in (plain, *others)]}
    allowed = range_of(hint)
    ends = {
        word: end
        for name, word in ENDS.items()
        if (end := getattr(allowed, name, None)) is not None
    }
    return {"type": TYPES[plain]} | ends | ({"minLength": 1} if plain is Path else {})


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), encoding="utf-8")
