"""arXiv and PubMed papers with their abstracts (Cohan et al. 2018, arXiv 1804.05685)."""

from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.reading import need, read_json_lines
from dna_bigbird.text.data.summary_pairs import OFFICIAL_SPLITS, Pair, need_texts

SENTENCE_MARKS = ("<S>", "</S>")
"""Around every sentence of an abstract; no part of the text."""


def read_papers(path: Path, split: str, *, gold: bool = True) -> Iterator[Pair]:
    """Yield the papers of `arxiv-dataset` or `pubmed-dataset`.

    The document is the list `article_text`, the summary the list `abstract_text` without the marks
    <S> and </S>; each entry of them becomes a line. The lists `section_names` and `sections` hold
    the same article again and are not read: published scores come from `article_text`.

    Args:
        path: A file of JSON lines, plain or gzip, or a folder with train.txt, val.txt and
            test.txt (or each with .gz).

    Raises:
        InputError: If there is no such file, or a line lacks a key.
    """
    file = _split_file(path, split)
    for number, item in read_json_lines(file):
        where = f"{file}:{number}"
        summary = None
        if gold or "abstract_text" in item:
            sentences = need_texts(item, "abstract_text", where)
            summary = "\n".join(_without_marks(sentence) for sentence in sentences)
        document = "\n".join(need_texts(item, "article_text", where))
        yield Pair(where, need(item, "article_id", str, where), document, summary)


def _without_marks(sentence: str) -> str:
    for mark in SENTENCE_MARKS:
        sentence = sentence.replace(mark, " ")
    return sentence


def _split_file(path: Path, split: str) -> Path:
    if not path.is_dir():
        return path
    names = [f"{OFFICIAL_SPLITS[split]}.txt{end}" for end in ("", ".gz")]
    for name in names:
        if (path / name).is_file():
            return path / name
    raise InputError(f"{path}: neither {names[0]} nor {names[1]} in it; expected one of them")
