"""Documents and summaries as token ids, and back."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.rows import TextRow, TextSet
from dna_bigbird.text.data.summarization import SummarizationOptions, SummaryExample

# T tokens of a document, U tokens of a summary

NEWLINE_PIECE = "<n>"
_SPACED_MARKER = re.compile(r" ([<\[]\S+[>\]])")
_MARKER = re.compile(r"(?<! )([<\[]\S+[>\]])")


class SummaryText:
    """How a vocabulary writes documents and summaries (spec §5).

    A space before <…> or […] is dropped before tokenising and put back after. Line ends become what
    `options.newline` says.

    Args:
        tokenizer: corpus.text_tokenizer.TextTokenizer.

    Attributes:
        start_id, end_id: Around a summary: <s> and </s>, or [CLS] and [SEP] where there are none.
    """

    def __init__(self, tokenizer, options: SummarizationOptions) -> None:
        self.tokenizer = tokenizer
        self.options = options
        self.start_id = tokenizer.cls_id if tokenizer.bos_id is None else tokenizer.bos_id
        self.end_id = tokenizer.sep_id if tokenizer.eos_id is None else tokenizer.eos_id
        form = options.source_form
        if form == "auto":
            form = "end" if NEWLINE_PIECE in tokenizer.pieces else "cls_sep"
        self.before = [tokenizer.cls_id] if form == "cls_sep" else []
        self.after = {"cls_sep": [tokenizer.sep_id], "end": [self.end_id], "plain": []}[form]
        self.newline = options.newline if options.newline != "auto" else _newline_of(tokenizer)
        self.keeps_lines = self.newline == "keep" or _survives(NEWLINE_PIECE, tokenizer)

    def source_ids(self, document: str) -> tuple[np.ndarray, bool]:
        """Return the ids of a document, int32 (T,), and whether its end was cut off."""
        newline = {"<n>": NEWLINE_PIECE, "space": " ", "keep": "\n"}[self.newline]
        ids = self._encode(document, newline)
        room = self.options.max_source_tokens - len(self.before) - len(self.after)
        whole = [self.before, ids[:room], self.after]
        return np.concatenate(whole).astype(np.int32), len(ids) > room

    def target_ids(self, summary: str) -> tuple[np.ndarray, bool]:
        """Return the ids of a summary and its end, int32 (U,), and whether the end was cut off.

        Raises:
            InputError: If it has line ends that the vocabulary cannot write.
        """
        if "\n" in summary and not self.keeps_lines:
            raise InputError(
                f"the vocabulary cannot write {NEWLINE_PIECE!r}, which parts the sentences of "
                "summaries; learn one that can: dna-bigbird text vocabulary, or let line ends be "
                "lost: --options.newline keep"
            )
        ids = self._encode(summary, "\n" if self.newline == "keep" else NEWLINE_PIECE)
        ids = np.append(ids, self.end_id).astype(np.int32)
        room = self.options.max_target_tokens
        return ids[:room], len(ids) > room

    def summary(self, ids: np.ndarray) -> str:
        """Return the text of the ids before the first end; a sentence a line."""
        ends = np.flatnonzero(np.asarray(ids) == self.end_id)
        text = self.tokenizer.decode(ids[: ends[0]] if len(ends) else ids)
        lines = text.replace(NEWLINE_PIECE, "\n").splitlines()
        lines = (_MARKER.sub(r" \1", line).strip() for line in lines)
        return "\n".join(line for line in lines if line)

    def _encode(self, text: str, newline: str) -> np.ndarray:
        return self.tokenizer.encode(_SPACED_MARKER.sub(r"\1", text.replace("\n", newline)))


def _newline_of(tokenizer) -> str:
    if NEWLINE_PIECE in tokenizer.pieces:
        return "<n>"
    return "keep" if _survives("\n", tokenizer) else "space"


def _survives(mark: str, tokenizer) -> bool:
    return mark in tokenizer.decode(tokenizer.encode(f"a{mark}b"))


def summary_rows(examples: Sequence[SummaryExample], text: SummaryText) -> TextSet:
    """Return one row per example; `target_ids`, int32 (U,), where there is a reference."""
    rows, counts = [], Counter()
    options = text.options
    for number, example in enumerate(examples):
        ids, is_cut = text.source_ids(example.document)
        counts[f"documents cut to {options.max_source_tokens} tokens"] += is_cut
        arrays = {}
        if example.summary is not None:
            arrays["target_ids"], is_cut = text.target_ids(example.summary)
            counts[f"summaries cut to {options.max_target_tokens} tokens"] += is_cut
        rows.append(TextRow(token_ids=ids, example=number, arrays=arrays))
    return TextSet(list(examples), rows, {key: n for key, n in counts.items() if n})
