"""Documents with their summaries, from the native files of five sets."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.datasets.text import big_patent, cnn_dailymail, scientific_papers, xsum
from dna_bigbird.datasets.text.summary_pairs import Pair
from dna_bigbird.errors import InputError

READERS: dict[str, Callable[..., Iterator[Pair]]] = {
    "arxiv": scientific_papers.read_papers,
    "pubmed": scientific_papers.read_papers,
    "bigpatent": big_patent.read_patents,
    "cnn-dailymail": cnn_dailymail.read_stories,
    "xsum": xsum.read_articles,
}
"""Set name to reader: (path, split, gold=…) gives pairs."""


@dataclass(frozen=True)
class SummaryExample:
    """A document and what is known of its summary."""

    id: str
    document: str
    """Paragraphs (or sentences, as the set has them) on lines of their own."""
    summary: str | None
    """One sentence a line where the set separates them; None where there is no reference."""


def read_summaries(
    name: str, path: Path, split: str, *, gold: bool = True, skip_empty: bool = False
) -> tuple[list[SummaryExample], dict[str, int]]:
    """Read one split of a set.

    White space at the ends of lines, and lines of nothing else, are dropped.

    Args:
        name: One of `READERS`.
        split: "train", "validation" or "test".
        gold: Summaries are needed; else an example without one is read too.
        skip_empty: Leave out, and count, examples whose document or (if needed) summary is empty.

    Raises:
        InputError: If a file is not as its reader expects; if a document or summary is empty and
            `skip_empty` is false; if nothing is left.
    """
    examples, counts = [], Counter()
    for pair in READERS[name](Path(path), split, gold=gold):
        document = _tidy(pair.document)
        summary = None if pair.summary is None else _tidy(pair.summary)
        empty = "document" if not document else "summary" if gold and not summary else None
        if empty and not skip_empty:
            raise InputError(
                f"{pair.where}: the {empty} of {pair.id!r} is empty; expected text. "
                "To leave such examples out and count them: --options.skip_empty true"
            )
        if empty:
            counts[f"{empty} is empty"] += 1
            continue
        examples.append(SummaryExample(pair.id, document, summary or None))
    if not examples:
        raise InputError(f"{path}: no example of {name} ({split}) in it")
    return examples, dict(counts)


def _tidy(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)
