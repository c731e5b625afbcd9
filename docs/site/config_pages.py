"""The page of the keys of a config, from the schema that `make schema` writes."""

import json
from collections.abc import Iterator
from pathlib import Path

import yaml
from prose import escaped

SCHEMA = yaml.safe_load(
    (Path(__file__).parents[2] / "workflow/schemas/config.schema.yaml").read_text()
)
SECTIONS = SCHEMA["properties"] | SCHEMA["$defs"]
LARGEST = 2**31 - 1
"""Limit of numbers that have no other; not shown."""
RANGES = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}


def type_text(schema: dict) -> str:
    """Return what a value may be; of a section that has its own heading, a link."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        definition = SECTIONS[name]
        return f"[{name}](#{name.lower()})" if list(keys(definition)) else type_text(definition)
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    choices = schema.get("oneOf") or schema.get("anyOf") or ()
    if texts := list(dict.fromkeys(filter(None, map(type_text, choices)))):
        return " or ".join(texts)
    kinds = schema.get("type", [])
    text = " or ".join([kinds] if isinstance(kinds, str) else kinds)
    text = {"array": "list", "object": "section"}.get(text, text)
    if text == "list" and (of := type_text(schema.get("items", {}))):
        text = f"list of {of}"
    ends = [f"{RANGES[end]} {schema[end]}" for end in RANGES if schema.get(end, LARGEST) != LARGEST]
    return " ".join([text, *ends])


def keys(schema: dict, indent: str = "") -> Iterator[str]:
    """Yield a line per key of a section, with those of its sections below it."""
    for part in (
        schema,
        schema.get("items", {}),
        *schema.get("oneOf", ()),
        *schema.get("anyOf", ()),
    ):
        named = dict.fromkeys(part.get("patternProperties", ()), "NAME")
        for key, each in (part.get("properties", {}) | part.get("patternProperties", {})).items():
            name, about = named.get(key, key), [type_text(each)]
            if not about[0]:
                continue  # a condition, not a key
            if "default" in each:
                about.append(f"default `{json.dumps(each['default'])}`")
            text = escaped(" ".join(each.get("description", "").split()))
            yield f"{indent}- **`{name}`** ({', '.join(about)}) {text}".rstrip()
            yield from keys(each, f"{indent}  ")


def config_pages() -> dict[str, str]:
    """Return the page."""
    plain = {name: each for name, each in SCHEMA["properties"].items() if not list(keys(each))}
    parts = [
        "# Keys of a config\n",
        "Made from the settings of the commands. What is left out has the command's default. "
        "Examples and what belongs together: [configs](../configs.md).\n",
        *keys({"properties": plain}),
    ]
    for name, each in SECTIONS.items():
        if lines := list(keys(each)):
            parts += [f"\n## {name}\n", escaped(each.get("description", "")), "", *lines]
    return {"config-keys.md": "\n".join(parts) + "\n"}
