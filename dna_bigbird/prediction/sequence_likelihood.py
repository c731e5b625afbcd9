"""How probable a pretrained model finds whole sequences: the mean log-likelihood of their hidden bases."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.variants.likelihood import HiddenAllele, MaskedLikelihood

STRIDE = 6
"""Every so many tokens one is hidden, in as many passes: each token is hidden once, and about as many are hidden
together as in pretraining (15 %). DART-Eval (Patel et al. 2024) hides a single token in each pass, which takes as
many passes as there are tokens."""


class SequenceLikelihood:
    """Pseudo-log-likelihoods of sequences by a pretrained model.

    In pass k of `STRIDE` the tokens k, k + `STRIDE`, … are hidden together, so with one token per base
    the hidden positions of two sequences of one length are the same. With longer tokens they are not,
    and two sequences may have different numbers of tokens. A sequence of more tokens than the model
    reads is cut into the fewest equal parts.

    Raises:
        InputError: If the bundle has no head for masked tokens, or reads no DNA.
    """

    def __init__(self, bundle: Bundle, compute: Compute) -> None:
        self._likelihood = MaskedLikelihood(bundle, compute)
        self._tokenizer = bundle.tokenizer
        self._most = self._likelihood.max_pieces

    def nats_per_base(self, sequences: Sequence[str]) -> NDArray[np.float64]:
        """Return the sum of log p of all tokens over the bases of each normalised sequence, in nats, (n,).

        A sequence that is empty has NaN.
        """
        hidden = [self._hidden(ids) for ids in self._tokenizer.encode_all(sequences)]
        of_part = self._likelihood.log_probabilities(
            list(dict.fromkeys(part for parts in hidden for part in parts))
        )
        return np.array(
            [
                sum(of_part[part] for part in parts) / len(text) if text else np.nan
                for text, parts in zip(sequences, hidden, strict=True)
            ]
        )

    def _hidden(self, ids: NDArray[np.int64]) -> list[HiddenAllele]:
        """Return a sequence once for every pass and part, with the tokens of the pass hidden."""
        parts = np.array_split(ids, -(-len(ids) // self._most)) if len(ids) else []
        windows = []
        for part in parts:
            for first in range(min(STRIDE, len(part))):
                masked = part.copy()
                masked[first::STRIDE] = self._tokenizer.mask_id
                windows.append(HiddenAllele(masked.tobytes(), tuple(part[first::STRIDE].tolist())))
        return windows
