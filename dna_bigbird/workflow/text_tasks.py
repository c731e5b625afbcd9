"""The section `text` of a run: sets that are trained and scored, with the text and the pretrained models they need.

Sets and tasks: dna_bigbird/text/data.
"""

from dataclasses import dataclass
from functools import cached_property

from dna_bigbird.bundles.text_tasks import sets
from dna_bigbird.workflow.config.config_files import plain_path
from dna_bigbird.workflow.config.head_checks import table1_sets
from dna_bigbird.workflow.options import Section, option, options

_PARTS = ("train", "validation", "scored")


@dataclass(frozen=True)
class TextTraining:
    """A training that is scored: of a set, or of a variant of one, with one seed."""

    settings: Section
    """Of the task, with a variant's changes."""
    training: Section
    """Settings of the training itself."""
    pretrained: str
    seed: int
    made_text: str
    """Folder of generated text."""

    @property
    def split(self) -> str:
        """The split that is scored: the test where its labels are public, else the development set."""
        return self.settings.get("split", sets()[self.settings["set"]][1].scored_split)

    def path(self, part: str) -> str:
        """Return the file or folder of a part of its set: train, validation or scored."""
        if part in self.settings:
            return plain_path(self.settings[part])
        files = sets()[self.settings["set"]][1].synthetic_files
        return f"{self.made_text}/{files[min(_PARTS.index(part), len(files) - 1)]}"

    def source(self, part: str) -> str:
        """Return the input of rules that read a part: the folder of made text, or the path itself."""
        return self.path(part) if "train" in self.settings else self.made_text

    @property
    def recipes(self) -> list[str]:
        return [plain_path(path) for path in self.settings.get("recipe", [])]

    @property
    def task_options(self) -> str:
        """The options that name the task of its set, and the set where the task has several."""
        name = self.settings["set"]
        task, _ = sets()[name]
        named = option("task", task.name)
        return f"{named} {option('set', name)}" if len(task.sets) > 1 else named

    @property
    def options(self) -> str:
        words = [
            *(option("config", path) for path in self.recipes),
            options(self.settings, keys=["dropout", "from_scratch"]),
            options(self.settings.get("options", {}), "options"),
            options(self.settings.get("head", {}), "head"),
            options(self.training, "training"),
        ]
        return " ".join(filter(None, words))


@dataclass(frozen=True)
class TextPretraining:
    """A pretraining on text: that of the run, of a pattern and a seed of `table1`, or of a row of `table10`."""

    seed: int
    section: Section
    """The section `text`, with what replaces parts of it."""

    @property
    def initial(self) -> str:
        """The bundle that it starts from; empty if there is none."""
        return plain_path(self.section["initial"]) if "initial" in self.section else ""

    def options(self, name: str, group: str = "") -> str:
        """Return a section as options."""
        return options(self.section.get(name, {}), group or name)


