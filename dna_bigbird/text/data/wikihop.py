"""WikiHop (QAngaroo): the task, its settings, native files and rows (specification §3.4)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.text_tasks import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import parse_json
from dna_bigbird.core.settings import Positive, ShareBelowOne
from dna_bigbird.corpus.sentences import sentences
from dna_bigbird.models.attention_config import CANDIDATE, PARAGRAPH, QUESTION, SENTENCE
from dna_bigbird.text.data.questions import FILE_SPLITS, table_2, table_3
from dna_bigbird.text.data.reading import Folder, check_ids, check_items, need, read_json_list
from dna_bigbird.text.data.rows import (
    CANDIDATE_SEGMENT,
    QUESTION_SEGMENT,
    SENTENCE_SEGMENT,
    TextFeatures,
    TextSet,
    TwoStreams,
    find_text,
    recorded,
    tokens_of,
)


def shorten(
    documents: list[list[NDArray]], max_tokens: int, max_sentences: int, *, separators: bool = True
) -> int:
    """Drop last sentences of the document with most of them, in place, until all of it fits."""
    after = int(separators)
    tokens = sum(len(s) for document in documents for s in document)
    tokens += after * sum(map(bool, documents))
    kept = total = sum(map(len, documents))
    while kept and (tokens > max_tokens or kept > max_sentences):
        most = max(reversed(documents), key=len)
        tokens -= len(most.pop()) + after * (not most)
        kept -= 1
    return total - kept


# T tokens

NO_CANDIDATE = -1


def mentions(
    text: str, starts_T: NDArray[np.int64], ends_T: NDArray[np.int64], candidates: tuple[str, ...]
) -> NDArray[np.int64]:
    """Return the number of the candidate that each token is part of (T,), or `NO_CANDIDATE`.

    >>> starts, ends = np.array([0, 2, 6, 11]), np.array([1, 5, 11, 12])
    >>> mentions("A Red river.", starts, ends, ("lake", "red river"))
    array([-1,  1,  1, -1])
    """
    found_T = np.full(len(starts_T), NO_CANDIDATE)
    lowered = text.lower()
    for number, candidate in enumerate(candidates):
        if candidate not in lowered:
            continue
        for start, end in find_text(text, candidate, ignore_case=True, whole_words=True):
            first_last = tokens_of(starts_T, ends_T, start, end)
            if first_last:
                found_T[first_last[0] : first_last[1] + 1] = number
    return found_T


def encode_words(tokenizer: Any, text: str) -> NDArray[np.int64]:
    """Return the tokens of a text with single spaces; some vocabularies know no other white space."""
    return tokenizer.encode(" ".join(text.split()))


@dataclass(frozen=True)
class WikiHopOptions:
    """How WikiHop is read and trained on."""

    masked: bool = False
    """Take the masked files of the official archive, in which candidates are `___MASK5___`."""
    max_tokens: Positive = 4096
    """Longest sequence in tokens: one question with its documents; from longer ones sentences are left out."""
    max_global_tokens: Positive = 430
    """Most global tokens: of one question with its documents; from longer ones sentences are left out. Read with
    attention etc."""
    max_sentences: Positive = 200
    """Most sentences: of one question's documents."""
    label_smoothing: ShareBelowOne = 0.0
    """Share of the target that is spread in training: over all candidates."""

    def __post_init__(self) -> None:
        check_fields(self, "options")


@recorded("wikihop", "dna_bigbird.datasets.text.wikihop:WikiHopExample")
@dataclass(frozen=True)
class WikiHopExample:
    """One question; candidates and answer are stripped and in lower case."""

    id: str
    query: str
    """Relation and subject: "country sms braunschweig"."""
    candidates: tuple[str, ...]
    documents: tuple[str, ...]
    answer: str | None
    """One of the candidates, but for items in error; None in test files."""
    written: tuple[str, ...]
    """The candidates as the file has them, for submissions."""

    @property
    def target(self) -> int | None:
        """Number of the candidate that is the answer; None if none is."""
        return self.candidates.index(self.answer) if self.answer in self.candidates else None


