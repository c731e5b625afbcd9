"""Questions of HotpotQA with their paragraphs, and the native files."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.text.data.reading import check_ids, need, read_json_list, type_in_words
from dna_bigbird.text.data.record_bytes import recorded

Fact = tuple[str, int]
"""Title of a paragraph and number of one of its sentences, from 0."""


@recorded("hotpotqa-paragraph", "dna_bigbird.datasets.text.hotpotqa_questions:Paragraph")
@dataclass(frozen=True)
class Paragraph:
    """A titled paragraph as the file has it."""

    title: str
    sentences: tuple[str, ...]


@recorded("hotpotqa", "dna_bigbird.datasets.text.hotpotqa_questions:HotpotQaExample")
@dataclass(frozen=True)
class HotpotQaExample:
    """One question; `answer` and `facts` are None in official test files."""

    id: str
    question: str
    paragraphs: tuple[Paragraph, ...]
    answer: str | None
    """Text of the paragraphs, or 'yes' or 'no'."""
    facts: tuple[Fact, ...] | None
    """The supporting sentences, as the file has them."""

    def sentences(self) -> set[Fact]:
        """Return the names of all sentences."""
        return {
            (paragraph.title, i)
            for paragraph in self.paragraphs
            for i in range(len(paragraph.sentences))
        }


def read_hotpotqa(path: Path, *, gold: bool = True) -> tuple[list[HotpotQaExample], dict[str, int]]:
    """Read a JSON list, plain or gzip.

    Args:
        gold: Whether every item must have its answer and supporting facts.

    Returns:
        The examples and counts of irregular items: supporting facts that name no sentence
        of their item, as the official files have a few (they stay: the official metric counts
        them, no model can find them), and paragraphs without sentences.

    Raises:
        InputError: If a key is missing, a value has the wrong type, there is no paragraph, or an
            id occurs twice.
    """
    examples = [
        _example(item, f"{path}: item {i}", gold) for i, item in enumerate(read_json_list(path))
    ]
    check_ids((example.id for example in examples), path)
    counts: Counter[str] = Counter()
    for example in examples:
        known = example.sentences()
        counts["supporting facts that name no sentence"] += sum(
            fact not in known for fact in example.facts or ()
        )
        counts["paragraphs without sentences"] += sum(not x.sentences for x in example.paragraphs)
    return examples, {reason: n for reason, n in counts.items() if n}


def _example(item: dict, where: str, gold: bool) -> HotpotQaExample:
    name = need(item, "_id", str, where)
    where = f"{where} ({shortened(name)})"
    context = need(item, "context", list, where)
    if not context:
        raise InputError(f"{where}: 'context' is empty; expected at least one paragraph")
    facts = answer = None
    if gold or "answer" in item:
        answer = need(item, "answer", str, where)
    if gold or "supporting_facts" in item:
        facts = tuple(_fact(fact, where) for fact in need(item, "supporting_facts", list, where))
    return HotpotQaExample(
        id=name,
        question=need(item, "question", str, where),
        paragraphs=tuple(_paragraph(paragraph, where) for paragraph in context),
        answer=answer,
        facts=facts,
    )


def _paragraph(value: object, where: str) -> Paragraph:
    match value:
        case [str() as title, [*sentences]] if all(
            isinstance(sentence, str) for sentence in sentences
        ):
            return Paragraph(title, tuple(sentences))
    raise InputError(f"{where}: 'context' holds {_shown(value)}, expected [title, [sentence, …]]")


def _fact(value: object, where: str) -> Fact:
    match value:
        case [str() as title, int() as sentence] if not isinstance(sentence, bool):
            return title, sentence
    raise InputError(
        f"{where}: 'supporting_facts' holds {_shown(value)}, expected [title, sentence number]"
    )


def _shown(value: object) -> str:
    return shortened(repr(value)) if isinstance(value, list) else type_in_words(value)
