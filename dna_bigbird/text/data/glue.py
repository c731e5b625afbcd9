"""GLUE: eight tasks on sentences and pairs, from their official files."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from dna_bigbird.bundles.text_tasks import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.plain_numbers import decimal_number
from dna_bigbird.core.settings import Range
from dna_bigbird.metrics.published_table import Column, PublishedTable, cells_by_system
from dna_bigbird.text.data.reading import Folder
from dna_bigbird.text.data.rows import recorded

GlueSet = Literal["cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb"]
FILES = {"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"}
COLA_COLUMNS = ["source", "label", "star", "sentence"]
"""Of CoLA's training and development files, which have no header."""
MSR_TRAIN = ("train", "msr_paraphrase_train.txt")
MSR_TEST = ("test", "msr_paraphrase_test.txt")
MSR_DEV_IDS = ("dev_ids", "dev_ids.tsv", "mrpc_dev_ids.tsv")
BROKEN = "broken row of QQP"

NLI = ("entailment", "neutral", "contradiction")
ENTAILED = ("entailment", "not_entailment")
BINARY = ("0", "1")


@dataclass(frozen=True)
class GlueOptions:
    """What is read of a GLUE task."""

    set: GlueSet = "sst2"
    """Name of the set: one of the eight tasks."""
    # [CLS] a [SEP] b [SEP]
    max_tokens: Annotated[int, Range(5)] = 512
    """Longest sequence in tokens: [CLS] and [SEP] included; of a longer pair the longer text is cut first."""

    def __post_init__(self) -> None:
        check_fields(self, "options")


@dataclass(frozen=True)
class TaskFormat:
    """Columns of the texts and the label of a task."""

    folder: str
    """Name of the official folder, and of the file that is handed in."""
    texts: tuple[str, ...]
    """Columns of the text or the pair, by header."""
    label: str
    labels: tuple[str, ...] = BINARY
    """Classes in the order of the logits; empty: a score (STS-B)."""
    id: str = "index"
    """Column of the id; a file without it counts its rows from 0."""


FORMATS: dict[str, TaskFormat] = {
    "cola": TaskFormat("CoLA", ("sentence",), "label"),
    "mnli": TaskFormat("MNLI", ("sentence1", "sentence2"), "gold_label", NLI),
    "mrpc": TaskFormat("MRPC", ("#1 String", "#2 String"), "Quality"),
    "qnli": TaskFormat("QNLI", ("question", "sentence"), "label", ENTAILED),
    "qqp": TaskFormat("QQP", ("question1", "question2"), "is_duplicate", id="id"),
    "rte": TaskFormat("RTE", ("sentence1", "sentence2"), "label", ENTAILED),
    "sst2": TaskFormat("SST-2", ("sentence",), "label"),
    "stsb": TaskFormat("STS-B", ("sentence1", "sentence2"), "score", ()),
}
HIGHEST_SCORE = 5.0
"""Of STS-B; the lowest is 0."""


@recorded("glue", "dna_bigbird.datasets.text.glue:GlueExample")
@dataclass(frozen=True)
class GlueExample:
    """One text, or a pair."""

    id: str
    first: str
    second: str | None
    label: str | None
    """None where the file does not tell, and for STS-B."""
    score: float | None = None
    """STS-B: 0 to 5."""
    part: str = ""
    """MNLI's evaluation files: "matched" or "mismatched"."""

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.first,) if self.second is None else (self.first, self.second)


