"""Longformer's ablations as targets: windows and dilation of character models, rows on WikiHop."""

import json
import shlex
from types import SimpleNamespace

import pytest
import yaml

from dna_bigbird.cli.parser import build_parser
from dna_bigbird.cli.reading import read_arguments
from tests.workflow.test_text import commands, plan, run_of, the_one

FIXED = [230] * 12
GROWING = [32, 32, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512]
PLAIN = [1] * 12
DILATED = [1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4]
MODELS = {
    "increasing": (GROWING, PLAIN),
    "decreasing": (GROWING[::-1], PLAIN),
    "fixed": (FIXED, PLAIN),
    "dilated": (GROWING, DILATED),
}
TINY = {
    "input": "./text.txt",
    "model": {"hidden_size": 16, "num_heads": 2, "ffn_size": 16, "dilated_heads": 1},
    "training": {
        "phase_steps": [4], "examples_per_step": [2], "batch_size": 2, "max_tokens": 64,
        "validations": 2, "validation_examples": 2, "precision": "32-true",
    },
    "evaluation": {"max_tokens": 128, "stride": 32},
    "models": {
        "increasing": {"causal_windows": [4, 8], "dilations": [1, 1]},
        "decreasing": {"causal_windows": [8, 4], "dilations": [1, 1]},
        "fixed": {"causal_windows": [6, 6], "dilations": [1, 1]},
        "dilated": {"causal_windows": [4, 8], "dilations": [1, 2]},
    },
}  # fmt: skip


def test_every_row_of_the_character_ablation_is_planned(workflow, monkeypatch):
    output = plan(workflow, "config/characters.yaml", target="characters")
    jobs = {"train_characters": 4, "evaluate_characters": 4, "characters": 1, "total": 9}
    assert workflow.jobs_of(output) == jobs
    monkeypatch.chdir(workflow.folder)
    trained = {}
    for command in commands(workflow, output):
        name, *words = shlex.split(command)
        parser, _ = build_parser(name, words)
        settings = SimpleNamespace(**read_arguments(parser, words))
        if name == "train-characters":
            model = settings.model
            trained[settings.output.parent.name] = (model.causal_windows, model.dilations)
            assert (model.hidden_size, model.num_heads, model.dilated_heads) == (512, 8, 2)
            assert (settings.training.phase_steps, settings.source) == ([150_000], "text8")
        else:
            assert settings.split == "validation"
    assert trained == MODELS


def test_a_model_with_unequal_layers_is_refused_before_the_first_job(workflow):
    changed = TINY | {"models": {"fixed": {"causal_windows": [6], "dilations": [1, 1]}}}
    config = {"name": "mine", "characters": changed}
    (workflow.folder / "mine.yaml").write_text(yaml.safe_dump(config))
    (workflow.folder / "text.txt").touch()
    output = workflow.snakemake("-n", "--configfile", "mine.yaml", check=False)
    assert "characters.models.fixed.causal_windows: causal_windows has 1 layers" in " ".join(
        output.split()
    )


@pytest.mark.slow
def test_every_row_of_the_character_ablation_runs(workflow):
    words = "the window grows from layer to layer. "
    (workflow.folder / "text.txt").write_text(words * 200)
    config = {"name": "mine", "seed": 0, "characters": TINY}
    (workflow.folder / "mine.yaml").write_text(yaml.safe_dump(config))
    workflow.snakemake("--cores", "2", "--configfile", "mine.yaml")
    folder = workflow.folder / "results/mine/characters"
    rows = [json.loads((folder / x / "scores.json").read_text())["predictors"][0] for x in MODELS]
    assert {row["predictor"] for row in rows} == {"model"}
    assert len({row["bits"] for row in rows}) == len(MODELS)


LONGFORMER = {
    "tokens-2048": ("--options.max_tokens 2048",),
    "epochs-15": ("--training.max_steps 20505",),
    "tokens-512-full": ("--config config/text/longformer/full-512.yaml",),
    "shared-projections": ("--config config/text/longformer/shared-projections.yaml",),
    "not-pretrained": ("--pretrained text/longformer-warm-start",),
    "roberta-512": ("--pretrained text/roberta-512", "--options.max_tokens 512"),
}


def test_every_row_of_longformer_on_wikihop_is_planned(workflow):
    output = plan(workflow, "config/text-longformer.yaml")
    found = commands(workflow, output)
    names = {"wikihop", *(f"{name}/wikihop" for name in LONGFORMER)}
    assert {run_of(c) for c in found if "text evaluate" in c} == names
    usual = shlex.split(the_one(found, "text train", "/trained/wikihop "))
    for name, words in LONGFORMER.items():
        own = shlex.split(the_one(found, "text train", f"/trained/{name}/wikihop "))
        changed = [x for x in own if x not in usual and f"/{name}/wikihop" not in x]
        assert changed == [x for line in words for x in line.split() if x not in usual]
