"""Makes the shared library of the native kernel, once for a machine, and keeps it in a cache.

`$DNA_BIGBIRD_CACHE/native/<key>/<compiler>.so`: the key is of the source text, the options, the
instruction set and the platform. The compiler has no part in the key, because a library of plain C
calls may be used where there is another compiler, or none (a cluster's login node has one, its
compute nodes do not); it is in the file's name, so another compiler makes another library.

PyTorch's extension builder runs in a process of its own: it loads what it has built, and reads its
settings from the environment. Several first uses at once build once: they wait for a lock that dies
with its process. The library gets its name when it is whole; what a killed build left (PyTorch's
own lock file among it, for which its next call would wait for ever) is removed by the next one.
"""

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.attention.kernels.native.isa import FLAGS
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.extras import install_command

COMPILERS = ("c++", "g++", "clang++")


class NativeUnavailableError(InputError, RuntimeError):
    """The native kernel cannot be built here; the message is one line and says what to do."""


def find_compiler() -> str:
    """Return the path of the C++ compiler: $CXX, else c++, g++ or clang++."""
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
    """Return a search path on which there is ninja; it may be in an environment not activated."""
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


SOURCE = Path(__file__).with_name("kernel.cpp")
COMPILE = ("-O3", "-std=c++17", "-fopenmp")
# PyTorch's libraries are loaded anyway: as needed, so that the kernel fits every version of it.
LINK = ("-fopenmp", *(("-Wl,--as-needed",) if sys.platform == "linux" else ()))
CACHE_VARIABLE = "DNA_BIGBIRD_CACHE"
ENVIRONMENT = Path(sys.prefix)
LOG = "build.log"
_SCRIPT = (
    "import json, sys; from torch.utils.cpp_extension import load; load(**json.load(sys.stdin))"
)


def cache_folder() -> Path:
    """Return $DNA_BIGBIRD_CACHE, else `.cache/` of `make setup`'s checkout, else the user's."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).absolute()
    if (ENVIRONMENT / ".folder").is_file():  # the Makefile's mark
        return ENVIRONMENT.parent / ".cache" / "dna-bigbird"
    user = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(user) if user else Path.home() / ".cache").absolute() / "dna-bigbird"
    except RuntimeError:  # a container may run as a user that it does not know
        return Path(tempfile.gettempdir()) / f"dna-bigbird-{os.geteuid()}"


def built(isa: str, *, source: Path = SOURCE) -> Path | None:
    """Return the library for an instruction set or None, never compiled here."""
    try:
        folder = _folder(isa, _texts(source))
        libraries = sorted(folder.glob("*.so"), key=lambda path: path.stat().st_mtime_ns)
    except OSError:
        return None
    libraries = [path for path in libraries if _is_ours(path)]
    if len(libraries) > 1:
        with contextlib.suppress(NativeUnavailableError):
            own = _library(folder, find_compiler())
            return own if own in libraries else libraries[-1]
    return libraries[-1] if libraries else None


def build(isa: str, *, verbose: bool = False, source: Path = SOURCE) -> Path:
    """Return the library for an instruction set, made first if it is not there (some seconds).

    Raises:
        NativeUnavailableError: If compiling fails (the message names the file with all the compiler
            said); and, unless another compiler's library is there, if there is no compiler or no
            ninja, or the cache cannot be written to.
    """
    texts = _texts(source)
    folder = _folder(isa, texts)
    try:
        compiler = find_compiler()
        library = _library(folder, compiler)
        if _is_ours(library):
            return library
        search_path = path_with_ninja()
    except NativeUnavailableError as error:
        return _of_another_compiler(isa, source, error)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder) as is_alone:
            if not _is_ours(library):
                if verbose:
                    print(f"building the native kernel ({isa}) with {compiler} …", file=sys.stderr)
                if is_alone:  # what killed builds left
                    for left in folder.glob("build-*"):
                        shutil.rmtree(left, ignore_errors=True)
                _make(library, isa, texts, compiler, search_path)
    except OSError as error:
        unwritable = NativeUnavailableError(
            f"the native kernel cannot be kept: {error.filename or folder}: {error.strerror}; set "
            f"{CACHE_VARIABLE} to a folder of yours that can be written to"
        )
        return _of_another_compiler(isa, source, unwritable)
    return library


def _of_another_compiler(isa: str, source: Path, obstacle: NativeUnavailableError) -> Path:
    library = built(isa, source=source)
    if library is None:
        raise obstacle
    return library


def _make(
    library: Path, isa: str, texts: dict[str, bytes], compiler: str, search_path: str
) -> None:
    """Compile in a folder of its own, then give the library its name."""
    with tempfile.TemporaryDirectory(prefix="build-", dir=library.parent) as scratch:
        for name, text in texts.items():
            Path(scratch, name).write_bytes(text)
        settings = {
            "name": "kernel",
            "sources": [os.path.join(scratch, next(iter(texts)))],
            "extra_cflags": [*COMPILE, *FLAGS[isa]],
            "extra_ldflags": list(LINK),
            "build_directory": scratch,
            "is_python_module": False,
            "verbose": True,
        }
        log = Path(scratch, LOG)
        with open(log, "wb") as stream:
            done = subprocess.run(
                [sys.executable, "-P", "-c", _SCRIPT],
                input=json.dumps(settings).encode(),
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=_environment(compiler, search_path),
                check=False,
            )
        log = log.replace(library.with_name(LOG))
        compiled = Path(scratch, "kernel.so")
        if done.returncode or not compiled.is_file():
            raise NativeUnavailableError(
                f"the native kernel could not be compiled with {compiler}: {_reason(log)}; all the "
                f"compiler said: {log}; CXX names another compiler"
            )
        compiled.replace(library)


def _environment(compiler: str, search_path: str) -> dict[str, str]:
    """Return the builder's environment: our compiler, and no opinion on it."""
    # The check of the compiler's C++ interface does not matter to a kernel of plain C calls.
    return {
        **os.environ,
        "CXX": compiler,
        "PATH": search_path,
        "TORCH_DONT_CHECK_COMPILER_ABI": "1",
        "LC_ALL": "C",
    }


def _reason(log: Path) -> str:
    """Return the first line of the log that says what is wrong, in short."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)]
    return (errors or lines[-1:] or ["it said nothing"])[0][:200]


def _texts(source: Path) -> dict[str, bytes]:
    """Return the source, first, and the headers next to it: what is hashed is what is compiled."""
    return {path.name: path.read_bytes() for path in (source, *sorted(source.parent.glob("*.h")))}


def _folder(isa: str, texts: dict[str, bytes]) -> Path:
    system = [platform.system(), platform.machine(), *platform.libc_ver()]
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}
    inputs = json.dumps([isa, COMPILE, FLAGS[isa], LINK, system, digests])
    return cache_folder() / "native" / hashlib.sha256(inputs.encode()).hexdigest()[:20]


def _library(folder: Path, compiler: str) -> Path:
    return folder / f"{identity(compiler)}.so"


def _is_ours(library: Path) -> bool:
    """Return True if a library is there and may be loaded: another user's code must not run."""
    # A cache under /tmp can be another user's. Who names a cache folder trusts it.
    try:
        stat = library.stat()
    except OSError:
        return False
    if os.environ.get(CACHE_VARIABLE):
        return True
    return stat.st_uid in (os.geteuid(), 0) and not stat.st_mode & 0o002


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Wait for the folder's lock; yields False where the file system has none."""
    with open(folder / "lock", "w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX)
        except OSError:  # some network file systems: builds may be repeated, but are never mixed
            yield False
        else:
            yield True
