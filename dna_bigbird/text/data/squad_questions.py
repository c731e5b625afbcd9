"""SQuAD 1.1 and 2.0: questions on a paragraph of Wikipedia (Rajpurkar et al. 2016, 2018), and the native files."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.text.data.reading import check_ids, check_items, need, read_json_value
from dna_bigbird.text.data.record_bytes import recorded

FILES = {"train": "train", "validation": "dev", "test": "test"}


@recorded("squad-answer", "dna_bigbird.datasets.text.squad_questions:SquadAnswer")
class SquadAnswer(NamedTuple):
    """One annotator's answer."""

    text: str
    start: int
    """Its first character in the paragraph, from 0."""


@recorded("squad", "dna_bigbird.datasets.text.squad_questions:SquadExample")
@dataclass(frozen=True)
class SquadExample:
    """One question."""

    id: str
    question: str
    paragraph: str
    answers: tuple[SquadAnswer, ...] | None
    """Empty: the paragraph does not answer the question; None: no gold."""


def read_squad(path: Path, split: str, *, version: str, gold: bool = True) -> list[SquadExample]:
    """Read a file, plain or gzip, or a folder with train-v1.1.json, dev-v1.1.json or those of v2.0.

    Args:
        version: '1.1' or '2.0', which alone has questions without an answer.
        gold: Whether every question must have its answers.

    Raises:
        InputError: Naming the question, if a key is missing, a value has the wrong type, 'is_impossible'
            contradicts the answers, or an id occurs twice.
    """
    if path.is_dir():
        path = _file_in(path, f"{FILES[split]}-v{version}.json")
    content = read_json_value(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: expected an object with 'data', the layout of SQuAD's files")
    examples = []
    for in_article, article in _objects(content, "data", f"{path}", "article"):
        for in_paragraph, paragraph in _objects(article, "paragraphs", in_article, "paragraph"):
            text = need(paragraph, "context", str, in_paragraph)
            if not text.strip():
                raise InputError(f"{in_paragraph}: 'context' is empty; expected a text")
            questions = _objects(paragraph, "qas", in_paragraph, "question")
            examples += [_example(item, where, text, version, gold) for where, item in questions]
    check_ids((example.id for example in examples), path)
    return examples


def _file_in(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise InputError(f"{folder}: no {name} in it; name the file, or a folder that has it")


def _objects(holder: dict, key: str, where: str, name: str) -> list[tuple[str, dict]]:
    """Return the objects of a list, each with its location in words."""
    items = check_items(need(holder, key, list, where), where)
    return [(f"{where}: {name} {number}", item) for number, item in enumerate(items)]


def _example(item: dict, where: str, text: str, version: str, gold: bool) -> SquadExample:
    name = need(item, "id", str, where)
    where = f"{where} ({shortened(name)})"
    answers = None
    if gold or "answers" in item:
        listed = check_items(need(item, "answers", list, where), where)
        answers = tuple(
            SquadAnswer(need(answer, "text", str, where), need(answer, "answer_start", int, where))
            for answer in listed
        )
    if gold:
        _check_answers(item, answers or (), where, version)
    return SquadExample(name, need(item, "question", str, where), text, answers)


def _check_answers(item: dict, answers: tuple[SquadAnswer, ...], where: str, version: str) -> None:
    if not answers and version == "1.1":
        raise InputError(
            f"{where}: no answer; only questions of SQuAD 2.0 may be without: --options.set squad2"
        )
    if "is_impossible" in item and need(item, "is_impossible", bool, where) == bool(answers):
        is_impossible = str(item["is_impossible"]).lower()
        raise InputError(
            f"{where}: 'is_impossible' is {is_impossible}, but 'answers' has {len(answers)}"
        )
