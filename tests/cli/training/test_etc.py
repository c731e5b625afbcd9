"""BigBird-ETC through the commands: pretraining with hidden sentences, fine-tuning, prediction."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dna_bigbird import load_bundle
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.models.attention_config import EtcConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.etc_encoder import EtcEncoder
from dna_bigbird.training import pretrain_run as steps
from dna_bigbird.training.objective_config import CpcConfig, ObjectiveConfig, objective_of
from dna_bigbird.training.pretrain_run import PretrainingReading
from tests.toy_project import FINETUNE, PRETRAIN, refused, run

ETC = "--model.attention etc --model.etc.radius 6 --model.etc.tokens_per_global 8 --cpc.fewest_sentences 4"


@pytest.fixture(scope="module")
def etc_project(toy_project):
    """A pretrained and a fine-tuned bundle with attention etc."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(toy_project)
        run(f"{PRETRAIN} {ETC} --output etc/pretrained --checkpoints etc/states")
        finetune = FINETUNE.replace("--pretrained pretrained", "--pretrained etc/pretrained")
        run(f"{finetune} --output etc/promoter --checkpoints etc/finetuning")
    return toy_project


@pytest.fixture(autouse=True)
def in_project(etc_project, monkeypatch):
    monkeypatch.chdir(etc_project)


def table(path: str) -> list[list[str]]:
    with open(path) as file:
        return list(csv.reader(file, delimiter="\t"))


def test_the_bundle_and_its_history(capsys):
    bundle = load_bundle("etc/pretrained")
    assert isinstance(bundle.model.encoder, EtcEncoder)
    assert bundle.model.heads == ("mlm", "cpc")
    assert bundle.config.encoder.etc.radius == 6
    assert bundle.config.objective["cpc"]["weight"] == 0.2
    assert bundle.config.objective["nsp_weight"] == 0.0
    _, *rows = table("etc/pretrained/history.tsv")
    figures = {name: float(value) for _, split, name, value in rows if split == "validation"}
    assert figures["cpc_chance"] < 1
    assert {"cpc_loss", "cpc_accuracy", "bits_per_base_masked"} <= figures.keys()
    run("info etc/pretrained")
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "BigBird-ETC attention (radius 6, labels up to a distance of 12, a global token for" in text
    )
    assert "it reads longer sequences" in text
    assert "share of hidden sentences (CPC) in the loss: 0.2" in text


def test_validation_masks_are_those_of_the_other_model():
    """So that figures of masked tokens can be compared."""
    file = Path("bpe.model")
    corpus = steps.open_corpus(
        Path("train.h5"), Path("validation.h5"), DnaTokenizer.from_file(file), file
    )
    encoder = EncoderConfig(max_tokens=96)
    etc = replace(encoder, attention="etc", etc=EtcConfig(tokens_per_global=8))
    usual, of_etc = (
        steps.pretraining_examples(
            corpus,
            each,
            MaskingConfig(),
            1,
            objective_of(each, CpcConfig(fewest_sentences=4), None, 1.0, 0.0)
            if each is etc
            else ObjectiveConfig(),
            PretrainingReading(),
        )["validation"]
        for each in (encoder, etc)
    )
    hidden = 0
    for index in range(12):
        expected, found = usual[index], of_etc[index]
        assert all(np.array_equal(found[name], value) for name, value in expected.items())
        hidden += len(found["hidden"])
    assert hidden >= 10
    run(
        "evaluate-lm --train train.h5 --test test.h5 --seed 1 --examples 20 --genome toy.fa "
        "--model etc/pretrained --output etc/scored --report etc/lm.json --max_tokens 300"
    )
    scored, other = (load_bundle(x).metrics for x in ("etc/scored", "final/pretrained"))
    assert scored["n_examples"] == other["n_examples"] == 20


