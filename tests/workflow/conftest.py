"""A folder with the workflow in it, apart from the checkout's own results and locks."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@dataclass
class Workflow:
    """Runs Snakemake in its folder."""

    folder: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        """Return exit status and everything it printed."""
        environment = os.environ | {"XDG_CACHE_HOME": str(self.folder / ".cache")}
        environment.pop("DNA_BIGBIRD_RUN", None)
        return subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def snakemake(self, *arguments: str, check: bool = True) -> str:
        """Return everything it printed; it must succeed unless `check` is False."""
        done = self.run(*arguments)
        if check:
            assert done.returncode == 0, done.stdout
        else:
            assert done.returncode != 0, done.stdout
        return done.stdout

    @staticmethod
    def jobs_of(output: str) -> dict[str, int]:
        """Read the table of jobs that a dry run prints."""
        table = output[output.index("Job stats:") :].split("\n\n")[0]
        rows = re.findall(r"^(\w+) +(\d+)$", table, flags=re.MULTILINE)
        return {name: int(count) for name, count in rows}

    @staticmethod
    def commands_of(output: str) -> list[str]:
        """Read the dna-bigbird commands that a dry run prints, without the log."""
        found = re.findall(r"-m dna_bigbird (.+?) >>? logs/\S+ 2>&1", output)
        assert found
        return found

    def config(self, base: str = "config/config.yaml", **changes) -> str:
        """Write a changed config and return its name; a key with dots is nested; None removes."""
        values = yaml.safe_load((ROOT / base).read_text())
        for key, value in changes.items():
            *above, last = key.split("__")
            place = values
            for name in above:
                place = place[name]
            if value is None:
                place.pop(last)
            else:
                place[last] = value
        (self.folder / "changed.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
        return "changed.yaml"


def copy_of_the_workflow(folder: Path) -> Workflow:
    for name in ("Snakefile", "environment.yml"):
        shutil.copy(ROOT / name, folder)
    for name in ("workflow", "config", "data_specs"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "profiles").symlink_to("workflow/profiles")
    return Workflow(folder)


@pytest.fixture(autouse=True)
def no_slurm(monkeypatch):
    """Dry runs with a cluster profile would wait for a controller that is down."""
    monkeypatch.setenv("SLURM_CONF", "/dev/null")


@pytest.fixture
def workflow(tmp_path) -> Workflow:
    return copy_of_the_workflow(tmp_path)


@pytest.fixture(scope="module")
def new_workflow(tmp_path_factory):
    """Makes as many separate copies as a module needs."""
    return lambda name: copy_of_the_workflow(tmp_path_factory.mktemp(name))
