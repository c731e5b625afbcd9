"""The reader of YAML: JSON is read as `json` reads it, numbers are decimal, and no document is too large."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dna_bigbird.core import yaml_files
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.yaml_files import load_yaml, read_yaml

LETTERS = st.characters(
    exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufeff\ufffe\uffff"
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18) + 1, 10**18 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(LETTERS, max_size=20),
    lambda parts: (
        st.lists(parts, max_size=4)
        | st.dictionaries(
            st.text(LETTERS, max_size=5).filter(lambda x: x != "<<"), parts, max_size=4
        )
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(value=VALUES)
def test_json_is_read_as_json(value):
    assert load_yaml(json.dumps(value, ensure_ascii=False)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1_0", "1_0"), ("\u0661", "\u0661"), ("010", "010"), ("0x1F", "0x1F"), ("0b1", "0b1"), ("0x", "0x"),
        ("1:30", "1:30"), ("2001-01-01", "2001-01-01"), ("2001-99-99", "2001-99-99"), ("1_0.5", "1_0.5"),
        ("9" * 5000, "9" * 5000), ("=", "="), ("'5'", "5"), ("!!str 5", "5"),
        ("-5", -5), ("5.", 5.0), (".5", 0.5), ("1e-3", 0.001), ("1E4", 1e4), ("-.inf", float("-inf")),
        ("!!int 5", 5), ("!!float 5", 5.0), ("yes", True), ("", None), ("~", None), ("a:", {"a": None}),
        ("{NO: 1, null: 2, ~: 3, 007: 4, 1_000: 5, 1: 6, 1.0: 7, 2001-01-01: 8, 1e999: 9, '': 10}",
         {"NO": 1, "null": 2, "~": 3, "007": 4, "1_000": 5, "1": 6, "1.0": 7, "2001-01-01": 8, "1e999": 9, "": 10}),
        ("a: &x {off: 1}\nc: {<<: *x, on: 2}", {"a": {"off": 1}, "c": {"off": 1, "on": 2}}),
        ("a: &x {b: 1}\nc: {<<: *x, d: 2}", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}),
    ],
)  # fmt: skip
def test_what_a_text_is(text, value):
    read = load_yaml(text)
    assert (read, type(read)) == (value, type(value))


WRONG = [
    "!!int ''", "!!int 1_0", "!!int \u0661", "!!int " + "9" * 5000, "!!float abc", "!!float ''", "!!bool x",
    "!!binary x", "!!timestamp x", "!!timestamp 2001-99-99", "!!set {a}", "!mine x", "!!python/object:os.x {}",
    "!!map [a]", "!!seq {}", "!!str [a]", "1e99999", "*unknown", "&a [*a]", "{? [a] : 1}", r'"a\0b"', "\0", "[", "\t- a",
]  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_value_is_one_line_with_the_file(tmp_path, text):
    path = tmp_path / "c.yaml"
    path.write_text(f"good: 1\nbad: {text}\n")
    with pytest.raises(InputError, match=r"c\.yaml") as caught:
        read_yaml(path)
    assert "\n" not in str(caught.value)


def laughs(levels: int) -> str:
    """Lists of nine aliases of the list before: 9 ** levels values in a few hundred bytes."""
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 100_000,
        "a: " + "[" * 100_000 + "]" * 100_000,
        "a: " + "{a: " * 100_000,
        "a: " + "- " * 100_000,
        "\n".join("  " * i + f"k{i}:" for i in range(1000)),
        "\n".join(f"a{i}: &a{i} [*a{i - 1}]" if i else "a0: &a0 [1]" for i in range(1000)),
        laughs(9),
        laughs(400),
        "a: [" + "[]," * 300_000 + "]",
        "a: &a {b: 1}\nc: {<<: [" + "*a," * 150_000 + "]}",
    ],
    ids=[
        "open",
        "closed",
        "sections",
        "items",
        "indented",
        "aliases",
        "laughs",
        "more",
        "wide",
        "merges",
    ],
)
def test_a_document_that_is_too_large(tmp_path, text):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"c\.yaml"):
        read_yaml(path)


def nodes(value: object) -> int:
    """Count keys and values of what PyYAML reads; an alias counts as what it stands for."""
    if isinstance(value, dict):
        return 1 + sum(nodes(key) + nodes(item) for key, item in value.items())
    return 1 + sum(map(nodes, value)) if isinstance(value, list) else 1


@pytest.mark.parametrize("text", [laughs(4), "a: &x [1, {b: &y [2]}]\nc: [*x, *y, *x]", "a: 1"])
def test_values_behind_aliases_are_counted(monkeypatch, text):
    count = nodes(yaml.safe_load(text)) + 1  # and the document
    monkeypatch.setattr(yaml_files, "MAX_NODES", count)
    load_yaml(text)
    monkeypatch.setattr(yaml_files, "MAX_NODES", count - 1)
    with pytest.raises(yaml.YAMLError, match="values"):
        load_yaml(text)
