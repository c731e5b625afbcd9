"""Models of promoters, chromatin and tracks: those of the run, and variants of the first two in `experiments: heads`.

All go through the same rules; wildcard `head` is promoter, chromatin, tracks or heads/VARIANT, and heads/VARIANT/seedN
for each training of a variant with seeds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import get_args

from dna_bigbird.baselines.config import Method, default_baselines
from dna_bigbird.labelled.deepsea.config import DeepseaConfig
from dna_bigbird.labelled.promoter.config import PromoterConfig
from dna_bigbird.workflow.config.config_files import plain_path
from dna_bigbird.workflow.config.head_checks import OWN_SITES, set_keys
from dna_bigbird.workflow.config.run_checks import HEADS
from dna_bigbird.workflow.input_files import Files, InputFiles
from dna_bigbird.workflow.options import Section, option, options, seed_names

# Pretrainings on DNA: that of the run, and its variants in `experiments`, one per seed.

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
    teachers: list[str] = field(default_factory=list)
    """Bundles that it learns from."""

    @property
    def training(self) -> Section:
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
        files: dict[str, Files] = {"sites": self.sites, "teachers": self.teachers}
        if self.genome_files:
            files["genome"] = self.genome
        values = {**self.sections["objective"], **files}
        return options({key: value for key, value in values.items() if value != []})


def run_pretraining(
    settings: Section, changes: Section, seed: int, inputs: InputFiles
) -> Pretraining:
    """Return the pretraining of a run, with the changes of a variant."""
    sections = {name: settings.get(name, {}) | changes.get(name, {}) for name in _SECTIONS}
    sites = sections["objective"].get("sites")
    genome = f"{inputs.results}/genome/genome.fa"
    named = sections["objective"].get("teachers", [])
    teachers = [bundle for name in named for bundle in _bundles(name, settings, inputs)]
    return Pretraining(seed, sections, genome, inputs.file(sites) if sites else [], teachers)


def _bundles(teacher: str, settings: Section, inputs: InputFiles) -> list[str]:
    """Return a bundle, or those of the trainings of a variant."""
    if teacher not in settings.get("experiments", {}).get("variants", {}):
        return [plain_path(teacher)]
    return [
        f"{inputs.results}/experiments/runs/{x}/trained" for x in variant_seeds(teacher, settings)
    ]


def variant_seeds(variant: str, settings: Section) -> dict[str, int]:
    """Return the trainings of a variant by folder: its own, or one in it for each seed."""
    own = settings["experiments"]["variants"][variant]
    if "seeds" not in own:
        return {variant: settings["seed"]}
    return seed_names(variant, own["seeds"], settings["seed"])


def variant_pretrainings(
    settings: Section, inputs: InputFiles
) -> dict[str, dict[str, Pretraining]]:
    """Return the trainings of every variant of `experiments`, by variant and by folder."""
    trainings = {}
    for name, variant in settings.get("experiments", {}).get("variants", {}).items():
        # A teacher of the run would learn from itself.
        objective = {"teachers": [], **variant.get("objective", {})}
        trainings[name] = {
            folder: run_pretraining(settings, {**variant, "objective": objective}, seed, inputs)
            for folder, seed in variant_seeds(name, settings).items()
        }
    return trainings


NETWORKS = ("cnnprom", "deepromoter", "deepsea")
COUNTED = tuple(name for name in get_args(Method) if name not in NETWORKS)
"""Baselines without a network."""


def chosen_baselines(task: str, section: Section) -> Sequence[str]:
    """Return the baselines of a model by its section of the config: those named, or the defaults."""
    is_aligned = task == "promoter"
    upstream_bp = section.get("upstream", PromoterConfig.upstream) if is_aligned else None
    return section.get(
        "baselines", default_baselines(is_aligned=is_aligned, upstream_bp=upstream_bp)
    )


@dataclass(frozen=True)
class Head:
    """A model of promoters, chromatin or tracks: a labelled set, baselines, and one or several trainings."""

    name: str
    task: str
    section: Section
    """Its section of the config, with a variant's changes."""
    inputs: InputFiles
    splits: Section
    seed: int
    """Of its set, its baselines and its training."""
    set_name: str
    """The model whose labelled set and baselines it has."""
    sites: tuple[str, ...] = ()
    """Files of start sites."""
    pretrained: Files = field(default_factory=list)
    """What its training starts from; a fresh encoder on single bases needs none."""
    start: Section = field(default_factory=dict)
    """Entries of a variant that change the encoder."""
    seeds: Mapping[str, int] = field(default_factory=dict)
    """Its trainings with several seeds by name; none if there is one with its own seed."""
    scored_seed: int = 0
    """Of the bootstrap; the same for all seeds of a variant."""
    is_repeated: bool = False
    """Whether it is one of several trainings that differ in the seed."""

    @property
    def data(self) -> str:
        return f"{self.inputs.results}/{self.set_name}/set.h5"

    @property
    def trainings(self) -> list[str]:
        """The names of its trainings: its own, or one for each seed."""
        return [*self.seeds] or [self.name]

    @property
    def members(self) -> list["Member"]:
        """The fine-tunings that it consists of: one, or the members of an ensemble with a seed each."""
        count = self.section.get("ensemble", 1)
        if count == 1:
            return [Member(self.name, self, self.seed)]
        return [Member(f"{self.name}-{i}", self, self.seed + i) for i in range(count)]

    @property
    def avoided(self) -> list[str]:
        """Files of further start sites that genomic negatives keep away from."""
        known = [self.inputs.sites, self.inputs.named("avoid")]
        return [path for path in known if isinstance(path, str) and path not in self.sites]

    @property
    def leakage(self) -> Files:
        """The report on leakage that must be empty; none where near-identical rows are kept on purpose."""
        default = {"promoter": "drop"}.get(self.task, "keep")
        is_kept = self.section.get("near_identical", default) == "keep"
        return [] if is_kept else f"{self.inputs.results}/{self.set_name}/leakage.tsv"

    @property
    def baselines(self) -> dict[str, str]:
        """The files of its baselines by name; a network has the seed of a variant's training."""
        folder = f"{self.inputs.results}/baselines/{self.set_name}"
        seeded = f"/seed{self.seed}" if self.is_repeated else ""
        names = [*chosen_baselines(self.task, self.section)]
        if self.task == "tracks" and "replicates" in self.inputs.section:
            names.append("replicate")
        return {name: f"{folder}/{name}{seeded if name in NETWORKS else ''}.h5" for name in names}

    def options(self, *keys: str) -> str:
        return options(self.section, keys=keys)

    def group_options(self, key: str, group: str = "") -> str:
        """Return a section of its settings as options of a group."""
        return options(self.section.get(key, {}), group or key)

    @property
    def set_options(self) -> str:
        """The options of the command that builds its labelled set."""
        return self.options(*set_keys(self.task))

    @property
    def deepsea_options(self) -> str:
        """The options of the command that reads the published bundle, which brings its own splits."""
        return self.options(*(each.name for each in fields(DeepseaConfig)))

    @property
    def split_options(self) -> str:
        """How its labelled set is split, as options."""
        return options(self.splits, "split")

    @property
    def site_format(self) -> str:
        """The format of its start sites as an option; lifted ones are always BED."""
        is_lifted = "chain" in self.inputs.section and self.inputs.sites in self.sites
        if is_lifted or "format" not in self.section:
            return ""
        return option("site_format", self.section["format"])

    def _search(self) -> str:
        count = self.section.get("baseline_search", 0)
        return option("search", count) if count else ""

    def word_options(self, baseline: str) -> str:
        """Return the settings of a baseline without a network."""
        if baseline == "replicate":
            return f"--tracks {self.inputs.replicate_words}"
        searched = self._search() if baseline == "kmer" else ""
        return f"{self.group_options('gkm' if baseline == 'gkm' else 'kmer')} {searched}"

    def network_options(self, baseline: str) -> str:
        """Return the settings of a baseline network, of its training and of its scoring."""
        training = self.group_options("baseline_training", "training")
        strand = self.options("strand")
        return f"{self.group_options(baseline)} {training} {strand} {self._search()}"

    def start_options(self, pretrained: Files) -> str:
        """Return what a training starts from, and with which settings of the encoder, as options."""
        start: dict[str, object] = {"pretrained": pretrained} if pretrained else {}
        start |= {
            key: self.start[key] for key in ("from_scratch", "tokenizer") if self.start.get(key)
        }
        return f"{options(start)} {options(self.start.get('model', {}), 'model')}"


