"""Label probabilities for windows of DNA."""

# S sequences, L labels, M bundles

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from dna_bigbird.errors import InputError, shortened
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.inference.batches import chunks_of
from dna_bigbird.inference.bundle import PRETRAINING, Bundle
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.scorer import BundleScorer, Groups
from dna_bigbird.inference.windows import Window
from dna_bigbird.models.ensemble import logit_of_mean
from dna_bigbird.models.precision import resolve_precision

CHUNK_BP = 1_000_000
"""Bases held in memory at once; within a chunk sequences are batched by length."""
SHORT_BP = 64
"""What a sequence counts at least, so that very short ones do not become too many."""
DEFAULTS = Compute()
SAME = ("label_names", "window_bp")
"""What the configs of several bundles must have in common."""


class Predictor:
    """Scores DNA with fine-tuned bundles.

    A window's probabilities do not depend on the batch it falls into, beyond the rounding of the
    precision (docs/predicting.md): attention patterns follow each sequence's own length, and
    padding is masked.

    A window that holds no A, C, G or T has no score: NaN. A window of more tokens than a model's
    context is scored as the mean over the fewest equal parts that fit, never cut.

    Args:
        bundles: Several, with the same labels, give the mean of their probabilities.
        compute: How, never what.
        strand: 'both' averages the probabilities of a window and of its reverse complement.
        labels: Columns wanted, as places in the bundle's `label_names`; all if not given.

    Attributes:
        label_names: Names of the columns.
        window_bp: Bases of the windows that the bundles were made for.
        precision: '32-true' or 'bf16-mixed', what `compute.precision` came to.

    Raises:
        InputError: If a bundle has no label head or reads no DNA, several do not fit together, or
            the backend cannot compute them here.
    """

    def __init__(
        self,
        bundles: Bundle | Sequence[Bundle],
        *,
        compute: Compute = DEFAULTS,
        strand: Literal["both", "forward"] = "both",
        labels: Sequence[int] | None = None,
    ) -> None:
        bundles = [bundles] if isinstance(bundles, Bundle) else list(bundles)
        check_together(bundles)
        names = bundles[0].config["label_names"]
        self.labels = list(range(len(names)) if labels is None else labels)
        self.label_names = [names[i] for i in self.labels]
        self.window_bp: int = bundles[0].config["window_bp"]
        self.strand, self.compute = strand, compute
        self.device = choose_device(compute.device)
        self.precision = resolve_precision(compute.precision, self.device.type)
        if compute.threads:
            torch.set_num_threads(compute.threads)
        self._scorers = [BundleScorer(b, compute, self.precision, self.device) for b in bundles]

    def notes(self) -> list[str]:
        """Return what a user should know of how the scores were computed, a line each."""
        lines = []
        if self.compute.precision == "auto":
            lines.append(f"computed in {self.precision}")
        for scorer in self._scorers:
            if scorer.num_split:
                lines.append(
                    f"{scorer.num_split} windows had more tokens than the model's context of "
                    f"{scorer.max_pieces} and were scored in equal parts, then averaged"
                )
        return lines

    def score_windows(
        self, windows: Iterable[Window]
    ) -> Iterator[tuple[list[Window], NDArray[np.float32]]]:
        """Yield chunks of windows, in the order given, with their probabilities (S, L)."""
        for chunk in chunks_of(windows, lambda window: max(len(window.bases), SHORT_BP), CHUNK_BP):
            values = self.probabilities([window.bases for window in chunk])
            yield chunk, values.astype(np.float32)

    def probabilities(self, sequences: Sequence[str]) -> NDArray[np.float64]:
        """Return probabilities (S, L), the mean over the strands, of normalised sequences."""
        if not len(sequences):
            return np.empty((0, len(self.labels)))
        if self.strand == "forward":
            groups = [(text,) for text in sequences]
        else:
            groups = [(text, reverse_complement(text)) for text in sequences]
        logits_SL = self._logits(groups)
        yes_SL = 1 / (1 + np.exp(-logits_SL))
        return yes_SL.reshape(len(sequences), -1, len(self.labels)).mean(axis=1)

    def logits(self, groups: Iterable[Sequence[str]]) -> Iterator[NDArray[np.float64]]:
        """Yield the logits (S, L) of each group of sequences that belong together, in order.

        Each sequence is read as it stands, on one strand, whatever `strand` is. Equal sequences of a
        group have exactly equal rows. If one of a group is longer than the context, all of it are
        cut into as many parts. Several bundles give the logit of their mean probability.
        """

        def size(group: Sequence[str]) -> int:
            return sum(max(len(text), SHORT_BP) for text in group)

        for chunk in chunks_of(groups, size, CHUNK_BP):
            found = self._logits(chunk)
            yield from np.split(found, np.cumsum([len(group) for group in chunk])[:-1])

    def _logits(self, groups: Groups) -> NDArray[np.float64]:
        many_MSL = [scorer.logits(groups)[:, self.labels] for scorer in self._scorers]
        if len(many_MSL) == 1:
            return many_MSL[0]
        return logit_of_mean(torch.from_numpy(np.stack(many_MSL))).numpy()


def choose_device(name: str) -> torch.device:
    """Return the device of a name of `Compute.device`.

    Raises:
        InputError: If there is no such device.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no GPU here; use --device cpu")
    if name != "auto":
        return torch.device(name)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def check_together(bundles: Sequence[Bundle]) -> None:
    """Refuse bundles that cannot predict, or not together.

    Raises:
        InputError: Naming the bundle and what is wrong with it.
    """
    if not bundles:
        raise InputError("no model bundle was given")
    first = bundles[0]
    for bundle in bundles:
        if bundle.config["task"] == PRETRAINING:
            raise InputError(
                f"{bundle.folder}: this is a pretrained model without a label head; "
                "fine-tune it first. See: dna-bigbird finetune --help"
            )
        bundle.check_reads_dna()
        for key in SAME:
            found, expected = bundle.config[key], first.config[key]
            if found != expected:
                raise InputError(
                    f"{bundle.folder}: its {key} is {shortened(found)}, that of {first.folder} "
                    f"{shortened(expected)}; models that are averaged must agree"
                )
