"""Summaries: `text train`, then `evaluate` and `predict`, from the command line."""

import json
from pathlib import Path

import pytest

from dna_bigbird.cli.main import main
from tests.text_bundle import write_text_bundle

CONFIGS = Path(__file__).parents[3] / "config/text/summarization"
ITEMS = [
    {"document": "the river\na king of the west was born. the stone", "summary": "a king was born"},
    {"document": "in the north the green house is near the fire", "summary": "the green house"},
    {"document": "the author of the book died in the war", "summary": "an author died"},
    {"document": "a school of music was founded\nthe day", "summary": "a new school"},
]
TRAIN = (
    "text train --task summarization --set xsum --train train.jsonl --validation train.jsonl --pretrained mlm "
    "--options.max_source_tokens 48 --options.max_target_tokens 16 --options.beam_size 2 "
    "--training.max_steps 4 --training.validate_every 2 --training.batch_size 2 "
    "--training.precision 32-true --training.measure_speed false --threads 1"
)


def write_items(path: Path, items: list[dict]) -> None:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))


def run(line: str) -> None:
    main(line.split())


def refused(line: str, capsys) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        run(line)
    return capsys.readouterr().err


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with a trained summarizer; tests write only to names of their own."""
    folder = tmp_path_factory.mktemp("summaries")
    write_items(folder / "train.jsonl", ITEMS)
    write_text_bundle(folder / "mlm")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run(f"{TRAIN} --output model --checkpoints runs")
    return folder


@pytest.fixture
def here(project, monkeypatch):
    monkeypatch.chdir(project)
    return project


def test_the_bundle_says_what_it_is(here):
    config = json.loads((here / "model/config.json").read_text())
    assert config["task"] == "summarization"
    assert (config["set"], config["options"]["set"]) == ("xsum", "xsum")
    assert config["options"]["max_source_tokens"] == 48
    metrics = json.loads((here / "model/metrics.json").read_text())
    assert metrics["n"] == 4
    assert metrics["nll_per_token"] == pytest.approx(metrics["bits_per_token"] * 0.693147, rel=1e-4)
    assert "nll_per_token" in (here / "model/history.tsv").read_text()


def test_evaluate_scores_and_writes_summaries(here):
    run("text evaluate --model model --data train.jsonl --split validation --output scores")
    metrics = json.loads((here / "scores/metrics.json").read_text())
    assert (metrics["n"], metrics["split"]) == (4, "validation")
    for name in ("rouge1", "rouge2", "rougeLsum"):
        assert metrics[f"{name}_low"] <= metrics[name] <= metrics[f"{name}_high"]
        assert metrics["baselines"]["lead"][name] > 0
        assert metrics["baselines"]["sum_basic"][name] > 0
    predictions = (here / "scores/predictions.txt").read_text().splitlines()
    references = (here / "scores/references.txt").read_text().splitlines()
    assert references == [item["summary"] for item in ITEMS]
    items = [json.loads(x) for x in (here / "scores/predictions.jsonl").read_text().splitlines()]
    assert [item["id"] for item in items] == ["1", "2", "3", "4"]
    assert [item["summary"].replace("\n", "<n>") for item in items] == predictions


def test_predict_needs_no_summary(here):
    write_items(here / "new.jsonl", [{"document": item["document"]} for item in ITEMS[:2]])
    run("text predict --model model --data new.jsonl --output summaries")
    assert sorted(p.name for p in (here / "summaries").glob("p*.*")) == [
        "predictions.jsonl",
        "predictions.txt",
    ]


def test_a_summarizer_goes_on_with_its_own_decoder(here, capsys):
    """Its head need not be given again; trained no step further, it scores as before."""
    own = "--head.coupled false --head.share_positions false"
    run(f"{TRAIN} {own} --output own --checkpoints own-runs")
    again = TRAIN.replace("--pretrained mlm", "--pretrained own")
    run(
        f"{again} --training.learning_rate 1e-9 --training.max_steps 2 --output again --checkpoints 2 "
        "--head.attention_dropout 0.1"
    )
    configs = [json.loads((here / name / "config.json").read_text()) for name in ("own", "again")]
    assert configs[0]["head"] | {"attention_dropout": 0.1} == configs[1]["head"]
    scores = [json.loads((here / name / "metrics.json").read_text()) for name in ("own", "again")]
    assert scores[0]["nll_per_token"] == pytest.approx(scores[1]["nll_per_token"], abs=1e-4)
    told = refused(f"{again} --head.decoder_ffn_size 8 --output no --checkpoints 3", capsys)
    assert "--head" in told


def test_bad_input_is_one_line(here, capsys):
    write_items(here / "new.jsonl", [{"document": "a"}])
    write_items(here / "empty.jsonl", [*ITEMS, {"document": " ", "summary": "a"}])
    told = refused(f"{TRAIN} --train empty.jsonl --output no --checkpoints no-runs", capsys)
    assert "empty.jsonl:5: the document of '5' is empty; expected text" in told
    told = refused(f"{TRAIN} --set bbc --output no --checkpoints no-runs", capsys)
    assert "--set" in told
    told = refused(f"{TRAIN} --training.strategy fsdp --output no --checkpoints no-runs", capsys)
    assert "--training.strategy fsdp" in told
    told = refused(
        f"{TRAIN} --options.max_source_tokens 3072 --output no --checkpoints no-runs", capsys
    )
    assert "max_source_tokens 3072: mlm reads at most 256 tokens" in told
    told = refused("text evaluate --model model --data new.jsonl --split test --output no", capsys)
    assert "new.jsonl:1: no 'summary'; expected a text" in told
    assert not (here / "no").exists()
    run(
        f"{TRAIN} --train empty.jsonl --options.skip_empty true --output yes --checkpoints yes-runs"
    )
    assert "document is empty 1" in capsys.readouterr().err


def test_xsum_as_source_and_target(here, capsys):
    """The same articles as lines of two files train the same model; the summaries are an input."""
    for name in ("document", "summary"):
        lines = [" ".join(item[name].split()) + "\n" for item in ITEMS]
        end = {"document": "source", "summary": "target"}[name]
        (here / f"pair.{end}").write_text("".join(lines))
    pair = TRAIN.replace("train.jsonl", "pair.source")
    run(f"{pair} --output of-pair --checkpoints of-pair-runs")
    metrics = json.loads((here / "of-pair/metrics.json").read_text())
    assert metrics["n"] == len(ITEMS)
    summaries = (here / "pair.target").read_bytes()
    told = refused("text documents --set xsum --data pair.source --output pair.target", capsys)
    assert "pair.target" in told
    assert (here / "pair.target").read_bytes() == summaries