@dataclass(frozen=True)
class Member:
    """One fine-tuning of a model; wildcard `member` is the model's name, or NAME-0, NAME-1, … of an ensemble."""

    name: str
    head: Head
    seed: int

    @property
    def training(self) -> Section:
        return self.head.section.get("training", {})


def sites_option(files: Sequence[object]) -> str:
    """Return files of start sites as an option: a path, or a list of several."""
    paths = [str(path) for path in files]
    return option("sites", paths[0] if len(paths) == 1 else paths)


def head_named(name: str, settings: Section) -> str:
    """Return the wildcard of a variant, or of the run's own model."""
    return name if name in HEADS and name in settings else f"heads/{name}"


START_KEYS = ("tokenizer", "model")


def read_heads(
    settings: Section, inputs: InputFiles, encoder: str, starts: Mapping[str, str]
) -> dict[str, Head]:
    """Return every model of a run by its wildcard; `starts` are bundles of pretraining variants."""
    heads: dict[str, Head] = {}
    variants = settings.get("experiments", {}).get("heads", {})
    own = {task: {task: {}, "set": task} for task in HEADS if task in settings}
    if "tracks" in own:  # its section also says how the encoder begins
        own["tracks"] |= {k: settings["tracks"][k] for k in START_KEYS if k in settings["tracks"]}
    for name, variant in (own | variants).items():
        wildcard = head_named(name, settings)
        (task,) = (task for task in HEADS if task in variant)
        owner = variant.get("set")
        base = settings.get(task, {})
        if owner in variants:
            base = merged(base, variants[owner][task])
        section = merged(base, variant[task])
        seed = variant.get("seed", settings["seed"])
        pretrained: Files = starts.get(variant.get("pretrained", ""), encoder)
        head = Head(
            name=wildcard,
            task=task,
            section=section,
            inputs=inputs,
            splits=section.get("splits", settings["splits"]),
            seed=seed,
            set_name=head_named(owner or name, settings),
            sites=tuple(_sites(variant.get("sites"), inputs)),
            pretrained=[] if "tokenizer" in variant else pretrained,
            start=variant,
            seeds=seed_names(wildcard, variant.get("seeds", []), settings["seed"]),
            scored_seed=seed,
        )
        heads[head.name] = head
    return heads | {x.name: x for head in heads.values() for x in _repeated(head)}


def merged(section: Section, changes: Section) -> Section:
    """Return a section with changes, nested sections key by key; splits are replaced whole."""
    result = dict(section)
    for key, value in changes.items():
        nested = isinstance(value, dict) and key != "splits"
        result[key] = {**section.get(key, {}), **value} if nested else value
    return result


def _repeated(head: Head) -> Iterator[Head]:
    """Yield each training of a variant with seeds: a model like any other, on the variant's set."""
    for name, seed in head.seeds.items():
        yield replace(head, name=name, seed=seed, seeds={}, is_repeated=True)


def _sites(sites: str | list[str] | None, inputs: InputFiles) -> list[str]:
    """Return files of start sites; a word of `inputs` is the file made of it."""
    if sites is None:
        return [inputs.sites] if isinstance(inputs.sites, str) else []
    own = dict(zip(OWN_SITES, (inputs.sites, inputs.sequence_sites), strict=True))
    names = [sites] if isinstance(sites, str) else sites
    return [str(own[name]) if name in own else inputs.file(name) for name in names]
