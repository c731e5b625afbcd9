"""Building the native kernel: once, whole or not at all, and clear words where it cannot be."""

import ctypes
import fcntl
import functools
import multiprocessing
import os
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile

import pytest

from dna_bigbird.attention.kernels.native import build as module
from dna_bigbird.attention.kernels.native.build import (
    CACHE_VARIABLE,
    NativeUnavailableError,
    build,
    built,
    cache_folder,
    find_compiler,
    path_with_ninja,
)

FORK = multiprocessing.get_context("fork")  # a fresh Python would import torch each time
WAIT_S = 120


@functools.lru_cache
def obstacle() -> str:
    """Return why nothing can be compiled here, or an empty text."""
    try:
        find_compiler()
        path_with_ninja()
    except NativeUnavailableError as error:
        return str(error)
    return ""


needs_compiler = pytest.mark.skipif(bool(obstacle()), reason=obstacle())


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of this test alone, with a space in its name."""
    folder = tmp_path / "a cache"
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    return folder


def source(folder, number=42, name="small.cpp"):
    path = folder / name
    path.write_text(f'extern "C" int answer() {{ return {number}; }}\n')
    return path


def answer(library):
    return ctypes.CDLL(str(library)).answer()


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def counting_compiler(folder, monkeypatch):
    """Put a compiler into CXX that appends a line to a file each time it compiles."""
    counts = folder / "compiled"
    real = find_compiler()
    text = f'case " $* " in *" -c "*) echo compiled >> "{counts}" ;; esac\nexec "{real}" "$@"'
    monkeypatch.setenv("CXX", program(folder / "counting", text))
    return lambda: len(counts.read_text().splitlines()) if counts.exists() else 0


def libraries(cache):
    return sorted(cache.rglob("*.so"))


@needs_compiler
def test_built_once_then_found(tmp_path, cache, monkeypatch, capfd):
    count = counting_compiler(tmp_path, monkeypatch)
    text = source(tmp_path)
    assert built("portable", source=text) is None
    assert count() == 0

    library = build("portable", source=text)
    assert answer(library) == 42
    assert build("portable", source=text) == built("portable", source=text) == library
    assert count() == 1
    assert libraries(cache) == [library]
    assert not list(cache.rglob("build-*"))
    assert capfd.readouterr() == ("", "")  # `predict` writes its table to standard output

    text.unlink()
    assert built("portable", source=source(tmp_path)) == library


@needs_compiler
def test_another_text_is_another_library(tmp_path, cache):
    first = build("portable", source=source(tmp_path, 1))
    changed = source(tmp_path, 2)
    assert built("portable", source=changed) is None
    second = build("portable", source=changed)
    assert (answer(first), answer(second)) == (1, 2)
    assert libraries(cache) == sorted([first, second])


@needs_compiler
def test_a_header_belongs_to_the_source(tmp_path):
    text = tmp_path / "small.cpp"
    text.write_text('#include "number.h"\nextern "C" int answer() { return NUMBER; }\n')
    header = tmp_path / "number.h"
    header.write_text("#define NUMBER 5\n")
    assert answer(build("portable", source=text)) == 5
    header.write_text("#define NUMBER 6\n")
    assert built("portable", source=text) is None


def test_another_instruction_set_is_another_library(tmp_path):
    texts = module._texts(source(tmp_path))
    assert len({module._folder(isa, texts) for isa in module.FLAGS}) == len(module.FLAGS)


@needs_compiler
def test_the_library_needs_nothing_of_pytorch(tmp_path):
    """So that it fits every PyTorch, and loads without one."""
    library = build("portable", source=source(tmp_path))
    code = f"import ctypes; print(ctypes.CDLL({str(library)!r}).answer())"
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "42\n"


@needs_compiler
def test_the_library_of_this_compiler_is_preferred(tmp_path, monkeypatch):
    """Another one's is used where there is no own: on a node without a compiler, for instance."""
    text = source(tmp_path)
    own = build("portable", source=text)
    other = own.with_name("another.so")
    shutil.copy(own, other)
    os.utime(own, (1, 1))
    assert built("portable", source=text) == own
    monkeypatch.setenv("CXX", "none-of-that-name")
    assert built("portable", source=text) == build("portable", source=text) == other
    monkeypatch.delenv("CXX")
    own.unlink()
    assert built("portable", source=text) == other


