"""Runs a bundle on DNA: tokens of each distinct sequence, in parts where they exceed the context."""

# B batch, T tokens

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.inference.batches import padded
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.engine import Engine

Groups = Sequence[Sequence[str]]
"""Normalised sequences; those of a group belong together (strands, alleles) and are cut into equally many parts."""


class Plan(NamedTuple):
    """What has to be computed for some groups."""

    parts: list[list[str]]
    """The parts of every sequence of every group, in order."""
    tokens: dict[str, NDArray[np.int64]]
    """Token ids of every part, each text once; none of a part without any A, C, G or T."""
    num_split: int
    """Groups that were cut into parts."""


class BundleRunner:
    """One bundle, ready to compute.

    Args:
        compute: With a `precision` that is not 'auto'.

    Attributes:
        max_pieces: Most tokens of a sequence, without [CLS] and [SEP].
    """

    def __init__(self, bundle: Bundle, compute: Compute, device: torch.device) -> None:
        self._engine = Engine(bundle, compute, device)
        self.model = self._engine.model
        self.tokenizer = bundle.tokenizer
        self.max_pieces = bundle.config.encoder.max_tokens - 2

    def plan(self, groups: Groups) -> Plan:
        """Return the parts of all sequences; what fits the context is one part."""
        texts = list(dict.fromkeys(text for group in groups for text in group if text.strip("N")))
        tokens = dict(zip(texts, self._encode(texts), strict=True))
        parts: list[list[str]] = []
        num_split = 0
        for group in groups:
            longest = max((len(tokens[text]) for text in group if text in tokens), default=0)
            if longest <= self.max_pieces:
                parts += [[text] for text in group]
            else:
                parts += self._cut(group, tokens, longest)
                num_split += 1
        distinct = dict.fromkeys(itertools.chain.from_iterable(parts))
        return Plan(parts, {text: tokens[text] for text in distinct if text in tokens}, num_split)

    def _encode(self, texts: list[str]) -> list[np.ndarray]:
        # With one thread, many processors would wait for the tokens of a small model.
        return self.tokenizer.encode_all(texts, num_threads=torch.get_num_threads())

    def _cut(
        self, group: Sequence[str], tokens: dict[str, np.ndarray], longest: int
    ) -> list[list[str]]:
        """Cut the sequences of a group into as few equal parts as fit, each into as many.

        The tokens of the parts are added to `tokens`.
        """
        count = -(-longest // self.max_pieces)
        while True:
            cut = [equal_parts(text, count) for text in group]
            real = {part for parts in cut for part in parts if part.strip("N")}
            new = list(real - tokens.keys())
            tokens.update(zip(new, self._encode(new), strict=True))
            if all(len(tokens[part]) <= self.max_pieces for part in real):
                return cut
            count += max(1, count // 20)

    def run(
        self, encoded: Sequence[np.ndarray], forward: Callable[[Tensor, Tensor], Tensor]
    ) -> Iterator[tuple[list[int], list[np.ndarray]]]:
        """Compute sequences of token ids that fit the context, batch by batch.

        Args:
            forward: Of token ids (B, T) and where padding is (B, T), to one row per sequence (B, …).

        Yields:
            Positions in `encoded`, and their rows.

        Raises:
            InputError: If a sequence alone does not fit into the memory.
        """
        return self._engine.run(
            [len(ids) + 2 for ids in encoded],
            lambda positions: padded([encoded[i] for i in positions], self.tokenizer),
            lambda batch: list(forward(*batch).cpu().numpy()),
        )


def equal_parts(text: str, count: int) -> list[str]:
    """Cut a text into parts whose lengths differ by at most one.

    Example:
        >>> equal_parts("AACCGGT", 3)
        ['AA', 'CCG', 'GT']
    """
    # Rounded, not cut off: the parts of the other strand are then the same bases, if the length is even.
    edges = np.rint(np.linspace(0, len(text), count + 1)).astype(int)
    return [text[a:b] for a, b in itertools.pairwise(edges)]
