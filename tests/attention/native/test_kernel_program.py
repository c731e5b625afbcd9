"""The kernel's own C++ test, with nothing of Python or PyTorch in it: plain, and under checkers."""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dna_bigbird.attention.kernels.native.build import SOURCE, NativeUnavailableError, find_compiler
from dna_bigbird.attention.kernels.native.isa import FLAGS, ISAS, supported_isas

PROGRAM = Path(__file__).with_name("kernel_test.cpp")
OPTIONS = ("-O2", "-std=c++17", "-fopenmp", "-w")
SANITIZERS = {
    "address": (
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        "-D_GLIBCXX_ASSERTIONS",
    ),
    "thread": ("-fsanitize=thread", "-g"),
}
SMALL, LARGE = 1_000_000, 100_000_000  # most work of a problem
LIMIT_S = 900
each_isa = pytest.mark.parametrize("isa", ISAS)


@functools.lru_cache
def compiler():
    """Return the compiler, or skip."""
    try:
        return find_compiler()
    except NativeUnavailableError as error:
        pytest.skip(str(error))


def built(folder, isa, *options, source=SOURCE):
    """Compile the program for an instruction set, or skip."""
    if isa not in supported_isas():
        pytest.skip(f"this processor has no {isa}")
    program = folder / "kernel_test"
    command = [compiler(), *OPTIONS, *FLAGS[isa], *options, "-I", source.parent, PROGRAM, source]
    subprocess.run([*command, "-o", program], check=True, timeout=LIMIT_S)
    return program


def checked(*command, **variables):
    """Run a command that must succeed and print one line; return the line and what it complains of."""
    done = subprocess.run(
        [str(part) for part in command],
        # Five threads that wait actively on fewer processors, for each other, take minutes.
        env={**os.environ, "OMP_WAIT_POLICY": "passive", **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 1, done.stdout
    return done.stdout, done.stderr


@each_isa
def test_random_problems(tmp_path, isa):
    """Against plain loops in double; and a wrong block in a list is found."""
    program = built(tmp_path, isa)
    assert checked(program, 1, 60)[0].startswith("60 problems, largest error ")
    found, _ = checked(program, 1, 200, SMALL, "--self-test")
    assert re.fullmatch(r"[1-9]\d* problems with a wrong block\n", found)


def test_a_wrong_kernel_fails(tmp_path):
    """One that scales scores wrongly; what the program says repeats the failure."""
    right, wrong = "scale * (float)M_LOG2E", "scale"
    texts = {path.name: path.read_text() for path in SOURCE.parent.glob("*.[ch]*")}
    assert any(right in text for text in texts.values())
    for name, text in texts.items():
        (tmp_path / name).write_text(text.replace(right, wrong))
    program = built(tmp_path, "portable", source=tmp_path / SOURCE.name)
    done = subprocess.run([program, "7", "2"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    first, *_, last = done.stdout.splitlines()
    assert re.fullmatch(r"off by .* of out, .*; to repeat: kernel_test 7 1 20000000", first)
    assert last.startswith("2 problems, largest error ")

    done = subprocess.run([program, "7"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: kernel_test FIRST_SEED PROBLEMS")


@pytest.mark.slow
@each_isa
def test_many_large_problems(tmp_path, isa):
    checked(built(tmp_path, isa), 10_000, 300, LARGE)


@pytest.mark.slow
@each_isa
def test_address_and_undefined_behaviour_sanitizers(tmp_path, isa):
    program = built(tmp_path, isa, *SANITIZERS["address"])
    settings = "allocator_may_return_null=1:detect_leaks="
    probe = subprocess.run(
        [program, "1", "1", str(SMALL)],
        env={**os.environ, "ASAN_OPTIONS": f"{settings}1"},
        capture_output=True,
        text=True,
        check=False,
    )
    # LeakSanitizer stops every thread as a debugger does, which some containers forbid.
    leaks = "LeakSanitizer has encountered a fatal error" not in probe.stderr
    checked(program, 1, 300, ASAN_OPTIONS=f"{settings}{int(leaks)}")


@pytest.mark.slow
@each_isa
def test_thread_sanitizer(tmp_path, isa):
    """With threads of the program's own in place of libgomp's, whose waiting it does not see."""
    program = built(tmp_path, isa, *SANITIZERS["thread"])
    checked(program, 1, 200, SMALL, TSAN_OPTIONS="allocator_may_return_null=1")


@pytest.mark.slow
def test_valgrind(tmp_path):
    """The portable path: valgrind 3.19 does not know AVX-512."""
    if shutil.which("valgrind") is None:
        pytest.skip("there is no valgrind here")
    program = built(tmp_path, "portable", "-g")
    # libgomp's threads live until the end, and their memory with them: it is still reachable.
    options = ("-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite")
    checked("valgrind", *options, program, 1, 60, SMALL)
