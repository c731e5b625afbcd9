"""A scorer in a process of its own."""

import logging
import zlib
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.errors import InputError
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.devices import set_backend
from dna_bigbird.inference.scorer import Scorer


def fingerprint(model: nn.Module) -> int:
    """Return a number that tells one set of weights from another."""
    found = 0
    for parameter in model.parameters():
        found = zlib.crc32(parameter.detach().cpu().flatten().view(torch.uint8).numpy(), found)
    return found


class LoadScorer(NamedTuple):
    """Makes a scorer in a process of its own.

    Raises:
        InputError: If a folder holds other weights than the bundle that was given.
    """

    folders: list[Path]
    fingerprints: list[int]
    compute: Compute
    device: str
    labels: list[int]
    threads: int

    def __call__(self, number: int) -> Scorer:
        """Return the scorer of process `number`; processes take the GPUs in turn."""
        torch.set_num_threads(self.threads)
        # What there is to warn of, the parent process has said.
        logging.getLogger("dna_bigbird").setLevel(logging.ERROR)
        device = torch.device(self.device)
        if device.type == "cuda":
            device = torch.device("cuda", number % torch.cuda.device_count())
        bundles = [load_bundle(folder) for folder in self.folders]
        for bundle, expected in zip(bundles, self.fingerprints, strict=True):
            if fingerprint(bundle.model) != expected:
                raise InputError(
                    f"{bundle.folder}: holds other weights than the model in memory, and --workers "
                    "reads the folder; save the model there, or use --workers 0"
                )
            set_backend(bundle, self.compute.backend, device)
        return Scorer(bundles, self.compute, device, self.labels)
