"""TriviaQA-RC (Joshi et al. 2017): the task, its settings, files, and a row per document (specification §3.3)."""

import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.text_tasks import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import parse_json
from dna_bigbird.core.settings import Positive
from dna_bigbird.corpus.sentences import sentences
from dna_bigbird.text.data.questions import (
    check_room,
    front_segments,
    question_and_parts,
    question_front,
    table_2,
    table_3,
)
from dna_bigbird.text.data.reading import (
    Folder,
    check_ids,
    check_items,
    need,
    read_json_value,
    type_in_words,
)
from dna_bigbird.text.data.rows import TextFeatures, TextSet, recorded, tokens_of

SPLITS = {"train": "train", "validation": "dev", "test": "test-without-answers"}
PAGES = {"EntityPages": "wikipedia", "SearchResults": "web"}
"""Key of a question's pages: folder of their texts."""


@dataclass(frozen=True)
class TriviaQaOptions:
    """How TriviaQA is read, trained on and decoded."""

    evidence: str = ""
    """Folder (or tar archive) with wikipedia/ and web/; by default `evidence` next to the
    folder of the questions, as in the official layout."""
    domain: Literal["wikipedia", "web"] = "wikipedia"
    """Questions of an official folder or archive: 'wikipedia' or 'web'. A file says it itself."""
    max_tokens: Positive = 4096
    """Longest sequence in tokens: a question with one document, which is cut."""
    max_global_tokens: Positive = 320
    """Most global tokens: of a question with one document; the tokens of further sentences belong to the last one.
    Read with attention etc."""
    max_question_tokens: Positive = 55
    """Tokens that are kept of a question."""
    max_words: Positive = 4096
    """Words that are read of a document; each line end counts as one."""
    max_spans: Positive = 64
    """Most occurrences of the answer in one document to train on: the first ones."""
    norm: Literal["per_document", "per_question"] = "per_document"
    """Over what the probabilities of the training loss add up to 1: each document ('per_document'), or
    all documents of a question ('per_question'), which then count as one of the batch size."""
    max_answer_words: Positive = 16
    """Longest answer in words."""
    top_spans: Positive = 50
    """Best starts and best ends whose pairs can become the answer: of one document."""
    answer_score: Literal["per_question", "per_document"] = "per_question"
    """How the answers of a question's documents are compared: by probabilities over all of them
    ('per_question'; the highest sum of logits wins) or over each alone ('per_document')."""

    def __post_init__(self) -> None:
        check_fields(self, "options")
        check_room(self, max_tokens=3, max_global_tokens=3)


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


def iter_triviaqa(
    path: Path, split: str, counts: dict[str, int], options: TriviaQaOptions, *, gold: bool = True
) -> Iterator[TriviaQaExample]:
    """Yield questions with the beginnings of their documents, one at a time."""
    # Of the verified set only verified questions (and web pages) are kept, as in the official
    # script.
    path = Path(path)
    if path.name.endswith((".json", ".json.gz")):
        pages = evidence_of(path, options.evidence)
        if not pages.exists():
            raise InputError(
                f"{pages}: no such folder; expected the texts that {path.name} names, in "
                "wikipedia/ and web/. Give --options.evidence"
            )
        with Folder(pages) as texts:
            value = read_json_value(path)
            yield from _examples(value, str(path), texts, "", options.max_words, gold, counts)
        return
    with Folder(path) as folder:
        file = f"qa/{options.domain}-{SPLITS[split]}.json"
        names = [name for name in folder.names() if f"/{name}".endswith(f"/{file}")]
        if not names:
            raise InputError(
                f"{path}: no {file} in it; give the file, or --options.domain wikipedia or web"
            )
        value = parse_json(folder.text(names[0]), f"{path}: {names[0]}")
        value_and_source = (value, f"{path}: {names[0]}")
        if options.evidence:
            with Folder(options.evidence) as texts:
                yield from _examples(*value_and_source, texts, "", options.max_words, gold, counts)
            return
        root = names[0].removesuffix(file) + "evidence/"
        yield from _examples(*value_and_source, folder, root, options.max_words, gold, counts)


def evidence_of(path: Path, evidence: str) -> Path:
    """Return the folder or archive with the documents of a file of questions, or of their folder."""
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
        pages = [
            (folder, page)
            for key, folder in PAGES.items()
            for page in check_items(item.get(key, []), f"{here}: {key}")
        ]
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
    """Return the beginning of a text up to its word number `count`; each line end is a word, too."""
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


# T tokens, S spans

_WORD = re.compile(rf"[^\s{re.escape(string.punctuation)}‘’´`]+")


def alias_spans(
    text: str, aliases: Sequence[str], normalise: Callable[[str], str]
) -> list[tuple[int, int]]:
    """Return the half-open characters of every span whose normalised words are an alias."""
    # From left to right, longer ones first among those that start together. A part of a word does
    # not match; punctuation or an article between the words does not matter.
    aliases_by_word: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for alias in aliases:
        words = tuple(normalise(alias).split())
        if words:
            aliases_by_word[words[0]].add(words)
    words, word_spans = [], []
    known: dict[str, list[str]] = {}
    for match in _WORD.finditer(text):
        raw = match.group()
        if raw not in known:
            known[raw] = normalise(raw).split()
        words += known[raw]
        word_spans += [match.span()] * len(known[raw])
    spans = set()
    for i, word in enumerate(words):
        for alias in aliases_by_word.get(word, ()):
            if tuple(words[i : i + len(alias)]) == alias:
                spans.add((word_spans[i][0], word_spans[i + len(alias) - 1][1]))
    return sorted(spans, key=lambda span: (span[0], -span[1]))


