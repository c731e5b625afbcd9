"""What a longer context is worth to masked tokens: two models on the same hidden tokens.

    python experiments/2026-11-context-worth/context_worth.py --long BIGBIRD_4096 --short FULL_512 --corpus FOLDER \\
        --output results/context [--split test] [--genome genome.fa --pieces]

Both models have the same tokenizer. Examples of the long model's length are drawn from the held-out
documents and masked as in the paper. The short model reads the same masked tokens in windows of its
own length that overlap, and answers for the tokens in the middle of each window, so both see the same
neighbours of a hidden token, as far as the short model reaches. Printed are bits per base of both and
of the counts on the same tokens, the differences to the long model (paired, 95 % bootstrap intervals
over blocks), and all of it by repeat class. Choose on validation; `--split test` is for the report.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from paired import parser_of, report, stratified_rows

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.masking import PAPER
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.evaluation import evaluate_lm_run
from dna_bigbird.evaluation.evaluate_lm_baselines import MaskedBaselines
from dna_bigbird.evaluation.evaluate_lm_parts import (
    ByRepeatClass,
    HiddenTokens,
    known_repeats,
    spread_costs,
)
from dna_bigbird.evaluation.evaluate_lm_run import score_examples
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.pretraining_task import PretrainingTask

SPECIAL = 3
"""Special tokens of an example: [CLS] A [SEP] B [SEP]."""


def example_of(
    seen: np.ndarray, positions: np.ndarray, labels: np.ndarray, vocabulary
) -> dict[str, np.ndarray | int]:
    """Return an example that is one contiguous stretch, in the form of training.

    Args:
        seen: Tokens as the model sees them, without special ones, (T,).
        positions: Predicted ones among them, (M,).
        labels: Their true ids, (M,).
    """
    half = len(seen) // 2
    ids = [[vocabulary.cls_id], seen[:half], [vocabulary.sep_id], seen[half:], [vocabulary.sep_id]]
    token_ids = np.concatenate(ids).astype(np.int64)
    segments = np.zeros(len(token_ids), dtype=np.int64)
    segments[half + 2 :] = 1
    return {
        "token_ids": token_ids,
        "segment_ids": segments,
        "positions": positions + np.where(positions < half, 1, 2),
        "labels": labels,
        "is_next": 0,
    }


def stretch_of(example: dict, vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens of an example without special ones, and the predicted positions among them."""
    ids = example["token_ids"]
    is_special = (ids == vocabulary.cls_id) | (ids == vocabulary.sep_id)
    before = np.cumsum(is_special)
    return ids[~is_special], example["positions"] - before[example["positions"]]


