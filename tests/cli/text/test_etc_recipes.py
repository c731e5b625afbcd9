"""The recipes of BigBird-ETC against the paper's Tables 8, 12 and 13 and the epochs and rates of the ETC code."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from dna_bigbird.cli.main import build_parser
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.models.attention_config import EtcConfig

CONFIGS = Path(__file__).parents[3] / "config" / "text" / "etc"
WINDOWS = 1_500_000
PAGES = 107_000
QUESTIONS = {
    # name: global tokens, batch, epochs, examples, learning rate, weight decay, optimizer, hard_g2l, radius
    "hotpotqa": (256, 32, 9, 90431, 5e-5, 0.01, "adamw", True, 84),
    "natural-questions": (230, 128, 3, WINDOWS, 5e-5, 0.01, "adamw", True, 84),
    "triviaqa": (320, 32, 3, PAGES, 3e-5, 0.01, "adamw", True, 84),
    "wikihop": (430, 64, 15, 43738, 4e-5, 0.1, "adamw", False, 84),
    "hotpotqa-large": (256, 32, 5, 90431, 3e-5, 0.01, "adamw", True, 169),
    "natural-questions-large": (230, 64, 3, WINDOWS, 5e-5, 0.01, "adamw", True, 169),
    "triviaqa-large": (320, 32, 3, PAGES, 3e-5, 0.01, "adamw", True, 169),
    "wikihop-large": (430, 64, 5, 43738, 2e-5, 0.1, "lamb", False, 169),
}


def settings(command, name, needed):
    argv = [f"--config={CONFIGS / name}.yaml", *needed.split()]
    parser, _ = build_parser(command, argv)
    return SimpleNamespace(**read_arguments(parser, argv))


def test_every_recipe_is_checked():
    names = {path.stem for path in CONFIGS.iterdir()}
    assert names == QUESTIONS.keys() | {"pretrain-base", "pretrain-large"}


@pytest.mark.parametrize("name", QUESTIONS)
def test_question_answering(name):
    needed = "--train a --validation b --pretrained c --output d --checkpoints e"
    found = settings("text train", name, needed)
    g, batch, epochs, examples, rate, decay, optimizer, hard, radius = QUESTIONS[name]
    assert found.task == name.removesuffix("-large")
    assert (found.options.max_tokens, found.options.max_global_tokens) == (4096, g)
    training = found.training
    assert training.batch_size * training.accumulate == batch
    assert training.max_steps == pytest.approx(epochs * examples / batch, rel=0.03)
    assert training.warmup_steps == pytest.approx(training.max_steps / 10, abs=1)
    assert (training.learning_rate, training.weight_decay) == (rate, decay)
    assert (training.optimizer, training.schedule, training.gradient_clip) == (
        optimizer,
        "linear",
        1,
    )
    etc = found.etc.applied_to(EtcConfig())
    assert (etc.radius, etc.local_mode, etc.hard_g2l) == (radius, "exact", hard)


@pytest.mark.parametrize(
    ("size", "sizes", "radius", "max_distance", "batch"),
    [
        ("base", (12, 12, 768, 3072), 84, 12, 256),
        ("large", (24, 16, 1024, 4096), 169, 24, 2048),
    ],
)
def test_pretraining(size, sizes, radius, max_distance, batch):
    needed = "--train a --validation b --tokenizer c --output d --checkpoints e"
    found = settings("text pretrain", f"pretrain-{size}", needed)
    model, training = found.model, found.training
    assert (model.num_layers, model.num_heads, model.hidden_size, model.ffn_size) == sizes
    assert (model.attention, model.max_tokens, model.num_segments) == ("etc", 4096, 16)
    assert (model.dropout, model.attention_dropout) == (0.1, 0.1)
    assert (model.etc.radius, model.etc.max_distance) == (radius, max_distance)
    assert (found.cpc.weight, found.cpc.sentence_share, found.cpc.fewest_sentences) == (0.2, 0.1, 7)
    assert training.batch_size * training.accumulate * training.devices == batch
    assert (training.learning_rate, training.warmup_steps) == (1e-4, 10000)
