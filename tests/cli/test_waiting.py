"""On the command line waiting threads sleep, unless the user says otherwise."""

import json
import os
import subprocess
import sys

import pytest

from dna_bigbird.cli.main import CHOICES

# Stops where the command is looked up: what comes after may load torch.
COMMAND = """
import json, os, subprocess, sys
import dna_bigbird.cli.main as cli

def stop(command, argv):
    child = [sys.executable, "-c", "import os; print(os.environ.get('OMP_WAIT_POLICY'))"]
    inherited = subprocess.run(child, capture_output=True, text=True, check=True).stdout.strip()
    seen = {name: os.environ.get(name) for name in sys.argv[1:]}
    print(json.dumps(seen | {"torch": "torch" in sys.modules, "child": inherited}))
    sys.exit()

cli.build_parser = stop
cli.main(["predict", "--help"])
"""
LIBRARY = """
import json, os, sys
from dna_bigbird import load_bundle, predict
from dna_bigbird.core.child_processes import Workers
print(json.dumps([os.environ.get(name) for name in sys.argv[1:]]))
"""
SPINS = """
import dna_bigbird.cli.main as cli
def load(command, argv):
    import torch
    raise SystemExit
cli.build_parser = load
cli.main(["predict", "--help"])
"""


def run(code: str, **variables: str) -> subprocess.CompletedProcess:
    environment = {key: value for key, value in os.environ.items() if key not in CHOICES}
    return subprocess.run(
        [sys.executable, "-c", code, *CHOICES],
        env=environment | variables,
        capture_output=True,
        text=True,
        check=True,
    )


def test_the_command_and_its_children_let_threads_sleep():
    seen = json.loads(run(COMMAND).stdout)
    assert seen == {
        "OMP_WAIT_POLICY": "PASSIVE",
        "GOMP_SPINCOUNT": "10000",
        "KMP_BLOCKTIME": None,
        "torch": False,  # which reads the variables while it is loaded
        "child": "PASSIVE",
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [("OMP_WAIT_POLICY", "ACTIVE"), ("GOMP_SPINCOUNT", "5000"), ("KMP_BLOCKTIME", "200")],
)
def test_the_choice_of_the_user_stays(name, value):
    seen = json.loads(run(COMMAND, **{name: value}).stdout)
    assert {key: seen[key] for key in CHOICES} == dict.fromkeys(CHOICES) | {name: value}


def test_the_openmp_library_of_torch_obeys():
    shown = run(SPINS, OMP_DISPLAY_ENV="VERBOSE").stderr
    if "GOMP_SPINCOUNT" not in shown:
        pytest.skip("this PyTorch has another OpenMP library than GCC's")
    assert "GOMP_SPINCOUNT = '10000'" in shown


def test_the_library_leaves_the_environment_alone():
    assert json.loads(run(LIBRARY).stdout) == [None, None, None]