def read_glue(
    task: str, path: Path, split: str, *, gold: bool = True
) -> tuple[list[GlueExample], dict[str, int]]:
    """Read one split from a task's folder, the folder of all tasks, or a tar archive of either."""
    # MRPC may come as the official script leaves it, or as Microsoft's files, where dev_ids names
    # the development pairs. MNLI's validation and test are both halves, matched first.
    path = Path(path)
    counts: dict[str, int] = {}
    with Folder(path) as folder:
        finder = _Finder(folder, FORMATS[task].folder)
        if task == "mrpc" and not finder.find((FILES[split],)):
            examples = list(_msr_pairs(finder, split))
        elif task == "mnli" and split != "train":
            stem = FILES[split].removesuffix(".tsv")
            examples = [
                each
                for part in ("matched", "mismatched")
                for each in _examples(task, finder, f"{stem}_{part}.tsv", gold, counts, part)
            ]
        else:
            examples = list(_examples(task, finder, FILES[split], gold, counts))
    if not examples:
        raise InputError(f"{path}: no example of {FORMATS[task].folder} ({split}) in it")
    return examples, counts


class _Finder:
    """Files of one task in its own folder or in that of all tasks."""

    def __init__(self, folder: Folder, task_folder: str) -> None:
        self.folder, self.task_folder = folder, task_folder
        inside = [n for n in folder.names() if task_folder in n.split("/")[:-1]]
        self._names = inside or [n for n in folder.names() if n.count("/") == 0]

    def find(self, names: tuple[str, ...]) -> str | None:
        """Return the file that has one of these names; of several the least nested."""
        matches = [name for name in self._names if name.rpartition("/")[2] in names]
        return min(matches, key=lambda name: name.count("/"), default=None)

    def lines(self, names: tuple[str, ...]) -> tuple[str, list[list[str]]]:
        name = self.find(names)
        if name is None:
            raise InputError(
                f"{self.folder.path}: no {self.task_folder}/{' or '.join(names)} in it; expected the "
                "official files"
            )
        # Only LF, CRLF and CR end a line: str.splitlines knows ten more signs that texts contain.
        stream = io.StringIO(self.folder.text(name).removeprefix("\ufeff"), newline=None)
        return f"{self.folder.path}: {name}", [line.rstrip("\n").split("\t") for line in stream]


def _examples(
    task: str, finder: _Finder, file: str, gold: bool, counts: dict[str, int], part: str = ""
) -> Iterator[GlueExample]:
    where, lines = finder.lines((file,))
    spec = FORMATS[task]
    header, start = COLA_COLUMNS, 0
    if task != "cola" or file == FILES["test"]:
        header, start = _header(spec, where, lines, gold), 1
    for number, cells in enumerate(lines[start:], start=start + 1):
        if task == "qqp" and len(cells) < len(header):
            counts[BROKEN] = counts.get(BROKEN, 0) + 1
            continue
        row = _row(cells, header, f"{where}:{number}")
        yield _example(spec, row, f"{where}:{number}", str(number - start - 1), part)


def _header(spec: TaskFormat, where: str, lines: list[list[str]], gold: bool) -> list[str]:
    header = lines[0] if lines else []
    if gold and spec.label not in header and header:
        raise InputError(
            f"{where}:1: no column {spec.label!r}: a test file without labels can only be predicted. "
            "Score the validation split"
        )
    for column in spec.texts:
        if column not in header:
            raise InputError(
                f"{where}:1: no column {column!r}; expected the official header of {spec.folder}"
            )
    return header


def _row(cells: list[str], header: list[str], where: str) -> dict[str, str]:
    if len(cells) != len(header):
        raise InputError(f"{where}: {len(cells)} columns, expected {len(header)} separated by tabs")
    return dict(zip(header, cells, strict=True))


def _example(
    spec: TaskFormat, row: dict[str, str], where: str, row_number: str, part: str = ""
) -> GlueExample:
    texts = [row[column] for column in spec.texts]
    if not any(text.strip() for text in texts):
        raise InputError(f"{where}: no text; expected {' and '.join(spec.texts)}")
    second = texts[1] if len(texts) > 1 else None
    cell = row.get(spec.label)
    label = cell if spec.labels else None
    if label is not None and label not in spec.labels:
        raise InputError(
            f"{where}: the label is {shortened(repr(label))}; expected {', '.join(spec.labels)}"
        )
    score = None if spec.labels or cell is None else _score(cell, where)
    return GlueExample(row.get(spec.id, row_number), texts[0], second, label, score, part)


