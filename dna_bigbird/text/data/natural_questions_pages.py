"""Natural Questions: whole Wikipedia pages with long, short and yes/no answers (Kwiatkowski et al. 2019).

Both published forms give the same examples, bytes apart: the native one (`document_tokens`) and the
simplified one (`document_text`, tokens between single spaces, no bytes).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.reading import check_ids, need, read_json_lines, type_in_words
from dna_bigbird.text.data.record_bytes import recorded

SPLITS = {"train": "train", "validation": "dev", "test": "test"}
YES_NO = ("YES", "NO", "NONE")
_MAX_OFFSET = 2**31 - 1
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(_[^ ]*)?>")


@recorded("nq-span", "dna_bigbird.datasets.text.natural_questions_pages:PageSpan")
class PageSpan(NamedTuple):
    """Half-open, in tokens of the page and bytes of its HTML; all -1: no span; bytes -1: not known."""

    start: int = -1
    end: int = -1
    start_byte: int = -1
    end_byte: int = -1


@recorded("nq-annotation", "dna_bigbird.datasets.text.natural_questions_pages:Annotation")
class Annotation(NamedTuple):
    """What one annotator marked."""

    long: PageSpan
    short: tuple[PageSpan, ...]
    yes_no: str
    """'yes', 'no' or 'none'."""


@recorded("nq-page", "dna_bigbird.datasets.text.natural_questions_pages:NqExample")
@dataclass(frozen=True)
class NqExample:
    """A question and a page."""

    id: int | str
    question: str
    text: str
    """The page's tokens between single spaces; a space in a token is an underscore."""
    is_html: bytes
    """One byte per token: 1 for a tag."""
    candidates: tuple[PageSpan, ...]
    """Where a long answer may be."""
    is_top_level: tuple[bool, ...]
    """Of every candidate: it lies in no other one."""
    annotations: tuple[Annotation, ...] | None
    """None: no gold."""
    token_bytes: NDArray[np.int32] | None = field(default=None, compare=False)
    """(tokens, 2), half-open; None in the simplified form."""

    @property
    def tokens(self) -> list[str]:
        """The page's tokens."""
        return self.text.split(" ")


def read_natural_questions(path: Path, split: str, *, gold: bool = True) -> list[NqExample]:
    """Return all pages of `iter_natural_questions`."""
    return list(iter_natural_questions(path, split, gold=gold))


def iter_natural_questions(path: Path, split: str, *, gold: bool = True) -> Iterator[NqExample]:
    """Yield pages in either form, one at a time.

    Args:
        path: JSON lines, plain or gzip; or a folder with files named nq-train-*, nq-dev-* or
            nq-test-*.jsonl[.gz] at any depth (where there is none, the simplified ones).
        gold: Whether every page must have an annotation.

    Raises:
        InputError: Naming file and line, if a key is missing or a span lies outside its page; if an
            id occurs twice, at the end.
    """
    ids = []
    for file in _files(Path(path), split):
        for number, item in read_json_lines(file):
            example = _example(item, f"{file}:{number}", gold)
            ids.append(example.id)
            yield example
    check_ids(ids, path)


def _files(path: Path, split: str) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    pattern = re.compile(rf"(.*-)?nq-{SPLITS[split]}\b.*\.jsonl(\.gz)?")
    files = sorted(file for file in path.rglob("*") if pattern.fullmatch(file.name))
    if not files:
        raise InputError(f"{path}: no file named nq-{SPLITS[split]}-*.jsonl.gz in it")
    native = [file for file in files if "simplified" not in file.name]
    yield from native or files


def _example(item: dict, where: str, gold: bool) -> NqExample:
    name = need(item, "example_id", (int, str), where)
    where = f"{where} ({name})"
    if "document_tokens" in item:
        words, is_html, token_bytes = _native_tokens(item, where)
    else:
        words = need(item, "document_text", str, where).split(" ")
        is_html, token_bytes = bytes(map(is_tag, words)), None
    candidates = _objects(item, "long_answer_candidates", where)
    annotations = _objects(item, "annotations", where) if gold or "annotations" in item else []
    if gold and not annotations:
        raise InputError(f"{where}: 'annotations' is empty; expected at least one")
    spans = tuple(
        _span(span, f"{where}: candidate {i}", len(words)) for i, span in enumerate(candidates)
    )
    if PageSpan() in spans:
        raise InputError(f"{where}: a candidate without tokens; expected a span of the page")
    return NqExample(
        id=name,
        question=need(item, "question_text", str, where),
        text=" ".join(words),
        is_html=is_html,
        candidates=spans,
        is_top_level=tuple(bool(need(span, "top_level", bool, where)) for span in candidates),
        annotations=tuple(_annotation(each, where, len(words)) for each in annotations) or None,
        token_bytes=token_bytes,
    )


def is_tag(word: str) -> bool:
    """Return True if a token of the simplified form is HTML.

    Example:
        >>> [is_tag(word) for word in ("<P>", "</Td>", '<Th_colspan="2">', "<", "<3>", "a<b>")]
        [True, True, True, False, False, False]
    """
    return bool(_TAG.fullmatch(word))


def _native_tokens(item: dict, where: str) -> tuple[list[str], bytes, NDArray[np.int32]]:
    tokens = _objects(item, "document_tokens", where)
    words = [word.replace(" ", "_") for word in _column(tokens, "token", str, where)]
    is_html = bytes(_column(tokens, "html_token", bool, where))
    offsets = [_column(tokens, key, int, where, -1) for key in ("start_byte", "end_byte")]
    if not all(-1 <= offset <= _MAX_OFFSET for column in offsets for offset in column):
        raise InputError(
            f"{where}: a token with 'start_byte' or 'end_byte' beyond -1 to {_MAX_OFFSET:,}"
        )
    return words, is_html, np.array(offsets, dtype=np.int32).T.copy()


def _column(
    items: list[dict], key: str, expected: type, where: str, missing: object = None
) -> list:
    """Return `need` of every item; it is asked only where something is wrong, as it takes long."""
    values = [item.get(key, missing) for item in items]
    if not set(map(type, values)) <= {expected}:
        absent = {} if missing is None else {key: missing}
        values = [need(absent | item, key, expected, where) for item in items]
    return values


def _objects(item: dict, key: str, where: str) -> list[dict]:
    values = need(item, key, list, where)
    for i, value in enumerate(values):
        if not isinstance(value, dict):
            raise InputError(f"{where}: {key!r} {i} is {type_in_words(value)}, expected an object")
    return values


def _span(item: dict, where: str, length: int) -> PageSpan:
    start, end = need(item, "start_token", int, where), need(item, "end_token", int, where)
    first, last = (
        need(item, key, int, where) if key in item else -1 for key in ("start_byte", "end_byte")
    )
    if (start, end) == (-1, -1):
        return PageSpan()
    if not 0 <= start < end <= length:
        raise InputError(
            f"{where}: tokens {start} to {end}, expected a span within the {length} of the page"
        )
    return PageSpan(start, end, first, last)


def _annotation(item: dict, where: str, length: int) -> Annotation:
    yes_no = need(item, "yes_no_answer", str, where)
    if yes_no.upper() not in YES_NO:
        raise InputError(f"{where}: 'yes_no_answer' is {yes_no!r}, expected YES, NO or NONE")
    shorts = [
        _span(span, f"{where}: short answer", length)
        for span in _objects(item, "short_answers", where)
    ]
    return Annotation(
        _span(need(item, "long_answer", dict, where), f"{where}: long answer", length),
        tuple(span for span in shorts if span.start >= 0),
        yes_no.lower(),
    )
