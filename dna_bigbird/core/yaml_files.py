"""YAML of the user: files with the line of every key, for messages, and values of the command line.

What other programs build from a document is limited: its depth, its values as aliases repeat them, and
its types. Numbers are decimal: `1_0`, `0x1F`, `010`, `1:30` and dates are texts here. Keys are texts as
they are written: `NO`, `007` and `null` are names.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import yaml

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import read_text
from dna_bigbird.core.plain_numbers import decimal_number, whole_number

_TAG = "tag:yaml.org,2002:"
_MERGE, _MAPPING = f"{_TAG}merge", f"{_TAG}map"
MAX_DEPTH = 100
"""Lists and sections within each other: the parser in C and Python's recursion take some more."""
MAX_NODES = 200_000
"""Keys and values of a document, those that an alias stands for once for each alias; a command line has fewer."""
_SCALARS = {
    "null": (r"~|null|Null|NULL|", ["", *"~nN"]),
    "bool": (r"(?i:yes|no|true|false|on|off)", "yYnNtTfFoO"),
    "int": (r"-?(?:0|[1-9][0-9]{0,17})", "-0123456789"),
    "float": (
        r"[-+]?(?:[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)"
        r"|[-+]?\.(?i:inf)|\.(?i:nan)",
        "-+.0123456789",
    ),
    "merge": (r"<<", "<"),
}
"""What a text without quotes is: a pattern of the whole text, and its possible first letters."""
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
        return _Loader("").construct_document(self.root)

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


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads texts, plain numbers, truth values, nothing, lists and mappings; every fault is a YAMLError."""

    yaml_implicit_resolvers: ClassVar[dict] = {}

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        """Return the value of a node."""
        if node.tag not in self.yaml_constructors:
            raise _error(f"unknown type {shortened(node.tag)!r}; leave it out", node.start_mark)
        try:
            if isinstance(node, yaml.ScalarNode) and "\0" in node.value:  # no path, no name has it
                raise ValueError
            return super().construct_object(node, deep)
        except (AttributeError, LookupError, TypeError, ValueError):
            value = node.value if isinstance(node, yaml.ScalarNode) else "this"
            expected = {"int": "a whole number", "float": "a number"}.get(
                name := node.tag.removeprefix(_TAG), name
            )
            raise _error(f"{shortened(value)!r} is not {expected}", node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """Return a mapping of texts, as its keys are written, to values."""
        if isinstance(node, yaml.MappingNode):
            self.flatten_mapping(node)
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag in self.yaml_constructors:
                    key.tag = f"{_TAG}str"
        return super().construct_mapping(node, deep)

    def construct_number(self, node: yaml.ScalarNode) -> float:
        """Return the value of `5` or `!!int 5`; of `0.5`, `1e-3`, `.inf` or `!!float 1`."""
        read = whole_number if node.tag == f"{_TAG}int" else yaml_decimal
        if (value := read(self.construct_scalar(node))) is None:
            raise ValueError
        return value


def yaml_decimal(text: str) -> float | None:
    """Return a number as YAML writes it (`.inf`), None for any other text and for `1e999`."""
    plain = re.sub(r"\.(?=inf|nan)", "", text.lower())
    value = decimal_number(plain)
    is_number = value is not None and (math.isfinite(value) or plain != text.lower())
    return value if is_number else None


for _name, (_pattern, _first) in _SCALARS.items():
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), list(_first))
_Loader.yaml_constructors = {
    _TAG + name: yaml.SafeLoader.yaml_constructors[_TAG + name]
    for name in ("null", "bool", "str", "seq", "map")
} | dict.fromkeys((f"{_TAG}int", f"{_TAG}float"), _Loader.construct_number)


def load_yaml(text: str) -> object:
    """Return the value of a YAML or JSON text, or raise YAMLError."""
    root = _compose(text)
    return None if root is None else _Loader("").construct_document(root)


def _compose(text: str) -> yaml.Node | None:
    try:
        _check_size(text)
        return yaml.compose(text, Loader=_Loader)
    except UnicodeEncodeError as error:  # a byte of the command line that is not UTF-8
        raise yaml.YAMLError(error.reason) from None


@dataclass
class _Open:
    """A list or mapping whose end was not read yet, or a value that has been read."""

    anchor: str | None
    nodes: int = 1
    """With all that it contains."""
    depth: int = 1


def _check_size(text: str) -> None:
    """Raise YAMLError if a document is too deep or too large; nothing is built to find out."""
    is_open: list[_Open] = [_Open(None)]
    anchors: dict[str, _Open] = {}
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            is_open.append(_Open(event.anchor))
            if len(is_open) > MAX_DEPTH:
                raise _error("nested too deeply", event.start_mark)
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            read = is_open.pop()
        elif isinstance(event, yaml.ScalarEvent):
            read = _Open(event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            if any(each.anchor == event.anchor for each in is_open):
                raise _error("an alias within what it stands for", event.start_mark)
            target = anchors.get(event.anchor, _Open(None))
            read = _Open(None, target.nodes, target.depth)
        else:
            continue
        if read.anchor:
            anchors[read.anchor] = read
        above = is_open[-1]
        above.nodes += read.nodes
        above.depth = max(above.depth, read.depth + 1)
        if above.nodes > MAX_NODES:
            raise _error(f"more than {MAX_NODES:,} values, aliases included", event.start_mark)
        if above.depth > MAX_DEPTH:
            raise _error("nested too deeply by aliases", event.start_mark)


def _error(problem: str, mark: yaml.Mark) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


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
    """Read a file of settings, which messages call `name`; an empty one has none."""
    return parse_yaml(read_text(path), name or str(path))


def parse_yaml(text: str, name: str) -> YamlFile:
    """Read settings; see `read_yaml`."""
    try:
        root = _compose(text) or yaml.MappingNode(_MAPPING, [])
        if not isinstance(root, yaml.MappingNode):
            what = "a list" if isinstance(root, yaml.SequenceNode) else "text"
            raise InputError(f"{name}: expected settings as `key: value`, found {what}")
        _check_twice(root, name, set())
        file = YamlFile(name, root)
        file.values()
    except yaml.YAMLError as error:
        raise InputError(_not_yaml(name, text, error)) from None
    return file


def _not_yaml(name: str, text: str, error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", error)
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
            raise InputError(f"{name}:{line}: a key is a list or section; put it in quotes")
        if key.tag != _MERGE and key.value in lines:
            raise InputError(
                f"{name}:{line}: {key.value} is also in line {lines[key.value]}; keep one of them"
            )
        lines[key.value] = line
        _check_twice(value, name, seen)
