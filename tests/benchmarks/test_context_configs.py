"""The configs of benchmarks/context.py contain settings that the commands accept."""

from pathlib import Path

import pytest
import yaml

from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.corpus.tokenizer import TokenizerConfig
from dna_bigbird.demo.long_range import LongRangeConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.training.label_config import LabelHeadConfig, LabelTrainConfig

CONFIGS = sorted((Path(__file__).parents[2] / "config").glob("long-range*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_the_settings_are_accepted(path):
    config = yaml.safe_load(path.read_text())
    demo = config["demo"]
    LongRangeConfig(demo["long_range"], copies=demo["copies"], negatives=demo["negatives"])
    TokenizerConfig(**config["tokenizer"])
    EncoderConfig(**config["model"])
    KmerConfig(**config["kmer"])
    LabelHeadConfig(**config["finetuning"]["head"])
    LabelTrainConfig(**config["finetuning"]["training"])


def test_there_is_a_config_for_each_type_of_negatives():
    configs = [yaml.safe_load(path.read_text()) for path in CONFIGS]
    assert sorted(config["demo"]["negatives"] for config in configs) == ["absent", "misplaced"]
