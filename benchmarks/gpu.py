"""Measure everything that needs a GPU: benchmarks/gpu/parts.py, which lists the options."""

import sys
import time
from pathlib import Path

STARTED_AT = time.monotonic()
sys.path[0] = str(Path(__file__).resolve().parents[1])  # also where the package is not installed

from benchmarks.gpu.parts import main  # noqa: E402

if __name__ == "__main__":
    main(started_at=STARTED_AT)
