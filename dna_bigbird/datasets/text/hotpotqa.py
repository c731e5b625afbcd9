"""HotpotQA's native files, distractor setting: ten paragraphs, an answer and what supports it."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.datasets.text.description import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.datasets.text.hotpotqa_options import HotpotQaOptions
from dna_bigbird.datasets.text.published import Column, PublishedTable, rows
from dna_bigbird.datasets.text.reading import check_ids, found_kind, need, read_json_list
from dna_bigbird.errors import InputError, shortened

Fact = tuple[str, int]
"""Title of a paragraph and number of one of its sentences, from 0."""


@dataclass(frozen=True)
class Paragraph:
    """A titled paragraph as the file has it."""

    title: str
    sentences: tuple[str, ...]


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
        return {(one.title, i) for one in self.paragraphs for i in range(len(one.sentences))}


def read_hotpotqa(path: Path, *, gold: bool = True) -> tuple[list[HotpotQaExample], dict[str, int]]:
    """Read a JSON list, plain or gzip.

    Args:
        gold: Whether every item must have its answer and supporting facts.

    Returns:
        The examples and counts of what is odd in the file: supporting facts that name no sentence
        of their item, as the official files have a few (they stay: the official metric counts
        them, no model can find them), and paragraphs without sentences.

    Raises:
        InputError: If a key is missing, a value is of the wrong kind, there is no paragraph, or an
            id comes twice.
    """
    examples = [
        _example(item, f"{path}: item {i}", gold) for i, item in enumerate(read_json_list(path))
    ]
    check_ids((one.id for one in examples), path)
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
        facts = tuple(_fact(one, where) for one in need(item, "supporting_facts", list, where))
    return HotpotQaExample(
        id=name,
        question=need(item, "question", str, where),
        paragraphs=tuple(_paragraph(one, where) for one in context),
        answer=answer,
        facts=facts,
    )


def _paragraph(value: object, where: str) -> Paragraph:
    match value:
        case [str() as title, [*sentences]] if all(isinstance(one, str) for one in sentences):
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
    return shortened(repr(value)) if isinstance(value, list) else found_kind(value)


TASK = TaskDescription(
    name="hotpotqa",
    about="HotpotQA (distractor): answer and supporting facts",
    options=HotpotQaOptions,
    head="dna_bigbird.models.text_config:HotpotQaHead",
    model="dna_bigbird.models.hotpotqa:HotpotQaModel",
    sets=(
        SetDescription(
            "hotpotqa",
            ("hotpotqa/hotpot_train_v1.1.json", "hotpotqa/hotpot_dev_distractor_v1.json"),
        ),
    ),
    train_data="the official files (hotpot_train_v1.1.json, hotpot_dev_distractor_v1.json), plain or gzip",
    recipe="config/text/hotpotqa.yaml",
    monitor="joint F1",
    old_command="train-hotpotqa",
    synthetic=(
        SyntheticText(
            "hotpotqa",
            "dna_bigbird.demo.text.questions:hotpotqa",
            "sentences that begin with `truly` are the facts; the answer follows `called`; `indeed` is yes, `never` no",
        ),
    ),
    published=(
        PublishedTable(
            2,
            "Question answering, development sets, base size, in per cent",
            "HotpotQA: F1 of answer, supporting facts and both.",
            (
                Column("HotpotQA Ans", "hotpotqa", ("f1",)),
                Column("Sup", "hotpotqa", ("sp_f1",)),
                Column("Joint", "hotpotqa", ("joint_f1",)),
            ),
            rows("""
                RoBERTa | 73.5 | 83.4 | 63.5
                Longformer | 74.3 | 84.4 | 64.4
                BigBird-ITC | 75.7 | 86.8 | 67.7
                BigBird-ETC | 75.5 | 87.1 | 67.8
            """),
        ),
    ),
)