def read_wikihop(
    path: Path, split: str, *, masked: bool = False, gold: bool = True
) -> tuple[list[WikiHopExample], dict[str, int]]:
    """Read one split of a JSON list or the official archive; also return irregular items."""
    items, source = _items(Path(path), split, masked)
    examples = [_example(item, f"{source}: item {i}", gold) for i, item in enumerate(items)]
    check_ids((example.id for example in examples), source)
    odd = sum(x.answer is not None and x.target is None for x in examples)
    return examples, {"answer not among the candidates": odd} if odd else {}


def _items(path: Path, split: str, masked: bool) -> tuple[list[dict], str]:
    if path.name.endswith((".json", ".json.gz")):
        return read_json_list(path), str(path)
    file = f"{FILE_SPLITS[split]}{'.masked' if masked else ''}.json"
    with Folder(path) as folder:
        names = [name for name in folder.names() if f"/{name}".endswith(f"/wikihop/{file}")]
        # The same archive contains MedHop under the same file names.
        names = names or [name for name in folder.names() if name == file]
        if not names:
            raise InputError(
                f"{path}: no wikihop/{file} in it; expected the official archive, or a JSON file"
            )
        source = f"{path}: {names[0]}"
        return check_items(parse_json(folder.text(names[0]), source), source), source


def _example(item: dict, where: str, gold: bool) -> WikiHopExample:
    name = need(item, "id", str, where)
    where = f"{where} ({shortened(name)})"
    texts = {}
    for key, what in (("candidates", "candidate"), ("supports", "document")):
        texts[key] = need(item, key, list, where)
        if not texts[key]:
            raise InputError(f"{where}: {key!r} is empty; expected at least one {what}")
        for value in texts[key]:
            if not isinstance(value, str):
                raise InputError(f"{where}: {key!r} holds {shortened(repr(value))}, expected texts")
    answer = need(item, "answer", str, where) if gold or "answer" in item else None
    return WikiHopExample(
        id=name,
        query=need(item, "query", str, where),
        candidates=tuple(candidate.strip().lower() for candidate in texts["candidates"]),
        documents=tuple(texts["supports"]),
        answer=None if answer is None else answer.strip().lower(),
        written=tuple(texts["candidates"]),
    )


NO_TARGET = -1
"""Target of a row whose answer is unknown or no candidate."""


def wikihop_rows(
    examples: Sequence[WikiHopExample],
    tokenizer: Any,
    options: WikiHopOptions,
    *,
    training: bool,
    two_streams: bool = False,
) -> TextSet:
    """Make one row per example, none if its candidates alone are too long."""
    # `[CLS] [q] query [/q] [ans] A1 [/ans] … [ans] AN [/ans]`, then every document followed by
    # `[SEP]`, or for BigBird-ETC what `_streams_row` returns. candidates (N,): position of each
    # `[ans]` or its global token. target (1,): number of the answer. front (1,): tokens before the
    # documents.
    make_row = _streams_row if two_streams else _row
    counts: Counter[str] = Counter()
    rows = []
    for number, example in enumerate(examples):
        if training and example.target is None:
            counts["without an answer among the candidates, not trained on"] += 1
            continue
        target = NO_TARGET if example.target is None else example.target
        row = make_row(example, number, tokenizer, options, counts)
        if row is None:
            counts["candidates alone longer than max_tokens, no row"] += 1
            continue
        row.arrays["target"] = np.array([target], dtype=np.int64)
        rows.append(row)
    return TextSet(list(examples), rows, {reason: n for reason, n in counts.items() if n})


def _row(
    example: WikiHopExample,
    number: int,
    tokenizer: Any,
    options: WikiHopOptions,
    counts: Counter[str],
) -> TextFeatures | None:
    front, positions = _front(example, tokenizer)
    if len(front) > options.max_tokens:
        return None
    documents = [
        [encode_words(tokenizer, sentence) for sentence in sentences(document)]
        for document in example.documents
    ]
    room = options.max_tokens - len(front)
    _count_dropped(counts, shorten(documents, room, options.max_sentences))
    separator = [np.array([tokenizer.sep_id])]
    context = [part for document in documents if document for part in document + separator]
    ids = np.concatenate([front, *context]).astype(np.int32)
    arrays = {"candidates": positions, "front": np.array([len(front)], dtype=np.int32)}
    return TextFeatures(ids, number, arrays=arrays)


