"""Scripts of benchmarks/ in a process that lacks packages which a lent machine lacks."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCKED = ("pysam", "pyBigWig", "shtab", "snakemake", "pybedtools", "pyfaidx")
CHILD = f"""
import runpy, sys
for name in {BLOCKED}:
    sys.modules[name] = None
script, *sys.argv[1:] = sys.argv[1:]
runpy.run_path(script, run_name="__main__")
"""


def run_without(script: str, *words: object) -> subprocess.CompletedProcess:
    """Run a script of benchmarks/ in a process that lacks the packages of `BLOCKED`."""
    folder = ROOT / "benchmarks"
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(folder / script), *map(str, words)],
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
