"""Longformer and Performer through the commands of DNA: pretraining, fine-tuning, prediction, restart."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from dna_bigbird import load_bundle
from dna_bigbird.attention.cores.performer import draw_projection
from dna_bigbird.models.attention_config import LongformerConfig, PerformerConfig
from tests.toy_project import FINETUNE, PRETRAIN, bytes_of, refused, run

LONGFORMER = (
    "--model.attention longformer --model.longformer.windows 5 9 --model.longformer.dilations 1 2"
)
PERFORMER = "--model.attention performer --model.performer.num_features 16 --model.performer.redraw_interval 7"
OPTIONS = {"longformer": LONGFORMER, "performer": PERFORMER}
FEWER = ("_steps 20 --training.validate_every 10", "_steps 6 --training.validate_every 6")
BOTH = pytest.mark.parametrize("name", OPTIONS)


@pytest.fixture(scope="module")
def project(toy_project):
    """A pretrained and a fine-tuned bundle of each attention."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(toy_project)
        for name, options in OPTIONS.items():
            run(f"{PRETRAIN} {options} --output {name}/pretrained --checkpoints {name}/states")
            finetune = FINETUNE.replace(
                "--pretrained pretrained", f"--pretrained {name}/pretrained"
            )
            finetune = finetune.replace(*FEWER)
            run(f"{finetune} --output {name}/promoter --checkpoints {name}/finetuning")
    return toy_project


@pytest.fixture(autouse=True)
def in_project(project, monkeypatch):
    monkeypatch.chdir(project)


def values(path: str) -> np.ndarray:
    with open(path) as file:
        _, *rows = csv.reader(file, delimiter="\t")
    return np.array([row[3:] for row in rows], dtype=float)


def test_bundles_have_the_settings_of_their_attention():
    encoder = load_bundle("longformer/promoter").config.encoder
    assert encoder.longformer == LongformerConfig(windows=(5, 9), dilations=(1, 2))
    encoder = load_bundle("performer/promoter").config.encoder
    assert encoder.performer == PerformerConfig(16, redraw_interval=7)
    for name in ("pretrained", "longformer/pretrained", "performer/pretrained"):
        stored = load_bundle(name).config.stored["encoder"]
        own = {key for key in ("etc", "longformer", "performer") if key in stored}
        assert own == {name.split("/")[0]} - {"pretrained"}


@BOTH
def test_pretraining_learns(name):
    with open(f"{name}/pretrained/history.tsv") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    losses = [
        float(row["value"])
        for row in rows
        if row["split"] == "validation" and row["name"].startswith("bits_per_base_masked")
    ]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "longformer",
            "Longformer attention (a window of 5 to 9 tokens on either side, dilations up to 2; global tokens)",
        ),
        (
            "performer",
            "Performer attention (16 random features, redrawn every 7 forward passes of training; softmax kernel)",
        ),
    ],
)
def test_info_and_card(name, words, capsys):
    run(f"info {name}/pretrained")
    assert words in " ".join(capsys.readouterr().out.split())
    assert words in " ".join(Path(f"{name}/promoter/README.md").read_text().split())


@BOTH
def test_predictions_do_not_depend_on_neighbours_in_a_batch(name):
    for size in (1, 7):
        run(
            f"predict --fasta toy.fa --model {name}/promoter --output {name}/{size}.tsv --stride 900 "
            f"--batch_size {size} --precision 32-true"
        )
    alone, together = values(f"{name}/1.tsv"), values(f"{name}/7.tsv")
    assert len(alone) > 20
    assert alone.std() > 0
    assert np.allclose(alone, together, atol=1e-5)
    run(f"embed --fasta toy.fa --model {name}/pretrained --output {name}/vectors.h5 --stride 9000")
    run(
        f"evaluate-lm --train train.h5 --test test.h5 --seed 1 --examples 5 --genome toy.fa "
        f"--model {name}/pretrained --output {name}/scored --report {name}/lm.json"
    )
    assert load_bundle(f"{name}/scored").metrics["n_examples"] == 5


