"""Sequences to logits, in one process."""

# S sequences, L labels, B batch, T tokens

import contextlib
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.errors import InputError
from dna_bigbird.inference.batches import batches_of, padded, token_budget
from dna_bigbird.inference.bundle import Bundle
from dna_bigbird.inference.compute import Compute
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.ensemble import logit_of_mean
from dna_bigbird.models.precision import BFLOAT16, float32_matmul

CPU_BACKENDS = ("merged", "native")

Groups = Sequence[Sequence[str]]
"""Normalised sequences; those of a group belong together (strands, alleles) and are cut alike."""


class BundleRunner:
    """One bundle, ready to compute; a subclass says what of it (`width`, `_forward`).

    Args:
        precision: '32-true' or 'bf16-mixed'.

    Raises:
        InputError: If the backend cannot compute this model on this device.
    """

    width: int
    """Numbers in the row of a sequence."""

    def __init__(self, bundle: Bundle, compute: Compute, precision: str, device: torch.device):
        if device.type != "cpu" and compute.backend in CPU_BACKENDS:
            raise InputError(
                f"--backend {compute.backend} computes on a CPU, not on {device.type}; leave it "
                "out, or add --device cpu"
            )
        self.tokenizer, self.compute = bundle.tokenizer, compute
        self.precision, self.device = precision, device
        self.model = bundle.model.to(device).eval()
        for module in self.model.modules():  # an ensemble has several encoders
            if isinstance(module, Encoder):
                module.set_backend(compute.backend)
        self.config = EncoderConfig(**bundle.config["encoder"])
        self.max_pieces = self.config.max_tokens - 2  # [CLS] and [SEP]
        self.most_tokens = token_budget(self.config, device)
        self.num_split = 0

    def _plan(self, groups: Groups) -> tuple[list[list[str]], dict[str, np.ndarray]]:
        """Return the parts of every sequence in order, and the token ids of every part once.

        A part without any A, C, G or T has no token ids.
        """
        texts = dict.fromkeys(text for group in groups for text in group if text.strip("N"))
        tokens = dict(zip(texts, self.tokenizer.encode_all(list(texts)), strict=True))
        parts = [part for group in groups for part in self._parts(group, tokens)]
        needed = dict.fromkeys(itertools.chain.from_iterable(parts))
        return parts, {text: tokens[text] for text in needed if text in tokens}

    def _parts(self, group: Sequence[str], tokens: dict[str, np.ndarray]) -> list[list[str]]:
        """Cut the sequences of a group into the fewest equal parts whose tokens fit, never cutting one alone.

        `tokens` gets those of the parts.
        """
        real = [text for text in group if text in tokens]
        most = max((len(tokens[text]) for text in real), default=0)
        if most <= self.max_pieces:
            return [[text] for text in group]
        count = -(-most // self.max_pieces)
        while True:
            cut = [equal_parts(text, count) for text in group]
            new = list({p for parts in cut for p in parts if p.strip("N")} - tokens.keys())
            tokens.update(zip(new, self.tokenizer.encode_all(new), strict=True))
            kept = [part for parts in cut for part in parts if part in tokens]
            if all(len(tokens[part]) <= self.max_pieces for part in kept):
                self.num_split += 1
                return cut
            count += max(1, count // 20)

    def _compute(self, encoded: list[np.ndarray]) -> np.ndarray:
        """Return one row (R, width), float64, for the ids of each sequence; they fit the context."""
        found = np.empty((len(encoded), self.width))
        for batch, rows in self._batches(encoded):
            found[batch] = rows
        return found

    def _batches(self, encoded: list[np.ndarray]) -> Iterator[tuple[list[int], list[np.ndarray]]]:
        """Compute batch by batch; yield places in `encoded` and what `_forward` gave for each."""
        lengths = [len(ids) + 2 for ids in encoded]
        # Such a pattern follows the width of the batch: equal widths, or neighbours would matter.
        same = self.config.block_size if self.config.keeps_published_padding else 0
        for batch in batches_of(
            lengths,
            tokens=self.most_tokens,
            batch_size=self.compute.batch_size,
            same_blocks=same,
        ):
            yield batch, self._batch([encoded[i] for i in batch])

    def _forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return what is wanted of a batch, one row a sequence."""
        raise NotImplementedError

    def _batch(self, encoded: list[np.ndarray]) -> list[np.ndarray]:
        """Compute one batch; in halves if the memory is too small for it."""
        try:
            token_ids_BT, is_padding_BT = padded(encoded, self.tokenizer)
            with torch.inference_mode(), self._arithmetic():
                found = self._forward(token_ids_BT.to(self.device), is_padding_BT.to(self.device))
            return list(found.cpu().numpy())
        except torch.OutOfMemoryError:
            if len(encoded) == 1:
                raise InputError(
                    f"a window of {len(encoded[0])} tokens does not fit into the memory of "
                    f"{self.device}; use --device cpu"
                ) from None
        torch.cuda.empty_cache()
        half = len(encoded) // 2
        self.most_tokens = max(self.most_tokens // 2, 1)
        return [*self._batch(encoded[:half]), *self._batch(encoded[half:])]

    @contextlib.contextmanager
    def _arithmetic(self) -> Iterator[None]:
        enabled = self.precision == BFLOAT16
        with (
            float32_matmul(self.compute.float32_matmul),
            torch.autocast(self.device.type, torch.bfloat16, enabled=enabled),
        ):
            yield


class BundleScorer(BundleRunner):
    """Computes the logits of a bundle with a label head."""

    def __init__(self, bundle: Bundle, compute: Compute, precision: str, device: torch.device):
        super().__init__(bundle, compute, precision, device)
        self.width = len(bundle.config["label_names"])

    def logits(self, groups: Groups) -> np.ndarray:
        """Return the logits (S, L), float64, of all sequences of all groups in order.

        A text that occurs several times is computed once. Without any A, C, G or T it has NaN.
        """
        parts, tokens = self._plan(groups)
        found_RL = self._compute(list(tokens.values()))
        places = {text: row for row, text in enumerate(tokens)}
        result_SL = np.full((len(parts), self.width), np.nan)
        for row, texts in enumerate(parts):
            rows = [places[text] for text in texts if text in places]
            if len(rows) == 1:
                result_SL[row] = found_RL[rows[0]]
            elif rows:
                result_SL[row] = logit_of_mean(torch.from_numpy(found_RL[rows])).numpy()
        return result_SL

    def _forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        return self.model(token_ids_BT, is_padding_BT).double()


def equal_parts(text: str, count: int) -> list[str]:
    """Cut a text into parts whose lengths differ by at most one.

    Example:
        >>> equal_parts("AACCGGT", 3)
        ['AA', 'CCG', 'GT']
    """
    # Rounded, not cut off: the parts of the other strand are then the same bases, if the length is even.
    edges = np.rint(np.linspace(0, len(text), count + 1)).astype(int)
    return [text[a:b] for a, b in itertools.pairwise(edges)]
