"""A split of a set of text as it is distributed: reading, and what decides the rows made from it."""

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dna_bigbird import __version__
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.unpacking import unpacked_limit
from dna_bigbird.text.data.rows import TextSet
from dna_bigbird.text.tasks.task import TextTask


def left_out(counts: dict[str, int]) -> str:
    """Return what was left out or changed, for the end of a line.

    >>> left_out({"empty": 1200, "repeated": 0})
    ' (empty 1,200)'
    """
    reasons = "; ".join(f"{reason} {count:,}" for reason, count in counts.items() if count)
    return f" ({reasons})" if reasons else ""


def count_metrics(counts: dict[str, int]) -> dict[str, int]:
    """Return counts as entries of metrics.json.

    >>> count_metrics({"answer not in the evidence": 16})
    {'n_answer_not_in_the_evidence': 16}
    """
    return {f"n_{re.sub(r'[^A-Za-z0-9]+', '_', k).strip('_')}": v for k, v in counts.items()}


def count_shared(examples: Iterable, others: Iterable) -> int:
    """Return how many examples are equal to one of the others.

    >>> count_shared(["a", "b", "b"], ["b", "c"])
    2
    """
    known = set(map(_digest, others))
    return sum(_digest(example) in known for example in examples)


def _digest(example: object) -> bytes:
    return hashlib.sha256(repr(example).encode()).digest()


def check_length(task: TextTask, max_tokens: int, bundle: Path | str) -> None:
    """Raise InputError if an option asks for longer rows than the model reads."""
    for name in ("max_tokens", "max_source_tokens", "max_target_tokens"):
        length = getattr(task.options, name, 0)
        if length > max_tokens:
            raise InputError(
                f"{name} {length}: {bundle} reads at most {max_tokens} tokens; give {name} "
                f"{max_tokens}, or lengthen the model: dna-bigbird convert --help"
            )
    longest, target = getattr(task.head, "decoder_positions", 0), "max_target_tokens"
    if 0 < longest < getattr(task.options, target, 0):
        raise InputError(
            f"{target} {getattr(task.options, target)}: the decoder of {bundle} has {longest} positions; "
            f"give {target} {longest}"
        )


def report_size(split: str, text_set: TextSet) -> None:
    """Write the number of examples and rows to standard error."""
    examples, rows = len(text_set.examples), len(text_set.rows)
    print(
        f"{split}: {examples:,} examples, {rows:,} rows{left_out(text_set.counts)}", file=sys.stderr
    )


def read_examples(
    task: TextTask, path: Path, split: str, *, gold: bool = True
) -> tuple[Iterable[Any], dict[str, int]]:
    """Return examples of a set, and counts of what was left out: see `TextTask.read`."""
    examples, counts = task.read(path, split, gold=gold)
    if next(iter(examples), None) is None:
        raise no_example(path, split, counts)
    return examples, counts


def no_example(path: Path, split: str, counts: dict[str, int]) -> InputError:
    """Return the line for a set without examples."""
    return InputError(f"{path}: no example of the {split} split{left_out(counts)}")


@dataclass(frozen=True)
class SetSource:
    """Where the rows of a split come from, and how they are made."""

    task: TextTask
    tokenizer: Any
    path: Path
    split: str
    max_tokens: int
    """Longest row that the model reads."""
    training: bool = False
    gold: bool = True
    """Whether labels must be there."""
    limit: int = 0
    """Examples, drawn at random once; 0: all."""
    seed: int = 0
    max_unpacked_gib: float = 0
    """See unpacking."""

    def identity(self) -> dict:
        """Return what decides the rows: JSON values. A file is known by its size and the time of its last change."""
        vocabulary = hashlib.sha256()
        for name, content in sorted(self.tokenizer.files.items()):
            vocabulary.update(name.encode() + hashlib.sha256(content).digest())
        identity = {
            "version of dna-bigbird": __version__,
            "task": self.task.name,
            "options": asdict(self.task.options),
            "two_streams": self.task.two_streams,
            "labels": [] if self.training else self.task.labels,
            "split": self.split,
            "training": self.training,
            "gold": self.gold,
            "sample": [self.limit, self.seed] if self.limit else [],
            "tokenizer": vocabulary.hexdigest(),
            "data": [files_sha256(path) for path in self.task.inputs(self.path)],
        }
        return json.loads(json.dumps(identity))

    def read(self) -> tuple[Iterable[Any], dict[str, int]]:
        """Return the examples, or a sample, and what is left out; use within `unpacked`."""
        examples, counts = self.task.read(self.path, self.split, gold=self.gold)
        count = sum(1 for _ in examples) if self.limit else 0
        if count <= self.limit:
            return examples, counts
        rng = np.random.default_rng([self.seed, 2])
        return _chosen(examples, rng.choice(count, size=self.limit, replace=False)), counts

    def unpacked(self) -> Any:
        """Return the block in which compressed files may become as large as was asked for."""
        return unpacked_limit(self.max_unpacked_gib)

    def check_longest(self, longest: int) -> None:
        """Raise InputError if a row is longer than the model reads."""
        if longest > self.max_tokens:
            raise InputError(
                f"{self.path}: a row of {longest} tokens; the model reads at most {self.max_tokens}"
            )


def _chosen(examples: Iterable[Any], numbers: np.ndarray) -> Iterator[Any]:
    chosen = frozenset(numbers.tolist())
    return (example for number, example in enumerate(examples) if number in chosen)


def files_sha256(path: Path) -> str:
    """Return a checksum of the names, sizes and times of change of a file, or of all files of a folder."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    digest = hashlib.sha256(path.name.encode())
    for file in files:
        if file.is_file():
            status = file.stat()
            name = file.relative_to(path).as_posix()
            digest.update(f"\n{name} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()
