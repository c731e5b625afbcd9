"""What the recipes of BigBird-ETC have beside `published_settings.tsv`: labels of pairs and CPC of the ETC code."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from dna_bigbird.cli.main import build_parser
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.models.attention_config import EtcConfig

CONFIGS = Path(__file__).parents[3] / "config" / "text" / "etc"
HARD = {"hotpotqa": True, "natural-questions": True, "triviaqa": True, "wikihop": False}


def settings(command, name, needed):
    argv = [f"--config={CONFIGS / name}.yaml", *needed.split()]
    parser, _ = build_parser(command, argv)
    return SimpleNamespace(**read_arguments(parser, argv))


@pytest.mark.parametrize("size", ["", "-large"])
@pytest.mark.parametrize("name", HARD)
def test_question_answering(name, size):
    needed = "--train a --validation b --pretrained c --output d --checkpoints e"
    found = settings("text train", f"{name}{size}", needed)
    etc = found.etc.applied_to(EtcConfig())
    assert (etc.radius, etc.local_mode, etc.hard_g2l) == (169 if size else 84, "exact", HARD[name])
    assert found.cpc.weight == 0.2


@pytest.mark.parametrize("size", ["base", "large"])
def test_pretraining(size):
    needed = "--train a --validation b --tokenizer c --output d --checkpoints e"
    found = settings("text pretrain", f"pretrain-{size}", needed)
    assert found.model.num_segments == 16
    assert (found.cpc.weight, found.cpc.sentence_share, found.cpc.fewest_sentences) == (0.2, 0.1, 7)