@needs_compiler
def test_a_library_in_a_cache_that_is_read_only(tmp_path):
    """In a container's image, say: another compiler's library is used, not built again."""
    text = source(tmp_path)
    own = build("portable", source=text)
    other = own.rename(own.with_name("another.so"))
    lock = own.with_name("lock")
    lock.unlink()
    lock.mkdir()  # root may write to read-only folders
    assert build("portable", source=text) == other


def wait_and_build(barrier, text, results):
    barrier.wait(WAIT_S)
    results.put(str(build("portable", source=text)))


@needs_compiler
def test_four_processes_build_once(tmp_path, cache, monkeypatch):
    count = counting_compiler(tmp_path, monkeypatch)
    text = source(tmp_path)
    barrier, results = FORK.Barrier(4), FORK.SimpleQueue()
    arguments = (barrier, text, results)
    processes = [FORK.Process(target=wait_and_build, args=arguments) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(WAIT_S)
    assert [process.exitcode for process in processes] == [0] * 4
    assert {results.get() for _ in processes} == {str(libraries(cache)[0])}
    assert count() == 1


@needs_compiler
def test_without_locks_a_library_is_whole_all_the_same(tmp_path, cache, monkeypatch):
    """Some network file systems have none: another's build is then left alone."""

    def refuse(stream, operation):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    text = source(tmp_path)
    beside = module._folder("portable", module._texts(text)) / "build-of-another"
    beside.mkdir(parents=True)
    assert answer(build("portable", source=text)) == 42
    assert beside.exists()


def build_in_a_group_of_its_own(text):
    os.setsid()
    build("portable", source=text)


@needs_compiler
def test_a_killed_build_leaves_nothing_that_counts(tmp_path, cache, monkeypatch):
    """PyTorch's own lock file is left behind; its next build would wait for it for ever."""
    real = find_compiler()
    started, waiting = tmp_path / "started", tmp_path / "waiting"
    os.mkfifo(started)
    os.mkfifo(waiting)
    reader, gate = os.open(started, os.O_RDONLY | os.O_NONBLOCK), os.open(waiting, os.O_RDWR)
    hang = f'case " $* " in *" -c "*) echo > "{started}"; read x < "{waiting}" ;; esac'
    monkeypatch.setenv("CXX", program(tmp_path / "slow", f'{hang}\nexec "{real}" "$@"'))
    text = source(tmp_path)
    process = FORK.Process(target=build_in_a_group_of_its_own, args=(text,))
    process.start()
    try:
        assert select.select([reader], [], [], WAIT_S)[0], "the compiler was not started"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
        os.close(reader)
        os.write(gate, b"\n")  # the compiler is in a session of its own and lives on: let it end
    assert libraries(cache) == []
    assert built("portable", source=text) is None
    assert [path.parent.name[:6] for path in cache.rglob("build-*/lock")] == ["build-"]

    monkeypatch.setenv("CXX", real)
    assert answer(build("portable", source=text)) == 42
    assert not list(cache.rglob("build-*"))
    os.close(gate)


@needs_compiler
def test_a_failed_compilation_names_the_log(tmp_path, cache):
    text = tmp_path / "wrong.cpp"
    text.write_text('extern "C" int answer() { return forty_two; }\n')
    with pytest.raises(NativeUnavailableError, match=r"wrong\.cpp:1:.*error.*forty_two") as caught:
        build("portable", source=text)
    message = str(caught.value)
    assert "\n" not in message
    log = next(cache.rglob(module.LOG))
    assert f"all the compiler said: {log}" in message
    assert "forty_two" in log.read_text()
    assert libraries(cache) == []
    assert not list(cache.rglob("build-*"))


def test_no_compiler(tmp_path, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NativeUnavailableError, match=r"no C\+\+ compiler found; .*apt-get .*conda"):
        build("portable", source=source(tmp_path))
    assert built("portable", source=source(tmp_path)) is None


def test_a_compiler_named_wrongly(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "g+++")
    with pytest.raises(NativeUnavailableError, match=r"CXX is 'g\+\+\+', which is not a program"):
        build("portable", source=source(tmp_path))


def test_a_compiler_that_does_not_start(tmp_path, monkeypatch):
    path = tmp_path / "broken"
    path.write_text("#!/none/of/that/name\n")
    path.chmod(0o755)
    monkeypatch.setenv("CXX", str(path))
    with pytest.raises(NativeUnavailableError, match=r"broken does not start: No such file"):
        build("portable", source=source(tmp_path))


def without_ninja(folder, monkeypatch):
    monkeypatch.setenv("CXX", program(folder / "compiler", "echo compiler 1"))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(folder / name))


