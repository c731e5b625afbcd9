"""Classification and GLUE: `text train`, `evaluate`, `predict`, `runs` from the command line; the recipes."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from dna_bigbird.bundles.bundled import bundled_model
from dna_bigbird.cli.main import build_parser, main
from dna_bigbird.cli.reading import read_arguments
from tests.text_bundle import write_text_bundle

CONFIGS = Path(__file__).parents[3] / "config/text"
PATHS = [f"--{name}=x" for name in ("train", "validation", "pretrained", "output", "checkpoints")]
TRAIN = (
    "--pretrained mlm --options.max_tokens 32 --training.max_steps 4 --training.validate_every 2 "
    "--training.batch_size 2 --training.precision 32-true --training.measure_speed false --threads 1"
)


def settings_of(*files: str):
    """The settings of recipes, which name the task."""
    argv = [*(f"--config={CONFIGS / file}.yaml" for file in files), *PATHS]
    parser, _ = build_parser("text train", argv)
    return SimpleNamespace(**read_arguments(parser, argv))


@pytest.mark.parametrize(
    ("name", "trained"),  # what Table 14 leaves open
    [
        ("imdb", 0.96),
        ("arxiv-topics", 0.8),
        ("patents", 0.8),
        ("hyperpartisan", 0.8),
        ("yelp5", 0.99),
    ],
)
def test_the_share_of_a_set_that_its_recipe_trains_on(name, trained):
    found = settings_of(f"classification/{name}")
    splits = found.options.splits
    share = splits.shares[0] if splits.shares[2] else splits.within_train().shares[0]
    assert (found.set, found.head.pooling) == (name, "cls")
    assert share == pytest.approx(trained)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A tiny pretrained model and sets of a few lines."""
    folder = tmp_path_factory.mktemp("classification")
    write_text_bundle(folder / "mlm")
    texts = ["the king was good", "the queen was bad", "a good river", "a bad city"] * 2
    items = [{"text": text, "label": "pos" if "good" in text else "neg"} for text in texts]
    (folder / "train.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (folder / "open.jsonl").write_text('{"text": "a good king", "id": "new"}\n')
    header = "index\tsentence1\tsentence2\tlabel\n"
    rows = [f"{i}\tthe king\ta river {i}\t{'not_' * (i % 2)}entailment\n" for i in range(4)]
    for name in ("train", "dev"):
        (folder / f"{name}.tsv").write_text(header + "".join(rows))
    (folder / "test.tsv").write_text("index\tsentence1\tsentence2\n7\ta king\ta city\n")
    return folder


@pytest.fixture
def here(project, monkeypatch):
    monkeypatch.chdir(project)
    return project


def run(line: str) -> None:
    main(line.split())


def refused(line: str, capsys) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        run(line)
    return capsys.readouterr().err.splitlines()[-1]


def test_documents_from_training_to_the_mean_of_two_runs(here):
    for seed in (0, 1):
        run(
            f"text train --task text-classification --set imdb --train train.jsonl --validation train.jsonl {TRAIN} "
            f"--output c{seed} --checkpoints runs/c{seed} --seed {seed}"
        )
        run(
            f"text evaluate --model c{seed} --data train.jsonl --train train.jsonl --output s{seed} "
            "--threads 1"
        )
    config = json.loads((here / "c0/config.json").read_text())
    assert (config["task"], config["label_names"]) == ("text-classification", ["neg", "pos"])
    metrics = [json.loads((here / f"s{seed}/metrics.json").read_text()) for seed in (0, 1)]
    assert [each["training_seed"] for each in metrics] == [0, 1]
    assert metrics[0]["n"] == metrics[0]["n_in_training"] == 8
    assert metrics[0]["baselines"]["majority"]["micro_f1"] == 0.5
    assert metrics[0]["baselines"]["tfidf"]["micro_f1"] == 1
    run("text runs --scores [s0/metrics.json,s1/metrics.json] --output mean")
    mean = json.loads((here / "mean/metrics.json").read_text())
    scores = [each["micro_f1"] for each in metrics]
    assert mean["micro_f1"] == pytest.approx(sum(scores) / 2)
    assert mean["micro_f1_sd"] == pytest.approx(abs(scores[0] - scores[1]) / 2**0.5, abs=1e-6)
    run("text predict --model c0 --data open.jsonl --output predicted --threads 1")
    lines = (here / "predicted/predictions.csv").read_text().splitlines()
    assert lines[0] == "id,label,probability"
    assert lines[1].startswith(("new,neg,0.", "new,pos,0."))
    assert len(lines) == 2


def test_a_task_of_glue_to_its_submission(here, capsys):
    run(
        f"text train --task glue --set rte --train . --validation . {TRAIN} --output rte --checkpoints runs/rte"
    )
    run("text predict --model rte --data . --split test --output rte-test --threads 1")
    lines = (here / "rte-test/RTE.tsv").read_text().splitlines()
    assert lines[0] == "index\tprediction"
    assert lines[1] in ("7\tentailment", "7\tnot_entailment")
    message = refused("text evaluate --model rte --data . --split test --output no", capsys)
    assert "test.tsv:1: no column 'label'" in message
    assert not (here / "no").exists()


def test_wrong_sets_and_models_give_one_line(here, tmp_path, capsys):
    command = "text train --task text-classification --output no --checkpoints runs/no"
    message = refused(
        f"{command} --set imdb --train open.jsonl --validation open.jsonl {TRAIN}", capsys
    )
    assert "open.jsonl:1: no 'label'; expected a text or a whole number" in message
    (tmp_path / "train.jsonl").write_text('{"text": "x", "label": "good"}\n')
    wrong = f"--train {tmp_path}/train.jsonl --validation train.jsonl"
    assert "has the label 'good'; expected one of neg, pos" in refused(
        f"{command} --set imdb {wrong} {TRAIN}", capsys
    )
    message = refused(f"{command} --set books {wrong} {TRAIN}", capsys)
    assert "imdb" in message
    both = "--train train.jsonl --validation train.jsonl"
    message = refused(f"{command} --set imdb {both} {TRAIN.replace('32 ', '512 ', 1)}", capsys)
    assert "max_tokens 512: mlm reads at most 256 tokens" in message
    message = refused(f"{command} --set imdb {both} {TRAIN} --head.pooling bin", capsys)
    assert "--head.pooling bin is for DNA, and text has no bins" in message
    assert not (here / "no").exists()


def test_a_model_of_dna_is_refused(here, capsys):
    """Another vocabulary: the set cannot be read with it."""
    message = refused(
        "text train --task text-classification --set imdb --train train.jsonl --validation train.jsonl "
        f"{TRAIN.replace('mlm', str(bundled_model()))} --output no --checkpoints runs/no",
        capsys,
    )
    assert "a model of dna, not of text" in message
