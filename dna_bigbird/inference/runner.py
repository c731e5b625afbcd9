"""What all that run a bundle share: cutting what is too long, batches, arithmetic, memory."""

# B batch, T tokens

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.errors import InputError
from dna_bigbird.inference.batches import batches_of, padded, token_budget
from dna_bigbird.inference.compute import Compute
from dna_bigbird.models.precision import BFLOAT16, float32_matmul

Groups = Sequence[Sequence[str]]
"""Normalised sequences; those of a group belong together (strands, alleles) and are cut alike."""


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
        max_pieces: Most tokens a sequence can have, [CLS] and [SEP] not counted.
    """

    def __init__(self, bundle: Bundle, compute: Compute, device: torch.device) -> None:
        self.model = bundle.model.to(device).eval()
        self.tokenizer = bundle.tokenizer
        self._compute, self._device = compute, device
        config = bundle.config.encoder
        self.max_pieces = config.max_tokens - 2
        self._most_tokens = token_budget(config, device)
        # Such a pattern follows the width of the batch: equal widths, or neighbours would matter.
        self._same_blocks = config.block_size if config.keeps_published_padding else 0

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
        wanted = dict.fromkeys(itertools.chain.from_iterable(parts))
        return Plan(parts, {text: tokens[text] for text in wanted if text in tokens}, num_split)

    def _encode(self, texts: list[str]) -> list[np.ndarray]:
        # With one thread many processors would wait for the tokens of a small model.
        return self.tokenizer.encode_all(texts, num_threads=torch.get_num_threads())

    def _cut(
        self, group: Sequence[str], tokens: dict[str, np.ndarray], longest: int
    ) -> list[list[str]]:
        """Cut the sequences of a group into as few equal parts as fit, each into as many.

        `tokens` gets those of the parts.
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
            forward: Of token ids (B, T) and where padding is (B, T), to one row a sequence (B, …).

        Yields:
            Places in `encoded`, and their rows.

        Raises:
            InputError: If a sequence alone does not fit into the memory.
        """
        for batch in batches_of(
            [len(ids) + 2 for ids in encoded],
            tokens=self._most_tokens,
            batch_size=self._compute.batch_size,
            same_blocks=self._same_blocks,
        ):
            yield batch, self._batch([encoded[i] for i in batch], forward)

    def _batch(
        self, encoded: Sequence[np.ndarray], forward: Callable[[Tensor, Tensor], Tensor]
    ) -> list[np.ndarray]:
        """Compute one batch; in halves if the memory is too small for it."""
        try:
            token_ids_BT, is_padding_BT = padded(encoded, self.tokenizer)
            with torch.inference_mode(), self._arithmetic():
                found = forward(token_ids_BT.to(self._device), is_padding_BT.to(self._device))
            return list(found.cpu().numpy())
        except torch.OutOfMemoryError:
            if len(encoded) == 1:
                raise InputError(
                    f"a sequence of {len(encoded[0])} tokens does not fit into the memory of "
                    f"{self._device}; use shorter windows, or compute on the CPU"
                ) from None
        torch.cuda.empty_cache()
        half = len(encoded) // 2
        self._most_tokens = max(self._most_tokens // 2, 1)
        return [*self._batch(encoded[:half], forward), *self._batch(encoded[half:], forward)]

    @contextlib.contextmanager
    def _arithmetic(self) -> Iterator[None]:
        enabled = self._compute.precision == BFLOAT16
        with (
            float32_matmul(self._compute.float32_matmul),
            torch.autocast(self._device.type, torch.bfloat16, enabled=enabled),
        ):
            yield


def equal_parts(text: str, count: int) -> list[str]:
    """Cut a text into parts whose lengths differ by at most one.

    Example:
        >>> equal_parts("AACCGGT", 3)
        ['AA', 'CCG', 'GT']
    """
    # Rounded, not cut off: the parts of the other strand are then the same bases, if the length is even.
    edges = np.rint(np.linspace(0, len(text), count + 1)).astype(int)
    return [text[a:b] for a, b in itertools.pairwise(edges)]