def windows(length: int, room: int, stride: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield start and end of windows over a stretch, and of the part that each answers for.

    The windows of `room` tokens begin every `stride` tokens, the last one at the end. Each answers
    for the middle of what it shares with its neighbours; the parts cover the stretch once.

    Example:
        >>> list(windows(10, 4, 2))
        [(0, 4, 0, 3), (2, 6, 3, 5), (4, 8, 5, 7), (6, 10, 7, 10)]
        >>> list(windows(3, 4, 2))
        [(0, 3, 0, 3)]
    """
    starts = [*range(0, max(length - room, 0), stride), max(length - room, 0)]
    ends = [min(start + room, length) for start in starts]
    edges = [0, *((a + b) // 2 for a, b in zip(ends, starts[1:], strict=False)), length]
    yield from zip(starts, ends, edges[:-1], edges[1:], strict=True)


def in_windows(example: dict, vocabulary, room: int, stride: int) -> list[dict]:
    """Return the windows of the short model that have a predicted token in their part, in order."""
    seen, positions = stretch_of(example, vocabulary)
    cut = []
    for start, end, first, last in windows(len(seen), room, stride):
        here = (positions >= first) & (positions < last)
        if here.any():
            labels = example["labels"][here]
            cut.append(example_of(seen[start:end], positions[here] - start, labels, vocabulary))
    return cut


def nats_of(bundle: Bundle, examples: Sequence[dict] | PretrainExamples, count: int) -> list:
    """Return the cost of every predicted token of the first examples, in float32."""
    task = PretrainingTask(bundle.model, TrainConfig(), bundle.tokenizer.piece_bp)
    tokens_at_once = 16384
    batch_size = max(1, tokens_at_once // bundle.config.encoder.max_tokens)
    return score_examples(task, examples, count, batch_size=batch_size).token_nats


def short_nats(bundle: Bundle, examples: PretrainExamples, count: int, stride: int) -> list:
    """Return the same costs of the short model, one array per example."""
    room = bundle.config.encoder.max_tokens - SPECIAL
    cut = [in_windows(examples[i], bundle.tokenizer, room, stride) for i in range(count)]
    flat = [window for part in cut for window in part]
    nats = iter(nats_of(bundle, flat, len(flat)))
    return [np.concatenate([next(nats) for _ in part]) for part in cut]


def compare(options: argparse.Namespace) -> tuple[list[dict], str]:
    """Return the rows of the table, and what they were measured on."""
    long, short = (
        evaluate_lm_run.load_masked_model(path) for path in (options.long, options.short)
    )
    if long.tokenizer.files != short.tokenizer.files:
        raise InputError(f"{options.short}: its tokenizer is not that of {options.long}")
    if short.config.encoder.max_tokens >= long.config.encoder.max_tokens:
        raise InputError(
            f"{options.short}: reads no fewer tokens than {options.long}; exchange them"
        )
    store = TokenStore(options.corpus / f"{options.split}.h5")
    train = TokenStore(options.corpus / "train.h5")
    vocabulary, max_tokens = long.tokenizer, long.config.encoder.max_tokens
    examples = PretrainExamples(
        store, vocabulary, max_tokens, PAPER, options.seed, random_second=False
    )
    classes = known_repeats(store, options.genome, options.repeats, options.pieces)
    strata = (
        {} if classes is None else {"by_repeat_class": ByRepeatClass(classes, store.chromosomes)}
    )
    stride = options.stride or (short.config.encoder.max_tokens - SPECIAL) // 2
    of_short = np.concatenate(short_nats(short, examples, options.examples, stride))
    counts = MaskedBaselines(train, vocabulary, PAPER, None)
    whole, parts = spread_costs(
        HiddenTokens(examples, options.examples, vocabulary.piece_bp),
        nats_of(long, examples, options.examples),
        np.column_stack([of_short, counts.nats(examples, options.examples)]),
        strata,
    )
    names = [f"{options.long.name} ({max_tokens})"]
    names += [f"{options.short.name} ({short.config.encoder.max_tokens})", *counts.names]
    divided = {name: (way.names, parts[name]) for name, way in strata.items()}
    hidden = sum(len(examples[i]["labels"]) for i in range(options.examples))
    note = (
        f"{options.split}, {options.examples} examples of {max_tokens} tokens, each contiguous, "
        f"{hidden:,} hidden tokens (15 %, 80/10/10), seed {options.seed}; windows of the short model "
        f"begin every {stride} tokens and answer for their middle. Brackets: 95 % bootstrap intervals "
        f"over blocks of 10 kb; differences are paired, to {names[0]}: above 0 it is better."
    )
    return stratified_rows(names, whole, divided, options.seed), note


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the options."""
    parser = parser_of(__doc__)
    parser.add_argument("--long", type=Path, required=True, help="pretrained bundle")
    parser.add_argument("--short", type=Path, required=True, help="pretrained bundle")
    parser.add_argument("--examples", type=int, default=64)
    parser.add_argument("--stride", type=int, default=0, help="tokens; 0: half a window")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Write and print the table."""
    report(parse(argv), compare)


if __name__ == "__main__":
    main()
