"""`from dna_bigbird import text`: train, evaluate and predict from Python."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dna_bigbird import text
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.text.data.wikihop import WikiHopOptions
from tests.text_bundle import write_text_bundle

TRAINING = TrainConfig(
    max_steps=2, validate_every=1, batch_size=2, precision="32-true", measure_speed=False
)
TRAIN = (
    "text train --task wikihop --train made/wikihop/qangaroo_v1.1 --validation made/wikihop/qangaroo_v1.1 "
    "--pretrained mlm --options.max_tokens 128 --head.dropout 0.2 --seed 3 --training.max_steps 2 "
    "--training.validate_every 1 --training.batch_size 2 --training.precision 32-true "
    "--training.measure_speed false --threads 1"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with synthetic text, a pretrained model, and what Python and the command line make."""
    folder = tmp_path_factory.mktemp("api")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        text.made_data("made", examples=24)
        write_text_bundle(folder / "mlm")
    return folder


@pytest.fixture
def here(project, monkeypatch):
    monkeypatch.chdir(project)
    return project


def train(**changes):
    """Call `text.train` as the command line TRAIN does."""
    arguments = {
        "train": "made/wikihop/qangaroo_v1.1",
        "validation": Path("made/wikihop/qangaroo_v1.1"),
        "pretrained": "mlm",
        "output": "python",
        "checkpoints": "runs/python",
        "options": {"max_tokens": 128},
        "head": {"dropout": 0.2},
        "seed": 3,
        "training": TRAINING,
        "threads": 1,
    }
    return text.train("wikihop", **(arguments | changes))


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def test_python_and_the_command_line_give_equal_bytes(here, capsys):
    data = "made/wikihop/qangaroo_v1.1"
    trained = train()
    assert capsys.readouterr().out == ""
    main(f"{TRAIN} --output command --checkpoints runs/command".split())
    assert capsys.readouterr().out == f"{trained.summary()}\n".replace("python", "command")
    assert contents("python") == contents("command")
    assert trained.output == Path("python")
    assert trained.metrics == json.loads((here / "python/metrics.json").read_text())

    scored = text.evaluate("python", data, "scores", train=data, replicates=20, threads=1)
    assert capsys.readouterr().out == ""
    main(
        f"text evaluate --model python --data {data} --train {data} --output scores-2 --replicates 20 "
        "--threads 1".split()
    )
    assert capsys.readouterr().out == f"{scored.summary()}\n".replace("scores:", "scores-2:")
    assert contents("scores") == contents("scores-2")
    assert scored.metrics == json.loads((here / "scores/metrics.json").read_text())

    predicted = text.predict("python", data, "said", split="validation", threads=1)
    main(
        f"text predict --model python --data {data} --split validation --output said-2 --threads 1".split()
    )
    assert contents("said") == contents("said-2")
    assert set(predicted.files) == set(contents("said"))
    assert len(predicted.predictions) == scored.metrics["n"]


def test_options_are_a_dataclass_or_values_by_name(here):
    train(output="dataclass", checkpoints="runs/dataclass", options=WikiHopOptions(max_tokens=128))
    train(output="mapping", checkpoints="runs/mapping")
    assert contents("dataclass") == contents("mapping")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"options": {"max_token": 64}},
            r"^options.max_token: no such option; did you mean 'max_tok",
        ),
        ({"options": {"max_tokens": 300}}, "max_tokens 300: mlm reads at most 256 tokens"),
        ({"head": {"dropout": 2}}, r"^head.dropout 2"),
        ({"head": TRAINING}, r"^head: expected \w+ or its values by name, got TrainConfig"),
        ({"set": "imdb"}, r"^set imdb: the task wikihop has only one set; leave it out"),
        (
            {"global_blocks": "all"},
            "global_blocks='all': expected 'first_last', 'first_two' or 'none'",
        ),
    ],
)
def test_wrong_arguments_are_named(here, changes, message):
    with pytest.raises(InputError, match=message):
        train(output="no", checkpoints="runs/no", **changes)
    assert not Path("no").exists()


def test_a_wrong_task_is_named():
    with pytest.raises(
        InputError, match=r"^task hotpot: expected one of .* did you mean 'hotpotqa'"
    ):
        text.train("hotpot", train="a", validation="b", pretrained="c", output="d", checkpoints="e")


def test_a_set_of_a_task_with_several_is_an_argument_of_its_own():
    from dna_bigbird.text.set_options import new_task

    task = new_task("glue", "rte", {"max_tokens": 64}, None)
    assert (task.options.set, task.options.max_tokens) == ("rte", 64)
    with pytest.raises(InputError, match=r"--options\.set='imdb'"):
        new_task("glue", "imdb", None, None)


def test_other_functions_return_what_they_wrote(here):
    corpus = "made/corpus/train.jsonl"
    learned = text.vocabulary(corpus, "spiece.model", size=330)
    assert (learned.size, learned.first_piece_id) == (330, 101)
    written = text.documents("wikihop", "made/wikihop/qangaroo_v1.1", "documents.jsonl")
    lines = Path("documents.jsonl").read_text().splitlines()
    assert written.documents == len(lines)
    assert written.characters == sum(len(json.loads(line)["text"]) for line in lines)


def test_the_functions_are_loaded_when_they_are_used():
    """Importing the package loads no torch; importing its modules hides no function."""
    code = """
import importlib, pkgutil, sys
from dna_bigbird import text
assert "torch" not in sys.modules
modules = {module.name for module in pkgutil.iter_modules(text.__path__)}
assert not modules & set(text.__all__), modules & set(text.__all__)
for name in modules:
    importlib.import_module(f"{text.__name__}.{name}")
assert all(callable(getattr(text, name)) for name in text.__all__)
assert sorted(text.__all__) == dir(text)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_there_is_no_other_function():
    with pytest.raises(AttributeError, match="no attribute 'tune'"):
        _ = text.tune
