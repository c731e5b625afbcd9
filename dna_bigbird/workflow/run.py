"""A run of the workflow, built once from its checked config: what its rules name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.yaml_files import KeyPath
from dna_bigbird.genome.interval import parse_region
from dna_bigbird.workflow.config.config_files import (
    ConfigFiles,
    plain_path,
    read_config_files,
    results_folder,
)
from dna_bigbird.workflow.config.run_checks import HEAD_TABLES, LANGUAGE_TABLES, TASKS, sources
from dna_bigbird.workflow.config.run_config import check_config, end_with
from dna_bigbird.workflow.heads import (
    Head,
    Member,
    Pretraining,
    head_named,
    read_heads,
    run_pretraining,
    variant_pretrainings,
)
from dna_bigbird.workflow.input_files import Files, InputFiles, fetched
from dna_bigbird.workflow.options import Section, option
from dna_bigbird.workflow.predictions import Predictions, SuiteRun, read_suites
from dna_bigbird.workflow.text_tasks import TextTasks

# Where the settings of a run come from when another workflow uses ours as a Snakemake module.

NOT_A_FILE = "config of the module dna-bigbird"


class Modifier(Protocol):
    """What a Snakefile is read with: `snakemake.modules.WorkflowModifier`."""

    globals: Mapping[str, object]

    def modify_path(self, path: str) -> str: ...


class Workflow(Protocol):
    """The global `workflow` of a Snakefile, as far as it is read here."""

    configfiles: Sequence[Path | str]
    overwrite_configfiles: Sequence[Path | str]
    modifier_stack: Sequence[Modifier]
    is_main_process: bool


def config_files(workflow: Workflow, config: Mapping, overrides: Mapping) -> ConfigFiles:
    """Return the files that a config was merged from, for a run of its own or as a module."""
    section = section_of(config, workflow.modifier_stack[0].globals["config"])
    if section is None:
        return ConfigFiles([], name=NOT_A_FILE)
    return read_config_files(in_order(workflow), overrides, section)


def check_prefix(workflow: Workflow, results: str) -> None:
    """Raise InputError if the module statement changes the paths of results."""
    # Options that are not inputs or outputs of a rule, as folders of checkpoints, would keep their old path.
    path = f"{results}/checkpoints/pretrained"
    if workflow.modifier_stack[-1].modify_path(path) != path:
        raise InputError(
            f"{NOT_A_FILE}: prefix and replace_prefix do not work with these rules; leave them out, and "
            "write `results: FOLDER` and another `name` into the config"
        )


def in_order(workflow: Workflow) -> list[Path]:
    """Return the files of a config, later ones over earlier ones; those of the command line are last."""
    last = [Path(path).absolute() for path in workflow.overwrite_configfiles]
    named = [Path(path).absolute() for path in workflow.configfiles]
    return [path for path in named if path not in last] + last


def section_of(config: object, whole: object) -> KeyPath | None:
    """Return the keys that lead from a config to the object that is a section of it.

    Example:
        >>> part = {"name": "x"}
        >>> section_of(part, {"other": 1, "dna-bigbird": part})
        ('dna-bigbird',)
        >>> section_of({"name": "x"}, {"dna-bigbird": part}) is None
        True
    """
    if config is whole:
        return ()
    if isinstance(whole, Mapping):
        for key, value in whole.items():
            if (below := section_of(config, value)) is not None:
                return (key, *below)
    return None


@dataclass(frozen=True)
class Run:
    """The files, models and options of a run, by the names of the rules' wildcards."""

    settings: Section
    files: ConfigFiles
    """What the config was merged from."""
    inputs: InputFiles
    fetched: Mapping[str, str]
    """Descriptions of what is downloaded, by the name of the file."""
    encoder: str
    """The bundle that models start from; empty without a genome."""
    variants: Mapping[str, Mapping[str, Pretraining]]
    """Trainings of the variants of pretraining, by variant and by folder."""
    heads: Mapping[str, Head]
    predictions: Predictions
    suites: Mapping[str, SuiteRun]

    # --- the run itself

    @property
    def results(self) -> str:
        return self.inputs.results

    @property
    def genome(self) -> str:
        return f"{self.results}/genome/genome.fa"

    @property
    def tasks(self) -> list[str]:
        """The models that it fine-tunes."""
        return [task for task in TASKS if task in self.settings]

    @property
    def models(self) -> list[str]:
        """The models that it makes."""
        return ["pretrained"] * self.has_pretraining + self.tasks

    @property
    def splits(self) -> list[str]:
        """The token stores that it makes."""
        return ["train", "validation", "test"] if self.has_pretraining else []

    @property
    def has_genome(self) -> bool:
        """Whether it is about DNA, not text or suites alone."""
        return "assembly" in self.settings

    @property
    def has_pretraining(self) -> bool:
        """Whether documents, tokenizer and pretrained model are made, and not taken from a bundle."""
        return self.has_genome and "pretrained" not in self.settings

    @property
    def assembly_options(self) -> str:
        """What the genome is, for the commands that check it or keep its name."""
        return f"{option('assembly', self.settings['assembly'])} {self._pieces}"

    def document_regions(self, split: str) -> str:
        """Return where documents are drawn: training documents everywhere but in the held-out regions, the others in those."""
        splits = self.settings["splits"]
        if split != "train":
            return option("regions", splits[split])
        held_out = splits["validation"] + splits["test"]
        return f"{option('regions', self.settings['regions'])} {option('exclude', held_out)}"

    @property
    def repeat_options(self) -> str:
        """Where the repeat classes come from, if not from lower case."""
        repeats = self.inputs.option("repeats")
        return f"{repeats} {self._pieces}" if repeats else ""

    @property
    def _pieces(self) -> str:
        return option("pieces", self.settings["pieces"])

    # --- pretraining and its variants

    @cached_property
    def pretraining(self) -> Pretraining:
        return run_pretraining(self.settings, {}, self.settings["seed"], self.inputs)

    @cached_property
    def variant_trainings(self) -> Mapping[str, Pretraining]:
        """The trainings of all variants by folder: VARIANT or VARIANT/seedN."""
        return {name: x for trainings in self.variants.values() for name, x in trainings.items()}

    # --- promoter and chromatin models

    @cached_property
    def members(self) -> Mapping[str, Member]:
        return {member.name: member for head in self.heads.values() for member in head.members}

    def set_heads(self, task: str) -> list[str]:
        """Return the models of a task with a labelled set of their own."""
        return [x.name for x in self.heads.values() if x.task == task and x.set_name == x.name]

    @property
    def ensembles(self) -> list[str]:
        """The models that several fine-tunings are joined to."""
        return [name for name, head in self.heads.items() if len(head.members) > 1]

    @property
    def repeated_heads(self) -> list[str]:
        return [name for name, head in self.heads.items() if head.seeds]

    def network_seed(self, head: str, folder: str) -> int:
        """Return the seed of a baseline network: that of a variant's training (`/seed5`), or of its set."""
        return int(folder.removeprefix("/seed")) if folder else self.heads[head].seed

    def seed_baselines(self, head: str) -> list[str]:
        """Return the files of all baselines of a variant with seeds, as NAME=FILE; each file once."""
        trainings = (self.heads[name] for name in self.heads[head].trainings)
        pairs = [f"{name}={path}" for each in trainings for name, path in each.baselines.items()]
        return list(dict.fromkeys(pairs))

    def seed_files(self, head: str) -> dict[str, Files]:
        """Return the results that the mean of a variant with seeds is made of."""
        return {
            "data": self.heads[head].data,
            "reports": [f"{self.results}/evaluation/{x}" for x in self.heads[head].trainings],
            "baselines": [pair.partition("=")[2] for pair in self.seed_baselines(head)],
        }

    # --- tracks

    @property
    def track_results(self) -> list[str]:
        """What is made of the section `tracks`: the scored model and its page, its bigWig files, and those next to what was measured."""
        parts = ("models/tracks", "predictions/tracks", "tracks.html", "tracks_report.html")
        return [f"{self.results}/{x}" for x in parts] if "tracks" in self.settings else []

    @property
    def track_regions(self) -> Sequence[str]:
        """Where tracks are predicted: those of the section, or the regions of the test."""
        return self.settings["tracks"].get("regions", self.settings["splits"]["test"])

    @property
    def track_rows(self) -> list[str]:
        """The same as rows of BED."""
        regions = map(parse_region, self.track_regions)
        return [f"{x.chrom}\t{x.start}\t{x.end}" for x in regions]

    @property
    def observed_tracks(self) -> dict[str, str]:
        """The files of measured signal by track."""
        return {f"{x.label} measured": str(x.path) for x in self.inputs.track_rows}

    # --- tables of `experiments`

    @property
    def experiments(self) -> Section:
        return self.settings.get("experiments", {})

    def table(self, name: str) -> str:
        """Return the folder of a table that the config lists; without it Snakemake ends."""
        if not self.experiments.get(name):
            self._lacks(("experiments", name), "missing")
        return f"{self.results}/experiments/{name}"

    @property
    def tables(self) -> list[str]:
        """The folders of all tables; without one Snakemake ends."""
        names = [x for x in LANGUAGE_TABLES + HEAD_TABLES if self.experiments.get(x)]
        if not names:
            self._lacks(("experiments",), "no table in it")
        return [self.table(name) for name in names]

    def _lacks(self, path: KeyPath, text: str) -> None:
        end_with(self.files.error(path, f"{text}; config/README.md says how to write one"))

    def compared_variants(self, table: str) -> list[str]:
        return [name for variant in self.experiments[table] for name in self.variants[variant]]

    def compared_heads(self, table: str) -> list[Head]:
        return [self.heads[head_named(x, self.settings)] for x in self.experiments[table]]

    def compared_files(self, table: str) -> list[str]:
        """Return the results that a comparison of models reads."""
        heads = self.compared_heads(table)
        trained = [x for head in heads for x in head.trainings]
        return [
            *(f"{self.results}/{part}/{x}" for part in ("models", "evaluation") for x in trained),
            *(f"{self.results}/evaluation/{x.name}/seeds.json" for x in heads if x.seeds),
        ]

    def comparison_options(self, table: str) -> str:
        """Return the models of a comparison and their labelled sets as options."""
        heads = self.compared_heads(table)
        labels = self.experiments.get("context_labels") if table == "context" else None
        return (
            f"{option('results', self.results)} {option('runs', [x.name for x in heads])}"
            f" {option('data', [x.data for x in heads])} {option('labels', labels) if labels else ''}"
        )

    # --- text

    @cached_property
    def text(self) -> TextTasks:
        return TextTasks(f"{self.results}/text", self.settings["text"], self.settings["seed"])


