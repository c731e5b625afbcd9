"""TriviaQA-RC: questions with evidence documents that may hold the answer (Joshi et al. 2017)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import parse_json
from dna_bigbird.text.data.folders import Folder, open_folder
from dna_bigbird.text.data.reading import (
    check_ids,
    check_items,
    need,
    read_json_value,
    type_in_words,
)
from dna_bigbird.text.data.record_bytes import recorded

SPLITS = {"train": "train", "validation": "dev", "test": "test-without-answers"}
PAGES = {"EntityPages": "wikipedia", "SearchResults": "web"}
"""Key of a question's pages: folder of their texts."""


@recorded("triviaqa-document", "dna_bigbird.datasets.text.triviaqa_pages:EvidenceDocument")
@dataclass(frozen=True)
class EvidenceDocument:
    """The first words of a page."""

    name: str
    """File name as in the questions."""
    title: str
    text: str
    """The beginning of the file as it is, line ends and all."""


@recorded("triviaqa", "dna_bigbird.datasets.text.triviaqa_pages:TriviaQaExample")
@dataclass(frozen=True)
class TriviaQaExample:
    """What one prediction answers: a question, or in web data a question with one page."""

    id: str
    """QuestionId; of the web files `QuestionId--Filename`, as in the official evaluation."""
    question: str
    documents: tuple[EvidenceDocument, ...]
    aliases: tuple[str, ...] | None
    """Normalised by the makers of the set; None: no gold."""
    human_answers: tuple[str, ...] = ()
    """As written; they count in the evaluation."""
    is_verified: bool = False


def iter_questions(
    path: Path,
    split: str,
    counts: dict[str, int],
    *,
    domain: str = "wikipedia",
    evidence: str = "",
    max_words: int = 4096,
    gold: bool = True,
) -> Iterator[TriviaQaExample]:
    """Yield questions with the beginnings of their documents, one at a time.

    Of a file of the verified set only verified questions are kept, and of its web files only verified
    pages, as in the official script.

    Args:
        path: A file of questions; or the official folder or archive with `qa` and `evidence`, where
            domain and split name the file.
        counts: Gets how much is left out, by reason.
        domain, evidence, max_words: See TriviaQaOptions.
        gold: Whether every question must have an answer.

    Raises:
        InputError: If a file or key is missing, naming the question and the file expected.
    """
    path = Path(path)
    if path.name.endswith((".json", ".json.gz")):
        pages = evidence_of(path, evidence)
        if not pages.exists():
            raise InputError(
                f"{pages}: no such folder; expected the texts that {path.name} names, in "
                "wikipedia/ and web/. Give --options.evidence"
            )
        with open_folder(pages) as texts:
            value = read_json_value(path)
            yield from _examples(value, str(path), texts, "", max_words, gold, counts)
        return
    with open_folder(path) as folder:
        file = f"qa/{domain}-{SPLITS[split]}.json"
        names = [name for name in folder.names() if f"/{name}".endswith(f"/{file}")]
        if not names:
            raise InputError(
                f"{path}: no {file} in it; give the file, or --options.domain wikipedia or web"
            )
        value = parse_json(folder.text(names[0]), f"{path}: {names[0]}")
        value_and_source = (value, f"{path}: {names[0]}")
        if evidence:
            with open_folder(evidence) as texts:
                yield from _examples(*value_and_source, texts, "", max_words, gold, counts)
            return
        root = names[0].removesuffix(file) + "evidence/"
        yield from _examples(*value_and_source, folder, root, max_words, gold, counts)


def evidence_of(path: Path, evidence: str) -> Path:
    """Return the folder or archive with the documents of a file of questions, or of their folder.

    Args:
        evidence: See TriviaQaOptions.
    """
    if evidence or not path.name.endswith((".json", ".json.gz")):
        return Path(evidence or path)
    return path.parent.parent / "evidence"


def _examples(
    value: object,
    where: str,
    texts: Folder,
    root: str,
    max_words: int,
    gold: bool,
    counts: dict[str, int],
) -> Iterator[TriviaQaExample]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected an object with 'Data', found {type_in_words(value)}")
    is_web = need(value, "Domain", str, where).lower() == "web"
    only_verified = bool(value.get("VerifiedEval"))
    ids = []
    for item in check_items(need(value, "Data", list, where), where):
        name = need(item, "QuestionId", str, where)
        here = f"{where}: {name}"
        is_verified = bool(item.get("QuestionPartOfVerifiedEval", False))
        if only_verified and not is_verified:
            _count(counts, "questions not verified", 1)
            continue
        pages = list(_pages(item, here))
        if only_verified and is_web:
            kept = [page for page in pages if page[1].get("DocPartOfVerifiedEval")]
            _count(counts, "pages not verified", len(pages) - len(kept))
            pages = kept
        _count(counts, "questions without a page", not pages)
        documents = tuple(
            _document(page, folder, texts, root, here, max_words, counts) for folder, page in pages
        )
        question, answers = need(item, "Question", str, here), _answers(item, here, gold)
        if is_web:
            by_name = {document.name: document for document in documents}
            _count(counts, "pages named twice", len(documents) - len(by_name))
            examples = [
                TriviaQaExample(f"{name}--{file}", question, (document,), *answers, is_verified)
                for file, document in by_name.items()
            ]
        else:
            examples = [TriviaQaExample(name, question, documents, *answers, is_verified)]
        ids += [example.id for example in examples]
        yield from examples
    check_ids(ids, where)


def _count(counts: dict[str, int], reason: str, count: int) -> None:
    if count:
        counts[reason] = counts.get(reason, 0) + count


def _pages(item: dict, where: str) -> Iterator[tuple[str, dict]]:
    for key, folder in PAGES.items():
        for page in check_items(item.get(key, []), f"{where}: {key}"):
            yield folder, page


def _document(
    page: dict,
    folder: str,
    texts: Folder,
    root: str,
    where: str,
    max_words: int,
    counts: dict[str, int],
) -> EvidenceDocument:
    name = need(page, "Filename", str, where)
    try:
        text = texts.text(f"{root}{folder}/{name}")
    except InputError as error:
        raise InputError(f"{where}: its evidence cannot be read: {error}") from error
    beginning = first_words(text, max_words)
    _count(counts, "documents cut to max_words", len(beginning) < len(text))
    title = need(page, "Title", str, where) if "Title" in page else ""
    return EvidenceDocument(name, title, beginning)


def first_words(text: str, count: int) -> str:
    """Return the beginning of a text up to its word number `count`; each line end is a word, too.

    Example:
        >>> first_words("one two\\n\\nthree four", 5)
        'one two\\n\\nthree'
    """
    for seen, match in enumerate(re.finditer(r"\n|[^\s]+", text), start=1):
        if seen == count:
            return text[: match.end()]
    return text


def _answers(item: dict, where: str, gold: bool) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    if "Answer" not in item and not gold:
        return None, ()
    answer = need(item, "Answer", dict, where)
    answers = []
    for key in ("NormalizedAliases", "HumanAnswers"):
        values = need(answer, key, list, where) if key in answer or key[0] == "N" else []
        if not all(isinstance(value, str) for value in values):
            raise InputError(f"{where}: {key!r} holds something else than texts")
        answers.append(tuple(values))
    return answers[0], answers[1]
