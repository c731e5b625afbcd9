# The config section `text`: its paths and the options of its rules. Sets and tasks: dna_bigbird/datasets/text.

from dna_bigbird.datasets.text.registry import sets as text_sets

TEXT = f"{RES}/text"
SECTION = config["text"]
MADE = SECTION.get("made")
TEXT_SETS = text_sets()  # set to its task and description
TEXT_TASKS = list(SECTION.get("tasks", {}))
TEXT_VARIANTS = SECTION.get("variants", {})
PARTS = ("train", "validation", "scored")


def variant_of(task, variant):
    """The settings of a task with the changes of a variant."""
    nested = {
        key: task.get(key, {}) | variant[key]
        for key in ("options", "head", "training")
        if key in variant
    }
    recipe = task.get("recipe", []) + variant.get("recipe", [])
    return task | variant | nested | {"recipe": recipe}


def seeds_of_text(name):
    """The trainings of a run by name: one per seed, or itself."""
    seeds = RUNS[name].get("seeds", [])
    return {f"{name}-seed{seed}": RUNS[name] | {"seed": seed} for seed in seeds} or {
        name: RUNS[name]
    }


def text_split(name):
    """The split that is scored: the test where its labels are public, else the development set."""
    task = TRAININGS[name]
    return task.get("split", TEXT_SETS[task["set"]][1].scored_split)


def text_path(name, part):
    """The file or folder of a part (train, validation, scored) of a set."""
    task = TRAININGS[name]
    if part in task:
        return plain_path(task[part])
    files = TEXT_SETS[task["set"]][1].synthetic_files
    return f"{TEXT}/made/{files[min(PARTS.index(part), len(files) - 1)]}"


def is_made(name):
    """Return True if the text of a set is generated."""
    return "train" not in TRAININGS[name]


def text_input(name, part):
    """Input of rules that read a set: the folder of made text, or the path itself."""
    return f"{TEXT}/made" if is_made(name) else text_path(name, part)


def text_task(name):
    """The options that name the task of a set, and the set where the task has several."""
    name = TRAININGS[name]["set"]
    task, _ = TEXT_SETS[name]
    options = option("task", task.name)
    return f"{options} {option('set', name)}" if len(task.sets) > 1 else options


def text_training(wildcards):
    """The settings of a training; those of a task go before those of all tasks."""
    if not hasattr(wildcards, "task"):
        return SECTION.get("pretraining", {})
    task = TRAININGS[wildcards.task]
    return SECTION.get("training", {}) | task.get("training", {})


def text_command(wildcards, resources, threads):
    """The dna-bigbird command of a training."""
    return launched(text_training(wildcards), wildcards, resources, threads)


def recipes(wildcards):
    """The files of settings of a task."""
    return list(map(plain_path, TRAININGS[wildcards.task].get("recipe", [])))


def start_of_text(wildcards):
    """The bundle that a task starts from; of `table1` that of its pattern and seed."""
    if wildcards.pattern:
        return f"{TEXT}/{wildcards.pattern}pretrained"
    return plain_path(TRAININGS[wildcards.task].get("pretrained", PRETRAINED))


def text_options(wildcards):
    """The options of a training command."""
    task = TRAININGS[wildcards.task]
    return " ".join(
        filter(
            None,
            (
                *(option("config", path) for path in recipes(wildcards)),
                options(task, keys=["dropout", "from_scratch"]),
                options(task.get("options", {}), "options"),
                options(task.get("head", {}), "head"),
                options(text_training(wildcards), "training"),
            ),
        )
    )


def pattern_of(wildcards):
    """Name and seed of a training of `table1`."""
    _, name, seed, _ = wildcards.pattern.split("/")
    return name, int(seed.removeprefix("seed"))


def text_seed(wildcards):
    """The seed of a training: of `table1`, of a run with seeds, or of the config."""
    if wildcards.pattern:
        return pattern_of(wildcards)[1]
    return TRAININGS.get(wildcards.get("task"), {}).get("seed", config["seed"])


