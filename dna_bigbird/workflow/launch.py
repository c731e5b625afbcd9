"""How a job calls dna-bigbird: with which Python, and once for each GPU where a profile asks for it."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.resources import import_folder
from dna_bigbird.workflow.config.run_config import end_with
from dna_bigbird.workflow.options import Section


def package_command(*, is_deployed: bool) -> str:
    """Return the command of the Python that runs Snakemake, or of that of a conda environment or container (--sdm)."""
    if is_deployed:
        package = shlex.quote(str(import_folder(Path(".snakemake"))))
        return f"env PYTHONPATH={package} python -m dna_bigbird"
    return f"{shlex.quote(sys.executable)} -m dna_bigbird"


@dataclass(frozen=True)
class Launcher:
    """Starts of commands, for params of rules. They depend on resources, so another Python or profile does not make a result again."""

    package: str
    """The dna-bigbird command."""

    def command(self, wildcards: object, resources: Mapping[str, Any]) -> str:
        """Return the dna-bigbird command; every rule of a cluster calls it, so a profile that nobody has filled in ends here."""
        for name in ("slurm_account", "slurm_partition"):
            if resources.get(name) == "CHANGE":
                _end(
                    f"the profile says `{name}: CHANGE`: write your cluster's there, or delete the "
                    "line if it has none"
                )
        return self.package

    def training(self, settings: Section, resources: Mapping[str, Any], threads: int) -> str:
        """Return the dna-bigbird command of a training, once for each GPU where a profile asks for it."""
        # The SLURM profile gives mpi, nodes and tasks_per_node; without them Lightning starts the processes of
        # one machine. Snakemake strips the job's SLURM variables: every option must be written out. Without
        # --kill-on-bad-exit the processes left by one that died would wait for it.
        run = self.command(None, resources)
        nodes, devices = settings.get("nodes", 1), settings.get("devices", 1)
        if not resources.get("mpi"):
            if nodes > 1:
                _end(
                    f"the config trains on {nodes} nodes, and there is no launcher: give the rule "
                    "`mpi: srun`, `nodes` and `tasks_per_node` in the profile (docs/how-to/slurm-and-gpu.md)"
                )
            return run
        granted = resources.get("nodes", 1), resources.get("tasks_per_node", 1)
        if granted != (nodes, devices):
            _end(
                f"the config trains on {nodes} node(s) x {devices} device(s), the profile asks for "
                f"{granted[0]} x {granted[1]}: make `nodes` and `devices` of the config and `nodes` "
                "and `tasks_per_node` of the profile equal (docs/how-to/slurm-and-gpu.md)"
            )
        return (
            f"{resources['mpi']} --nodes={nodes} --ntasks-per-node={devices} "
            f"--cpus-per-task={threads} --kill-on-bad-exit=1 {run}"
        )


def _end(text: str) -> None:
    end_with(InputError(text))
