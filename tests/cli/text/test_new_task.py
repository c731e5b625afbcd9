"""A new text task touches three places: a data file, a task file and a recipe. No other file names one."""

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dna_bigbird.text.data
import dna_bigbird.text.tasks
from dna_bigbird.bundles import text_tasks
from dna_bigbird.cli.main import main
from tests.text_bundle import write_text_bundle

ROOT = Path(__file__).parents[3]
DATA_FILE = '''
"""Praise: whether a text says `good`."""

from dataclasses import dataclass
from random import Random

from dna_bigbird.bundles.text_tasks import SetDescription, SyntheticText, TaskDescription
from dna_bigbird.metrics.published_table import Column, PublishedTable, cells_by_system
from dna_bigbird.text.data.reading import read_json_lines
from dna_bigbird.text.data.rows import recorded

FILLER = "the old tower and a quiet river near every stone".split()


@dataclass(frozen=True)
class PraiseOptions:
    """How praise is read."""

    max_tokens: int = 64
    """Tokens of a text."""


@recorded("praise")
@dataclass(frozen=True)
class PraiseExample:
    """One text."""

    texts: tuple[str]
    label: str


def read_praise(path):
    """Read JSON lines."""
    return [PraiseExample((item["text"],), item["label"]) for _, item in read_json_lines(path)]


def write(seed, examples):
    """Return a training and a development file."""
    files = {}
    for split, count in (("train", examples), ("dev", examples // 2)):
        rng, lines = Random(f"{seed}/{split}"), []
        for number in range(count):
            label = ("bad", "good")[number % 2]
            text = " ".join([*rng.sample(FILLER, 4), label])
            lines.append(f'{{"text": "{text}", "label": "{label}"}}\\n')
        files[f"praise/{split}.jsonl"] = "".join(lines).encode()
    return files


TASK = TaskDescription(
    name="praise",
    about="whether a text praises",
    options=PraiseOptions,
    head="dna_bigbird.models.config:HeadConfig",
    model="dna_bigbird.models.classifier:SequenceClassifier",
    sets=(SetDescription("praise", ("praise/train.jsonl", "praise/dev.jsonl")),),
    train_data="JSON lines with text and label",
    recipe="praise.yaml",
    monitor="accuracy",
    synthetic=(SyntheticText("praise", f"{__name__}:write", "praise says `good`"),),
    published=(
        PublishedTable(
            99, "Praise", "Accuracy.", (Column("Praise", "praise", ("accuracy",)),),
            cells_by_system("A person | 12.34"),
        ),
    ),
)
'''
TASK_FILE = '''
"""Praise: metric of the two classes; the loss is that of all classifiers."""

import numpy as np

from dna_bigbird.text.tasks.classification import classification_rows
from dna_bigbird.text.data.praise import TASK, read_praise
from dna_bigbird.text.tasks.classification import ClassifyingTask, Predicted


class PraiseTask(ClassifyingTask):
    """Two classes."""

    description = TASK
    monitor = "accuracy"

    def read(self, path, split, *, gold=True):
        return read_praise(path), {}

    def label_names(self, examples):
        return ["bad", "good"]

    def rows(self, examples, tokenizer, *, training):
        numbers = [self.labels.index(example.label) for example in examples]
        texts = [example.texts for example in examples]
        return classification_rows(examples, texts, numbers, tokenizer, self.options.max_tokens)

    def statistics(self, examples, predictions):
        pairs = zip(examples, predictions, strict=True)
        return np.array([[float(each.label == told.value)] for each, told in pairs])

    def summarise(self, statistics):
        return {"accuracy": float(statistics.mean())}

    def submission(self, examples, predictions):
        return {"predictions.txt": "".join(f"{told.value}\\n" for told in predictions).encode()}

    def baselines(self, train_examples, examples):
        return {"always_bad": [Predicted("bad")] * len(examples)}
'''
RECIPE = """
task: praise
training:
  max_steps: 40
  validate_every: 20
  batch_size: 8
  learning_rate: 0.01
  warmup_steps: 0
  precision: 32-true
"""


@pytest.fixture
def new_task(tmp_path, monkeypatch):
    """Add the data file and the task file to folders of the two packages; write the recipe."""
    for package, content in (
        (dna_bigbird.text.data, DATA_FILE),
        (dna_bigbird.text.tasks, TASK_FILE),
    ):
        folder = tmp_path / package.__name__
        folder.mkdir()
        (folder / "praise.py").write_text(content)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        monkeypatch.delattr(package, "praise", raising=False)
    (tmp_path / "praise.yaml").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    yield
    for package in (dna_bigbird.text.data, dna_bigbird.text.tasks):
        sys.modules.pop(f"{package.__name__}.praise", None)
        vars(package).pop("praise", None)


