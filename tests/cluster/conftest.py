"""A running SLURM test cluster, or one started for these tests, or a reason to skip them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.workflow.conftest import ROOT, Workflow, copy_of_the_workflow
from tests.workflow.test_kill import FINETUNING, TINY

START = "DNA_BIGBIRD_START_SLURM"
CONFIG = ("--configfile", "changed.yaml")


def is_test_cluster() -> bool:
    """Tell whether the SLURM of this machine is the one that start-slurm makes, and answers.

    A real cluster is never tested on without being asked.
    """
    if shutil.which("scontrol") is None:
        return False
    command = ["scontrol", "show", "config"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60)
    lines = (line.split("=", 1) for line in shown.stdout.splitlines() if "=" in line)
    settings = {name.strip(): value.strip() for name, value in lines}
    nodes = subprocess.run(["sinfo", "-h", "-p", "cpu", "-o", "%D"], capture_output=True, text=True)
    return settings.get("ClusterName") == "test" and nodes.stdout.split() == ["2"]


@pytest.fixture(scope="session")
def cluster():
    """The cluster is there; one that was started here is stopped at the end."""
    if is_test_cluster():
        yield
        return
    start = Path(os.environ.get(START) or ROOT.parent / "shared" / "slurm" / "start-slurm")
    if not start.is_file():
        pytest.skip(f"no SLURM test cluster runs, and {START} names no start-slurm script")
    if os.geteuid():
        pytest.skip("no SLURM test cluster runs, and only root can start one")
    subprocess.run([start, "--cpus", "4"], check=True, stdout=sys.stderr)
    yield
    subprocess.run([start.with_name("stop-slurm")], check=True, stdout=sys.stderr)


@pytest.fixture
def proved(capsys):
    """Function (text): print what has been proven, past pytest's capturing."""

    def say(text: str) -> None:
        with capsys.disabled():
            print(f"\nproved: {text}", flush=True)

    return say


class Copy(Workflow):
    """A folder with the workflow, a tiny config and profiles of its own."""

    def tiny(self, **training) -> None:
        """Write the config; `training` changes the settings of pretraining and fine-tuning."""
        changes = {**TINY, "pretraining": TINY["pretraining"] | training, "chromatin": None}
        changes["predictions"] = None
        changes["promoter__training"] = FINETUNING | training
        self.config(**changes)

    def profile(self, rules: dict[str, dict], **options) -> tuple[str, ...]:
        """Write a profile like slurm-test with more resources for some rules; the options."""
        values = yaml.safe_load((ROOT / "workflow/profiles/slurm-test/config.v8+.yaml").read_text())
        for name, resources in rules.items():
            values["set-resources"][name] |= resources
            values["set-threads"][name] = 1
        folder = self.folder / "workflow" / "profiles" / "changed"
        folder.mkdir(exist_ok=True)
        (folder / "config.v8+.yaml").write_text(yaml.safe_dump(values | options))
        return ("--workflow-profile", "workflow/profiles/changed")

    def log(self, rule: str) -> str:
        return (self.folder / f"logs/tiny/{rule}.log").read_text()


@pytest.fixture(scope="session")
def prepared(cluster, tmp_path_factory) -> Path:
    """A folder in which everything before the trainings has been made, without SLURM."""
    workflow = Copy(copy_of_the_workflow(tmp_path_factory.mktemp("prepared")).folder)
    workflow.tiny()
    made = [f"results/tiny/{name}" for name in ("corpus/validation.h5", "promoter/set.h5")]
    workflow.snakemake("--cores", "2", "results/tiny/corpus/train.h5", *made, *CONFIG)
    return workflow.folder


@pytest.fixture(scope="session")
def new_copy(prepared):
    """Function (folder): a copy of the prepared folder, in which Snakemake makes nothing again."""
    return lambda folder: Copy(shutil.copytree(prepared, folder / "copy", symlinks=True))


@pytest.fixture
def copy(new_copy, tmp_path) -> Copy:
    return new_copy(tmp_path)
