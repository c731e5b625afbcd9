"""`dna-bigbird init`."""

import importlib.util
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.extras import install_command
from dna_bigbird.core.paths import OutputFolder
from dna_bigbird.core.resources import resource_folder
from dna_bigbird.core.results import Result
from dna_bigbird.core.scratch import scratch_folder
from dna_bigbird.core.writing import readable_write_error

SNAKEFILE = """\
# The rules are those of the installed dna-bigbird; a new version of it brings its own.
from dna_bigbird.core.resources import resource_folder


include: str(resource_folder("workflow") / "Snakefile")


rule default:
    default_target: True
    input:
        rules.all.input,
"""
IGNORED = "results/\nlogs/\n.snakemake/\n"
"""What a repository of the folder need not keep."""
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")
"""A link to a page of the repository, which the folder lacks."""


@dataclass(frozen=True)
class WorkflowFolder(Result):
    """A folder in which the workflow runs."""

    folder: Path

    def summary(self) -> str:
        lines = [f"{self.folder}: Snakefile, config/, profiles/. Next:"]
        if importlib.util.find_spec("snakemake") is None:
            lines.append(f"  {install_command('workflow')}")
        if self.folder != Path("."):
            lines.append(f"  cd {self.folder}")
        lines += [
            "  snakemake --cores 2 all                                     # the demo",
            "  snakemake --cores 2 all --configfile config/grch37.yaml -n  # the plan of the paper's run",
        ]
        return "\n".join(lines)


@checked()
def init(folder: OutputFolder) -> WorkflowFolder:
    """Write a folder in which the workflow runs with the installed package.

    It has a Snakefile that includes the rules of the package, and copies of config/ and profiles/ to
    be edited. Descriptions of your own inputs go into a folder data_specs/ in it.

    Args:
        folder: Folder of the workflow: a new or empty one.

    Examples:
        dna-bigbird init my-genome
        cd my-genome && snakemake --cores 2 all
    """
    present = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if present:
        raise InputError(
            f"{folder}: this folder has files, such as {shortened(present[0])}; name a new or empty one"
        )
    snakefile = folder / "Snakefile"
    try:
        with scratch_folder(snakefile) as files:
            _write(files)
            for name in sorted(path.name for path in files.iterdir()):
                (files / name).replace(folder / name)
    except OSError as error:
        raise readable_write_error(snakefile, error) from error
    return WorkflowFolder(folder)


def _write(folder: Path) -> None:
    config = shutil.copytree(
        resource_folder("config"), folder / "config", copy_function=shutil.copyfile
    )
    page = config / "README.md"
    page.write_text(LINK.sub(r"\1", page.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copytree(
        resource_folder("workflow") / "profiles",
        folder / "profiles",
        copy_function=shutil.copyfile,
        ignore=shutil.ignore_patterns("slurm-test"),
    )
    (folder / ".gitignore").write_text(IGNORED, encoding="utf-8")
    (folder / "Snakefile").write_text(SNAKEFILE, encoding="utf-8")
