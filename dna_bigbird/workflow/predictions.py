"""The section `predictions` of a run: what its models are applied to."""

from collections.abc import Mapping
from dataclasses import dataclass

from dna_bigbird.genome.interval import parse_region
from dna_bigbird.workflow.config.config_files import plain_path
from dna_bigbird.workflow.config.head_checks import chosen_tasks
from dna_bigbird.workflow.config.run_checks import TASKS
from dna_bigbird.workflow.input_files import Files, InputFiles
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


def read_suites(settings: Section, genome: str, encoder: Files) -> dict[str, SuiteRun]:
    """Return the suites of a checked run by name; those without a genome or model take the run's."""
    suites = {}
    has_genome = "assembly" in settings
    for name, section in settings.get("bench", {}).items():
        tasks = chosen_tasks(name, section)
        model = plain_path(section["model"]) if section.get("model") else encoder
        genomes = {settings["assembly"]: genome} if has_genome else {}
        if "genome" in section:
            genomes = {assembly: plain_path(path) for assembly, path in section["genome"].items()}
        elif has_genome:
            section = {"pieces": settings["pieces"], **section}
        suites[name] = SuiteRun(section, tuple(tasks), genomes, model)
    return suites


@dataclass(frozen=True)
class Predictions:
    """Files and options of what models predict."""

    settings: Section
    inputs: InputFiles

    @property
    def section(self) -> Section:
        return self.settings.get("predictions", {})

    @property
    def folder(self) -> str:
        return f"{self.inputs.results}/predictions"

    @property
    def tables(self) -> list[str]:
        """The tables of probabilities along regions, one for each model."""
        tasks = [task for task in TASKS if task in self.settings] if self.section else []
        return [f"{self.folder}/{task}.tsv" for task in tasks]

    @property
    def rows(self) -> list[str]:
        """BED rows of the regions."""
        regions = map(parse_region, self.section.get("regions", []))
        return [f"{x.chrom}\t{x.start}\t{x.end}" for x in regions]

    @property
    def scored(self) -> list[str]:
        """The models that score variants."""
        return self.section.get("variants", [])

    @property
    def variant_files(self) -> list[str]:
        """What is made of variants; the demo's have a known effect on chromatin labels, so that scores are ranked."""
        files = [f"{self.folder}/variants/{task}.tsv" for task in self.scored]
        if self.inputs.is_demo and "chromatin" in self.scored:
            files.append(f"{self.folder}/variants/ranking_chromatin")
        return files

    @property
    def variant_options(self) -> str:
        """The weight of the network, if the config gives one."""
        return options(self.section, keys=["network_weight"])

    @property
    def zero_shot(self) -> dict[str, str]:
        """The files of scores without fine-tuning, by the name of the score."""
        names = self.section.get("zero_shot", {}).get("scores", []) if self.inputs.variants else []
        return {name: f"{self.folder}/zero_shot/{name}.tsv" for name in names}

    @property
    def zero_shot_options(self) -> str:
        """How they are computed, as options."""
        return options(self.section.get("zero_shot", {}), keys=["window"])

    @property
    def mutagenesis(self) -> Section:
        return self.section.get("mutagenesis", {})

    @property
    def mutagenesis_files(self) -> list[str]:
        return [f"{self.folder}/mutagenesis.tsv"] if self.mutagenesis else []

    @property
    def mutagenesis_options(self) -> str:
        """The region and what is computed in it, as options."""
        return options({key: x for key, x in self.mutagenesis.items() if key != "model"})

    @property
    def browser(self) -> Section:
        return self.section.get("browser", {})

    @property
    def browser_page(self) -> Files:
        return f"{self.inputs.results}/browser.html" if self.browser else []

    @property
    def precision(self) -> str:
        """The arithmetic as an option, if the config gives one."""
        return options(self.section, keys=["precision"])

    def stride(self, task: str) -> str:
        """Return the step between windows of a model as an option, if the config gives one."""
        stride = self.section.get("stride", {}).get(task)
        return option("stride", stride) if stride else ""
