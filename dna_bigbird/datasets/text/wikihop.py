"""WikiHop's native files (QAngaroo): a query, candidate answers, supporting documents."""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.datasets.text.description import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.datasets.text.folders import open_folder
from dna_bigbird.datasets.text.published import Column, PublishedTable, rows
from dna_bigbird.datasets.text.reading import (
    check_ids,
    check_items,
    need,
    parse_json,
    read_json_list,
)
from dna_bigbird.datasets.text.wikihop_options import WikiHopOptions
from dna_bigbird.errors import InputError, shortened

FILES = {"train": "train", "validation": "dev", "test": "test"}
"""Name of a split in the official archive."""


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
    """Read one split.

    Args:
        path: A JSON list, plain or gzip; or the official archive (or its folder), which holds
            `wikihop/<train|dev>.json` and the same with masked candidates.
        split: `train`, `validation` or `test`: which file of an archive.
        masked: Take the masked file of an archive.
        gold: Whether every item must have its answer.

    Returns:
        The examples and counts of what is odd: answers that are no candidate.

    Raises:
        InputError: If the file, a key or the answer is missing, a value is of the wrong kind, or
            an item has no candidate or no document, or an id comes twice.
    """
    items, place = _items(Path(path), split, masked)
    examples = [_example(item, f"{place}: item {i}", gold) for i, item in enumerate(items)]
    check_ids((one.id for one in examples), place)
    odd = sum(x.answer is not None and x.target is None for x in examples)
    return examples, {"answer not among the candidates": odd} if odd else {}


def _items(path: Path, split: str, masked: bool) -> tuple[list[dict], str]:
    if path.name.endswith((".json", ".json.gz")):
        return read_json_list(path), str(path)
    wanted = f"{FILES[split]}{'.masked' if masked else ''}.json"
    with open_folder(path) as folder:
        found = [name for name in folder.names() if f"/{name}".endswith(f"/wikihop/{wanted}")]
        # The same archive holds MedHop under the same file names.
        found = found or [name for name in folder.names() if name == wanted]
        if not found:
            raise InputError(
                f"{path}: no wikihop/{wanted} in it; expected the official archive, or a JSON file"
            )
        place = f"{path}: {found[0]}"
        return check_items(parse_json(folder.text(found[0]), place), place), place


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
        candidates=tuple(one.strip().lower() for one in texts["candidates"]),
        documents=tuple(texts["supports"]),
        answer=None if answer is None else answer.strip().lower(),
        written=tuple(texts["candidates"]),
    )


TASK = TaskDescription(
    name="wikihop",
    about="WikiHop: which candidate answers the query",
    options=WikiHopOptions,
    head="dna_bigbird.models.text_config:WikiHopHead",
    model="dna_bigbird.models.wikihop:WikiHopModel",
    sets=(SetDescription("wikihop", ("wikihop/qangaroo_v1.1",)),),
    train_data="the official files (train.json, dev.json), plain or gzip, or the official archive or its folder",
    recipe="config/text/wikihop.yaml",
    monitor="accuracy",
    old_command="train-wikihop",
    synthetic=(
        SyntheticText(
            "wikihop",
            "dna_bigbird.demo.text.questions:wikihop",
            "the only candidate that begins with `royal`; a document with `truly` says it, too",
        ),
    ),
    published=(
        PublishedTable(
            2,
            "Question answering, development sets, base size, in per cent",
            "WikiHop: accuracy.",
            (Column("WikiHop", "wikihop", ("accuracy",)),),
            rows("""
                RoBERTa | 72.4
                Longformer | 75.0
                BigBird-ITC | 75.9
                BigBird-ETC | 75.9
            """),
        ),
    ),
)
