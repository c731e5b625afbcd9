"""Windows of a labelled set as token ids: all in memory, or made when they are asked for."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.genome.interval import Interval
from dna_bigbird.labelled.labelled_data import PackedLabels

if TYPE_CHECKING:
    from dna_bigbird.corpus.piece_dropout import PieceDropout
    from dna_bigbird.corpus.tokenizer_files import Tokenizer
    from dna_bigbird.labelled.labelled_set import LabelledSet

_SHIFT = 4
"""Part of the seed of shifts; 3 is that of drawn tokens."""


class ShiftedRows:
    """Rows of a labelled set, each moved by up to `max_shift` bases for every example."""

    # If every row has real bases so far on both sides, they are read from the genome; else all rows
    # are moved within themselves and filled with N. Rows of one set are never moved in both ways,
    # because N next to some of them would tell labels.

    def __init__(self, data: "LabelledSet", rows: np.ndarray, max_shift: int, seed: int) -> None:
        self.data = data
        self.max_shift = max_shift
        self.seed = seed
        self.from_genome = has_surroundings(data, np.asarray(rows), max_shift)

    def shift(self, example: int) -> int:
        """Return by how many bases of the forward strand an example is moved."""
        rng = np.random.default_rng([self.seed, example, _SHIFT])
        return int(rng.integers(-self.max_shift, self.max_shift + 1))

    def bases(self, row: int, example: int) -> str:
        """Return the bases of a row, moved for an example, as the row's strand reads them."""
        shift = self.shift(example)
        if self.from_genome:
            window = self.data.interval(row)
            moved = Interval(window.chrom, window.start + shift, window.end + shift, window.strand)
            return self.data.genome.fetch(moved)
        return moved_within(self.data.sequence(row), shift)


def moved_within(bases: str, shift: int) -> str:
    """Return a sequence seen through a window that is moved to the right; N where it has no bases.

    Example:
        >>> moved_within("ACGT", 1), moved_within("ACGT", -2), moved_within("ACGT", 0)
        ('CGTN', 'NNAC', 'ACGT')
    """
    kept = bases[max(0, shift) : len(bases) + min(0, shift)]
    return kept.ljust(len(bases), "N") if shift > 0 else kept.rjust(len(bases), "N")


def has_surroundings(data: "LabelledSet", rows: np.ndarray, margin_bp: int) -> bool:
    """Return True if the windows of all rows are in the genome, with so many bases on both sides."""
    if data.genome is None or data.is_stored(rows).any():
        return False
    windows = data.intervals
    lengths = np.array([data.genome.lengths[data.genome.resolve(x)] for x in windows.chromosomes])
    starts = windows.start[rows].astype(np.int64)
    ends = starts + data.window_bp
    return bool(
        (starts >= margin_bp).all() and (ends + margin_bp <= lengths[windows.chrom[rows]]).all()
    )


_DRAW = 3
"""Part of the seed of drawn tokens, so that they do not depend on the order of rows."""


class TokenizedRows:
    """[CLS] window [SEP] of rows of a labelled set, on one strand or both; labels (n, labels)."""

    # Ids are uint16 if the vocabulary allows: 8000 bp take about 2.5 KB per strand. `ids_by_strand`
    # has flat ids and offsets (n + 1,), of the forward strand and perhaps the reverse complement.

    def __init__(
        self,
        rows: np.ndarray,
        labels: np.ndarray | PackedLabels,
        ids_by_strand: list[tuple[np.ndarray, np.ndarray]],
    ) -> None:
        self.rows = np.asarray(rows)
        self.labels = labels
        self._ids_by_strand = ids_by_strand

    def __len__(self) -> int:
        return len(self.rows)

    def ids(self, index: int, strand: str = "+") -> np.ndarray:
        """Return the ids of the `index`-th row."""
        flat, offsets = self._ids_by_strand[0 if strand == "+" else 1]
        return flat[offsets[index] : offsets[index + 1]]


