"""Label probabilities, or targets, for windows of DNA."""

# S sequences, L labels, M bundles

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.bundles.ensemble import scaling_of
from dna_bigbird.core.child_processes import Workers
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.limits import allowed_workers
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.models.label_types import MULTI_CLASS, NUMBERS, RECORDED, TRACKS
from dna_bigbird.models.scaling import sigmoid
from dna_bigbird.prediction.compute import Compute, beyond_training
from dna_bigbird.prediction.engine import CHUNK_BATCHES, chunks_of, set_up, token_budget
from dna_bigbird.prediction.runner import GroupLogits, Groups, LoadScorer, MeanScorer, fingerprint
from dna_bigbird.prediction.variants.effects import Correction
from dna_bigbird.prediction.windows.bins import BinRows
from dna_bigbird.prediction.windows.tiling import Window

BP_PER_TOKEN = 4
"""Approximate; determines how many windows are read at once."""
SHORT_BP = 64
"""Smallest size that a sequence counts for, which limits the number of short sequences in a chunk."""
WORKER_BYTES = 300_000_000
"""Memory of a process that scores, without its models: torch and the batch it computes."""
Item = TypeVar("Item")

DEFAULTS = Compute()


class Predictor:
    """Scores DNA with fine-tuned bundles: the mean of their probabilities on the chosen strands."""

    # A window's probabilities do not depend on its batch, beyond the rounding of the precision:
    # attention patterns follow each sequence's own length, and padding is masked. A window of more
    # tokens than the context is scored as the mean over the fewest equal parts that fit.
    # Probabilities are corrected after the mean over strands and bundles, as the correction was fitted; raw: not.
    # summed: the bins whose sum `probabilities` gives, of models of tracks.
    # is_directional: the higher of both strands counts. Of directional bundles of classes or
    # targets, where no strand is the higher one, the given strand is read, with a note.

    @checked()
    def __init__(
        self,
        bundles: Bundle | Sequence[Bundle],
        *,
        compute: Compute = DEFAULTS,
        strand: Literal["both", "forward"] = "both",
        labels: Sequence[int] | None = None,
        bins: BinRows | None = None,
        summed: slice | None = None,
        raw: bool = False,
    ) -> None:
        bundles = [bundles] if isinstance(bundles, Bundle) else list(bundles)
        check_together(bundles)
        names = bundles[0].config.label_names
        self.label_names = [names[i] for i in (range(len(names)) if labels is None else labels)]
        self.window_bp: int = bundles[0].config.window_bp
        self.label_type = bundles[0].config.label_type
        columns = [columns_of(bundle, self.label_names, bundles[0]) for bundle in bundles]
        scaling, scaling_notes = (None, []) if raw else scaling_of(bundles, columns)
        self.correction = Correction(scaling, [*range(len(self.label_names))])
        if scaling and self.label_type == MULTI_CLASS:  # a temperature needs all classes
            self.correction = Correction(scaling, columns[0])
            columns = [columns_of(bundle, names, bundles[0]) for bundle in bundles]
        self._columns, self._num_read = columns, len(columns[0])
        directional = bundles[0].config.directional
        self.is_directional = directional and self.label_type not in RECORDED
        reads_given = directional and self.label_type in RECORDED
        self.strand = "forward" if reads_given else strand
        setup = set_up(bundles, compute)
        device, self.compute = setup.device, setup.compute
        self._bundles = bundles
        self._bins, self._summed = bins, summed
        self._notes = [*setup.notes, *scaling_notes]
        if self.strand != strand:
            self._notes.append(
                f"the model was trained on one strand and predicts {self.label_type} values: the given "
                "strand is read"
            )
        self._num_split = np.zeros(len(bundles), dtype=int)
        self._longest = np.zeros(len(bundles), dtype=int)
        budgets = [token_budget(b.config.encoder, device) for b in bundles]
        self._chunk_bp = min(budgets) * CHUNK_BATCHES * BP_PER_TOKEN
        num_bins = bins.count if bins else 1
        if not bins:
            check_no_tracks(bundles[0])
        self._workers: Workers | None = None
        self._num_workers = allowed_workers(compute.workers, _worker_bytes(bundles))
        if self._num_workers:
            self._load = LoadScorer(
                [bundle.folder for bundle in bundles],
                [fingerprint(bundle.model) for bundle in bundles],
                setup.compute,
                device.type,
                self._columns,
                max(torch.get_num_threads() // self._num_workers, 1),
                num_bins,
            )
        else:
            self._scorer = MeanScorer(bundles, setup.compute, device, self._columns, num_bins)

    def notes(self) -> list[str]:
        """Return what a user should know about the computation, one line each."""
        lines = [*self._notes]
        for bundle, number, longest in zip(
            self._bundles, self._num_split, self._longest, strict=True
        ):
            encoder = bundle.config.encoder
            if number:
                lines.append(
                    f"{number} windows had more tokens than the model's context of "
                    f"{encoder.max_tokens - 2} and were scored in equal parts, then averaged"
                )
            lines += beyond_training(encoder, longest)
        return lines

    def check_probabilities(self, purpose: str) -> None:
        """Raise InputError for a model of targets; `purpose` is what needs probabilities."""
        if self.label_type in NUMBERS:
            raise InputError(
                f"{self._bundles[0].folder}: this model predicts numbers, and {purpose} needs "
                "probabilities of labels; use predict with another format than BED"
            )

    def score_windows(
        self, windows: Iterable[Window]
    ) -> Iterator[tuple[list[Window], NDArray[np.float32]]]:
        """Yield chunks of windows, or of their bins, in their order, with their probabilities (S, L)."""
        for chunk, values_SL in self._probabilities(windows, lambda window: window.bases):
            rows = [row for x in chunk for row in self._bins.of(x)] if self._bins else chunk
            yield rows, values_SL.astype(np.float32)

    def probabilities(self, sequences: Iterable[str]) -> NDArray[np.float64]:
        """Return probabilities or targets (S, L), joined over the strands, of normalised sequences."""
        chunks = [values_SL for _, values_SL in self._probabilities(sequences, lambda text: text)]
        values_SL = np.concatenate([np.empty((0, len(self.label_names))), *chunks])
        if self._summed is None:
            return values_SL
        return values_SL.reshape(-1, self._bins.count, len(self.label_names))[:, self._summed].sum(
            axis=1
        )

    def logits(self, groups: Iterable[Sequence[str]]) -> Iterator[NDArray[np.float64]]:
        """Yield the logits (S, L) of each group of sequences in order, each read on one strand.

        They are those before the `correction`. With `bins` there is a row for each bin of each sequence, of tracks the value.
        """
        # Equal sequences of a group have exactly equal rows; all are cut into equally many parts if
        # one is too long.
        for chunk, logits_SL in self._logits(groups, lambda group: group):
            edges = np.cumsum([len(group) for group in chunk])[:-1]
            yield from np.split(logits_SL, edges * (self._bins.count if self._bins else 1))

    def _probabilities(
        self, items: Iterable[Item], text_of: Callable[[Item], str]
    ) -> Iterator[tuple[list[Item], NDArray[np.float64]]]:
        def group_of(item: Item) -> Sequence[str]:
            text = text_of(item)
            return (text,) if self.strand == "forward" else (text, reverse_complement(text))

        for chunk, logits_SL in self._logits(items, group_of):
            num_bins = self._bins.count if self._bins else 1
            strands = np.split(
                logits_SL.reshape(len(chunk), -1, self._num_read), len(group_of(chunk[0])), axis=1
            )
            # The last bin of the other strand is the first one.
            of_strands = np.stack([x if i == 0 else x[:, ::-1] for i, x in enumerate(strands)])
            if self.label_type not in NUMBERS:
                of_strands = sigmoid(of_strands)
            joined = of_strands.max(axis=0) if self.is_directional else of_strands.mean(axis=0)
            joined = self.correction.probabilities(joined)
            yield chunk, joined.reshape(len(chunk) * num_bins, len(self.label_names))

    def _logits(
        self, items: Iterable[Item], group_of: Callable[[Item], Sequence[str]]
    ) -> Iterator[tuple[list[Item], NDArray[np.float64]]]:
        """Yield chunks of items with the logits of all sequences of their groups, in order."""
        waiting: collections.deque[list[Item]] = collections.deque()

        def tasks() -> Iterator[Groups]:
            for chunk in chunks_of(((x, group_of(x)) for x in items), _size, self._chunk_bp):
                waiting.append([item for item, _ in chunk])
                yield [group for _, group in chunk]

        for scores in self._map(tasks()):
            self._num_split += scores.num_split
            self._longest = np.maximum(self._longest, scores.longest)
            yield waiting.popleft(), scores.logits

    def _map(self, tasks: Iterable[Groups]) -> Iterator[GroupLogits]:
        if not self._num_workers:
            return map(self._scorer, tasks)
        if self._workers is None or not self._workers.close.alive:
            self._workers = Workers(self._load, self._num_workers)
        return self._workers.map(tasks)


def _worker_bytes(bundles: Sequence[Bundle]) -> int:
    """Estimate the memory of a process that scores with these models."""
    weights = sum(p.nbytes for bundle in bundles for p in bundle.model.parameters())
    return WORKER_BYTES + weights


def _size(item_and_group: tuple[object, Sequence[str]]) -> int:
    """Return the size of an item in a chunk, in bases."""
    return sum(max(len(text), SHORT_BP) for text in item_and_group[1])


def check_together(bundles: Sequence[Bundle]) -> None:
    """Raise InputError for bundles that cannot predict, or cannot be averaged."""
    if not bundles:
        raise InputError("no model bundle was given")
    first = bundles[0]
    for bundle in bundles:
        bundle.check_reads_dna()
        if bundle.config.task == PRETRAINING:
            raise InputError(
                f"{bundle.folder}: this is a pretrained model without a label head; "
                "fine-tune it first. See: dna-bigbird finetune --help"
            )
        for name in ("window_bp", "label_type"):
            value, expected = getattr(bundle.config, name), getattr(first.config, name)
            if value != expected:
                raise InputError(
                    f"{bundle.folder}: its {name} is {value}, that of {first.folder} {expected}; "
                    "models that are averaged must agree"
                )
        if bundle.config.directional != first.config.directional:
            raise InputError(
                f"{bundle.folder}: its labels {_direction(bundle)}, those of {first.folder} "
                f"{_direction(first)}; models that are averaged must agree"
            )


def check_no_tracks(bundle: Bundle) -> None:
    """Raise InputError for a model that gives values of many bins."""
    if bundle.config.label_type == TRACKS:
        raise InputError(
            f"{bundle.folder}: a model of tracks, which predict and evaluate read; not this command"
        )


def _direction(bundle: Bundle) -> str:
    return "belong to one strand" if bundle.config.directional else "have no direction"


def columns_of(bundle: Bundle, names: Sequence[str], first: Bundle) -> list[int]:
    """Return the columns of a bundle for some labels of the first bundle."""
    columns = {name: index for index, name in enumerate(bundle.config.label_names)}
    for name in names:
        if name not in columns:
            raise InputError(
                f"{bundle.folder}: it has no label {shortened(name)!r}, as {first.folder} has; models "
                "that are averaged need the same ones. Choose those in common with --labels"
            )
    return [columns[name] for name in names]
