"""Gradients of the log odds at the embeddings of the tokens, and what they add up to."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dna_bigbird.genome.kmer_numbers import (
    PART_K,
    canonical_kmers,
    num_positional,
    part_of_starts,
)
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.kmer_head import CODES, N_CODE, KmerHead, num_kmers

# Gradients of a transformer whose attention weights and norms count as constants.
#
# Ali et al. 2022 (arXiv 2202.07304): a gradient that also runs through the attention weights and the divisors of
# the norms is noisy, and gradient × input does not add up to the output. Held constant, both are linear maps.

QUERIES_KEYS_VALUES = ("qkv", "global_qkv")
"""Names of the projections whose output is queries, keys and values, one after the other."""


@contextlib.contextmanager
def constant_weights(model: nn.Module) -> Iterator[None]:
    """Let gradients of a model run through values and residuals only; outputs stay the same."""
    hooks = []
    for name, module in model.named_modules():
        if name.rpartition(".")[2] in QUERIES_KEYS_VALUES:
            hooks.append(module.register_forward_hook(_values_only))
        elif isinstance(module, nn.LayerNorm):
            hooks.append(module.register_forward_hook(_constant_divisor))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _values_only(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
    """Return the same projection with queries and keys as constants."""
    queries, keys, values = output.chunk(3, dim=-1)
    return torch.cat([queries.detach(), keys.detach(), values], dim=-1)


def _constant_divisor(module: nn.LayerNorm, inputs: tuple[Tensor], output: Tensor) -> Tensor:
    """Return the same norm with its divisor as a constant."""
    (x,) = inputs
    centred = x - x.mean(-1, keepdim=True)
    divisor = (x.var(-1, correction=0, keepdim=True) + module.eps).sqrt().detach()
    return centred / divisor * module.weight + module.bias


# What each base adds to the logits of a model that counts k-mers, exactly.

# S bases, L labels, D k-mers


def kmer_effects(part: KmerHead, bases: str) -> tuple[NDArray, NDArray, NDArray]:
    """Return what k-mers add to the logits: by base (S, L), of A C G T (S, 4, L), in sum (L,)."""
    # The logits are linear in the shares of k-mers. A k-mer adds its weight over the number of
    # counted ones, minus the mean weight of its length (random DNA); its bases share it equally.
    # They are linear in the bases of positions, too, and in the counts of 3-mers in parts.
    config = part.counts.config
    weights_LD = part.linear.weight.detach().double().cpu().numpy()
    codes_S = np.array([CODES.get(base, N_CODE) for base in bases])
    S, L = len(bases), len(weights_LD)
    effects_SL, of_bases_S4L = np.zeros((S, L)), np.zeros((S, 4, L))
    regions = [(0, S)]
    if centre_bp := config.centre_bp:
        start = max((S - centre_bp) // 2, 0)
        regions.append((start, min(start + centre_bp, S)))
    first = 0
    for start, end in regions:
        for k in range(1, config.max_k + 1):
            size = num_kmers(k, together=config.together)
            weights_DL = weights_LD[:, first : first + size].T
            first += size
            if config.together:
                weights_DL = weights_DL[canonical_kmers(k)]
            region = codes_S[start:end], effects_SL[start:end], of_bases_S4L[start:end]
            _add_kmers(k, weights_DL, *region, shares=True)
    weights_DL = weights_LD[:, first:].T
    _add_positions(weights_DL, config.positions, codes_S, effects_SL, of_bases_S4L)
    return effects_SL, of_bases_S4L, effects_SL.sum(axis=0)


def _add_positions(
    weights_DL: NDArray, window_bp: int, codes_S: NDArray, effects_SL: NDArray, of_bases: NDArray
) -> None:
    """Add the effects of the base at each position, and of the 3-mers in each part."""
    one_hot, _ = num_positional(window_bp)
    S = min(len(codes_S), window_bp)
    if one_hot:
        weights_S4L = weights_DL[:one_hot].reshape(window_bp, 4, -1)[:S]
        away_S4L = weights_S4L - weights_S4L.mean(axis=1, keepdims=True)
        of_bases[:S] += away_S4L
        known = np.flatnonzero(codes_S[:S] < N_CODE)
        effects_SL[known] += away_S4L[known, codes_S[known]]
    parts = part_of_starts(window_bp)[: max(S - PART_K + 1, 0)]
    size = 4**PART_K
    for part in np.unique(parts):
        starts = np.flatnonzero(parts == part)
        at = slice(starts[0], starts[-1] + PART_K)
        weights = weights_DL[one_hot + part * size : one_hot + (part + 1) * size]
        _add_kmers(PART_K, weights, codes_S[at], effects_SL[at], of_bases[at], shares=False)


def _add_kmers(
    k: int,
    weights_DL: NDArray,
    codes: NDArray,
    effects_SL: NDArray,
    of_bases_S4L: NDArray,
    *,
    shares: bool,
) -> None:
    """Add the effects of the k-mers of one length, of their shares or counts, to those of the bases."""
    away_DL = weights_DL - weights_DL.mean(axis=0)
    last = len(codes) - k + 1
    if last < 1:
        return
    windows = np.lib.stride_tricks.sliding_window_view(codes, k)
    is_counted = (windows < N_CODE).all(axis=1)
    count = is_counted.sum() if shares else 1
    if not count:
        return
    digits = 4 ** np.arange(k - 1, -1, -1)
    kmers = np.where(windows < N_CODE, windows, 0) @ digits
    for offset in range(k):
        without = (
            kmers - np.where(windows[:, offset] < N_CODE, windows[:, offset], 0) * digits[offset]
        )
        for base in range(4):
            with_base = away_DL[without + base * digits[offset]] * is_counted[:, None]
            of_bases_S4L[offset : offset + last, base] += with_base / (count * k)
    each = away_DL[kmers] * is_counted[:, None] / (count * k)
    for offset in range(k):
        effects_SL[offset : offset + last] += each


# B batch, T tokens, E hidden size, L labels, C candidates of a token


Values = Callable[[Tensor], Tensor]
"""Outputs of a classifier (B, …) to the log odds of the chosen labels, or targets, (B, L)."""


@dataclass(frozen=True)
class TokenEffects:
    """What the tokens of a batch add to log odds."""

    effects: Tensor
    """(B, T, L) float64: of the tokens as they are; 0 for padding and special tokens."""
    of_candidates: Tensor
    """(B, T, C, L) float64: of each candidate in place of the token."""
    logits: Tensor
    """(B, L) of the sequence."""
    reference_logits: Tensor
    """(B, L) with the reference vector in place of every token."""


@dataclass(frozen=True)
class VectorGradients:
    """Gradients of a classifier at its token embeddings."""

    # The effect of a token is g · (v - r): the gradient g at its vector v, the reference vector r.
    # Integrated gradients (Sundararajan et al. 2017, arXiv 1703.01365) take for g the mean of the
    # gradients on the line from r to v, so the effects of all tokens add up to the difference of
    # the log odds.

    model: SequenceClassifier
    values: Values
    reference: Tensor
    candidates: Tensor

    def gradient(
        self, token_ids_BT: Tensor, is_padding_BT: Tensor, is_word_BT: Tensor
    ) -> TokenEffects:
        """Return the effects by the gradient at the sequence; `is_word_BT`: tokens of DNA."""
        return self._effects(token_ids_BT, is_padding_BT, is_word_BT, [(1.0, 1.0)])

    def integrated(
        self, token_ids_BT: Tensor, is_padding_BT: Tensor, is_word_BT: Tensor, steps: int
    ) -> TokenEffects:
        """Return the effects by the mean gradient, at so many points from the reference on."""
        nodes, weights = np.polynomial.legendre.leggauss(steps)
        points = [(float(x + 1) / 2, float(w) / 2) for x, w in zip(nodes, weights, strict=True)]
        return self._effects(token_ids_BT, is_padding_BT, is_word_BT, points)

    def _effects(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        is_word_BT: Tensor,
        points: list[tuple[float, float]],
    ) -> TokenEffects:
        encoder = self.model.encoder
        with torch.no_grad():
            vectors_BTE = encoder.word(token_ids_BT)
            away_BTE = (vectors_BTE - self.reference) * is_word_BT[..., None]
            candidates_CE = encoder.word(self.candidates) - self.reference
            logits_BL = self._logits(token_ids_BT, is_padding_BT, vectors_BTE)
            nothing_BL = self._logits(token_ids_BT, is_padding_BT, vectors_BTE - away_BTE)
        B, T, L = *token_ids_BT.shape, logits_BL.shape[1]
        effects_BTL = away_BTE.new_zeros((B, T, L), dtype=torch.float64)
        of_candidates = away_BTE.new_zeros((B, T, len(candidates_CE), L), dtype=torch.float64)
        for share, weight in points:
            at_BTE = (vectors_BTE - (1 - share) * away_BTE).requires_grad_()
            with torch.enable_grad():
                at_point_BL = self._logits(token_ids_BT, is_padding_BT, at_BTE)
                for label in range(L):
                    total = at_point_BL[:, label].sum()
                    (gradient_BTE,) = torch.autograd.grad(total, at_BTE, retain_graph=label < L - 1)
                    effects_BTL[..., label] += weight * (gradient_BTE * away_BTE).sum(-1)
                    words_BTE = gradient_BTE * is_word_BT[..., None]
                    of_candidates[..., label] += weight * (words_BTE @ candidates_CE.T)
        return TokenEffects(effects_BTL, of_candidates, logits_BL, nothing_BL)

    def _logits(self, token_ids_BT: Tensor, is_padding_BT: Tensor, vectors_BTE: Tensor) -> Tensor:
        packing = self.model.encoder.packing(is_padding_BT)
        with embeddings_replaced(self.model, packing.pack_states(vectors_BTE)):
            return self.values(self.model(token_ids_BT, is_padding_BT, packing=packing)).double()


@contextlib.contextmanager
def embeddings_replaced(model: SequenceClassifier, vectors_PE: Tensor) -> Iterator[None]:
    """Let the encoder read these vectors in place of its table of embeddings."""
    encoder = model.encoder
    hook = encoder.word.register_forward_hook(lambda module, inputs, output: vectors_PE)
    was, encoder.letters_at_once = encoder.letters_at_once, False
    try:
        yield
    finally:
        hook.remove()
        encoder.letters_at_once = was