def _score(text: str, where: str) -> float:
    score = decimal_number(text)
    if score is None or not 0 <= score <= HIGHEST_SCORE:
        raise InputError(f"{where}: the score is {shortened(repr(text))}; expected 0 to 5")
    return score


def _msr_pairs(finder: _Finder, split: str) -> Iterator[GlueExample]:
    """Read Microsoft's files of MRPC; the development pairs are in the training file."""
    spec = FORMATS["mrpc"]
    where, lines = finder.lines(MSR_TEST if split == "test" else MSR_TRAIN)
    # The first header cell is "Quality", perhaps after a byte order mark.
    header = [spec.label, "#1 ID", "#2 ID", *spec.texts]
    if lines and lines[0][1:] != header[1:]:
        raise InputError(f"{where}:1: found {shortened(lines[0])}; expected {', '.join(header)}")
    held_out = set()
    if split != "test":
        held_out = {tuple(cells) for cells in finder.lines(MSR_DEV_IDS)[1]}
    for number, cells in enumerate(lines[1:]):
        row = _row(cells, header, f"{where}:{number + 2}")
        is_dev = (row["#1 ID"], row["#2 ID"]) in held_out
        if split == "test" or is_dev == (split == "validation"):
            yield _example(spec, row, f"{where}:{number + 2}", str(number))


TASK = TaskDescription(
    name="glue",
    about="the eight tasks of GLUE; STS-B is a regression",
    options=GlueOptions,
    head="dna_bigbird.models.config:HeadConfig",
    model="dna_bigbird.models.classifier:SequenceClassifier",
    sets=tuple(SetDescription(name, ("glue",)) for name in get_args(GlueSet)),
    train_data="a task's folder with its official files, or the folder or tar archive of all tasks",
    recipe="config/text/glue",
    monitor="official metric",
    old_command="train-glue",
    synthetic=(
        SyntheticText(
            "glue",
            "dna_bigbird.text.made.classes:glue",
            "SST-2: words of the class; CoLA: an unacceptable sentence has its first two words swapped; "
            "STS-B: how often the second sentence says `same`; the others: one word of the second "
            "sentence",
        ),
    ),
    published=(
        PublishedTable(
            1,
            "Building blocks, 512 tokens, in per cent",
            "MNLI: accuracy, here of the matched half.",
            (Column("MNLI", "mnli", ("accuracy_matched",)),),
            cells_by_system("""
                BERT-base | 83.4
                Random | 80.2
                Window | 73.1
                Random + Window | 80.5
            """),
        ),
        PublishedTable(
            16,
            "GLUE, development sets, base size",
            "Matthews correlation for CoLA, F1 for MRPC, Spearman correlation for STS-B, accuracy for the "
            "others; times 100.",
            (
                Column("MNLI m/mm", "mnli", ("accuracy_matched", "accuracy_mismatched")),
                Column("QQP", "qqp", ("accuracy",)),
                Column("QNLI", "qnli", ("accuracy",)),
                Column("SST-2", "sst2", ("accuracy",)),
                Column("CoLA", "cola", ("matthews",)),
                Column("STS-B", "stsb", ("spearman",)),
                Column("MRPC", "mrpc", ("f1",)),
                Column("RTE", "rte", ("accuracy",)),
            ),
            cells_by_system("""
                BERT | 84.6/83.4 | 71.2 | 90.5 | 93.5 | 52.1 | 85.8 | 88.9 | 66.4
                XLNet | 86.8/– | 91.4 | 91.7 | 94.7 | 60.2 | 89.5 | 88.2 | 74.0
                RoBERTa | 87.6/– | 91.9 | 92.8 | 94.8 | 63.6 | 91.2 | 90.2 | 78.7
                BigBird | 87.5/87.3 | 88.6 | 92.2 | 94.6 | 58.5 | 87.8 | 91.5 | 75.0
            """),
        ),
    ),
)
