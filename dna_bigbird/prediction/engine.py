"""Runs a model in batches: the one engine of predictions, embeddings, variants and text.

It knows nothing of DNA or text: a caller passes the lengths of its rows, a function that makes a
batch of some rows, and a function that computes a batch. Sequences of similar length share a batch,
within a budget of tokens.
"""

# B batch, T tokens

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import torch

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.limits import use_threads
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.precision import BFLOAT16, float32_matmul, resolve_precision
from dna_bigbird.prediction.compute import Compute

CPU_NUMBERS = 1 << 20
"""Size of the hidden states of a batch on a CPU: 8,192 tokens of 128 numbers, 1,365 of 768. Larger
batches are not faster there and take more memory."""
GPU_TOKENS = (8192, 262_144)
"""Least and most tokens of a batch on a GPU."""
GPU_SHARE = 0.5
"""Part of the free memory of a GPU that a batch may fill by the estimate of `bytes_per_token`."""
CHUNK_BATCHES = 8
"""Number of batches whose sequences are read and sorted by length together."""

Item = TypeVar("Item")

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
    """Choose threads, device and precision, and set the attention backend of the bundles."""
    use_threads(compute.threads)
    device = choose_device(compute.device)
    precision = resolve_precision(compute.precision, device.type)
    slow = sorted({set_backend(bundle, compute.backend, device) for bundle in bundles} - {None})
    chosen = [f"computed in {precision}"] if compute.precision == "auto" else []
    return Setup(device, replace(compute, precision=precision), slow, [*chosen, *slow])


def choose_device(name: str) -> torch.device:
    """Return the device for a value of `Compute.device`."""
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda: torch finds no GPU here; use --device cpu")
    if name != "auto":
        return torch.device(name)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def set_backend(bundle: Bundle, name: str, device: torch.device) -> str | None:
    """Set the attention backend of a bundle; return why 'auto' is slow here, or None."""
    if device.type != "cpu" and name in ("cpu_chunks", "native"):
        raise InputError(
            f"--backend {name} computes on a CPU, not on {device.type}; leave it out, or add "
            "--device cpu"
        )
    if device.type == "cpu" and name == "triton":
        raise InputError(f"--backend {name} computes on a GPU, not on a CPU; leave it out")
    slow = None
    for module in bundle.model.modules():  # an ensemble has several encoders
        if isinstance(module, Encoder):
            module.set_backend(name)
            if device.type == "cpu" and name == "auto":
                slow = module.without_native()
    return slow and f"attention takes several times longer than it could: {slow}"


class Engine:
    """One bundle, ready to compute; `precision` is not 'auto'; gradients make batches smaller."""

    def __init__(
        self,
        bundle: Bundle,
        compute: Compute,
        device: torch.device,
        with_gradients: bool = False,
    ) -> None:
        self.model = bundle.model.to(device).eval()
        self.compute, self.device = compute, device
        config = bundle.config.encoder
        self._most_tokens = token_budget(config, device)
        self._with_gradients = with_gradients
        if with_gradients:  # the states of all layers are kept
            self._most_tokens = max(self._most_tokens // config.num_layers, 1)
        # Such a pattern follows the width of the batch: equal widths, or neighbours would matter.
        self._same_blocks = config.block_size if config.keeps_published_padding else 0

    def run(
        self, lengths: Sequence[int], collate: Collate, forward: Callable[[NamedTuple], Result]
    ) -> Iterator[tuple[list[int], Result]]:
        """Compute rows of so many tokens, those alike together; yield positions and results."""
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
            with torch.inference_mode(not self._with_gradients), self._arithmetic():
                there = (x if x is None else x.to(self.device) for x in batch)
                result = forward(batch._make(there))
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


def chunks_of(
    items: Iterable[Item], size: Callable[[Item], int], most: int
) -> Iterator[list[Item]]:
    """Yield consecutive items in lists whose sizes add up to `most`; the last item may exceed it.

    Example:
        >>> list(chunks_of(["AAA", "C", "GGGG", "T"], len, 4))
        [['AAA', 'C'], ['GGGG'], ['T']]
    """
    chunk: list[Item] = []
    total = 0
    for item in items:
        chunk.append(item)
        total += size(item)
        if total >= most:
            yield chunk
            chunk, total = [], 0
    if chunk:
        yield chunk


def token_budget(config: EncoderConfig, device: torch.device) -> int:
    """Return the number of tokens for one batch on this device, [CLS] and [SEP] included."""
    if device.type != "cuda":
        return max(CPU_NUMBERS // config.hidden_size, 1)
    free, _ = torch.cuda.mem_get_info(device)
    least, most = GPU_TOKENS
    return int(min(max(GPU_SHARE * free / bytes_per_token(config), least), most))


def bytes_per_token(config: EncoderConfig) -> int:
    """Estimate the bytes per token of one layer, in float32, with gathered keys."""
    keys = config.window_blocks + config.num_random + 2
    return 4 * (2 * config.ffn_size + (2 * keys + 8) * config.hidden_size)


def batches_of(
    lengths: Sequence[int], *, tokens: int, batch_size: int = 0, same_blocks: int = 0
) -> list[list[int]]:
    """Return batches of indices of similar lengths, of so many tokens or of `batch_size` sequences.

    Example:
        >>> batches_of([3, 9, 4, 4], tokens=10)
        [[1], [2, 3], [0]]
    """
    # Longest first: a batch that does not fit into memory fails at once. same_blocks: a block size,
    # if the sequences of a batch must have equally many blocks.
    batches: list[list[int]] = []
    most, blocks = 0, 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        length = lengths[index]
        if batches and not (same_blocks and -(-length // same_blocks) != blocks):
            batch = batches[-1]
            if len(batch) < batch_size if batch_size else most + length <= tokens:
                batch.append(index)
                most += length
                continue
        batches.append([index])
        most, blocks = length, -(-length // same_blocks) if same_blocks else 0
    return batches