def test_features_of_a_bundle_are_those_of_its_last_redraw():
    """Validation chose step 10 or 20; passes 7 and 14 of training drew new ones."""
    bundle = load_bundle("performer/pretrained")
    step = bundle.config.chosen_step
    assert step in (10, 20)
    for layer, encoder_layer in enumerate(bundle.model.encoder.layers):
        drawn = draw_projection(16, 8, seed=layer, draw=(step - 1) // 7)
        assert torch.equal(encoder_layer.attention.projection, drawn)


def test_performer_restarts_exactly_over_a_redraw(tmp_path):
    """From the state after step 12; the features are drawn again before steps 15."""
    line = f"{PRETRAIN} {PERFORMER} --training.checkpoint_every_steps 6 --model.gradient_checkpointing true"
    run(f"{line} --output {tmp_path}/whole --checkpoints {tmp_path}/whole-states")
    shutil.copytree(tmp_path / "whole-states", tmp_path / "states")
    (newest,) = [p for p in (tmp_path / "states").glob("step_*") if p.stem.endswith("20")]
    newest.unlink()
    assert [p.stem[-2:] for p in sorted((tmp_path / "states").glob("step_*"))][-1] in ("12", "18")
    run(f"{line} --output {tmp_path}/again --checkpoints {tmp_path}/states")
    whole, again = bytes_of(tmp_path / "whole"), bytes_of(tmp_path / "again")
    assert whole == again


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pretrained", "longformer"),
        ("pretrained", "performer"),
        ("longformer/pretrained", "full"),
        ("longformer/pretrained", "longformer"),
        ("performer/pretrained", "longformer"),
    ],
)
def test_fine_tuning_may_change_the_attention(before, after, tmp_path):
    """The weights move: with a learning rate of almost 0 they stay."""
    line = FINETUNE.replace("--pretrained pretrained", f"--pretrained {before}")
    line = line.replace("--training.learning_rate 0.003", "--training.learning_rate 1e-12")
    line = line.replace("--training.max_steps 20 --training.validate_every 10", "")
    steps = "--training.warmup_steps 0 --training.max_steps 2 --training.validate_every 2"
    line = line.replace("--training.warmup_steps 3", "")
    run(
        f"{line} {steps} --model.attention {after} --output {tmp_path}/m --checkpoints {tmp_path}/ck"
    )
    bundle = load_bundle(tmp_path / "m")
    assert bundle.config.encoder.attention == after
    own, source = bundle.model.encoder.state_dict(), load_bundle(before).model.encoder.state_dict()
    of_one = ("global_qkv", "projection", "_extra_state")
    for key, weight in source.items():
        if not any(word in key for word in of_one):
            torch.testing.assert_close(own[key], weight, atol=1e-6, rtol=0)
    for key in [key for key in own if "global_qkv" in key]:
        copied = source.get(key, source[key.replace("global_qkv", "qkv")])
        torch.testing.assert_close(own[key], copied, atol=1e-6, rtol=0)


@BOTH
def test_it_is_lengthened_by_a_rule_and_not_written_for_the_library(name, capsys):
    run(f"convert --from {name}/pretrained --to {name}/long --max-tokens 300 --positions tile")
    assert load_bundle(f"{name}/long").config.encoder.max_tokens == 300
    error = refused(f"convert --from {name}/pretrained --to-huggingface {name}/hf", capsys)
    assert "cannot hold this model" in error
    assert {"longformer": "dilations is", "performer": "attention is performer (it has no"}[
        name
    ] in error
    assert not Path(f"{name}/hf").exists()


@BOTH
def test_a_dry_run_has_one_backend(name, capsys):
    line = f"{PRETRAIN} {OPTIONS[name]} --output no --checkpoints none --dry_run true"
    run(line)
    text = capsys.readouterr().out
    assert "gather" not in text
    assert "CPC" not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--model.longformer.window_tokens 9",
            "--model.longformer is read with --model.attention longformer",
        ),
        (
            "--model.performer.seed 9",
            "--model.performer is read with --model.attention performer only",
        ),
        (
            "--model.attention longformer --model.longformer.windows 5",
            "windows has 1 numbers: expected one per layer, 2",
        ),
        (f"{LONGFORMER} --model.longformer.dilated_heads 3", "is more than --model.num_heads 2"),
        (f"{LONGFORMER} --model.longformer.windows 5 x", "--model.longformer.windows"),
        (
            f"{PERFORMER} --model.attention_dropout 0.1",
            "performer has no --model.attention_dropout",
        ),
        (
            f"{PERFORMER} --model.performer.rows identity",
            "identity has 8 features, the size of a head",
        ),
        (f"{LONGFORMER} --training.attention_backend native", "'native' computes block patterns"),
        (f"{PERFORMER} --cpc.weight 0.5", "--cpc is read with --model.attention etc only"),
    ],
)
def test_options_that_contradict_each_other(options, message, capsys):
    error = refused(f"{PRETRAIN} {options} --output no --checkpoints none", capsys)
    assert message in error
    assert error.count("\n") <= 3
    assert not Path("no").exists()


def test_a_fresh_encoder_and_adapted_ones():
    small = "--model.hidden_size 16 --model.num_heads 2 --model.ffn_size 16"
    fresh = FINETUNE.replace("--pretrained pretrained", "--tokenizer bpe.model")
    fresh = fresh.replace(*FEWER)
    run(
        f"{fresh} {small} --model.attention longformer --model.longformer.window_tokens 8 "
        "--output longformer/fresh --checkpoints longformer/fresh-states"
    )
    encoder = load_bundle("longformer/fresh").config.encoder
    assert (encoder.attention, encoder.positions) == ("longformer", "rotary")
    for name in OPTIONS:
        line = FINETUNE.replace("--pretrained pretrained", f"--pretrained {name}/pretrained")
        line = line.replace(*FEWER)
        run(f"{line} --lora.rank 2 --output {name}/lora --checkpoints {name}/lora-states")
        assert load_bundle(f"{name}/lora").config.encoder.attention == name
