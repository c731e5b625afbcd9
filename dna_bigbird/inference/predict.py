"""Label probabilities for windows of DNA."""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch

from dna_bigbird.errors import InputError
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.inference.bundle import PRETRAINING, Bundle
from dna_bigbird.inference.windows import Window
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.precision import BFLOAT16, float32_matmul, resolve_precision

CHUNK = 1024
"""Windows held in memory at once; within a chunk they are batched by length."""


class Predictor:
    """Scores DNA with a fine-tuned bundle.

    A window's probabilities do not depend on the batch it falls into, beyond the rounding of the
    precision (about 1e-6 in float32): attention patterns follow each sequence's own length, and padding is masked.

    A window that holds no A, C, G or T has no score: NaN. A window of more tokens than the model's
    context is scored as the mean over the fewest equal parts that fit, never cut;
    `num_split` counts those.

    Args:
        strand: 'both' averages the probabilities of a window and of its reverse complement.
        precision: '32-true', 'bf16-mixed' (autocast) or 'auto': the latter where the device has
            bfloat16 products. `self.precision` is what it came to.
        float32_matmul: 'default' or 'onednn', see models.precision.
        backend: How attention is computed, see `attention.attend`.

    Raises:
        InputError: If the bundle has no label head.
    """

    def __init__(
        self,
        bundle: Bundle,
        *,
        strand: str = "both",
        batch_size: int = 32,
        precision: str = "auto",
        float32_matmul: str = "default",
        backend: str = "auto",
        device: str | None = None,
    ) -> None:
        if bundle.config["task"] == PRETRAINING:
            raise InputError(
                f"{bundle.folder}: this is a pretrained model without a label head; "
                "fine-tune it first. See: dna-bigbird finetune --help"
            )
        self.bundle = bundle
        self.strand = strand
        self.batch_size = batch_size
        self.float32_matmul = float32_matmul
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.precision = resolve_precision(precision, self.device.type)
        self.model = bundle.model.to(self.device).eval()
        for module in self.model.modules():  # an ensemble has several encoders
            if isinstance(module, Encoder):
                module.set_backend(backend)
        self.max_pieces = bundle.config["encoder"]["max_tokens"] - 2  # [CLS] and [SEP]
        self.num_split = 0

    @property
    def label_names(self) -> list[str]:
        """Names of the columns of the probabilities."""
        return self.bundle.config["label_names"]

    def score_windows(
        self, windows: Iterable[Window], done: Callable[[int], object] = lambda count: None
    ) -> Iterator[tuple[Window, np.ndarray]]:
        """Yield every window with its probabilities (labels,), in the order given."""
        stream = iter(windows)
        while chunk := list(itertools.islice(stream, CHUNK)):
            yield from zip(chunk, self.probabilities([w.bases for w in chunk]), strict=True)
            done(len(chunk))

    def probabilities(self, sequences: Sequence[str]) -> np.ndarray:
        """Return probabilities (sequences, labels) of normalised sequences of any length."""
        parts, owner = [], []
        for index, bases in enumerate(sequences):
            if not bases.strip("N"):
                continue
            pieces = self._fitting_parts(bases)
            parts += pieces
            owner += [index] * len(pieces)
        strands = (
            [parts, [reverse_complement(p) for p in parts]] if self.strand == "both" else [parts]
        )
        result = np.full((len(sequences), len(self.label_names)), np.nan)
        if parts:
            of_parts = np.mean([self._forward_strand(s) for s in strands], axis=0)
            sums = np.zeros_like(result)
            np.add.at(sums, owner, of_parts)
            counts = np.bincount(owner, minlength=len(sequences))
            scored = counts > 0
            result[scored] = sums[scored] / counts[scored, None]
        return result

    def _fitting_parts(self, bases: str) -> list[str]:
        """Cut a window into the fewest equal parts whose tokens fit, on the strands to be scored."""
        for count in itertools.count(1):
            edges = np.linspace(0, len(bases), count + 1).astype(int)
            parts = [bases[a:b] for a, b in itertools.pairwise(edges)]
            if all(self._fits(part) for part in parts):
                self.num_split += count > 1
                return [part for part in parts if part.strip("N")]
        raise AssertionError("a part of one base always fits")

    def _fits(self, bases: str) -> bool:
        encode = self.bundle.tokenizer.encode
        if len(encode(bases)) > self.max_pieces:
            return False
        return self.strand != "both" or len(encode(reverse_complement(bases))) <= self.max_pieces

    @torch.inference_mode()
    def _forward_strand(self, sequences: list[str]) -> np.ndarray:
        """Return probabilities (sequences, labels), batching sequences of similar length."""
        tokenizer = self.bundle.tokenizer
        encoded = [
            np.concatenate([[tokenizer.cls_id], tokenizer.encode(s), [tokenizer.sep_id]])
            for s in sequences
        ]
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
        result = np.empty((len(encoded), len(self.label_names)))
        for first in range(0, len(order), self.batch_size):
            rows = order[first : first + self.batch_size]
            longest = max(len(encoded[i]) for i in rows)
            token_ids_BT = torch.full((len(rows), longest), tokenizer.pad_id)
            is_padding_BT = torch.ones((len(rows), longest), dtype=torch.bool)
            for row, i in enumerate(rows):
                token_ids_BT[row, : len(encoded[i])] = torch.from_numpy(encoded[i])
                is_padding_BT[row, : len(encoded[i])] = False
            with self._arithmetic():
                logits_BL = self.model(token_ids_BT.to(self.device), is_padding_BT.to(self.device))
            result[rows] = logits_BL.float().sigmoid().cpu().numpy()
        return result

    @contextlib.contextmanager
    def _arithmetic(self) -> Iterator[None]:
        enabled = self.precision == BFLOAT16
        with (
            float32_matmul(self.float32_matmul),
            torch.autocast(self.device.type, torch.bfloat16, enabled=enabled),
        ):
            yield
