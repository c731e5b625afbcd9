"""The programs that build the native kernel: a C++ compiler and ninja."""

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.extras import install_command

COMPILERS = ("c++", "g++", "clang++")


class NativeUnavailableError(InputError, RuntimeError):
    """The native kernel cannot be built here; the message is one line and says what to do."""


def find_compiler() -> str:
    """Return the path of the C++ compiler: $CXX, else c++, g++ or clang++.

    Raises:
        NativeUnavailableError: If there is none.
    """
    named = os.environ.get("CXX")
    for name in (named,) if named else COMPILERS:
        path = shutil.which(name)
        if path:
            return os.path.abspath(path)
    problem = f"CXX is {named!r}, which is not a program" if named else "no C++ compiler found"
    raise NativeUnavailableError(
        f"the native kernel needs a C++ compiler: {problem}; get one with apt-get install g++, or "
        "conda install -c conda-forge cxx-compiler"
    )


def path_with_ninja() -> str:
    """Return a search path on which there is ninja; it may be in an environment not activated.

    Raises:
        NativeUnavailableError: If there is none.
    """
    folders = [os.environ.get("PATH", os.defpath), sysconfig.get_path("scripts")]
    search_path = os.pathsep.join([*folders, str(Path(sys.executable).parent)])
    if shutil.which("ninja", path=search_path) is None:
        raise NativeUnavailableError(
            f"the native kernel needs ninja to be built: {install_command('native')}"
        )
    return search_path


@functools.lru_cache
def identity(compiler: str) -> str:
    """Return a short name for a compiler and its version."""
    try:
        done = subprocess.run([compiler, "--version"], capture_output=True, check=False)
    except OSError as error:
        raise NativeUnavailableError(
            f"the native kernel needs a C++ compiler: {compiler} does not start: {error.strerror}; "
            "CXX names another one"
        ) from error
    return hashlib.sha256(done.stdout.split(b"\n")[0]).hexdigest()[:12]