class RowsOnTheFly:
    """The same rows, read and tokenized when asked for; may be pickled, used after a fork."""

    def __init__(
        self,
        data: "LabelledSet",
        rows: np.ndarray,
        tokenizer: "Tokenizer",
        *,
        max_tokens: int,
        name: str = "labelled set",
        dropout: "PieceDropout | None" = None,
        seed: int = 0,
        shifts: ShiftedRows | None = None,
    ) -> None:
        self.data = data
        self.rows = np.asarray(rows)
        self.labels = data.label_table(self.rows)
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self.name = name
        self.dropout = dropout
        self.seed = seed
        self.shifts = shifts

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_drawn(self) -> bool:
        """Whether an example of the stream has ids of its own (`drawn_ids`)."""
        return self.dropout is not None or self.shifts is not None

    def ids(self, index: int, strand: str = "+") -> np.ndarray:
        """Return the ids of the `index`-th row."""
        row = int(self.rows[index])
        ids = encode_window(self._bases(row, strand), tokenizer=self.tokenizer)
        if len(ids) > self.max_tokens:
            raise _too_long(self.data, row, len(ids), self.max_tokens, self.name)
        return ids

    def drawn_ids(self, index: int, strand: str, example: int) -> np.ndarray:
        """Return ids drawn for an example of the stream: a function of its number and the seed."""
        # If what is drawn has more tokens than the model reads, these are the usual tokens, and
        # then those of the window where it is.
        bases = self._bases(int(self.rows[index]), strand, example)
        if self.dropout is not None:
            rng = np.random.default_rng([self.seed, example, _DRAW])
            ids = with_ends(self.dropout.encode(bases, rng), self.tokenizer)
            if len(ids) <= self.max_tokens:
                return ids
        ids = encode_window(bases, tokenizer=self.tokenizer)
        return ids if len(ids) <= self.max_tokens else self.ids(index, strand)

    def _bases(self, row: int, strand: str, example: int | None = None) -> str:
        if self.shifts is None or example is None:
            bases = self.data.sequence(row)
        else:
            bases = self.shifts.bases(row, example)
        return reverse_complement(bases) if strand == "-" else bases


def encode_window(bases: str, tokenizer: "Tokenizer") -> np.ndarray:
    """Return [CLS] window [SEP] (without them if the tokenizer has none), (T,), uint16 or int32."""
    return with_ends(tokenizer.encode(bases), tokenizer)


def with_ends(ids: np.ndarray, tokenizer: "Tokenizer") -> np.ndarray:
    """Return ids with [CLS] and [SEP] (if the tokenizer has them), (T,), uint16 or int32."""
    before, after = ([] if x is None else [x] for x in (tokenizer.cls_id, tokenizer.sep_id))
    ids = np.concatenate([before, ids, after])
    return ids.astype(np.uint16 if ids.max(initial=0) < 2**16 else np.int32)


def tokenize_rows(
    data: "LabelledSet",
    rows: np.ndarray,
    tokenizer: "Tokenizer",
    *,
    max_tokens: int,
    both_strands: bool,
    name: str = "labelled set",
    progress: Callable[[Iterable], Iterable] = iter,
) -> TokenizedRows:
    """Tokenize rows of a labelled set; no window is ever cut."""
    parts: list[list[np.ndarray]] = [[], []] if both_strands else [[]]
    longest, longest_row = 0, -1
    for row in progress(rows):
        bases = data.sequence(int(row))
        for strand, texts in enumerate(parts):
            ids = encode_window(reverse_complement(bases) if strand else bases, tokenizer)
            texts.append(ids)
            if len(ids) > longest:
                longest, longest_row = len(ids), int(row)
    if longest > max_tokens:
        raise _too_long(data, longest_row, longest, max_tokens, name)
    flat = [
        (
            np.concatenate(texts) if texts else np.zeros(0, np.uint16),
            np.cumsum([0, *map(len, texts)]),
        )
        for texts in parts
    ]
    return TokenizedRows(rows, data.label_table(np.asarray(rows)), flat)


def _too_long(data: "LabelledSet", row: int, tokens: int, max_tokens: int, name: str) -> InputError:
    interval = data.interval(row)
    return InputError(
        f"{name}: row {row} ({interval.chrom}:{interval.start}-{interval.end}, "
        f"{interval.length} bp) has {tokens} tokens with [CLS] and [SEP], the model reads at "
        f"most {max_tokens}, and windows are never cut. Build the set with a smaller window, "
        f"or start from a model of {tokens} or more: dna-bigbird pretrain --model.max_tokens {tokens} "
        f"trains one, dna-bigbird convert --max_tokens {tokens} lengthens one"
    )
