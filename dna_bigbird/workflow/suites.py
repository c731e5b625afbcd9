"""The section `bench` of a run: published benchmark suites, one job per task."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.yaml_files import KeyPath
from dna_bigbird.workflow.config.config_files import ConfigFiles
from dna_bigbird.workflow.config.sources import plain_path
from dna_bigbird.workflow.input_files import Files
from dna_bigbird.workflow.options import Section, option, options

_NOT_AS_WRITTEN = ("tasks", "model", "genome")
"""Entries that are options of a job in another form."""


@dataclass(frozen=True)
class SuiteRun:
    """A suite on a model."""

    section: Section
    tasks: tuple[str, ...]
    genomes: Mapping[str, str]
    """FASTA files by assembly."""
    model: Files
    """The model of its own, or that of the run; none is the bundled encoder."""

    @property
    def files(self) -> list[str]:
        """Data, chain file and FASTA files."""
        return [*self._paths().values(), *self.genomes.values()]

    def _paths(self) -> dict[str, str]:
        keys = ("data", "chain")
        return {key: plain_path(self.section[key]) for key in keys if key in self.section}

    def options(self, model: str) -> str:
        """Return what the config says about it, as options."""
        left_out = _NOT_AS_WRITTEN if self.genomes else (*_NOT_AS_WRITTEN, "pieces")
        keys = [key for key in self.section if key not in left_out]
        return " ".join(
            [
                options({**self.section, **self._paths()}, keys=keys),
                option("model", model) if model else "",
                option("genome", dict(self.genomes)) if self.genomes else "",
                options(self.section.get("head", {}), "head"),
                options(self.section.get("training", {}), "training"),
            ]
        )


def read_suites(
    settings: Section, files: ConfigFiles, genome: str, encoder: Files
) -> dict[str, SuiteRun]:
    """Return the suites of a run by name; those without a genome or model take the run's.

    Raises:
        InputError: For a suite or a task that is not there.
    """
    suites = {}
    has_genome = "assembly" in settings
    for name, section in settings.get("bench", {}).items():
        tasks = _task_names(name, section, files)
        model = plain_path(section["model"]) if section.get("model") else encoder
        genomes = {settings["assembly"]: genome} if has_genome else {}
        if "genome" in section:
            genomes = {assembly: plain_path(path) for assembly, path in section["genome"].items()}
        elif has_genome:
            section = {"pieces": settings["pieces"], **section}
        suites[name] = SuiteRun(section, tuple(tasks), genomes, model)
    return suites


def _task_names(name: str, section: Section, files: ConfigFiles) -> list[str]:
    from dna_bigbird.bench.suite_run import chosen
    from dna_bigbird.bench.suites.registry import find_suite

    path: KeyPath = ("bench", name)
    try:
        suite = find_suite(name)
        if suite.needs_data and "data" not in section:
            path = (*path, "data")
            raise InputError("missing; expected the folder of its files")
        tasks = suite.tasks(Path(plain_path(section.get("data", "."))))
        return [task.name for task in chosen(tasks, section.get("tasks", []))]
    except InputError as error:
        raise files.error(path, str(error)) from None
