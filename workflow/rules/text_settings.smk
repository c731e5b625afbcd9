# The config section `text`: its paths and the options it stands for; there is no rule here.

TEXT = f"{RES}/text"
SECTION = config["text"]
MADE = SECTION.get("made")
# By set: its task, and where made text has training, validation and the part that is scored.
# The last is the split that the paper's tables are of, in the originals' own files.
QUESTIONS = ["hotpotqa", "natural-questions", "triviaqa", "wikihop"]
CLASSIFIED = ["imdb", "yelp5", "arxiv-topics", "patents", "hyperpartisan"]
GLUE = ["cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2", "stsb"]
SUMMARISED = ["arxiv", "pubmed", "bigpatent", "cnn-dailymail", "xsum"]
TEXT_SETS = [*CLASSIFIED, *GLUE, *QUESTIONS, *SUMMARISED]
MADE_FILES = {
    "imdb": "imdb/aclImdb",
    **dict.fromkeys(GLUE, "glue"),
    "hotpotqa": (
        "hotpotqa/hotpot_train_v1.1.json",
        "hotpotqa/hotpot_dev_distractor_v1.json",
    ),
    "natural-questions": (
        "natural-questions/nq-train-00.jsonl.gz",
        "natural-questions/nq-dev-00.jsonl.gz",
    ),
    "triviaqa": "triviaqa/triviaqa-rc",
    "wikihop": "wikihop/qangaroo_v1.1",
    "arxiv": "arxiv/arxiv-dataset",
    "pubmed": "pubmed/pubmed-dataset",
    "xsum": ("xsum/train.jsonl", "xsum/validation.jsonl", "xsum/test.jsonl"),
}
HAS_TEST = [*CLASSIFIED, *SUMMARISED]
TEXT_TASKS = list(SECTION.get("tasks", {}))
PARTS = ("train", "validation", "scored")


def text_split(name):
    """The split that is scored: the test where its labels are public, else the development set."""
    default = "test" if name in HAS_TEST else "validation"
    return SECTION["tasks"][name].get("split", default)


def text_path(name, part):
    """The file or folder of a part (train, validation, scored) of a set."""
    task = SECTION["tasks"][name]
    if part in task:
        return os.path.expanduser(task[part])
    files = MADE_FILES.get(name, name)
    if not isinstance(files, str):
        files = files[min(PARTS.index(part), len(files) - 1)]
    return f"{TEXT}/made/{files}"


def is_made(name):
    """Return True if the text of a set is generated."""
    return "train" not in SECTION["tasks"][name]


def text_input(name, part):
    """What must be there before a set is read: the folder of made text, or the path itself."""
    return f"{TEXT}/made" if is_made(name) else text_path(name, part)


def text_task(name):
    """The options that name the task of a set, and the set where the task has several."""
    if name in QUESTIONS:
        return option("task", name)
    task = "glue" if name in GLUE else "text-classification"
    task = "summarization" if name in SUMMARISED else task
    return f"{option('task', task)} {option('set', name)}"


def text_training(wildcards):
    """The settings of a training; those of a task go before those of all tasks."""
    if not hasattr(wildcards, "task"):
        return SECTION.get("pretraining", {})
    task = SECTION["tasks"][wildcards.task]
    return SECTION.get("training", {}) | task.get("training", {})


def text_command(wildcards, resources, threads):
    """The dna-bigbird command of a training."""
    return launched(text_training(wildcards), wildcards, resources, threads)


def text_options(wildcards):
    """The options of a training command."""
    task = SECTION["tasks"][wildcards.task]
    return " ".join(
        filter(
            None,
            (
                *(option("config", path) for path in task.get("recipe", [])),
                options(task, keys=["dropout", "from_scratch"]),
                options(task.get("options", {}), "options"),
                options(task.get("head", {}), "head"),
                options(text_training(wildcards), "training"),
            ),
        )
    )


def corpus_part(part):
    """The corpus of a split: a path, the made one, or documents of a set."""
    given = SECTION.get("corpus", {}).get(part)
    if isinstance(given, dict):
        return f"{TEXT}/corpus/{part}.jsonl"
    if given:
        return os.path.expanduser(given)
    return f"{TEXT}/made/corpus/{part}.jsonl"


def corpus_input(part):
    """What must be there before a corpus is read."""
    path = corpus_part(part)
    return f"{TEXT}/made" if path.startswith(f"{TEXT}/made/") else path


def report_options():
    """The sets whose text is generated, as an option."""
    made = [name for name in TEXT_TASKS if is_made(name)]
    scored = [] if "pretrained" in SECTION else ["pretrained"]
    made += scored if scored and corpus_input("train") == f"{TEXT}/made" else []
    return " ".join(
        [
            *(option(name, PRETRAINED) for name in scored),
            *([option("made", made)] if made else []),
        ]
    )


# A pretrained model of the user's own, or what is made here.
PRETRAINED = os.path.expanduser(SECTION.get("pretrained", f"{TEXT}/pretrained"))
INITIAL = os.path.expanduser(SECTION.get("initial", ""))
VOCABULARY = SECTION.get("vocabulary", {})
TEXT_VOCABULARY = os.path.expanduser(
    VOCABULARY.get("file", f"{TEXT}/vocabulary/spiece.model")
)

if MADE is None:
    for name in TEXT_TASKS:
        if is_made(name):
            raise WorkflowError(
                f"config, text, tasks, {name}: give `train`, `validation` and `scored`, or let "
                "`text: made` make them"
            )
    for part in ("train", "validation"):
        if "pretrained" not in SECTION and part not in SECTION.get("corpus", {}):
            raise WorkflowError(
                f"config, text, corpus: `{part}` is needed where no text is made"
            )
