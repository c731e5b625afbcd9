"""Peak memory of a dna-bigbird command with all its child processes."""

import subprocess
import sys
import time
from pathlib import Path

SAMPLE_S = 0.02


def proportional_bytes(process: int) -> int:
    """Return the memory of a process and its descendants; what they share counts once.

    0 for a process that has ended. Linux only.
    """
    folder = Path("/proc", str(process))
    try:
        lines = (folder / "smaps_rollup").read_text().splitlines()
        children = (folder / "task" / str(process) / "children").read_text().split()
    except OSError:
        return 0
    own = sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return own + sum(proportional_bytes(int(child)) for child in children)


def peak(*arguments: object) -> int:
    """Run `dna-bigbird ARGUMENTS` and return the most memory that was seen at once, in bytes.

    Raises:
        subprocess.CalledProcessError: If the command fails.
    """
    command = [sys.executable, "-m", "dna_bigbird", *map(str, arguments)]
    highest = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            highest = max(highest, proportional_bytes(process.pid))
            time.sleep(SAMPLE_S)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return highest
