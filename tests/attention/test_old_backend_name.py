"""`merged` is the old name of the backend `cpu_chunks`: it is read wherever a backend is named."""

import json

import jsonschema
import pytest
import torch
import yaml

from dna_bigbird.attention import attend, autotune
from dna_bigbird.attention.patterns import bigbird_itc
from dna_bigbird.cli.parser import build_parser
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.training.run_folder import describe_change, read_chosen, read_settings
from dna_bigbird.workflow.config import run_config


def test_attend_and_encoder():
    q = torch.randn(1, 2, 36, 4, generator=torch.Generator().manual_seed(0))
    old, new = (
        attend(q, q, q, bigbird_itc(9, 4, 1, 2), backend=name) for name in ("merged", "cpu_chunks")
    )
    assert old.equal(new)
    encoder = Encoder(
        EncoderConfig(vocab_size=9, num_layers=1, hidden_size=8, num_heads=2, ffn_size=8)
    )
    encoder.set_backend("merged")
    assert {layer.attention.backend for layer in encoder.layers} == {"cpu_chunks"}


def test_python_settings():
    assert TrainConfig(attention_backend="merged").attention_backend == "cpu_chunks"
    assert Compute(backend="merged") == Compute(backend="cpu_chunks")


@pytest.mark.parametrize(
    ("command", "option"),
    [("predict", "backend"), ("finetune", "training.attention_backend")],
)
def test_options_and_their_files(command, option, tmp_path):
    parser, _ = build_parser(command)
    expected = read_arguments(parser, [f"--{option}", "cpu_chunks"], is_partial=True)
    assert read_arguments(parser, [f"--{option}=merged"], is_partial=True) == expected
    path = tmp_path / "options.yaml"
    *groups, name = option.split(".")
    values = {name: "merged"}
    path.write_text(yaml.safe_dump({groups[0]: values} if groups else values))
    assert read_arguments(parser, ["--config", str(path)], is_partial=True) == expected


def test_the_schema_of_configs():
    settings = run_config.read_schema()["$defs"]["LabelTrainConfig"]
    section = settings["properties"]["attention_backend"]
    for name in ("merged", "cpu_chunks"):
        jsonschema.Draft202012Validator(section).validate(name)


def test_environment(monkeypatch):
    monkeypatch.setenv(autotune.VARIABLE, "merged")
    assert autotune.kept(None) == "cpu_chunks"
    assert autotune.choose(None, None, None).backend == "cpu_chunks"


def test_a_run_that_began_with_the_old_name_continues(tmp_path):
    (tmp_path / "settings.json").write_text(
        json.dumps(
            {
                "training": {"attention_backend": "merged", "max_steps": 4},
                "seed": 0,
                "chosen": {"attention_backend": "merged"},
            }
        )
    )
    now = {"training": {"attention_backend": "cpu_chunks", "max_steps": 4}, "seed": 0}
    assert read_settings(tmp_path) == now, describe_change(read_settings(tmp_path), now)
    assert read_chosen(tmp_path) == {"attention_backend": "cpu_chunks"}
