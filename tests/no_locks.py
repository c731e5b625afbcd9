"""Commands where no file can be locked: a preloaded library lets flock and fcntl locks fail."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ERRORS = {"ENOLCK": errno.ENOLCK, "EOPNOTSUPP": errno.EOPNOTSUPP}
"""What file systems without locks answer."""
_SOURCE = """\
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse(void) { errno = atoi(getenv("LOCK_ERRNO")); return -1; }
int flock(int fd, int operation) { (void)fd; (void)operation; return refuse(); }
int lockf(int fd, int command, off_t length) { (void)fd; (void)command; (void)length; return refuse(); }
int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *value = va_arg(rest, void *);
    va_end(rest);
    if (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW)
        return refuse();
    return syscall(SYS_fcntl, fd, command, value);
}
int fcntl64(int, int, ...) __attribute__((alias("fcntl")));
"""


def without_locks(folder: Path, error: str) -> dict[str, str]:
    """Return the environment of processes whose locks fail; skip the test without a C compiler.

    Args:
        folder: Where the library is written.
        error: A name in `ERRORS`.
    """
    library, source = folder / "no_locks.so", folder / "no_locks.c"
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        pytest.skip("no C compiler")
    source.write_text(_SOURCE)
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(source)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"the library cannot be compiled: {built.stderr[-200:]}")
    environment = {
        name: text for name, text in os.environ.items() if name != "HDF5_USE_FILE_LOCKING"
    }
    return environment | {
        "LD_PRELOAD": str(library), "LOCK_ERRNO": str(ERRORS[error]), "OMP_NUM_THREADS": "1",
    }  # fmt: skip


def run(environment: dict[str, str], *argv: object) -> subprocess.CompletedProcess:
    """Run a Python program or module with its arguments: `run(env, "-m", "dna_bigbird", "info", path)`."""
    return subprocess.run(
        [sys.executable, *map(str, argv)],
        capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment, check=False,
    )  # fmt: skip
