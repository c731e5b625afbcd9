"""A model with rotary positions: trained, fine-tuned, and read beyond its trained length."""

import json
from pathlib import Path

import pytest

from dna_bigbird import load_bundle
from tests.toy_project import FINETUNE, PRETRAIN, refused, run

OWN = (
    "--model.positions rotary --model.norm_first true --model.qk_norm true --model.stem_width 3 "
    "--model.scale_residual true --training.max_steps 4 --training.validate_every 2 "
    "--training.warmup_steps 1"
)
EVALUATE = "evaluate-lm --train train.h5 --test test.h5 --seed 1 --examples 6"


@pytest.fixture(scope="module")
def rotary(toy_project) -> Path:
    """A pretrained bundle of 96 tokens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(toy_project)
        run(f"{PRETRAIN} {OWN} --output rotary/trained --checkpoints rotary/states")
    return toy_project / "rotary"


def test_bits_per_base_beyond_the_trained_length(rotary, capsys):
    capsys.readouterr()
    bits = {}
    for length in (96, 200):
        run(f"{EVALUATE} --model rotary/trained --max_tokens {length} --output rotary/model{length} "
            f"--report rotary/lm{length}.json")  # fmt: skip
        said = capsys.readouterr().err
        metrics = json.loads((rotary / f"model{length}" / "metrics.json").read_text())
        bits[length] = metrics["bits_per_base_masked"]
        assert metrics["max_tokens"] == length
        line = "--max_tokens 200: up to 200 tokens are read at once; the model was trained on at most 96"
        assert said.count(line) == (length == 200)
        card = (rotary / f"model{length}" / "README.md").read_text()
        assert f"examples of at most {length} tokens" in card
    assert bits[96] != bits[200]


def test_learned_positions_refuse_longer_examples(rotary, capsys):
    said = refused(
        f"{EVALUATE} --model pretrained --max_tokens 200 --output no --report no.json", capsys
    )
    assert (
        "--max_tokens 200: pretrained reads at most 96 tokens; its positions are a learned table"
        in said
    )
    said = refused(
        f"{EVALUATE} --model pretrained --max_tokens 3 --output no --report no.json", capsys
    )
    assert "--max_tokens 3" in said
    assert not Path("no").exists()


def test_it_is_fine_tuned(rotary):
    line = FINETUNE.replace("--pretrained pretrained", "--pretrained rotary/trained")
    line = line.replace("max_steps 20", "max_steps 4").replace(
        "validate_every 10", "validate_every 2"
    )
    run(f"{line} --training.warmup_steps 1 --output rotary/promoter --checkpoints rotary/tuning")
    encoder = load_bundle(rotary / "promoter").config.encoder
    assert (encoder.positions, encoder.qk_norm, encoder.stem_width) == ("rotary", True, 3)
