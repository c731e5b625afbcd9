"""The GPU and the software that a measurement holds for."""

import re
from dataclasses import dataclass
from pathlib import Path

import torch

DRIVER = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True)
class Device:
    """What a choice of backend is kept for: with any other, it is measured again."""

    name: str
    driver: str
    torch: str

    @classmethod
    def here(cls) -> "Device":
        """Return the GPU that PyTorch computes on now."""
        return cls(torch.cuda.get_device_name(), driver_version(), torch.__version__)


def driver_version(path: Path = DRIVER) -> str:
    """Return the version of the NVIDIA driver, or what CUDA PyTorch was built for if it is unknown."""
    try:
        match = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", path.read_text())
    except OSError:
        match = None
    return match[0] if match else f"CUDA {torch.version.cuda}"
