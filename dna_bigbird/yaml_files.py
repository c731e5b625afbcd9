"""A YAML file with the line of every key: for messages, which name the line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from dna_bigbird.errors import InputError
from dna_bigbird.files import read_text

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE, _MAPPING = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:map"
KeyPath = Sequence[str | int]
"""Keys and positions in lists that lead to a value of a config."""


@dataclass(frozen=True)
class YamlFile:
    """One file of settings."""

    name: str
    """The path as messages name it."""
    root: yaml.MappingNode

    def values(self) -> dict:
        """Return the settings."""
        return _LOADER("").construct_document(self.root)

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a key or list item, counted from 1; None if the file lacks it."""
        node: yaml.Node = self.root
        line = None
        for step in path:
            entry = _entry(node, step)
            if entry is None:
                return None
            key, node = entry
            line = key.start_mark.line + 1
        return line


def _entry(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the node that names an entry and the node of its value."""
    if isinstance(node, yaml.SequenceNode):
        is_there = isinstance(step, int) and step < len(node.value)
        return (node.value[step], node.value[step]) if is_there else None
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in node.value:
        if key.value == str(step) and key.tag != _MERGE:
            return key, value
    for merged in _merged(node):
        if entry := _entry(merged, step):
            return entry
    return None


def _merged(node: yaml.MappingNode) -> Iterator[yaml.Node]:
    """Yield the mappings that `<<:` adds to one."""
    for key, value in node.value:
        if key.tag == _MERGE:
            yield from value.value if isinstance(value, yaml.SequenceNode) else [value]


def read_yaml(path: Path, name: str = "") -> YamlFile:
    """Read a file of settings; an empty one has none.

    Args:
        name: The path as messages name it.

    Raises:
        InputError: Naming file and line, if it cannot be read, is not YAML, has something else than
            keys at its top, or has one key twice.
    """
    name = name or str(path)
    text = read_text(path)
    try:
        root = yaml.compose(text, Loader=_LOADER) or yaml.MappingNode(_MAPPING, [])
        if not isinstance(root, yaml.MappingNode):
            what = "a list" if isinstance(root, yaml.SequenceNode) else "text"
            raise InputError(f"{name}: expected settings as `key: value`, found {what}")
        _check_twice(root, name, set())
        file = YamlFile(name, root)
        file.values()
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(_not_yaml(name, text, error)) from None
    return file


def _not_yaml(name: str, text: str, error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "nested too deeply"
    if mark is None:
        return f"{name}: not YAML: {problem}"
    line = [*text.splitlines(), ""][mark.line]
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return f"{name}:{mark.line + 1}: the line begins with a tab; indent with spaces"
    context = f" ({error.context})" if error.context else ""
    return f"{name}:{mark.line + 1}: not YAML: {problem}{context}"


def _check_twice(node: yaml.Node, name: str, seen: set[int]) -> None:
    """Raise InputError if a mapping has a key twice: YAML would keep the last one silently."""
    if id(node) in seen or isinstance(node, yaml.ScalarNode):
        return
    seen.add(id(node))  # an alias is the same node again
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _check_twice(child, name, seen)
        return
    lines: dict[str, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise InputError(f"{name}:{line}: a key is a list or section; expected one word")
        if key.tag != _MERGE and key.value in lines:
            raise InputError(
                f"{name}:{line}: {key.value} is also in line {lines[key.value]}; keep one of them"
            )
        lines[key.value] = line
        _check_twice(value, name, seen)