def test_no_ninja(tmp_path, monkeypatch):
    without_ninja(tmp_path, monkeypatch)
    expected = r"needs ninja .*pip install '\S+\[native\]'"
    with pytest.raises(NativeUnavailableError, match=expected):
        build("portable", source=source(tmp_path))


def test_ninja_of_an_environment_not_activated(tmp_path, monkeypatch):
    """`.venv/bin/dna-bigbird` runs without .venv/bin on the search path."""
    without_ninja(tmp_path, monkeypatch)
    (tmp_path / "scripts").mkdir()
    program(tmp_path / "scripts" / "ninja", "echo 1.11")
    assert str(tmp_path / "scripts") in path_with_ninja().split(os.pathsep)


@needs_compiler
def test_a_cache_that_cannot_be_written_to(tmp_path, cache):
    cache.write_text("a file where the folder should be")
    expected = rf"cannot be kept: .*a cache.*: Not a directory; set {CACHE_VARIABLE}"
    with pytest.raises(NativeUnavailableError, match=expected):
        build("portable", source=source(tmp_path))
    assert built("portable", source=source(tmp_path)) is None


@needs_compiler
def test_a_library_of_another_user_is_not_loaded(tmp_path, monkeypatch):
    """A cache below /tmp can be filled by anyone; one that is named is trusted."""
    text = source(tmp_path)
    library = build("portable", source=text)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    os.chmod(library, 0o646)
    assert built("portable", source=text) == library

    monkeypatch.setattr(module, "ENVIRONMENT", tmp_path / "no environment")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "a cache").rename(tmp_path / "dna-bigbird")
    monkeypatch.delenv(CACHE_VARIABLE)
    assert built("portable", source=text) is None
    library = build("portable", source=text)
    assert not library.stat().st_mode & 0o002


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({CACHE_VARIABLE: "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/dna-bigbird"),
        ({"HOME": "/c"}, "/c/.cache/dna-bigbird"),
    ],
)
def test_where_the_cache_is(monkeypatch, tmp_path, variables, expected):
    monkeypatch.setattr(module, "ENVIRONMENT", tmp_path)
    for name in (CACHE_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(cache_folder()) == expected


def test_a_checkout_keeps_its_cache(monkeypatch, tmp_path):
    """`.venv/bin/dna-bigbird` finds what `make` built, whatever the user's variables say."""
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".folder").write_text(str(tmp_path))
    monkeypatch.setattr(module, "ENVIRONMENT", tmp_path / ".venv")
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cache_folder() == tmp_path / ".cache" / "dna-bigbird"


def test_a_user_without_a_home(tmp_path, monkeypatch):
    def fails():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(module, "ENVIRONMENT", tmp_path)
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(module.Path, "home", fails)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cache_folder() == tmp_path / f"dna-bigbird-{os.geteuid()}"