def read_run(workflow: Workflow, settings: dict, overrides: Section) -> Run:
    """Check the config that Snakemake has read, and return its run; `overrides` is `--config`."""
    files = config_files(workflow, settings, overrides)
    check_config(settings, files, is_job=not workflow.is_main_process)
    run = make_run(settings, files)
    check_prefix(workflow, run.results)
    return run


def make_run(settings: Section, files: ConfigFiles) -> Run:
    """Return the run of a checked config."""
    results = str(results_folder(settings))
    inputs = InputFiles(results, settings.get("inputs", {}))
    variants: dict[str, dict[str, Pretraining]] = {}
    heads: dict[str, Head] = {}
    encoder = ""
    if "assembly" in settings:
        encoder = given_encoder(settings) or f"{results}/trained/pretrained"
        variants = variant_pretrainings(settings, inputs)
        folder = f"{results}/experiments/runs"
        starts = {name: f"{folder}/{next(iter(x))}/trained" for name, x in variants.items()}
        heads = read_heads(settings, inputs, encoder, starts)
    suites = read_suites(settings, f"{results}/genome/genome.fa", encoder or [])
    named = fetched([source for _, source in sources(settings)])
    predictions = Predictions(settings, inputs)
    return Run(settings, files, inputs, named, encoder, variants, heads, predictions, suites)


def given_encoder(settings: Section) -> str:
    """Return the bundle that a config names instead of a pretraining; empty if it names none."""
    from dna_bigbird.bundles.bundled import bundled_encoder

    name = settings.get("pretrained", "")
    return str(bundled_encoder()) if name == "bundled" else name and plain_path(name)
