"""Hidden sentences of a BigBird-ETC model: how often the context tells the true one from the others.

    python experiments/2026-11-etc/etc_hidden_sentences.py --model results/trained/pretrained --test results/corpus/test.h5

One sentence of each held-out example is hidden, and its true tokens are found again among those of
`--targets` examples. Next to the model: chance, the same encoder with fresh weights, and the sentence whose
counts of words of 1 to 4 bases are closest (cosine, less the mean) to those of the tokens around the gap. The
control gives each gap the sentence of another example as its own. All sentences have the same number of
tokens. Intervals: bootstrap over groups of targets.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import torch

from dna_bigbird import load_bundle
from dna_bigbird.corpus.hidden_sentence_examples import (
    HiddenSentenceExamples,
    collate_hidden_sentences,
)
from dna_bigbird.corpus.masking import PAPER
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.metrics.bootstrap import draw_units, percentile_interval
from dna_bigbird.models.pretraining_model import HiddenSentences, PretrainingModel
from dna_bigbird.training.objective_config import CpcConfig

WORDS = [w for k in range(1, 5) for w in map("".join, product("ACGT", repeat=k))]
REPLICATES = 2000


def vectors(model: PretrainingModel, batch) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts and targets of a batch, (S, E) twice."""
    hidden = HiddenSentences.of(batch)
    with torch.inference_mode():
        _, pair = model.eval()(
            batch.token_ids_BT,
            batch.is_padding_BT,
            batch.segment_ids_BT,
            batch.positions_P,
            hidden=hidden,
        )
    return tuple(x.numpy() for x in pair)


def word_counts(texts: list[str]) -> np.ndarray:
    """Return how often each word occurs, words of each length as shares, less the mean of all texts."""
    counts = np.array(
        [[sum(t.startswith(w, i) for i in range(len(t))) / len(t) for w in WORDS] for t in texts]
    )
    return counts - counts.mean(axis=0)


def by_words(batch, tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """Return unit vectors of word counts: of the shown neighbours of each gap, and of the sentences."""
    letters = np.array([p if set(p) <= set("ACGT") else "" for p in tokenizer.pieces], dtype=object)
    around, targets = [], []
    for row, number, ids in zip(batch.rows_S, batch.numbers_S, batch.sentence_ids_SU, strict=True):
        near = (batch.sentences_BT[row] - number).abs() == 1
        around.append("".join(letters[batch.hidden_ids_BT[row][near]]))
        targets.append("".join(letters[ids]))
    return tuple(
        x / np.linalg.norm(x, axis=1, keepdims=True) for x in map(word_counts, (around, targets))
    )


def right(contexts: np.ndarray, targets: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return which gaps have their own sentence as the most similar one."""
    return (contexts @ targets.T).argmax(axis=1) == own


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path, nargs="+", required=True, help="pretrained bundles")
    parser.add_argument("--test", type=Path, required=True, help="token store")
    parser.add_argument("--groups", type=int, default=24)
    parser.add_argument("--targets", type=int, default=16)
    arguments = parser.parse_args()
    print(f"| model | right, of {arguments.targets} | fresh weights | words around | control | n |")
    print("|---|---|---|---|---|---|")
    for folder in arguments.model:
        bundle = load_bundle(folder)
        encoder = bundle.config.encoder
        store = TokenStore(arguments.test)
        plain = PretrainExamples(
            store, bundle.tokenizer, encoder.max_tokens, PAPER, 1, random_second=False
        )
        single = CpcConfig(sentence_share=1e-6)  # at least one is hidden
        size = encoder.etc.tokens_per_global
        examples = HiddenSentenceExamples(plain, size, single, keeps_masks=True)
        fresh = PretrainingModel(encoder, seed=1, heads=bundle.model.heads)
        hits: dict[str, list[np.ndarray]] = {"model": [], "fresh": [], "words": [], "control": []}
        N = arguments.targets
        for group in range(arguments.groups):
            numbered = [(i, examples[i]) for i in range(N * group, N * (group + 1))]
            batch = collate_hidden_sentences(numbered)
            own = np.arange(len(batch.rows_S))
            pairs = vectors(bundle.model, batch)
            hits["model"].append(right(*pairs, own))
            hits["control"].append(right(*pairs, np.roll(own, 1)))
            hits["fresh"].append(right(*vectors(fresh, batch), own))
            hits["words"].append(right(*by_words(batch, bundle.tokenizer), own))
        sizes = np.array([len(x) for x in hits["model"]])
        times = draw_units(arguments.groups, replicates=REPLICATES, seed=0).times.astype(float)
        cells = []
        for name in ("model", "fresh", "words", "control"):
            sums = np.array([x.sum() for x in hits[name]])
            low, high = percentile_interval(sums @ times / (sizes @ times))
            cells.append(f"{sums.sum() / sizes.sum():.3f} [{low:.3f}, {high:.3f}]")
        print(f"| {folder.name} | {' | '.join(cells)} | {sizes.sum()} |", flush=True)


if __name__ == "__main__":
    main()
