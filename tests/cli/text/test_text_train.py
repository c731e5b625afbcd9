"""`text train --task`: options and help of each task, recipes that name it, names of version 0.1."""

import functools
from dataclasses import fields
from pathlib import Path

import pytest

from dna_bigbird.bundles.text_tasks import tasks
from dna_bigbird.cli.main import build_parser, main
from dna_bigbird.text import text_train

RECIPES = Path(__file__).parents[3] / "config/text"
PATHS = "--train a --validation b --pretrained c --output d --checkpoints e"
OLD_NAMES = {
    "train-classifier": ("text-classification", "classification/imdb.yaml"),
    "train-glue": ("glue", "glue/recipe.yaml"),
    "train-hotpotqa": ("hotpotqa", "hotpotqa.yaml"),
    "train-nq": ("natural-questions", "natural-questions.yaml"),
    "train-triviaqa": ("triviaqa", "triviaqa.yaml"),
    "train-wikihop": ("wikihop", "wikihop.yaml"),
    "train-summarizer": ("summarization", "summarization/base.yaml"),
}


@pytest.fixture
def calls(monkeypatch):
    """The arguments of every call of `text.train`, which does nothing."""
    recorded = []
    monkeypatch.setattr(
        text_train,
        "train",
        functools.wraps(text_train.train)(lambda **arguments: recorded.append(arguments)),
    )
    return recorded


def refused(command, capsys):
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        main(command.split())
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("name", sorted(tasks()))
def test_the_options_of_a_task_are_the_fields_of_its_settings(name):
    task = tasks()[name]
    parser, _ = build_parser("text train", ["--task", name])
    options = parser.option_names
    for group, settings in (("options", task.options), ("head", task.head_type())):
        own = {option for option in options if option.startswith(f"{group}.")}
        assert own == {f"{group}.{field.name}" for field in fields(settings)}
    assert ("set" in options) == (len(task.sets) > 1)


def test_help_without_a_task_lists_the_tasks(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["text", "train", "--help"])
    shown = capsys.readouterr().out
    for name, task in tasks().items():
        assert f"  {name} " in shown
        assert task.about in shown
    assert "--training.max_steps" in shown
    assert "--options" not in shown


def test_help_of_a_task(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["text", "train", "--help-all", "--task=hotpotqa"])
    shown = capsys.readouterr().out
    task = tasks()["hotpotqa"]
    assert task.recipe in shown
    assert task.monitor in shown
    assert "hotpot_train_v1.1.json" in shown
    assert "--options.max_answer_length" in shown
    assert "In Python" not in shown


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_name_is_the_new_command_with_a_note(calls, capsys, monkeypatch, tmp_path, old):
    """Also with a recipe of version 0.1, which names no task."""
    monkeypatch.chdir(tmp_path)
    task, recipe = OLD_NAMES[old]
    text = (RECIPES / recipe).read_text()
    Path("old.yaml").write_text(text.replace(f"task: {task}\n", ""))
    assert Path("old.yaml").read_text() != text
    main(f"text train --config {RECIPES / recipe} {PATHS}".split())
    capsys.readouterr()
    main(f"text {old} --config old.yaml {PATHS}".split())
    note = (
        f"dna-bigbird: note: text {old} is now: dna-bigbird text train --task {task}; the old name goes "
        "with version 0.2\n"
    )
    assert capsys.readouterr() == ("", note)
    new, as_old = calls
    assert new == as_old
    assert new["task"] == task
    main(f"text {old} --config {RECIPES / recipe} {PATHS}".split())
    assert calls[-1] == new


def test_the_command_line_wins_over_a_recipe(calls, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("first.yaml").write_text("task: wikihop\noptions: {max_tokens: 128}\n")
    Path("last.yaml").write_text("options: {max_tokens: 256}\n")
    main(f"text train --config first.yaml --config last.yaml --seed 3 {PATHS}".split())
    assert (calls[0]["task"], calls[0]["options"].max_tokens, calls[0]["seed"]) == (
        "wikihop",
        256,
        3,
    )
    main(f"text train --config last.yaml {PATHS} --task hotpotqa --options.max_tokens 64".split())
    assert (calls[1]["task"], calls[1]["options"].max_tokens) == ("hotpotqa", 64)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("text train --seed 1", "--task is missing: expected one of text-classification, glue"),
        ("text train --task hotpot", "--task hotpot: expected one of"),
        ("text train --task hotpot", "did you mean 'hotpotqa'?"),
        ("text train --task hotpotqa --options.stride 3", "stride"),
        (
            "text train --task hotpotqa --stride 3",
            "See: dna-bigbird text train --task hotpotqa --help",
        ),
        ("text train --task hotpotqa --set imdb", "unknown option --set"),
        ("text train-hotpot", "unknown command 'text train-hotpot'"),
        ("text train --config none.yaml", "none.yaml"),
    ],
)
def test_what_cannot_be_trained_is_one_line(calls, capsys, monkeypatch, tmp_path, command, words):
    monkeypatch.chdir(tmp_path)
    assert words in refused(f"{command} {PATHS}", capsys)
    assert not calls


def test_a_recipe_of_another_task_is_refused(calls, capsys):
    recipe = RECIPES / "wikihop.yaml"
    message = refused(f"text train --task glue --config {recipe} {PATHS}", capsys)
    assert "glue" in message
    assert not calls
