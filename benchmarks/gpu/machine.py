"""Where a row was measured: device, driver, versions."""

import platform
import shutil
import subprocess
from pathlib import Path

import torch

from benchmarks.lib.timing import processor, version

ROOT = Path(__file__).resolve().parents[2]


def first_line(*command: str) -> str:
    """Return the first line that a program prints, or 'unknown' if it is missing or fails."""
    if shutil.which(command[0]) is None:
        return "unknown"
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    lines = done.stdout.splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else "unknown"


def machine(device: str) -> dict:
    """Return `versions`, which decide whether a part is run again, and the commit."""
    versions = {"device": processor(device)}
    if device == "cuda":
        total_GB = torch.cuda.get_device_properties(0).total_memory / 1e9
        query = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
        versions |= {
            "GPUs": str(torch.cuda.device_count()),
            "memory": f"{total_GB:.0f} GB",
            "driver": first_line(*query),
            "CUDA": str(torch.version.cuda),
        }
    versions |= {"torch": torch.__version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in ("triton", "transformers", "pytorch-lightning")}
    return {"versions": versions, "commit": first_line("git", "rev-parse", "--short", "HEAD")}
