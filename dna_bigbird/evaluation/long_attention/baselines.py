"""The job `baselines`: predictors without attention on the same test sequences."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dna_bigbird.baselines.logistic import RidgeLogistic
from dna_bigbird.evaluation.long_attention.batches import HiddenWords, Pairs, Source, source_of
from dna_bigbird.evaluation.long_attention.distant_pairs import (
    KEY,
    VALUE,
    WORD_BP,
    PairExample,
    PairTask,
    dna_words,
    word_text,
)
from dna_bigbird.evaluation.long_attention.small_models import SmallModel

TEST_SEED = 20_251_125
Z = 1.959964
"""Of a 95 % interval."""


@torch.no_grad()
def score(model: SmallModel, test: Source, tokens: int, count: int) -> dict:
    """Score a model on the first `count` test sequences: accuracy by distance, or bits per base."""
    model.eval()
    rng = np.random.default_rng(TEST_SEED)
    right: dict[int, int] = {}
    asked: dict[int, int] = {}
    bits = []
    for _ in range(count):
        batch = test.draw(1, tokens, rng)
        logits = model(batch.token_ids_BT, batch.positions_P)
        if test.choices is None:
            nats = torch.nn.functional.cross_entropy(logits, batch.answers_P)
            bits.append(float(nats) / math.log(2) / WORD_BP)
            continue
        is_right = (logits[:, test.choices].argmax(1) == batch.answers_P).numpy()
        for distance, success in zip(batch.distances_P.tolist(), is_right.tolist(), strict=True):
            asked[distance] = asked.get(distance, 0) + 1
            right[distance] = right.get(distance, 0) + success
    if test.choices is None:
        return {"score": float(np.mean(bits)), "n": count, "bits_per_base": bits}
    rows = [{"distance": d, "right": right[d], "n": asked[d]} for d in sorted(asked)]
    total = sum(asked.values())
    return {"score": sum(right.values()) / total, "n": total, "by_distance": rows}


def wilson(right: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927).

    Example:
        >>> [round(x, 3) for x in wilson(5, 10)]
        [0.237, 0.763]
    """
    centre = (right + Z**2 / 2) / (n + Z**2)
    half = Z * math.sqrt(right * (n - right) / n + Z**2 / 4) / (n + Z**2)
    return centre - half, centre + half


MAX_K = 4
TRAINING_SEQUENCES = 600
PENALTY = 0.01
Predictor = Callable[[PairExample], NDArray[np.int64]]


def baselines_job(settings: Mapping[str, Any]) -> dict:
    """Return rows of every predictor on the longest sequences of each part."""
    rows: list[dict] = []
    for part, tokens in settings["tokens"].items():
        source = source_of(part, is_test=True)
        if isinstance(source, HiddenWords):
            bits = kmer_frequencies(source, tokens, settings["test_sequences"])
            rows.append({"part": part, "predictor": "word frequencies", "bits_per_base": bits})
            continue
        rng = np.random.default_rng(TEST_SEED)
        examples = [
            source.task.draw(tokens, source.distances, rng)
            for _ in range(settings["test_sequences"])
        ]
        predictors = {"nearest value": lambda x, task=source.task: nearest_value(task, x)}
        if part != "text":
            predictors["k-mer counts"] = kmer_predictor(source_of(part, is_test=False), tokens)
        for name, predict in predictors.items():
            rows.append({"part": part, "predictor": name, "by_distance": count(predict, examples)})
    return {"rows": rows}


def kmer_frequencies(test: HiddenWords, tokens: int, sequences: int) -> list[float]:
    """Return the bits per base of each test sequence by how often each word is in the training DNA."""
    counts = 1.0 + np.bincount(dna_words(is_test=False), minlength=test.vocabulary - 1)
    bits_of_word = -np.log2(counts / counts.sum()) / WORD_BP
    rng = np.random.default_rng(TEST_SEED)
    batches = (test.draw(1, tokens, rng) for _ in range(sequences))
    return [float(bits_of_word[batch.answers_P.numpy()].mean()) for batch in batches]


def count(predict: Predictor, examples: Sequence[PairExample]) -> list[dict]:
    """Return right answers and questions for each distance."""
    distances = np.concatenate([example.distances_Q for example in examples])
    right = np.concatenate([predict(example) == example.answers_Q for example in examples])
    by_distance = {int(d): right[distances == d] for d in np.unique(distances)}
    return [{"distance": d, "right": int(x.sum()), "n": len(x)} for d, x in by_distance.items()]


def nearest_value(task: PairTask, example: PairExample) -> NDArray[np.int64]:
    """Answer with the value that is nearest to the question, of any key; questions are hidden."""
    tokens_T = example.asked(-1)
    where = np.flatnonzero(np.isin(tokens_T, task.values))
    nearest = [where[np.abs(where - position).argmin()] for position in example.positions_Q]
    return np.array([task.values.index(int(tokens_T[position])) for position in nearest])


def kmer_predictor(source: Pairs, tokens: int) -> Predictor:
    """Return a logistic regression on all k-mers of up to 4 bases, with weights of its own for each key."""
    rng = np.random.default_rng(0)
    task = source.task
    examples = [task.draw(tokens, source.distances, rng) for _ in range(TRAINING_SEQUENCES)]
    features = np.concatenate([_features(task, example) for example in examples])
    mean, scale = features.mean(0), features.std(0) + 1e-9
    answers = np.concatenate([example.answers_Q for example in examples])
    fitted = RidgeLogistic((features - mean) / scale).fit(answers[:, None].astype(float), PENALTY)

    def predict(example: PairExample) -> NDArray[np.int64]:
        x = (_features(task, example) - mean) / scale
        return (x @ fitted[:-1, 0] + fitted[-1, 0] > 0).astype(np.int64)

    return predict


def kmer_counts(sequence: str) -> NDArray[np.float64]:
    """Return the counts of all k-mers of 1 to 4 bases."""
    codes = np.frombuffer(sequence.encode(), dtype=np.uint8)
    codes = np.searchsorted(np.frombuffer(b"ACGT", dtype=np.uint8), codes)
    counts = []
    for k in range(1, MAX_K + 1):
        windows = np.lib.stride_tricks.sliding_window_view(codes, k)
        counts.append(np.bincount(windows @ 4 ** np.arange(k - 1, -1, -1), minlength=4**k))
    return np.concatenate(counts).astype(np.float64)


def _features(task: PairTask, example: PairExample) -> NDArray[np.float64]:
    """Return (questions, keys × k-mers): counts without hidden values, for the key asked."""
    shown = [word_text(word) for word in example.asked(-1).tolist() if word >= 0]
    counts = kmer_counts("".join(shown))
    key_offset = task.site.index(KEY) - task.site.index(VALUE)
    features = np.zeros((len(example.positions_Q), len(task.keys), len(counts)))
    for row, position in enumerate(example.positions_Q):
        key = task.keys.index(int(example.tokens_T[position + key_offset]))
        features[row, key] = counts
    return features.reshape(len(features), -1)
