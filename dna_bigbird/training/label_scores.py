"""Probabilities of a network for rows of a labelled set, as `evaluate` gives them for a bundle."""

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dna_bigbird.corpus.batches import PAD_ID, pad_right, padding_of

# B batch, T tokens, L labels


class TokenizedWindows(Protocol):
    """What is needed of labelled.tokenized.TokenizedRows."""

    def __len__(self) -> int: ...

    def ids(self, index: int, strand: str = "+") -> np.ndarray: ...


def mean_over_strands(
    model: nn.Module,
    rows: TokenizedWindows,
    *,
    strands: str = "+-",
    batch_size: int = 64,
    progress: Callable[[Iterable], Iterable] = iter,
    activation: Callable[[Tensor], Tensor] = torch.sigmoid,
) -> NDArray[np.float32]:
    """Return each window's mean probabilities over the strands it is read on, (n, L)."""
    # In float32, on a GPU if there is one; the model is left in evaluation mode on the CPU.
    # `activation` maps outputs (B, L) in float64 to probabilities or targets.
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = model.to(device).eval()
    parts = []
    for first in progress(range(0, len(rows), batch_size)):
        indices = range(first, min(first + batch_size, len(rows)))
        by_strand = [
            _probabilities(model, [rows.ids(i, s) for i in indices], device, activation)
            for s in strands
        ]
        parts.append(np.mean(by_strand, axis=0))
    model.cpu()
    return np.concatenate(parts).astype(np.float32)


@torch.inference_mode()
def _probabilities(
    model: nn.Module,
    ids: list[np.ndarray],
    device: torch.device,
    activation: Callable[[Tensor], Tensor],
) -> NDArray[np.float64]:
    logits_BL = model(pad_right(ids, PAD_ID).to(device), padding_of(ids).to(device))
    return activation(logits_BL.double()).cpu().numpy()
