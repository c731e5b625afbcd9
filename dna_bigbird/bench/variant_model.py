"""What a model makes of the two alleles of a variant, without training: log-ratios and states of the encoder."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bench.parts import Arrays
from dna_bigbird.bench.suites.suite import VariantRow
from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.embedder import Embedder, usual_window_bp
from dna_bigbird.prediction.variants.effects import allele_windows
from dna_bigbird.prediction.variants.scorers import MaskedLikelihood

DESCRIPTION = "the network of the model with random weights, not trained"


def with_fresh_weights(bundle: Bundle) -> Bundle:
    """Return a bundle with the random weights of seed 0, in evaluation mode."""
    return replace(bundle, model=build_model(bundle.config).eval())


# N variants, S strands, P bases of a window, T tokens, E hidden size


LONGEST_WINDOW_BP = 4096
"""Longer windows take hours on a CPU."""
USUAL_WINDOW_BP = 512
AT_ONCE = 16
"""Variants whose states are in memory together."""


def window_of(bundle: Bundle, protocol_bp: int) -> int:
    """Return the window in bp: that of the protocol, or of the model's training, within limits."""
    encoder, per_token = bundle.config.encoder, bundle.config.bp_per_token
    window_bp = protocol_bp
    if not window_bp:
        try:
            window_bp = usual_window_bp(bundle)
        except InputError:
            window_bp = USUAL_WINDOW_BP
    if per_token and not encoder.reads_any_length:
        window_bp = min(window_bp, int((encoder.max_tokens - 2) * per_token))
    return min(window_bp, LONGEST_WINDOW_BP)


def has_likelihood(bundle: Bundle) -> bool:
    """Return True if the model predicts masked tokens."""
    return bundle.config.task == PRETRAINING and bundle.model.mlm is not None


class VariantModel:
    """A bundle that scores substitutions on a genome."""

    def __init__(
        self,
        bundle: Bundle,
        genome: Genome,
        window_bp: int,
        *,
        both_strands: bool,
        compute: Compute,
    ) -> None:
        self._genome, self._window_bp, self._both_strands = genome, window_bp, both_strands
        self._embedder = Embedder(bundle, compute=compute, pooling="tokens", both_strands=False)
        self._likelihood = MaskedLikelihood(bundle, compute) if has_likelihood(bundle) else None

    def windows(self, variant: VariantRow) -> list[list[str]]:
        """Return the windows with REF and ALT per strand; the variant is base `window_bp // 2`."""
        site = Interval(variant.chrom, variant.pos - 1, variant.pos)
        strands = allele_windows(self._genome, site, [variant.ref, variant.alt], self._window_bp)
        return [*strands] if self._both_strands else [strands[0]]

    def log_ratios(self, variants: Sequence[VariantRow]) -> Arrays:
        """Return `log_ratio`, log p(ALT) - log p(REF) in nats of the masked base, (N, S)."""
        groups = [self.windows(variant) for variant in variants]
        locations = [Interval(x.chrom, x.pos - 1, x.pos) for x in variants]
        values = self._likelihood.log_ratios(groups, locations)
        return {"log_ratio": np.stack([x[:, 1] for x in values])}

    def states(self, variants: Sequence[VariantRow]) -> Arrays:
        """Return `euclidean` and `cosine`, (N, S), and `products`, (N, E), of REF and ALT."""
        # Each base has the state of its token, so that windows of different tokens have equally
        # many. `cosine` is of the variant's base, `products` are summed over bases: their mean
        # over strands.
        parts = []
        for first in range(0, len(variants), AT_ONCE):
            some = variants[first : first + AT_ONCE]
            pairs = [pair for variant in some for pair in self.windows(variant)]
            texts = [text for pair in pairs for text in pair]
            computed = self._embedder.tokens(texts, together=2)
            of_bases = [self._of_bases(*each) for each in computed]
            parts += [
                compare_states(ref_PE, alt_PE, self._window_bp // 2)
                for ref_PE, alt_PE in zip(of_bases[::2], of_bases[1::2], strict=True)
            ]
        euclidean, cosine, products = (np.stack(x) for x in zip(*parts, strict=True))
        shape = (len(variants), -1)
        products_NSE = products.reshape(*shape, products.shape[-1])
        return {
            "euclidean": euclidean.reshape(shape),
            "cosine": cosine.reshape(shape),
            "products": products_NSE.mean(axis=1),
        }

    def _of_bases(self, states_TE: NDArray, spans_T2: NDArray) -> NDArray[np.float64]:
        """Return the state of each base of a window, (P, E); zero where it has no token."""
        base = np.arange(self._window_bp)
        if not len(spans_T2):
            return np.zeros((self._window_bp, self._embedder.width))
        token = np.searchsorted(spans_T2[:, 0], base, side="right") - 1
        has_token = (token >= 0) & (base < spans_T2[token, 1])
        return np.where(has_token[:, None], states_TE[token].astype(np.float64), 0.0)


def compare_states(
    ref_PE: NDArray, alt_PE: NDArray, position: int
) -> tuple[float, float, NDArray[np.float64]]:
    """Return the Euclidean distance, the cosine distance at a position, and sums of products (E,).

    Example:
        >>> euclidean, cosine, products = compare_states(
        ...     np.array([[3.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 4.0], [1.0, 0.0]]), 0
        ... )
        >>> euclidean, cosine, products.tolist()
        (5.0, 1.0, [1.0, 0.0])
    """
    first, second = ref_PE[position], alt_PE[position]
    size = np.linalg.norm(first) * np.linalg.norm(second)
    cosine = 1.0 - float(first @ second / size) if size else 0.0
    return float(np.linalg.norm(ref_PE - alt_PE)), cosine, (ref_PE * alt_PE).sum(axis=0)
