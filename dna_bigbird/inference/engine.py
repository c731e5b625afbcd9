"""Runs a model in batches: the one engine of predictions, embeddings, variants and text.

It knows nothing of DNA or text: a caller passes the lengths of its rows, a function that makes a
batch of some rows, and a function that computes a batch.
"""

# B batch, T tokens

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.datasets.text.row_outputs import Outputs, in_order, split_rows
from dna_bigbird.errors import InputError
from dna_bigbird.inference.batches import batches_of, token_budget
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.progress import progress_bar
from dna_bigbird.inference.spool import open_spool
from dna_bigbird.limits import use_threads
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.precision import BFLOAT16, float32_matmul, resolve_precision

Result = TypeVar("Result")
Collate = Callable[[list[int]], NamedTuple]
"""Rows at some positions to their batch: a NamedTuple of tensors on the CPU."""


@dataclass(frozen=True)
class Setup:
    """Where and how bundles are computed."""

    device: torch.device
    compute: Compute
    """The settings, with a `precision` that is not 'auto'."""
    slow: list[str]
    """Reasons why attention is slow here, if any."""
    notes: list[str]
    """Notes for the user: the precision that 'auto' chose, and `slow`."""


def set_up(bundles: Sequence[Bundle], compute: Compute) -> Setup:
    """Choose threads, device and precision, and set the attention backend of the bundles.

    Raises:
        InputError: If there is no such device, or the backend cannot compute the models on it.
    """
    use_threads(compute.threads)
    device = choose_device(compute.device)
    precision = resolve_precision(compute.precision, device.type)
    slow = sorted({set_backend(bundle, compute.backend, device) for bundle in bundles} - {None})
    chosen = [f"computed in {precision}"] if compute.precision == "auto" else []
    return Setup(device, replace(compute, precision=precision), slow, [*chosen, *slow])


def choose_device(name: str) -> torch.device:
    """Return the device for a value of `Compute.device`.

    Raises:
        InputError: If there is no such device.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no GPU here; use --device cpu")
    if name != "auto":
        return torch.device(name)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def set_backend(bundle: Bundle, name: str, device: torch.device) -> str | None:
    """Set the attention backend of a bundle.

    Returns:
        Why 'auto' is slow here, or None.

    Raises:
        InputError: If the backend cannot compute this model on this device.
    """
    if device.type != "cpu" and name in ("merged", "native"):
        raise InputError(
            f"--backend {name} computes on a CPU, not on {device.type}; leave it out, or add "
            "--device cpu"
        )
    slow = None
    for module in bundle.model.modules():  # an ensemble has several encoders
        if isinstance(module, Encoder):
            module.set_backend(name)
            if device.type == "cpu" and name == "auto":
                slow = module.without_native()
    return slow and f"attention takes several times longer than it could: {slow}"


class Engine:
    """One bundle, ready to compute.

    Args:
        compute: With a `precision` that is not 'auto'.
    """

    def __init__(self, bundle: Bundle, compute: Compute, device: torch.device) -> None:
        self.model = bundle.model.to(device).eval()
        self.compute, self.device = compute, device
        config = bundle.config.encoder
        self._most_tokens = token_budget(config, device)
        # Such a pattern follows the width of the batch: equal widths, or neighbours would matter.
        self._same_blocks = config.block_size if config.keeps_published_padding else 0

    def run(
        self, lengths: Sequence[int], collate: Collate, forward: Callable[[NamedTuple], Result]
    ) -> Iterator[tuple[list[int], Result]]:
        """Compute rows, those of similar length together.

        Args:
            lengths: Tokens of each row, special ones included.
            forward: Of a batch on the device.

        Yields:
            Positions of some rows, and what `forward` returns for them.

        Raises:
            InputError: If a row alone does not fit into the memory.
        """
        for positions in batches_of(
            lengths,
            tokens=self._most_tokens,
            batch_size=self.compute.batch_size,
            same_blocks=self._same_blocks,
        ):
            yield from self._batch(positions, lengths, collate, forward)

    def _batch(
        self,
        positions: list[int],
        lengths: Sequence[int],
        collate: Collate,
        forward: Callable[[NamedTuple], Result],
    ) -> Iterator[tuple[list[int], Result]]:
        """Compute one batch; in halves if the memory is too small for it."""
        try:
            batch = collate(positions)
            with torch.inference_mode(), self._arithmetic():
                result = forward(batch._make(field.to(self.device) for field in batch))
        except torch.OutOfMemoryError:
            if len(positions) == 1:
                raise InputError(
                    f"a sequence of {lengths[positions[0]]} tokens does not fit into the memory of "
                    f"{self.device}; use shorter ones, or --device cpu"
                ) from None
        else:
            yield positions, result
            return
        torch.cuda.empty_cache()
        self._most_tokens = max(self._most_tokens // 2, 1)
        half = len(positions) // 2
        yield from self._batch(positions[:half], lengths, collate, forward)
        yield from self._batch(positions[half:], lengths, collate, forward)

    @contextlib.contextmanager
    def _arithmetic(self) -> Iterator[None]:
        enabled = self.compute.precision == BFLOAT16
        with (
            float32_matmul(self.compute.float32_matmul),
            torch.autocast(self.device.type, torch.bfloat16, enabled=enabled),
        ):
            yield


def resumable_outputs(
    engine: Engine,
    lengths: Sequence[int],
    collate: Collate,
    forward: Callable[[NamedTuple], Outputs],
    *,
    output: Path,
    identity: dict,
    resume: bool,
) -> list[Outputs]:
    """Return the outputs of all rows, in order; finished rows survive an interruption.

    Args:
        output: What the run is for; the finished rows are next to it until all are computed.
        identity: As `open_spool`.
        resume: Continue an interrupted run, if there is one.

    Raises:
        InputError: If the interrupted run had other settings or inputs.
        Interrupted: On Ctrl-C or SIGTERM, with a line that says how to continue.
    """
    numbered: list[tuple[int, Outputs]] = []
    with open_spool(output, identity, resume, unit="rows") as spool:
        for columns in spool.frames():
            numbers = columns.pop("row").tolist()
            numbered += split_rows(columns, numbers)
        done = {number for number, _ in numbered}
        left = [number for number in range(len(lengths)) if number not in done]
        with progress_bar(True, len(lengths), len(done), unit="rows") as update:
            for positions, columns in engine.run(
                [lengths[number] for number in left],
                lambda positions: collate([left[i] for i in positions]),
                forward,
            ):
                numbers = [left[i] for i in positions]
                spool.append({"row": np.array(numbers), **columns})
                numbered += split_rows(columns, numbers)
                update(len(numbers))
        return in_order(numbered, len(lengths))
