"""Hidden sentences of text: what the context says of them, and what their length does.

    python experiments/2026-11-etc/etc_hidden_text.py --model models/etc-text --validation held_out.jsonl

Sentences of held-out documents are hidden one at a time, and the model finds each again among those of
`--targets` packs of documents. Two ways to put the sentences into groups: all of one length (tokens), or at
random, where the number of masked tokens gives a part of them away. In the control the true sentence is
replaced by one of another pack with the same length, so only the length is left. Next to the model: the same
encoder with fresh weights, and the choice by the length alone. Intervals: bootstrap over groups.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import torch
from etc_hidden_sentences import REPLICATES, right
from numpy.typing import NDArray

from dna_bigbird import load_bundle
from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.corpus.batches import pad_right, padding_of
from dna_bigbird.corpus.hidden_sentence_examples import ends_of_sentences, sentences_of_text
from dna_bigbird.metrics.bootstrap import draw_units, percentile_interval
from dna_bigbird.models.pretraining_model import HiddenSentences, PretrainingModel
from dna_bigbird.text.data.store import text_store
from dna_bigbird.text.tasks.mlm import MaskedTextExamples
from dna_bigbird.text.whole_words import TextMaskingConfig

# n gaps, N of a group, E hidden size
LENGTHS = range(5, 65)
"""Tokens of the sentences that are hidden."""


class Gap(NamedTuple):
    """A hidden sentence: its pack of documents, tokens of the pack, sentence of each token, its number."""

    pack: int
    ids: NDArray[np.int64]
    sentences: NDArray[np.int64]
    number: int

    @property
    def length(self) -> int:
        """Tokens of the sentence."""
        return int((self.sentences == self.number).sum())


def all_gaps(bundle: Bundle, corpus: Path) -> list[Gap]:
    """Return every sentence of a corpus that may be hidden."""
    with TemporaryDirectory() as folder:
        store = text_store(corpus, bundle.tokenizer, Path(folder) / "tokens.h5", verify=False)
        longest = bundle.config.encoder.max_tokens
        examples = MaskedTextExamples(
            store, bundle.tokenizer, longest, TextMaskingConfig(), 0, in_order=True
        )
        ends = ends_of_sentences(bundle.tokenizer.pieces)
        gaps = []
        for pack in range(examples.examples_per_epoch):
            ids, is_text = examples.unmasked(pack)
            sentences = sentences_of_text(ids, is_text, ends)
            gaps += [Gap(pack, ids, sentences, s) for s in range(sentences.max(initial=-1) + 1)]
    return [gap for gap in gaps if gap.length in LENGTHS]


def in_groups(order: Iterable[int], packs: list[int], size: int) -> list[list[int]]:
    """Put gaps into groups of different packs; a group that does not fill is left out."""
    full, growing = [], []
    for gap in order:
        group = next((g for g in growing if packs[gap] not in [packs[i] for i in g]), None)
        if group is None:
            group = []
            growing.append(group)
        group.append(gap)
        if len(group) == size:
            growing.remove(group)
            full.append(group)
    return full


def vectors(model: PretrainingModel, gaps: list[Gap], mask_id: int) -> tuple[NDArray, NDArray]:
    """Return contexts and targets of gaps, each hidden alone: (n, E) twice."""
    parts = []
    for start in range(0, len(gaps), 32):
        batch = gaps[start : start + 32]
        hidden = [np.where(gap.sentences == gap.number, mask_id, gap.ids) for gap in batch]
        originals = [gap.ids[gap.sentences == gap.number] for gap in batch]
        fields = HiddenSentences(
            pad_right([gap.sentences for gap in batch], -1),
            torch.arange(len(batch)),
            torch.tensor([gap.number for gap in batch]),
            pad_right(originals, 0),
            padding_of(originals),
            pad_right(hidden, 0),
        )
        is_padding = padding_of(hidden)
        with torch.inference_mode():
            tokens = fields.global_tokens(is_padding)
            encoder = model.eval().encoder
            _, states = encoder.both(fields.hidden_ids_BT, is_padding, global_tokens=tokens)
            parts.append(model.cpc(encoder, states, fields))
    return tuple(torch.cat(part).numpy() for part in zip(*parts, strict=True))


def share(hits: list[NDArray]) -> str:
    """Return the share of hits (groups of them) with its interval."""
    sums, sizes = (np.array([x.sum() if f else len(x) for x in hits]) for f in (1, 0))
    times = draw_units(len(hits), replicates=REPLICATES, seed=0).times.astype(float)
    low, high = percentile_interval(sums @ times / (sizes @ times))
    return f"{sums.sum() / sizes.sum():.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", type=Path, nargs="+", required=True, help="pretrained bundles")
    parser.add_argument("--validation", type=Path, required=True, help="held-out documents")
    parser.add_argument("--targets", type=int, default=8)
    arguments = parser.parse_args()
    print(f"chance {1 / arguments.targets:.4f}")
    print("| model | sentences | right | the length is left | fresh weights | by length | n |")
    print("|---|---|---|---|---|---|---|")
    for folder in arguments.model:
        bundle = load_bundle(folder)
        gaps = all_gaps(bundle, arguments.validation)
        rng = np.random.default_rng(0)
        packs, lengths = [gap.pack for gap in gaps], np.array([gap.length for gap in gaps])
        equal = [
            group
            for length in LENGTHS
            for group in in_groups(
                rng.permutation(np.flatnonzero(lengths == length)), packs, arguments.targets
            )
        ]
        partner = {i: group[j - 1] for group in equal for j, i in enumerate(group)}
        mixed = in_groups(rng.permutation(sorted(partner)), packs, arguments.targets)
        mask_id = bundle.tokenizer.mask_id
        fresh = PretrainingModel(bundle.config.encoder, seed=1, heads=bundle.model.heads)
        contexts, targets = vectors(bundle.model, gaps, mask_id)
        untrained = vectors(fresh, gaps, mask_id)
        own = np.arange(arguments.targets)
        for name, groups in (("one length", equal), ("their own lengths", mixed)):
            others = [[partner[i] for i in group] for group in groups]
            pairs = list(zip(groups, others, strict=True))
            columns = [
                [right(contexts[g], targets[g], own) for g in groups],
                [right(contexts[g], targets[o], own) for g, o in pairs],
                [right(untrained[0][g], untrained[1][g], own) for g in groups],
                [1 / (lengths[g] == lengths[g][:, None]).sum(axis=1) for g in groups],
            ]
            cells = " | ".join(share(column) for column in columns)
            print(f"| {folder.name} | {name} | {cells} | {sum(map(len, groups))} |", flush=True)


if __name__ == "__main__":
    main()
