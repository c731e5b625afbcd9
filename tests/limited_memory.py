"""Commands in a process that may take only so much memory: a size in a file must not be believed.

`python -m tests.limited_memory MEBIBYTES COMMAND …` runs `dna-bigbird COMMAND …` with that much more than
the libraries take.
"""

import os
import resource
import subprocess
import sys
from pathlib import Path


def limit_memory(mebibytes: int) -> None:
    """Let this process take so much more address space than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + mebibytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run_limited(*argv: object, mebibytes: int = 700) -> subprocess.CompletedProcess:
    """Run `dna-bigbird` with little memory; `returncode`, `stdout` and `stderr` (text) say how it ended."""
    command = [sys.executable, "-m", "tests.limited_memory", str(mebibytes), *map(str, argv)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parents[1],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def error_line(done: subprocess.CompletedProcess) -> str:
    """Return the one line of a refusal.

    Raises:
        AssertionError: If the process ended otherwise.
    """
    assert done.returncode == 2, (done.returncode, done.stderr[-2000:])
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr[-2000:]
    assert lines[0].startswith("dna-bigbird: error: ")
    return lines[0]


if __name__ == "__main__":
    import torch  # noqa: F401 - loaded before the limit is set

    import dna_bigbird.bundles.weights  # noqa: F401
    from dna_bigbird.cli.main import main

    limit_memory(int(sys.argv[1]))
    main(sys.argv[2:])