def _streams_row(
    example: WikiHopExample,
    number: int,
    tokenizer: Any,
    options: WikiHopOptions,
    counts: Counter[str],
) -> TextFeatures | None:
    """Return a row with both streams; None if nothing fits (ETC, models/wikihop/data_utils.py)."""
    # Long: candidates, query, documents, without marks, each a part of its own. Global: one token
    # for each candidate, each token of the query, each document and each of its sentences; those of
    # candidates and query read everything. A token that is part of a candidate's text belongs to it
    # too.
    answers = [encode_words(tokenizer, text) for text in example.candidates]
    question = encode_words(tokenizer, example.query)
    texts = [
        [" ".join(sentence.split()) for sentence in sentences(document)]
        for document in example.documents
    ]
    encoded = [[tokenizer.encode_with_offsets(text) for text in document] for document in texts]
    kept = [[ids for ids, *_ in document] for document in encoded]
    room = options.max_tokens - sum(map(len, answers)) - len(question)
    most = options.max_global_tokens - len(answers) - len(question) - len(kept)
    if room < 0 or most < 0:
        return None
    most = min(options.max_sentences, most)
    _count_dropped(counts, shorten(kept, room, most, separators=False))

    streams = TwoStreams()
    for ids in answers:
        streams.add_tokens(ids, CANDIDATE_SEGMENT, [streams.add_global(CANDIDATE, free=True)])
        streams.cut()
    streams.add_each(question, QUESTION_SEGMENT, QUESTION, free=True)
    for document, parts, left in zip(texts, encoded, kept, strict=True):
        if not left:
            continue
        streams.cut()
        whole = streams.add_global(PARAGRAPH)
        for text, (ids, starts, ends), _ in zip(document, parts, left, strict=False):
            own = streams.add_global(SENTENCE)
            first = streams.add_tokens(ids, SENTENCE_SEGMENT, [own, whole])
            mentioned = mentions(text, starts, ends, example.candidates)
            for position in np.flatnonzero(mentioned != NO_CANDIDATE):
                streams.link(first + int(position), int(mentioned[position]))
    return streams.row(number, {"candidates": np.arange(len(answers), dtype=np.int32)})


def _count_dropped(counts: Counter[str], dropped: int) -> None:
    counts["sentences left out"] += dropped
    counts["questions with sentences left out"] += dropped > 0


def _front(example: WikiHopExample, tokenizer: Any) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the tokens before the documents and the places of `[ans]` among them."""
    query = encode_words(tokenizer, example.query).tolist()
    ids = [tokenizer.cls_id, tokenizer.marker_id("[q]"), *query, tokenizer.marker_id("[/q]")]
    positions = []
    for candidate in example.candidates:
        positions.append(len(ids))
        ids += [tokenizer.marker_id("[ans]"), *encode_words(tokenizer, candidate).tolist()]
        ids.append(tokenizer.marker_id("[/ans]"))
    return np.array(ids, dtype=np.int64), np.array(positions, dtype=np.int32)


TASK = TaskDescription(
    name="wikihop",
    about="WikiHop: which candidate answers the query",
    options=WikiHopOptions,
    head="dna_bigbird.models.text_config:CandidateHead",
    model="dna_bigbird.text.question_models:CandidateModel",
    sets=(SetDescription("wikihop", ("wikihop/qangaroo_v1.1",)),),
    train_data="the official files (train.json, dev.json), plain or gzip, or the official archive or its folder",
    recipe="config/text/wikihop.yaml",
    monitor="accuracy",
    old_command="train-wikihop",
    synthetic=(
        SyntheticText(
            "wikihop",
            "dna_bigbird.text.made.writing:wikihop",
            "the only candidate that begins with `royal`; a document with `truly` says it, too",
        ),
    ),
    published=(
        table_2("WikiHop: accuracy.", "wikihop", {"WikiHop": "accuracy"}, "72.4, 75.0, 75.9, 75.9"),
        table_3(
            ("WikiHop",),
            """
            MRC-GCN | 78.3
            MultiHop | 76.5
            Longformer | 81.9
            BigBird-ETC | 82.3
            """,
        ),
    ),
)