def test_a_task_added_in_three_places_is_trained_scored_and_reported(new_task, capsys):
    write_text_bundle(Path("pretrained"))
    main(["text", "made-data", "--output", "made", "--examples", "24"])
    assert "| `praise/` | praise says `good` |" in Path("made/README.md").read_text()
    train = "text train --config praise.yaml --train made/praise/train.jsonl --validation {} "
    train += "--pretrained pretrained --output model --checkpoints run --threads 1"
    main(train.format("made/praise/dev.jsonl").split())
    evaluate = "text evaluate --model model --data {} --output scored/praise --replicates 50"
    main(f"{evaluate} --threads 1".format("made/praise/dev.jsonl").split())
    metrics = json.loads(Path("scored/praise/metrics.json").read_text())
    assert metrics["accuracy"] > 0.9
    assert metrics["baselines"]["always_bad"]["accuracy"] == 0.5
    main(
        ["text", "tables", "--results", "scored", "--output", "tables.html", "--made", '["praise"]']
    )
    page = Path("tables.html").read_text()
    assert "Table 99" in page
    assert "12.34" in page
    capsys.readouterr()
    with pytest.raises(SystemExit, match="0"):
        main(["text", "train", "--help"])
    assert re.search(r"praise +whether a text praises", capsys.readouterr().out)
    assert text_tasks.sets()["praise"][1].synthetic_files[0] == "praise/train.jsonl"


def names_of_tasks() -> set[str]:
    """Names of tasks and sets that mean nothing else, without dashes, in lower case."""
    names = {*text_tasks.tasks(), *text_tasks.sets()} - {"json-lines", "patents"}
    return {name.replace("-", "") for name in names}


def files_of_tasks() -> set[Path]:
    """Data files and task files, the files whose name begins like theirs, and what they refer to."""
    files = set()
    for task in text_tasks.tasks().values():
        module = text_tasks.module_of(task.name)
        for folder in ("dna_bigbird/text/data", "dna_bigbird/text/tasks"):
            files |= {ROOT / folder / f"{module}.py", *(ROOT / folder).glob(f"{module}_*.py")}
        files |= {
            ROOT / f"{part.write.split(':')[0].replace('.', '/')}.py" for part in task.synthetic
        }
    return files


HUB_TASKS = ROOT / "dna_bigbird/bundles/huggingface/converted_card.py"
"""Lists kinds of tasks in the words of the Hugging Face hub, which say nothing of ours."""


def literals_and_identifiers(source: str) -> Iterator[tuple[int, str]]:
    """Yield string literals without docstrings, and identifiers, with their lines."""
    tree = ast.parse(source)
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield node.lineno, str(node.value)
        for field in ("id", "attr", "name", "arg", "module"):
            if isinstance(value := getattr(node, field, None), str):
                yield getattr(node, "lineno", 0), value


def task_names_in(texts: Iterator[tuple[int, str]]) -> list[str]:
    """Return the names of tasks in texts, whatever their case, dashes and underscores."""
    pattern = re.compile(rf"(?<![a-z0-9])({'|'.join(sorted(names_of_tasks()))})(?![a-z0-9])")
    loose = re.compile("|".join(sorted(name for name in names_of_tasks() if len(name) > 5)))
    hits = []
    for line, text in texts:
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
        separate = re.sub(r"[_]", " ", words.lower().replace("-", ""))
        joined = re.sub(r"[-_ ]", "", text.lower())
        if match := pattern.search(separate) or loose.search(joined):
            hits.append(f"{line}: {match[0]} in {text[:60]!r}")
    return hits


def test_no_other_file_names_a_task():
    hits = {}
    for path in sorted((ROOT / "dna_bigbird").rglob("*.py")):
        if path not in files_of_tasks() and path != HUB_TASKS:
            hits[path] = task_names_in(literals_and_identifiers(path.read_text(encoding="utf-8")))
    for path in (ROOT / "workflow").rglob("*"):
        if path.suffix in (".smk", ".yaml"):
            hits[path] = task_names_in(enumerate(path.read_text(encoding="utf-8").splitlines(), 1))
    assert not any(hits.values()), {str(path): lines for path, lines in hits.items() if lines}


@pytest.mark.parametrize(
    "source",
    [
        'KNOWN = ["hotpotqa"]',
        "class HotpotQaThing: ...",
        "import a.natural_questions",
        "x = 'cola'",
    ],
)
def test_a_name_would_be_seen(source):
    assert task_names_in(literals_and_identifiers(source))
