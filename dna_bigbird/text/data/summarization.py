"""Summaries of documents: the task, its settings, its sets and their examples."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

import numpy as np

from dna_bigbird.bundles.text_tasks import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.settings import Count, Range, ShareBelowOne
from dna_bigbird.metrics.published_table import Column, PublishedTable, cells_by_system
from dna_bigbird.text.data import summarization_files
from dna_bigbird.text.data.rows import TextFeatures, TextSet, recorded
from dna_bigbird.text.data.summarization_files import Pair

SetName = Literal["arxiv", "pubmed", "bigpatent", "cnn-dailymail", "xsum"]
LARGEST_BEAM = 128
"""Each summary of the search has keys and values of its own in memory."""


@dataclass(frozen=True)
class SummarizationOptions:
    """What is read, how it is cut, and how summaries are searched for. The defaults are the paper's for arXiv, PubMed
    and BigPatent; config/text/summarization has those of the other sets."""

    set: SetName = "arxiv"
    """Name of the set: arxiv, pubmed, bigpatent, cnn-dailymail or xsum."""
    max_source_tokens: Annotated[int, Range(3)] = 3072
    """Tokens of a document, special ones included; the rest is cut off and counted. The paper
    has 1024 for xsum and 2048 for cnn-dailymail."""
    max_target_tokens: Annotated[int, Range(2)] = 256
    """Tokens of a summary, its end included, in training and in search. The paper has 64 for xsum and
    128 for cnn-dailymail."""
    source_form: Literal["auto", "cls_sep", "end", "plain"] = "auto"
    """Special tokens around a document: cls_sep ([CLS] document [SEP]), end (document </s>, as Pegasus
    models of the Hugging Face library) or plain (nothing, as the published script). 'auto' is end for
    a vocabulary with the piece <n>, which Pegasus has, else cls_sep."""
    newline: Literal["auto", "<n>", "space", "keep"] = "auto"
    """What a line end becomes before tokenising: '<n>' (of Pegasus), 'space' in documents ('<n>' in
    summaries, where lines are sentences), or 'keep': as the vocabulary reads it. 'auto' is '<n>' if it is a piece of the
    vocabulary, else 'keep' if the vocabulary can write a line end, else 'space'."""
    skip_empty: bool = False
    """Leave out and count examples without text: document or summary; else they are errors."""
    label_smoothing: ShareBelowOne = 0.1
    """Share of the target that is spread in training: over the other pieces."""
    count_padding: bool = False
    """Add the loss at padding to the sum, as the published script does; it trains on nothing then."""
    beam_size: Annotated[int, Range(1, most=LARGEST_BEAM)] = 5
    """Summaries kept at the same time in the search; at most 128."""
    length_penalty: float = 0.8
    """Exponent of the length by which log-probabilities are divided: 0 favours short summaries. The
    paper has 0.7 for xsum."""
    length_formula: Literal["paper", "library"] = "paper"
    """'paper': ((5 + length) / 6) ** penalty; 'library': length ** penalty and the stopping rules of the
    Hugging Face library."""
    early_stopping: bool = False
    """Of 'library' alone: stop when `beam_size` summaries have ended."""
    min_target_tokens: Count = 0
    """Tokens before which a summary may not end."""
    no_repeat_tokens: Count = 0
    """Tokens in a row that a summary writes once at most: 0 for no such rule."""
    first_id: int = -1
    """Id of the first token of every summary: -1 for any token. Some models of the Hugging Face library
    always begin with <s>."""
    forced_end: bool = False
    """End a summary at the last of `max_target_tokens` tokens with the end token, as some models of the Hugging
    Face library do."""

    def __post_init__(self) -> None:
        check_fields(self, "options")
        if self.min_target_tokens >= self.max_target_tokens:
            raise ValueError(
                f"--options.min_target_tokens {self.min_target_tokens} must be below "
                f"--options.max_target_tokens {self.max_target_tokens}"
            )
        if self.early_stopping and self.length_formula != "library":
            raise ValueError("--options.early_stopping true needs --options.length_formula library")


ABOUT_ROUGE = "ROUGE-1 / ROUGE-2 / ROUGE-L (over whole summaries, rougeLsum), F-measure times 100."
KEY_SENTENCE = "the key sentence, one of eight"
PLANTED = {
    "arxiv": f"{KEY_SENTENCE}; the words `in short` begin it",
    "pubmed": f"{KEY_SENTENCE}; the words `in short` begin it",
    "bigpatent": f"{KEY_SENTENCE}; the words `in short` begin it",
    "cnn-dailymail": f"{KEY_SENTENCE}, and that the topic is here",
    "xsum": KEY_SENTENCE,
}
"""The rule planted in synthetic text of a set."""


def _rouge(title: str, run: str) -> Column:
    return Column(title, run, ("rouge1", "rouge2", "rougeLsum"), factor=1.0)


READERS: dict[str, Callable[..., Iterator[Pair]]] = {
    "arxiv": summarization_files.read_papers,
    "pubmed": summarization_files.read_papers,
    "bigpatent": summarization_files.read_patents,
    "cnn-dailymail": summarization_files.read_stories,
    "xsum": summarization_files.read_articles,
}
"""Set name to reader: (path, split, gold=…) gives pairs."""


@recorded("summary", "dna_bigbird.datasets.text.summarization:SummaryExample")
@dataclass(frozen=True)
class SummaryExample:
    """A document with its summary, if that is known."""

    id: str
    document: str
    """Paragraphs (or sentences, as the set has them) on lines of their own."""
    summary: str | None
    """One sentence per line where the set separates them; None where there is no reference."""


def iter_summaries(
    options: SummarizationOptions,
    path: Path,
    split: str,
    counts: dict[str, int],
    *,
    gold: bool = True,
) -> Iterator[SummaryExample]:
    """Yield the examples of one split of a set, without white space at the ends of lines."""
    is_empty = True
    for pair in READERS[options.set](Path(path), split, gold=gold):
        document = _tidy(pair.document)
        summary = None if pair.summary is None else _tidy(pair.summary)
        empty = "document" if not document else "summary" if gold and not summary else None
        if empty and not options.skip_empty:
            raise InputError(
                f"{pair.where}: the {empty} of {pair.id!r} is empty; expected text. "
                "To leave such examples out and count them: --options.skip_empty true"
            )
        if empty:
            reason = f"{empty} is empty"
            counts[reason] = counts.get(reason, 0) + 1
            continue
        is_empty = False
        yield SummaryExample(pair.id, document, summary or None)
    if is_empty:
        raise InputError(f"{path}: no example of {options.set} ({split}) in it")


def _tidy(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


TASK = TaskDescription(
    name="summarization",
    about="summaries of documents: arXiv, PubMed, BigPatent, CNN/DailyMail, XSum",
    options=SummarizationOptions,
    head="dna_bigbird.models.text_config:SummaryHead",
    model="dna_bigbird.models.summarizer:Summarizer",
    sets=(
        SetDescription("arxiv", ("arxiv/arxiv-dataset",), "test"),
        SetDescription("pubmed", ("pubmed/pubmed-dataset",), "test"),
        SetDescription("bigpatent", ("bigpatent",), "test"),
        SetDescription("cnn-dailymail", ("cnn-dailymail",), "test"),
        SetDescription(
            "xsum", ("xsum/train.jsonl", "xsum/validation.jsonl", "xsum/test.jsonl"), "test"
        ),
    ),
    train_data="files as distributed: JSON lines, train.source with train.target next to it, a folder or "
    "a tar archive",
    recipe="config/text/summarization",
    monitor="lowest nll_per_token",
    old_command="train-summarizer",
    library_class="BigBirdPegasusForConditionalGeneration",
    synthetic=tuple(
        SyntheticText(
            name, f"dna_bigbird.text.made.writing:{name.replace('-', '_')}", PLANTED[name]
        )
        for name in get_args(SetName)
    ),
    published=(
        PublishedTable(
            4,
            "Summaries of long documents",
            ABOUT_ROUGE,
            (
                _rouge("Arxiv", "arxiv"),
                _rouge("PubMed", "pubmed"),
                _rouge("BigPatent", "bigpatent"),
            ),
            cells_by_system("""
                SumBasic | 29.47 / 6.95 / 26.30 | 37.15 / 11.36 / 33.43 | 27.44 / 7.08 / 23.66
                LexRank | 33.85 / 10.73 / 28.99 | 39.19 / 13.89 / 34.59 | 35.57 / 10.47 / 29.03
                LSA | 29.91 / 7.42 / 25.67 | 33.89 / 9.93 / 29.70 | –
                Attn-Seq2Seq | 29.30 / 6.00 / 25.56 | 31.55 / 8.52 / 27.38 | 28.74 / 7.87 / 24.66
                Pntr-Gen-Seq2Seq | 32.06 / 9.04 / 25.16 | 35.86 / 10.22 / 29.69 | 33.14 / 11.63 / 28.55
                Long-Doc-Seq2Seq | 35.80 / 11.05 / 31.80 | 38.93 / 15.37 / 35.21 | –
                Sent-CLF | 34.01 / 8.71 / 30.41 | 45.01 / 19.91 / 41.16 | 36.20 / 10.99 / 31.83
                Sent-PTR | 42.32 / 15.63 / 38.06 | 43.30 / 17.92 / 39.47 | 34.21 / 10.78 / 30.07
                Extr-Abst-TLM | 41.62 / 14.69 / 38.03 | 42.13 / 16.27 / 39.21 | 38.65 / 12.31 / 34.09
                Dancer | 42.70 / 16.54 / 38.44 | 44.09 / 17.69 / 40.27 | –
                Base Transformer | 28.52 / 6.70 / 25.58 | 31.71 / 8.32 / 29.42 | 39.66 / 20.94 / 31.20
                Base + RoBERTa | 31.98 / 8.13 / 29.53 | 35.77 / 13.85 / 33.32 | 41.11 / 22.10 / 32.58
                Base + Pegasus | 34.81 / 10.16 / 30.14 | 39.98 / 15.15 / 35.89 | 43.55 / 20.43 / 31.80
                BigBird-RoBERTa (base) | 41.22 / 16.43 / 36.96 | 43.70 / 19.32 / 39.99 | 55.69 / 37.27 / 45.56
                Pegasus large, reported | 44.21 / 16.95 / 38.83 | 45.97 / 20.15 / 41.34 | 52.29 / 33.08 / 41.75
                Pegasus large, re-evaluated | 43.85 / 16.83 / 39.17 | 44.53 / 19.30 / 40.70 | 52.25 / 33.04 / 41.80
                BigBird-Pegasus (large) | 46.63 / 19.02 / 41.77 | 46.32 / 20.65 / 42.33 | 60.64 / 42.46 / 50.01
            """),
        ),
        PublishedTable(
            20,
            "Summaries of shorter documents",
            ABOUT_ROUGE,
            (_rouge("BBC XSum", "xsum"), _rouge("CNN/DailyMail", "cnn-dailymail")),
            cells_by_system("""
                Lead | 16.30 / 1.61 / 11.95 | 39.60 / 17.70 / 36.20
                PtGen | 29.70 / 9.21 / 23.24 | 39.53 / 17.28 / 36.38
                ConvS2S | 31.89 / 11.54 / 25.75 | –
                MMN | 32.00 / 12.10 / 26.00 | –
                Bottom-Up | – | 41.22 / 18.68 / 38.34
                TransLM | – | 39.65 / 17.74 / 36.85
                UniLM | – | 43.47 / 20.30 / 40.63
                Extr-Abst-BERT | 38.81 / 16.50 / 31.27 | 42.13 / 19.60 / 39.18
                BART | 45.14 / 22.27 / 37.25 | 44.16 / 21.28 / 40.90
                Base Transformer | 29.61 / 9.47 / 23.17 | 34.89 / 13.13 / 32.12
                Base + RoBERTa | 39.92 / 17.33 / 32.63 | 39.44 / 18.69 / 36.80
                Base + Pegasus | 39.79 / 16.58 / 31.70 | 41.79 / 18.81 / 38.93
                BigBird-RoBERTa | 39.52 / 17.22 / 32.30 | 39.25 / 18.46 / 36.61
                Pegasus large, reported | 47.60 / 24.83 / 39.64 | 44.16 / 21.56 / 41.30
                Pegasus large, re-evaluated | 47.37 / 24.31 / 39.23 | 44.15 / 21.56 / 41.05
                BigBird-Pegasus | 47.12 / 24.05 / 38.80 | 43.84 / 21.11 / 40.74
            """),
        ),
    ),
)


# T tokens of a document, U tokens of a summary

NEWLINE_PIECE = "<n>"
_SPACED_MARKER = re.compile(r" ([<\[]\S+[>\]])")
_MARKER = re.compile(r"(?<! )([<\[]\S+[>\]])")


class SummaryText:
    """How a vocabulary writes documents and summaries (spec §5)."""

    # A space before <…> or […] is dropped before tokenising and put back after.

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
        """Return the ids of a summary and its end, int32 (U,), and whether the end was cut off."""
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
        rows.append(TextFeatures(token_ids=ids, example=number, arrays=arrays))
    return TextSet(list(examples), rows, {key: n for key, n in counts.items() if n})
