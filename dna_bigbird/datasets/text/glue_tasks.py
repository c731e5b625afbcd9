"""The eight GLUE tasks of the paper: folders, columns, labels (no quoting, tab-separated)."""

from dataclasses import dataclass

NLI = ("entailment", "neutral", "contradiction")
ENTAILED = ("entailment", "not_entailment")
BINARY = ("0", "1")


@dataclass(frozen=True)
class TaskFormat:
    """Where the texts and the label of a task stand."""

    folder: str
    """Name of the official folder, and of the file that is handed in."""
    texts: tuple[str, ...]
    """Columns of the text or the pair, by header."""
    label: str
    labels: tuple[str, ...] = BINARY
    """Classes in the order of the logits; empty: a score (STS-B)."""
    id: str = "index"
    """Column of the id; a file without it counts its rows from 0."""


TASKS: dict[str, TaskFormat] = {
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
