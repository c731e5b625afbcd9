"""`make setup` builds the native kernel and installs bedtools where it can, and goes on where it cannot."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dna_bigbird.cli.main import CHOICES, SETTINGS

ROOT = Path(__file__).parents[1]
GOES_ON = "make: going on without the native kernel: the native kernel needs a C++ compiler\n"


def make_native(folder, script):
    """Run the target `native` with a stand-in for the command, and no environment to install."""
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    shutil.copy(ROOT / "Makefile", folder)
    for name in ("pyproject.toml", "constraints.txt"):
        (folder / name).touch()
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "dna-bigbird").write_text(f"#!/bin/sh\n{script}\n")
    (programs / "dna-bigbird").chmod(0o755)
    command = ["make", "--no-print-directory", "native", "STAMP="]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_built_it_is_silent_but_for_the_progress(tmp_path):
    done = make_native(tmp_path, "echo kernel.so; echo building >&2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "building\n")


def test_not_built_it_says_why_in_one_line_and_goes_on(tmp_path):
    text = "dna-bigbird: error: the native kernel needs a C++ compiler"
    done = make_native(tmp_path, f"echo '{text}' >&2; exit 2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", GOES_ON)


def test_the_command_is_asked_to_build(tmp_path):
    assert make_native(tmp_path, 'echo "$@" >&2').stderr == "doctor --build-native\n"


def test_a_program_that_fails_otherwise_stops_make(tmp_path):
    done = make_native(tmp_path, "echo Traceback >&2; exit 1")
    assert done.returncode == 2
    assert done.stderr.startswith("Traceback\n")


def test_setup_asks_for_it():
    lines = (ROOT / "Makefile").read_text().splitlines()
    setup = next(line for line in lines if line.startswith("setup:"))
    assert "native" in setup.split("##")[0].split()


BEDTOOLS = (
    "make: going on without bedtools: no cross-check of leakage and labels. Debian, Ubuntu: "
    "sudo apt-get install bedtools; conda: see environment.yml\n"
)


def make_bedtools(folder, user, apt_get=None):
    """Run the target `bedtools` where there is none, with programs in place of the system's."""
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    shutil.copy(ROOT / "Makefile", folder)
    for name in ("pyproject.toml", "constraints.txt"):
        (folder / name).touch()
    programs = folder / "programs"
    programs.mkdir()
    for name in ("cat", "cut", "cksum", "make"):
        (programs / name).symlink_to(shutil.which(name))
    scripts = {"id": f"echo {user}"} | ({"apt-get": apt_get} if apt_get else {})
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    command = [shutil.which("make"), "--no-print-directory", "bedtools", "STAMP="]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={"PATH": str(programs)}
    )


@pytest.mark.parametrize(
    ("user", "apt_get"), [(1000, "echo no >&2; exit 100"), (0, None), (1000, None)]
)
def test_setup_goes_on_without_bedtools(tmp_path, user, apt_get):
    done = make_bedtools(tmp_path, user, apt_get)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", BEDTOOLS)


def test_setup_goes_on_where_bedtools_cannot_be_fetched(tmp_path):
    done = make_bedtools(tmp_path, 0, "echo no network >&2; exit 100")
    assert (done.returncode, done.stderr) == (0, "no network\n" + BEDTOOLS)


def test_root_on_debian_gets_bedtools(tmp_path):
    done = make_bedtools(tmp_path, 0, 'echo "$@"')
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "install -q -y --no-install-recommends bedtools"


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, SETTINGS),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, {"OMP_WAIT_POLICY": "ACTIVE"}),
        ({"GOMP_SPINCOUNT": "5"}, {"GOMP_SPINCOUNT": "5"}),
    ],
)
def test_waiting_threads_of_tests_sleep_unless_the_user_chose(chosen, expected):
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    environment = {key: value for key, value in os.environ.items() if key not in CHOICES}
    command = ["make", "--eval", "show: ; @env", "show"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment | chosen, capture_output=True, text=True
    )
    shown = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert {name: shown[name] for name in CHOICES if name in shown} == expected


def install(folder, *words):
    """Run the installation with a program in place of Python; return the constraints, pip's words."""
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "pyproject.toml").touch()
    (folder / "constraints.txt").write_text("sympy==1.14.0\ntorch==2.13.0\ntorchmetrics==1.9.0\n")
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "python").write_text('#!/bin/sh\necho "$@" >> pip.txt\n')
    (programs / "python").chmod(0o755)
    rule = ".SECONDEXPANSION:\ninstall: $$(STAMP)"  # --eval is read before the Makefile
    command = ["make", "--eval", rule, "install", *words]
    subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    read = (folder / "pip.txt").read_text().splitlines()[-1]
    assert "--constraint .venv/constraints.txt" in read
    return (folder / ".venv" / "constraints.txt").read_text().split(), read.split()


@pytest.mark.parametrize(
    ("words", "torch", "upgraded"),
    [
        ([], ["torch==2.13.0"], False),
        (["TORCH=2.10.0"], ["torch==2.10.0"], False),
        (["TORCH=newest"], [], True),
    ],
)
def test_torch_can_be_chosen(tmp_path, words, torch, upgraded):
    constraints, pip = install(tmp_path, *words)
    assert constraints == ["sympy==1.14.0", *torch, "torchmetrics==1.9.0"]
    assert (pip[-2:] == ["--upgrade", "torch"]) is upgraded


def test_another_torch_is_installed_and_the_same_is_not(tmp_path):
    for words in (["TORCH=2.10.0"], ["TORCH=2.10.0"], [], []):
        install(tmp_path, *words)
    calls = (tmp_path / "pip.txt").read_text().splitlines()
    assert len([line for line in calls if " install " in line]) == 2
