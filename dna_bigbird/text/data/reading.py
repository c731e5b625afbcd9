"""Reading JSON with messages that name the place."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import LONGEST_LINE, numbered_lines, open_text, parse_json

# Checks that settings of several tasks share.


def check_room(options: Any, **others: int) -> None:
    """Raise ValueError if a longest question, with so many other tokens, is longer than an input."""
    for name, tokens in others.items():
        least = options.max_question_tokens + tokens
        if getattr(options, name) < least:
            raise ValueError(
                f"--options.{name} {getattr(options, name)} must be at least {least} with "
                f"--options.max_question_tokens {options.max_question_tokens}"
            )


_WORDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def read_json_value(path: Path | str) -> Any:
    """Read a whole JSON file, plain or gzip.

    Raises:
        InputError: If it is missing, no text, not JSON, or far larger than text of its size.
    """
    with open_text(path) as stream:
        return parse_json(stream.read(), path)


def read_json_list(path: Path | str) -> list[dict]:
    """Read a JSON list of objects, plain or gzip.

    Raises:
        InputError: As `read_json_value`; if it is not a list, or an item is not an object.
    """
    return check_items(read_json_value(path), path)


def check_items(value: Any, source: Path | str) -> list[dict]:
    """Return a value of JSON that must be a list of objects.

    Raises:
        InputError: If it is not a list, or an item is not an object.
    """
    if not isinstance(value, list):
        raise InputError(f"{source}: expected a JSON list, found {type_in_words(value)}")
    for number, item in enumerate(value):
        if not isinstance(item, dict):
            raise InputError(
                f"{source}: item {number}: expected an object, found {type_in_words(item)}"
            )
    return value


def read_json_lines(path: Path | str) -> Iterator[tuple[int, dict]]:
    """Yield the objects of a JSON-lines file, plain or gzip, with their line numbers from 1.

    Empty lines are skipped.

    Raises:
        InputError: If the file is missing, not text or far larger than text of its size, or a line is not a
            JSON object.
    """
    yield from parse_json_lines(numbered_lines(path, LONGEST_LINE), str(path))


def parse_json_lines(lines: Iterable[tuple[int, str]], shown: str) -> Iterator[tuple[int, dict]]:
    """Yield the objects of numbered lines as `read_json_lines` does; `shown` names them in messages."""
    for number, line in lines:
        if not line.strip():
            continue
        item = parse_json(line, f"{shown}:{number}", "; expected one object per line")
        if not isinstance(item, dict):
            raise InputError(f"{shown}:{number}: expected an object, found {type_in_words(item)}")
        yield number, item


def check_ids(ids: Iterable[str], source: Path | str) -> None:
    """Check that ids are unique, as predictions are stored by id.

    Raises:
        InputError: Naming the first one.
    """
    for name, count in Counter(ids).items():
        if count > 1:
            raise InputError(
                f"{source}: id {shortened(repr(name))} comes {count} times; predictions go by it"
            )


def need(item: dict, key: str, expected: type | tuple[type, ...], where: str) -> Any:
    """Return `item[key]`, which must have a given type.

    Args:
        expected: dict, list, str, int, float (whole numbers too) or bool, or several of them.
        where: Place for the message, such as "dev.json: item 5ab3".

    Raises:
        InputError: If the key is missing or its value has another type.

    Example:
        >>> need({"question": "Who?"}, "question", str, "dev.json: item 0")
        'Who?'
        >>> need({"question": 3}, "question", str, "dev.json: item 0")
        Traceback (most recent call last):
        dna_bigbird.core.errors.InputError: dev.json: item 0: 'question' is 3, expected a text
    """
    types = expected if isinstance(expected, tuple) else (expected,)
    words = " or ".join(_WORDS[each] for each in types)
    if key not in item:
        raise InputError(f"{where}: no {key!r}; expected {words}")
    value = item[key]
    if not any(_is(value, each) for each in types):
        raise InputError(f"{where}: {key!r} is {shortened(repr(value))}, expected {words}")
    return value


def _is(value: object, expected: type) -> bool:
    if expected in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, int | float if expected is float else expected)


def type_in_words(value: object) -> str:
    """Return the type of a JSON value in words, for messages."""
    if value is None:
        return "null"
    return next(words for each, words in _WORDS.items() if _is(value, each))


# Plain text corpora: one document after the other, from a file of text or of JSON lines.

JSON_LINES = (".jsonl", ".json")


def read_documents(path: Path) -> Iterator[str]:
    """Yield the documents of a corpus; one is held at a time.

    A name that ends in .jsonl or .json (.gz may follow) is JSON lines with a `text` each. Anything
    else is plain text with blank lines between documents. White space is joined to single
    spaces: to the published vocabulary a line break is an unknown letter.

    Raises:
        InputError: If the file is missing, no text or damaged, a line has no `text`, or there is no
            document.
    """
    path = Path(path)
    name = path.name.removesuffix(".gz")
    documents = _json_lines(path) if name.endswith(JSON_LINES) else _plain(path)
    is_empty = True
    for text in documents:
        is_empty = False
        yield text
    if is_empty:
        raise InputError(
            f"{path}: no document; expected text with blank lines between documents, or JSON lines "
            'with {"text": …} in a file named .jsonl'
        )


def _json_lines(path: Path) -> Iterator[str]:
    for number, item in read_json_lines(path):
        yield " ".join(need(item, "text", str, f"{path}:{number}").split())


def _plain(path: Path) -> Iterator[str]:
    lines: list[str] = []
    for _, line in numbered_lines(path, LONGEST_LINE):
        if line.strip():
            lines.append(" ".join(line.split()))
        elif lines:
            yield " ".join(lines)
            lines = []
    if lines:
        yield " ".join(lines)