def triviaqa_rows(
    examples: Sequence[TriviaQaExample],
    tokenizer: Any,
    options: TriviaQaOptions,
    normalise: Callable[[str], str],
    *,
    training: bool,
    two_streams: bool = False,
) -> TextSet:
    """Make a row `[CLS] question [SEP] document` for every document of every example."""
    # document (1,): its number. word (T,): of each token, -1 where no answer may begin or end.
    # offsets (T, 2): half-open characters of the document. spans (S, 2): first and last token of
    # each answer. In training with `norm` per_question, documents without the answer stay: they
    # share the sum.
    counts: Counter[str] = Counter()
    rows = []
    for number, example in enumerate(examples):
        front = question_front(example.question, tokenizer, options.max_question_tokens, counts)
        document_rows = [
            _row(example, number, document, front, tokenizer, options, normalise, counts)
            for document in range(len(example.documents))
        ]
        if two_streams:
            for row in document_rows:
                text = example.documents[int(row.arrays["document"][0])].text
                parts = _sentence_numbers(text, row.arrays["offsets"][len(front) :, 0]).tolist()
                row.arrays.update(question_and_parts(len(front), parts, options.max_global_tokens))
        if training:
            has_answer = [len(row.arrays["spans"]) > 0 for row in document_rows]
            if options.norm == "per_document":
                counts["documents without the answer"] += len(document_rows) - sum(has_answer)
                document_rows = [row for row in document_rows if len(row.arrays["spans"])]
            elif not any(has_answer):
                counts["documents without the answer"] += len(document_rows)
                document_rows = []
            counts["questions without the answer in their documents"] += not document_rows
        rows += document_rows
    return TextSet(list(examples), rows, {reason: n for reason, n in counts.items() if n})


def _row(
    example: TriviaQaExample,
    number: int,
    document: int,
    front: list[int],
    tokenizer: Any,
    options: TriviaQaOptions,
    normalise: Callable[[str], str],
    counts: Counter[str],
) -> TextFeatures:
    text = example.documents[document].text
    # To the published vocabulary a line end is an unknown letter. One for one: offsets stay.
    ids, starts, ends = tokenizer.encode_with_offsets(re.sub(r"\s", " ", text))
    room = options.max_tokens - len(front)
    counts["documents cut"] += len(ids) > room
    ids, starts, ends = ids[:room], starts[:room], ends[:room]
    offsets = np.zeros((len(front) + len(ids), 2), dtype=np.int32)
    offsets[len(front) :] = np.stack([starts, ends], axis=1)
    # A place for an answer is a piece with a letter to it.
    words = np.where(starts < ends, _word_numbers(text, starts), -1)
    spans = []
    for start, end in alias_spans(text, example.aliases or (), normalise):
        first_last = tokens_of(starts, ends, start, end)
        if first_last and ends[first_last[1]] >= end:  # all of it was kept
            spans.append((first_last[0] + len(front), first_last[1] + len(front)))
    counts["places of answers beyond max_spans"] += max(0, len(spans) - options.max_spans)
    return TextFeatures(
        np.concatenate([front, ids]).astype(np.int32),
        number,
        front_segments(len(front), len(offsets)),
        {
            "document": np.array([document]),
            "word": np.concatenate([np.full(len(front), -1), words]).astype(np.int32),
            "offsets": offsets,
            "spans": np.array(spans[: options.max_spans], dtype=np.int32).reshape(-1, 2),
        },
    )


def _word_numbers(text: str, starts_T: NDArray[np.int64]) -> NDArray[np.int64]:
    begins = np.array([match.start() for match in re.finditer(r"\S+", text)], dtype=np.int64)
    return np.searchsorted(begins, starts_T, side="right") - 1


def _sentence_numbers(text: str, starts_T: NDArray[np.int32]) -> NDArray[np.int64]:
    begins, end = [], 0
    for sentence in sentences(text):
        begins.append(text.index(sentence, end))
        end = begins[-1] + len(sentence)
    return np.searchsorted(np.array(begins, np.int64), starts_T, side="right") - 1


TASK = TaskDescription(
    name="triviaqa",
    about="TriviaQA: answers from several documents that may contain them",
    options=TriviaQaOptions,
    head="dna_bigbird.models.text_config:SpanHead",
    model="dna_bigbird.text.question_models:SpanModel",
    sets=(SetDescription("triviaqa", ("triviaqa/triviaqa-rc",)),),
    train_data="a file of questions (qa/wikipedia-train.json), or the official folder or archive with qa and evidence",
    recipe="config/text/triviaqa.yaml",
    monitor="F1",
    old_command="train-triviaqa",
    library_class="BigBirdForQuestionAnswering",
    synthetic=(
        SyntheticText(
            "triviaqa",
            "dna_bigbird.text.made.pages:triviaqa",
            "the word after `called` in sentences that begin with `truly`",
        ),
    ),
    published=(
        table_2(
            "TriviaQA (Wikipedia, full): F1.",
            "triviaqa",
            {"TriviaQA Full": "f1"},
            "74.3, 75.2, 79.5, 78.7",
        ),
        table_3(
            ("TriviaQA full", "TriviaQA verified"),
            """
            Fusion-in-Decoder | 84.4 | 90.3
            SpanBERT | 79.1 | 86.6
            Longformer | 77.3 | 85.3
            BigBird-ETC | 84.5 | 92.4
            """,
        ),
    ),
)
