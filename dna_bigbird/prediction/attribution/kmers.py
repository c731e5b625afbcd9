"""What each base adds to the logits of a model that counts words (k-mers), exactly."""

# S bases, L labels, D words

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.genome.kmer_numbers import canonical_words
from dna_bigbird.models.kmer_head import CODES, N_CODE, WordPart, count_words


def word_effects(part: WordPart, bases: str) -> tuple[NDArray, NDArray, NDArray]:
    """Return what the words of a sequence add to the logits, base by base.

    The logits are linear in the shares of words. Each word that is counted adds its weight over the number of
    counted words, minus the mean weight over all words of its length: what it adds in place of random DNA. Its
    bases have equal parts of that.

    Returns:
        Effects (S, L); of each of A, C, G and T in place of the base (S, 4, L); and their sum (L,), which is the
        difference of the logits from those of random DNA.
    """
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
            size = count_words(k, together=config.together)
            weights_DL = weights_LD[:, first : first + size].T
            first += size
            if config.together:
                weights_DL = weights_DL[canonical_words(k)]
            away_DL = weights_DL - weights_DL.mean(axis=0)
            _add_words(
                k, codes_S[start:end], away_DL, effects_SL[start:end], of_bases_S4L[start:end]
            )
    return effects_SL, of_bases_S4L, effects_SL.sum(axis=0)


def _add_words(
    k: int, codes: NDArray, away_DL: NDArray, effects_SL: NDArray, of_bases_S4L: NDArray
) -> None:
    """Add the effects of the words of one length to those of the bases."""
    last = len(codes) - k + 1
    if last < 1:
        return
    windows = np.lib.stride_tricks.sliding_window_view(codes, k)
    is_counted = (windows < N_CODE).all(axis=1)
    count = is_counted.sum()
    if not count:
        return
    digits = 4 ** np.arange(k - 1, -1, -1)
    words = np.where(windows < N_CODE, windows, 0) @ digits
    for offset in range(k):
        without = (
            words - np.where(windows[:, offset] < N_CODE, windows[:, offset], 0) * digits[offset]
        )
        for base in range(4):
            with_base = away_DL[without + base * digits[offset]] * is_counted[:, None]
            of_bases_S4L[offset : offset + last, base] += with_base / (count * k)
    each = away_DL[words] * is_counted[:, None] / (count * k)
    for offset in range(k):
        effects_SL[offset : offset + last] += each
