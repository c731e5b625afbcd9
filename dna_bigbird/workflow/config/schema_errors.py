"""What is wrong with a setting, in words: made of an error of jsonschema.

The schema may help with keywords that jsonschema leaves alone: `message` is the text for a `not`,
`oneOf`, `anyOf` or `pattern` that fails, `examples` what to write for a missing key.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import yaml

from dna_bigbird.core.choices import near
from dna_bigbird.core.errors import shortened
from dna_bigbird.core.messages import listed_words
from dna_bigbird.core.yaml_files import KeyPath

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