def pattern_model(wildcards):
    """The settings of a pretrained model."""
    model = SECTION.get("model", {})
    if not wildcards.pattern:
        return model
    return model | SECTION["table1"]["patterns"][pattern_of(wildcards)[0]]


def corpus_set(part):
    """The set whose documents are a part of the corpus."""
    source = SECTION["corpus"][part]
    return source | {"data": plain_path(source["data"])}


def corpus_part(part):
    """The corpus of a split: a path, the generated text, or documents of a set."""
    source = SECTION.get("corpus", {}).get(part)
    if isinstance(source, dict):
        return f"{TEXT}/corpus/{part}.jsonl"
    if source:
        return plain_path(source)
    return f"{TEXT}/made/corpus/{part}.jsonl"


def corpus_input(part):
    """Input of rules that read a corpus."""
    path = corpus_part(part)
    return f"{TEXT}/made" if path.startswith(f"{TEXT}/made/") else path


def synthetic_option(names):
    """Those of the sets, and the pretrained model, whose text is generated, as an option."""
    synthetic = [name for name in names if "train" not in RUNS[name]]
    if "pretrained" not in SECTION and corpus_input("train") == f"{TEXT}/made":
        synthetic.append("pretrained")
    return option("synthetic", synthetic) if synthetic else ""


def report_options():
    """The sets whose text is generated, and the evaluations of the variants, as options."""
    scored = "" if "pretrained" in SECTION else option("pretrained", PRETRAINED)
    folders = {name: f"{TEXT}/evaluation/{name}" for name in TEXT_VARIANTS}
    variants = option("variant_results", folders) if folders else ""
    return " ".join(filter(None, (scored, synthetic_option(TEXT_TASKS), variants)))


# A pretrained model of the user's own, or the one pretrained here.
PRETRAINED = plain_path(SECTION.get("pretrained", f"{TEXT}/pretrained"))
INITIAL = plain_path(SECTION["initial"]) if "initial" in SECTION else ""
VOCABULARY = SECTION.get("vocabulary", {})
TEXT_VOCABULARY = plain_path(VOCABULARY.get("file", f"{TEXT}/vocabulary/spiece.model"))

# Everything that is scored, by the name of its folder: SET or VARIANT/SET. A run with seeds is scored for each
# (SET-seed0, …), then joined.
RUNS = {name: task | {"set": name} for name, task in SECTION.get("tasks", {}).items()}
for variant, changes in TEXT_VARIANTS.items():
    for name in changes.get("tasks", TEXT_TASKS):
        if name not in TEXT_TASKS:
            refuse(
                ("text", "variants", variant, "tasks"),
                f"{name} is not a task of `text`",
            )
        settings = {key: value for key, value in changes.items() if key != "tasks"}
        RUNS[f"{variant}/{name}"] = variant_of(RUNS[name], settings)
TRAININGS = {
    training: task for name in RUNS for training, task in seeds_of_text(name).items()
}
REPEATED = [name for name in RUNS if "seeds" in RUNS[name]]

for name in TEXT_TASKS:
    if name not in TEXT_SETS:
        refuse(
            ("text", "tasks", name),
            f"no such set; expected some of {', '.join(TEXT_SETS)}",
        )
    if "train" not in RUNS[name] and not TEXT_SETS[name][1].synthetic_files:
        refuse(
            ("text", "tasks", name),
            "there is no made text of this set; give `train`, `validation` and `scored`",
        )

if MADE is None:
    for name in TEXT_TASKS:
        if "train" not in RUNS[name]:
            refuse(
                ("text", "tasks", name),
                "give `train`, `validation` and `scored`, or let `text: made` make them",
            )
    for part in ("train", "validation"):
        if "pretrained" not in SECTION and part not in SECTION.get("corpus", {}):
            refuse(
                ("text", "corpus", part), "missing; it is needed where no text is made"
            )
