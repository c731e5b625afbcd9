"""Plain text corpora: one document after the other, from a file of text or of JSON lines."""

from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import LONGEST_LINE, numbered_lines
from dna_bigbird.text.data.reading import need, read_json_lines

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
