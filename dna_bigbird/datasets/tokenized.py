"""Windows of a labelled set as token ids in memory."""

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from dna_bigbird.errors import InputError
from dna_bigbird.genome.alphabet import reverse_complement


class Tokenizer(Protocol):
    """What is needed of corpus.tokenizer.DnaTokenizer."""

    cls_id: int
    sep_id: int

    def encode(self, sequence: str) -> np.ndarray: ...


class TokenizedRows:
    """[CLS] window [SEP] of some rows of a labelled set, on one strand or both.

    Ids are kept as uint16 if the vocabulary allows; a window of 8000 bp takes about 2.5 KB a strand.

    Args:
        rows: Row numbers in the labelled set, shape (n,).
        labels: Their labels, shape (n, labels), uint8.
        ids_by_strand: Flat ids and offsets (n + 1,), of the forward strand and, if there is
            a second entry, of the reverse complement.
    """

    def __init__(
        self,
        rows: np.ndarray,
        labels: np.ndarray,
        ids_by_strand: list[tuple[np.ndarray, np.ndarray]],
    ) -> None:
        self.rows = np.asarray(rows)
        self.labels = np.asarray(labels)
        self._ids_by_strand = ids_by_strand

    def __len__(self) -> int:
        return len(self.rows)

    def ids(self, place: int, strand: str = "+") -> np.ndarray:
        """Return the ids of the `place`-th row."""
        flat, offsets = self._ids_by_strand[0 if strand == "+" else 1]
        return flat[offsets[place] : offsets[place + 1]]


def tokenize_rows(
    data,
    rows: np.ndarray,
    tokenizer: Tokenizer,
    *,
    max_tokens: int,
    both_strands: bool,
    name: str = "labelled set",
    progress: Callable[[Iterable], Iterable] = iter,
) -> TokenizedRows:
    """Tokenize rows of a labelled set; no window is ever cut.

    Args:
        data: A datasets.labelled.LabelledSet.
        name: What to call the set in messages.

    Raises:
        InputError: If a window has more tokens than the model reads.
    """
    parts: list[list[np.ndarray]] = [[], []] if both_strands else [[]]
    longest, longest_row = 0, -1
    for row in progress(rows):
        bases = data.sequence(int(row))
        for strand, texts in enumerate(parts):
            text = reverse_complement(bases) if strand else bases
            ids = np.concatenate([[tokenizer.cls_id], tokenizer.encode(text), [tokenizer.sep_id]])
            texts.append(ids.astype(np.uint16 if ids.max() < 2**16 else np.int32))
            if len(ids) > longest:
                longest, longest_row = len(ids), int(row)
    if longest > max_tokens:
        interval = data.interval(longest_row)
        raise InputError(
            f"{name}: row {longest_row} ({interval.chrom}:{interval.start}-{interval.end}, "
            f"{data.window_bp} bp) has {longest} tokens with [CLS] and [SEP], the model reads at "
            f"most {max_tokens}, and windows are never cut. Build the set with a smaller window, "
            f"or pretrain with --model.max_tokens {longest} or more"
        )
    flat = [
        (
            np.concatenate(texts) if texts else np.zeros(0, np.uint16),
            np.cumsum([0, *map(len, texts)]),
        )
        for texts in parts
    ]
    return TokenizedRows(rows, data.labels[np.asarray(rows)], flat)
