"""Pretrainings on DNA: that of the run, and its variants in `experiments`, one per seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dna_bigbird.workflow.input_files import Files, InputFiles
from dna_bigbird.workflow.names import seed_names
from dna_bigbird.workflow.options import Section, options

_SECTIONS = ("model", "masking", "objective", "pretraining", "evaluation")


@dataclass(frozen=True)
class Pretraining:
    """One training of a language model."""

    seed: int
    """Of the training; that of its evaluation is the run's."""
    sections: Mapping[str, Section]
    genome: str
    sites: Files = field(default_factory=list)
    """Sites that it reads more often."""

    @property
    def training(self) -> Section:
        """The settings of the training itself."""
        return self.sections["pretraining"]

    def options(self, section: str, group: str = "") -> str:
        """Return a section as options of a command."""
        return options(self.sections[section], group)

    @property
    def genome_files(self) -> list[str]:
        """The genome and its index, if it reads the lower case."""
        reads_case = self.sections["objective"].get("repeat_weight", 1) != 1
        return [self.genome, f"{self.genome}.fai"] if reads_case else []

    @property
    def objective_options(self) -> str:
        """The options of the loss and of what is read in addition to the token stores."""
        files: dict[str, Files] = {"sites": self.sites} if self.sites else {}
        if self.genome_files:
            files["genome"] = self.genome
        return options({**self.sections["objective"], **files})


def run_pretraining(
    settings: Section, changes: Section, seed: int, inputs: InputFiles
) -> Pretraining:
    """Return the pretraining of a run, with the changes of a variant."""
    sections = {name: settings.get(name, {}) | changes.get(name, {}) for name in _SECTIONS}
    sites = sections["objective"].get("sites")
    genome = f"{inputs.results}/genome/genome.fa"
    return Pretraining(seed, sections, genome, inputs.file(sites) if sites else [])


def variant_pretrainings(
    settings: Section, inputs: InputFiles
) -> dict[str, dict[str, Pretraining]]:
    """Return the trainings of every variant of `experiments`, by variant and by folder: its own, or one in it for each seed."""
    trainings = {}
    for name, variant in settings.get("experiments", {}).get("variants", {}).items():
        seeds = {name: settings["seed"]}
        if "seeds" in variant:
            seeds = seed_names(name, variant["seeds"], settings["seed"])
        trainings[name] = {
            folder: run_pretraining(settings, variant, seed, inputs)
            for folder, seed in seeds.items()
        }
    return trainings