@dataclass(frozen=True)
class TextTasks:
    """Everything that the section says."""

    folder: str
    section: Section
    seed: int

    @property
    def made_text(self) -> str:
        return f"{self.folder}/made"

    def settings(self, name: str) -> Section:
        """Return a section of it; without it the command's defaults."""
        return self.section.get(name, {})

    # --- pretraining

    @property
    def pretrained(self) -> str:
        """A pretrained model of the user's own, or the one pretrained here."""
        return plain_path(self.section.get("pretrained", f"{self.folder}/pretrained"))

    @property
    def vocabulary(self) -> str:
        learned = f"{self.folder}/vocabulary/spiece.model"
        return plain_path(self.settings("vocabulary").get("file", learned))

    def corpus_set(self, part: str) -> Section:
        """Return the set whose documents are a part of the corpus."""
        source = self.section["corpus"][part]
        return {**source, "data": plain_path(source["data"])}

    def corpus(self, part: str) -> str:
        """Return the corpus of a split: a path, the generated text, or documents of a set."""
        source = self.settings("corpus").get(part)
        if isinstance(source, dict):
            return f"{self.folder}/corpus/{part}.jsonl"
        return plain_path(source) if source else f"{self.made_text}/corpus/{part}.jsonl"

    def corpus_source(self, part: str) -> str:
        """Return the input of rules that read a corpus."""
        path = self.corpus(part)
        return self.made_text if path.startswith(f"{self.made_text}/") else path

    @cached_property
    def pretrainings(self) -> dict[str, TextPretraining]:
        """The pretrainings by wildcard `pattern`, the start of the name of their folder; that of the run has none."""
        table = self.settings("table1")
        pretrainings = {"": TextPretraining(self.seed, self.section)}
        for name, pattern in table.get("patterns", {}).items():
            section = {**self.section, "model": self.settings("model") | pattern}
            for seed in table.get("seeds", [0, 1, 2]):
                pretrainings[f"table1/{name}/seed{seed}/"] = TextPretraining(seed, section)
        for name, sizes in self.settings("table10").items():
            for size, changes in sizes.items():
                key = f"table10/{name}/{'large-' if size == 'large' else ''}"
                pretrainings[key] = TextPretraining(self.seed, {**self.section, **changes})
        return pretrainings

    @property
    def table1_folders(self) -> list[str]:
        names = [name for name in self.pretrainings if name.startswith("table1/")]
        return [f"{self.folder}/{name}".rstrip("/") for name in names]

    @property
    def table10_bundles(self) -> list[str]:
        names = [name for name in self.pretrainings if name.startswith("table10/")]
        return [f"{self.folder}/{name}pretrained" for name in names]

    # --- what is scored

    @cached_property
    def runs(self) -> dict[str, Section]:
        """Settings of everything that is scored, by the name of its folder: SET or VARIANT/SET."""
        tasks = self.settings("tasks")
        runs: dict[str, Section] = {name: {**task, "set": name} for name, task in tasks.items()}
        for variant, changes in self.settings("variants").items():
            changed = {key: value for key, value in changes.items() if key != "tasks"}
            for name in changes.get("tasks", tasks):
                runs[f"{variant}/{name}"] = _changed(runs[name], changed)
        return runs

    def trainings_of(self, name: str) -> dict[str, TextTraining]:
        """Return the trainings of a run by name: SET-seed0, … of a run with seeds, else one of its own name."""
        run = self.runs[name]
        seeds = {f"{name}-seed{seed}": seed for seed in run.get("seeds", [])}
        return {
            folder: TextTraining(
                settings=run,
                training={**self.settings("training"), **run.get("training", {})},
                pretrained=plain_path(run.get("pretrained", self.pretrained)),
                seed=seed,
                made_text=self.made_text,
            )
            for folder, seed in (seeds or {name: run.get("seed", self.seed)}).items()
        }

    @cached_property
    def trainings(self) -> dict[str, TextTraining]:
        """All trainings by the name of their folder."""
        return {folder: x for name in self.runs for folder, x in self.trainings_of(name).items()}

    @property
    def submitted(self) -> list[str]:
        """The trainings whose predictions are written for a leaderboard."""
        return [name for name, each in self.trainings.items() if "submitted" in each.settings]

    def start(self, pattern: str, name: str) -> str:
        """Return the bundle that a training starts from; of `table1` that of its pattern and seed."""
        return f"{self.folder}/{pattern}pretrained" if pattern else self.trainings[name].pretrained

    def seed_of(self, pattern: str, name: str) -> int:
        """Return the seed of a training: of `table1`, of a run with seeds, or of the config."""
        return self.pretrainings[pattern].seed if pattern else self.trainings[name].seed

    @property
    def repeated(self) -> list[str]:
        return [name for name, run in self.runs.items() if "seeds" in run]

    # --- pages

    @property
    def table1_tasks(self) -> list[str]:
        """The sets of Table 1 of the paper that the config has."""
        return table1_sets(self.section)

    def synthetic_option(self, names: list[str]) -> str:
        """Return those of some sets, and the pretrained model, whose text is generated, as an option."""
        synthetic = [name for name in names if "train" not in self.runs[name]]
        if "pretrained" not in self.section and self.corpus_source("train") == self.made_text:
            synthetic.append("pretrained")
            synthetic += ["large-pretrained"] if "table10" in self.section else []
        return option("synthetic", synthetic) if synthetic else ""

    @property
    def table10_options(self) -> str:
        """The rows of Table 10 other than BigBird-ITC, and whether their text is generated, as options."""
        names = [name for name in self.settings("table10") if name != "bigbird-itc"]
        folders = {name: f"{self.folder}/table10/{name}" for name in names}
        rows = option("variant_results", folders) if folders else ""
        return f"{rows} {self.synthetic_option([])}".strip()

    @property
    def report_options(self) -> str:
        """The sets whose text is generated, and the evaluations of the variants, as options."""
        scored = "" if "pretrained" in self.section else option("pretrained", self.pretrained)
        folders = {name: f"{self.folder}/evaluation/{name}" for name in self.settings("variants")}
        variants = option("variant_results", folders) if folders else ""
        synthetic = self.synthetic_option(list(self.settings("tasks")))
        return " ".join(filter(None, (scored, synthetic, variants)))


def _changed(task: Section, changes: Section) -> Section:
    """Return the settings of a task with the changes of a variant."""
    nested = {
        key: task.get(key, {}) | changes[key]
        for key in ("options", "head", "training")
        if key in changes
    }
    recipe = task.get("recipe", []) + changes.get("recipe", [])
    return {**task, **changes, **nested, "recipe": recipe}