def test_predictions_do_not_depend_on_neighbours_in_a_batch():
    for size in (1, 7):
        run(
            f"predict --fasta toy.fa --model etc/promoter --output etc/{size}.tsv --stride 300 "
            f"--batch_size {size} --precision 32-true"
        )
    tables = [table(f"etc/{size}.tsv") for size in (1, 7)]
    assert tables[0][0] == tables[1][0]
    values = [np.array([row[3:] for row in rows[1:]], dtype=float) for rows in tables]
    assert len(values[0]) > 50
    assert np.allclose(values[0], values[1], atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--cpc.weight 0.5", "--cpc is read with --model.attention etc only: add that"),
        ("--model.etc.radius 9", "--model.etc is read with --model.attention etc only"),
        (f"{ETC} --nsp_weight 1", "with hidden sentences (CPC) there is no NSP; leave it out"),
        (
            f"{ETC} --model.positions rotary",
            "--model.attention etc has no --model.positions rotary",
        ),
        (f"{ETC} --model.etc.local_mode three_blocks", "needs a --model.etc.radius of at least"),
        (
            f"{ETC} --cpc.sentence_share 1",
            "--cpc.sentence_share 1.0",
        ),
        (f"{ETC} --training.attention_backend flex", "'flex' computes block patterns"),
        (f"{ETC} --model.window_blocks 2", "--model.window_blocks 2 must be 0 or odd"),
        (f"{ETC} --cpc.fewest_sentences 13", "max_tokens 96 is less than 13 sentences"),
        (
            f"{ETC} --cpc.weight 0",
            "--cpc.weight 0.0 hides no sentence; leave the other --cpc options",
        ),
        (f"{ETC} --dry_run true --nsp_weight 1", "with hidden sentences (CPC) there is no NSP"),
        (f"{ETC} --training.attention_backend cpu_chunks", "'cpu_chunks' computes block patterns"),
    ],
)
def test_options_that_contradict_each_other(options, message, capsys):
    error = refused(f"{PRETRAIN} {options} --output etc/no --checkpoints etc/none", capsys)
    assert message in error
    assert error.count("\n") <= 3


def test_a_bundle_of_the_other_attention_is_not_taken_for_it(capsys):
    line = f"{FINETUNE} --model.attention etc --output etc/no --checkpoints etc/none"
    assert "were trained with attention bigbird" in refused(line, capsys)


def test_a_fresh_encoder_of_it():
    line = FINETUNE.replace(
        "--pretrained pretrained", "--tokenizer bpe.model --model.attention etc"
    )
    small = "--model.hidden_size 16 --model.num_heads 2 --model.ffn_size 16"
    run(f"{line} {small} --output etc/fresh --checkpoints etc/fresh_states")
    encoder = load_bundle("etc/fresh").config.encoder
    assert (encoder.attention, encoder.positions) == ("etc", "learned")
    assert encoder.etc == EncoderConfig().etc


def test_one_setting_changes_alone_and_windows_may_be_longer():
    line = FINETUNE.replace(
        "--pretrained pretrained", "--pretrained etc/pretrained --model.etc.radius 3"
    )
    run(f"{line} --output etc/narrow --checkpoints etc/narrow_states")
    etc = load_bundle("etc/narrow").config.encoder.etc
    assert (etc.radius, etc.tokens_per_global) == (3, 8)


def test_weights_fix_the_table_of_labels(capsys):
    line = FINETUNE.replace("--pretrained pretrained", "--pretrained etc/pretrained")
    error = refused(
        f"{line} --model.etc.max_distance 5 --output etc/no --checkpoints etc/none", capsys
    )
    assert (
        "--model.etc.max_distance 5: the weights of etc/pretrained were trained with etc.max_distance 12"
        in error
    )


def test_a_dry_run_has_one_backend(capsys):
    run(f"{PRETRAIN} {ETC} --output etc/no --checkpoints etc/none --dry_run true")
    text = capsys.readouterr().out
    assert "gather" not in text
    assert "The second pass over hidden sentences (CPC) is not counted." in text


def test_it_is_not_written_for_the_library(capsys):
    error = refused("convert --from etc/pretrained --to-huggingface etc/hf", capsys)
    assert "attention is etc (it has no global stream)" in error


def test_it_is_lengthened_without_a_rule():
    run("convert --from etc/pretrained --to etc/long --max-tokens 300")
    longer = load_bundle("etc/long").config
    assert longer.encoder.max_tokens == 300
    assert longer.lengthened == [{"from_max_tokens": 96, "positions": "labels"}]


def test_blocks_of_it_are_not_drawn(capsys):
    error = refused("plot-attention --model etc/pretrained --output etc/a.png", capsys)
    assert "attention etc has no blocks; plot-attention --pattern etc draws it" in error
