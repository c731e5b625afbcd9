"""Gradients of the log odds at the word vectors of the tokens, and what they add up to."""

# B batch, T tokens, E hidden size, L labels, C candidates of a token

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.models.classifier import SequenceClassifier

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
    """A classifier whose gradients are taken at the word vectors.

    The effect of a token is g · (v − r): g is the gradient at its vector v, r the reference vector. Integrated
    gradients (Sundararajan et al. 2017, arXiv 1703.01365) take for g the mean of the gradients on the line from r
    to v, so the effects of all tokens add up to the difference of the log odds.

    Args:
        values: Outputs of the model to log odds.
        reference: (E,) vector of a token that says nothing.
        candidates: (C,) tokens that may be in place of each other, such as single bases; may be empty.
    """

    model: SequenceClassifier
    values: Values
    reference: Tensor
    candidates: Tensor

    def gradient(
        self, token_ids_BT: Tensor, is_padding_BT: Tensor, is_word_BT: Tensor
    ) -> TokenEffects:
        """Return the effects by the gradient at the sequence itself.

        Args:
            is_word_BT: True for tokens of DNA; special tokens and padding keep their vectors.
        """
        return self._effects(token_ids_BT, is_padding_BT, is_word_BT, [(1.0, 1.0)])

    def integrated(
        self, token_ids_BT: Tensor, is_padding_BT: Tensor, is_word_BT: Tensor, steps: int
    ) -> TokenEffects:
        """Return the effects by the mean gradient from the reference to the sequence.

        Args:
            steps: Points of the Gauss-Legendre rule on the line.
        """
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
        with words_replaced(self.model, packing.pack_states(vectors_BTE)):
            return self.values(self.model(token_ids_BT, is_padding_BT, packing=packing)).double()


@contextlib.contextmanager
def words_replaced(model: SequenceClassifier, vectors_PE: Tensor) -> Iterator[None]:
    """Let the encoder read these vectors in place of its table of words."""
    encoder = model.encoder
    hook = encoder.word.register_forward_hook(lambda module, inputs, output: vectors_PE)
    was, encoder.letters_at_once = encoder.letters_at_once, False
    try:
        yield
    finally:
        hook.remove()
        encoder.letters_at_once = was
