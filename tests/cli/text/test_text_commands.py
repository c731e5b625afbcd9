"""From a pretrained text bundle to a fine-tuned one, scores and predictions, through the command line."""

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from dna_bigbird import load_bundle
from dna_bigbird.cli.main import main
from dna_bigbird.prediction.engine import Engine
from dna_bigbird.text.text_train_run import TextModule
from tests.text_bundle import write_text_bundle
from tests.text_vocabulary import WORDS, tiny_text_tokenizer
from tests.tiny_bundle import write_tiny_bundle

TRAIN = (
    "text train --task text-classification --set json-lines --pretrained pretrained --options.max_tokens 64 "
    "--training.max_steps 12 --training.validate_every 4 --training.batch_size 4 "
    "--training.checkpoint_every_steps 3 --training.learning_rate 0.003 --training.log_every 3 "
    "--training.precision 32-true --train train.jsonl --validation validation.jsonl --threads 1"
)
EVALUATE = (
    "text evaluate --data validation.jsonl --model model --replicates 50 --threads 1 --batch_size 5"
)


def write_documents(path, count, seed, *, labels=True):
    """Documents of random words; those with 'good' in them are good."""
    rng = np.random.default_rng(seed)
    with open(path, "w") as stream:
        for i in range(count):
            name = ("bad", "good")[i % 2]
            text = " ".join(rng.choice(WORDS[:40], rng.integers(3, 90))) + f" {name}"
            item = {"id": str(i), "text": text} | ({"label": name} if labels else {})
            stream.write(json.dumps(item) + "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a pretrained bundle, documents and a fine-tuned model."""
    folder = tmp_path_factory.mktemp("text")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_text_bundle(folder / "pretrained")
        write_documents("train.jsonl", 24, 0)
        write_documents("validation.jsonl", 17, 1)
        main(f"{TRAIN} --output model --checkpoints run".split())
    return folder


@pytest.fixture
def here(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def error(capsys, command):
    """Return the one line that a refused command writes."""
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        main(command.split())
    lines = capsys.readouterr().err.splitlines()
    refused = [line for line in lines if line.startswith("dna-bigbird: error: ")]
    assert lines[-1:] == refused
    return refused[0]


def test_the_bundle_says_what_it_is(here, capsys):
    bundle = load_bundle(here / "model")
    tokenizer = tiny_text_tokenizer()
    wanted = {"task": "text-classification", "set": "json-lines", "reads": "text", "seed": 0}
    assert {name: bundle.config[name] for name in wanted} == wanted
    assert sorted(bundle.config["label_names"]) == ["bad", "good"]
    assert bundle.config["encoder"]["vocab_size"] == tokenizer.size_with_markers
    assert bundle.metrics["n"] == 17
    assert bundle.metrics["split"] == "validation"
    capsys.readouterr()
    main(["info", "model"])
    told = capsys.readouterr().out
    assert "BigBird fine-tuned on json-lines" in told
    assert "max_tokens 64" in told


def test_equal_runs_give_equal_bytes(here, tmp_path):
    main(f"{TRAIN} --output {tmp_path}/model --checkpoints {tmp_path}/run".split())
    assert contents(tmp_path / "model") == contents(here / "model")


@pytest.mark.parametrize("call", [2, 5, 11])
def test_a_killed_run_ends_like_an_undisturbed_one(here, tmp_path, monkeypatch, call):
    """Dropout, the order of rows, the optimizer and the choice of the step go on exactly."""
    calls = iter(range(100))
    whole = TextModule.training_step

    def dies(self, batch, batch_idx):
        if next(calls) == call:
            raise RuntimeError("killed")
        return whole(self, batch, batch_idx)

    command = f"{TRAIN} --output {tmp_path}/model --checkpoints {tmp_path}/run".split()
    with monkeypatch.context() as patch, pytest.raises(SystemExit, match="1"):
        patch.setattr(TextModule, "training_step", dies)
        main(command)
    main(command)
    assert contents(tmp_path / "model") == contents(here / "model")


def test_other_data_start_over(here, tmp_path, capsys):
    """A run does not continue what other training rows, or other labels of validation, began."""
    write_documents(tmp_path / "train.jsonl", 24, 5)
    text = (here / "validation.jsonl").read_text()
    (tmp_path / "validation.jsonl").write_text(text.replace('"good"}', '"bad"}', 1))
    runs = f"--output {tmp_path}/model --checkpoints {tmp_path}/run"
    main(f"{TRAIN} {runs}".split())
    for name, difference in (("validation", "inputs.gold"), ("train", "inputs.train")):
        capsys.readouterr()
        main(f"{TRAIN.replace(f'--{name} ', f'--{name} {tmp_path}/')} {runs}".split())
        assert difference in capsys.readouterr().err


def test_from_scratch_and_pretrained_differ(here, tmp_path):
    main(f"{TRAIN} --from_scratch --output {tmp_path}/model --checkpoints {tmp_path}/run".split())
    fresh, tuned = load_bundle(tmp_path / "model"), load_bundle("model")
    start = load_bundle("pretrained").model.encoder.state_dict()["layers.0.ffn_in.weight"]

    def distance(bundle):
        return (bundle.model.encoder.layers[0].ffn_in.weight - start).norm()

    assert distance(tuned) < 0.3 * distance(fresh)
    assert fresh.config["initial_weights"] == "random"


def test_scores_are_those_of_the_predictions(here, tmp_path):
    """The metric is counted again here from the file of predictions."""
    main(f"{EVALUATE} --train train.jsonl --output {tmp_path}/scored".split())
    metrics = json.loads((tmp_path / "scored" / "metrics.json").read_text())
    assert (metrics["n"], metrics["split"], metrics["seed"]) == (17, "validation", 0)
    lines = (here / "validation.jsonl").read_text().splitlines()
    gold = [json.loads(line)["label"] for line in lines]
    files = [path for path in (tmp_path / "scored").iterdir() if path.name != "metrics.json"]
    text = "".join(path.read_text() for path in files)
    right = np.mean([name in line for name, line in zip(gold, text.splitlines()[1:], strict=True)])
    assert metrics["micro_f1"] == pytest.approx(right, abs=1e-6)
    assert metrics["micro_f1_low"] <= metrics["micro_f1"] <= metrics["micro_f1_high"]
    for name, table in metrics["baselines"].items():
        gain = metrics["micro_f1"] - table["micro_f1"]
        assert metrics[f"micro_f1_gain_over_{name}"] == pytest.approx(gain, abs=2e-6)


def test_a_folder_keeps_what_else_is_in_it(here, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    main(f"{EVALUATE} --output {tmp_path}".split())
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "metrics.json").is_file()


def test_predictions_need_no_gold(here, tmp_path):
    """And are those of the evaluation, whatever the batches."""
    write_documents(tmp_path / "test.jsonl", 17, 1, labels=False)
    options = f"--model model --threads 1 --precision 32-true --output {tmp_path}/p"
    main(f"text predict --data {tmp_path}/test.jsonl {options}".split())
    main(f"{EVALUATE} --output {tmp_path}/e".split())
    evaluated = contents(tmp_path / "e")
    evaluated.pop("metrics.json")
    assert contents(tmp_path / "p") == evaluated


def test_an_interrupted_evaluation_goes_on(here, tmp_path, monkeypatch, capsys):
    whole, batches = Engine._batch, []

    def counted(*arguments):
        if len(batches) == 2:
            raise KeyboardInterrupt
        batches.append(1)
        return whole(*arguments)

    main(f"{EVALUATE} --output {tmp_path}/whole".split())
    monkeypatch.setattr(Engine, "_batch", counted)
    with pytest.raises(SystemExit, match="130"):
        main(f"{EVALUATE} --output {tmp_path}/cut".split())
    assert "continue with --resume" in capsys.readouterr().err
    batches.extend([0])  # more than two: no interruption any more
    main(f"{EVALUATE} --output {tmp_path}/cut --resume".split())
    assert len(batches) == 5  # 17 rows in batches of 5: two before, two after
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut", "whole"]


def test_documents_come_once(here, tmp_path):
    lines = (here / "train.jsonl").read_text().splitlines()
    again = json.dumps(json.loads(lines[0]) | {"id": "again"})
    (tmp_path / "train.jsonl").write_text("\n".join([*lines, again]) + "\n")
    command = f"text documents --set json-lines --data {tmp_path}/train.jsonl --output"
    main(f"{command} {tmp_path}/documents.jsonl".split())
    main(f"{command} {tmp_path}/documents.jsonl.gz".split())
    written = (tmp_path / "documents.jsonl").read_bytes()
    texts = [json.loads(line)["text"] for line in written.decode().splitlines()]
    assert texts == [json.loads(line)["text"] for line in lines]
    assert gzip.decompress((tmp_path / "documents.jsonl.gz").read_bytes()) == written


def test_dna_and_text_are_not_mixed(here, tmp_path, capsys):
    small = {
        "hidden_size": 16, "num_layers": 1, "num_heads": 2, "ffn_size": 32, "max_tokens": 64,
        "block_size": 8, "num_random": 1,
    }  # fmt: skip
    dna = write_tiny_bundle(tmp_path / "dna", vocab_size=30, encoder=small, window_bp=100)
    command = TRAIN.replace("--pretrained pretrained", f"--pretrained {dna}")
    runs = f"--output {tmp_path}/model --checkpoints {tmp_path}/run"
    assert "a model of dna, not of text" in error(capsys, f"{command} {runs}")
    command = EVALUATE.replace("--model model", f"--model {dna}")
    assert "a model of dna, not of text" in error(capsys, f"{command} --output {tmp_path}/out")
    (tmp_path / "x.fa").write_text(">a\nACGT\n")
    for given in ("model", "pretrained"):
        told = error(capsys, f"predict --fasta {tmp_path}/x.fa --model {given}")
        assert "a model of text, not of DNA" in told
    told = error(capsys, f"ensemble --models [model,pretrained] --output {tmp_path}/out")
    assert "a model of text, not of DNA" in told


def test_a_folder_with_data_is_no_place_for_a_model(here, tmp_path, capsys):
    (tmp_path / "triviaqa").mkdir()
    (tmp_path / "triviaqa" / "questions.json").write_text("[]")
    runs = f"--output {tmp_path}/triviaqa --checkpoints {tmp_path}/run"
    assert "the folder holds questions.json, which no run" in error(capsys, f"{TRAIN} {runs}")
    assert contents(tmp_path / "triviaqa") == {"questions.json": b"[]"}
    assert not (tmp_path / "run").exists()  # refused before the training


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("--model pretrained", "its task is pretraining; expected a model that was fine-tuned"),
        ("--data none.jsonl", "none.jsonl: no such file"),
        ("--change beams=3", "--change beams: no such option; known are set, max_tokens"),
        ("--change max_tokens=many", "--change max_tokens=many: expected a value like 64"),
        ("--change max_tokens=1", "--change max_tokens=1"),
        ("--change max_tokens=300", "max_tokens 300: model reads at most 256 tokens"),
        ("--replicates 0", "--replicates 0"),
    ],
)
def test_what_cannot_be_scored_is_one_line(here, tmp_path, capsys, change, words):
    assert words in error(capsys, f"{EVALUATE} --output {tmp_path}/out {change}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "--options.max_tokens 300",
            "max_tokens 300: pretrained reads at most 256 tokens",
        ),
        ("--training.strategy fsdp", "fsdp does not train text tasks; use ddp"),
        ("--dropout 1", "--dropout 1.0"),
        ("--validation none.jsonl", "none.jsonl: no such file"),
        ("--training.attention_backend flex", "flex has no backward pass on a CPU"),
    ],
)
def test_what_cannot_be_trained_is_one_line(here, tmp_path, capsys, change, words):
    if torch.cuda.is_available() and "flex" in change:
        pytest.skip("flex trains on this machine")
    runs = f"--output {tmp_path}/model --checkpoints {tmp_path}/run"
    assert words in error(capsys, f"{TRAIN} {runs} {change}")
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_two_processes_give_the_bytes_of_one_that_accumulates(here, tmp_path):
    """Validation rows of both are scored together. Without dropout, which each draws for itself."""
    for name, share in (("one", "--training.accumulate 2"), ("two", "--training.devices 2")):
        runs = f"--dropout 0 {share} --output {tmp_path}/{name} --checkpoints {tmp_path}/run_{name}"
        command = [sys.executable, "-m", "dna_bigbird", *f"{TRAIN} {runs}".split()]
        subprocess.run(command, check=True, cwd=here, timeout=300)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
