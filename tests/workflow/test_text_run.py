"""The whole target `text` of the demo's config, from made text to the report."""

import json
from random import Random

import pytest
import yaml

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.models.attention_config import EtcConfig
from dna_bigbird.text.made.writing import wikihop_item
from dna_bigbird.text.report.text_results import published_tables
from tests.text_bundle import write_text_bundle
from tests.workflow.conftest import ROOT

FIRST = {
    c.run: c.keys[0]
    for t in published_tables()
    for c in t.columns
    if c.run not in ("", "pretrained", "large-pretrained")
}


@pytest.mark.slow
def test_every_task_beats_the_baseline_that_learns_nothing(workflow):
    """The planted rules are learnt, so every score is above that of the baselines that count no words."""
    workflow.snakemake("--cores", "2", "text")
    results = workflow.folder / "results" / "text"
    for name, key in FIRST.items():
        metrics = json.loads((results / "evaluation" / name / "metrics.json").read_text())
        others = {n: b.get(key) for n, b in metrics["baselines"].items() if n != "tfidf"}
        assert others, name
        assert all(metrics[key] > (other or 0) for other in others.values()), (
            name,
            metrics[key],
            others,
        )
        assert metrics["n_in_training"] == 0
        assert any(
            path.name != "metrics.json" for path in (results / "evaluation" / name).iterdir()
        )
    page = (results / "report.html").read_text()
    assert "Not run" not in page
    assert "Synthetic text." in page
    again = workflow.snakemake("-n", "text")
    assert "Nothing to be done" in again


TINY = {
    "hidden_size": 16, "num_layers": 1, "num_heads": 2, "ffn_size": 16, "max_tokens": 128, "dropout": 0.0,
}  # fmt: skip
STEPS = {"max_steps": 4, "batch_size": 4, "validate_every": 2, "precision": "32-true"}


@pytest.mark.slow
def test_every_row_of_table_10_runs(workflow):
    """Tiny; a row that is scored as it is has the score of the model that it starts from."""
    blocks = TINY | {"block_size": 16, "num_random": 1}
    etc = TINY | {"attention": "etc", "num_segments": 16, "etc": {"radius": 8, "max_distance": 3}}
    rows = {
        "bigbird-itc": {"base": {}, "large": {"model": blocks | {"hidden_size": 32}}},
        "bigbird-etc": {"base": {"model": etc, "cpc": {"weight": 0.2, "fewest_sentences": 2}}},
    }
    start = "results/text/table10/bigbird-itc/pretrained"
    more = {
        "roberta-512": {
            "base": {
                "initial": f"./{start}",
                "model": {},
                "pretraining": STEPS
                | {"max_steps": 1, "validate_every": 1, "learning_rate": 1e-30},
            }
        },
        "longformer": {"base": {"initial": f"./{start}", "model": {"attention": "longformer"}}},
    }
    changes = {"text__model": blocks, "text__pretraining": STEPS, "text__made__examples": 24}
    for table in (rows, rows | more):
        config = workflow.config(text__table10=table, **changes)
        workflow.snakemake("--cores", "2", "text_table10", "--configfile", config)
    folder = workflow.folder / "results/text/table10"
    bits = {
        str(path.parent.relative_to(folder)): json.loads(path.read_text())["bits_per_token"]
        for path in folder.glob("*/*/metrics.json")
    }
    assert len(bits) == 5
    assert bits["roberta-512/pretrained"] == bits["bigbird-itc/pretrained"]
    page = (workflow.folder / "results/text/table10.html").read_text()
    for name in (*table.keys() - {"bigbird-itc"}, "BigBird"):
        assert f"{name}, this run" in page


@pytest.mark.slow
def test_longformers_ablations_and_questions_with_hidden_sentences_run(workflow):
    """The rows of config/text-longformer.yaml and the regulariser of config/text/etc, tiny, on made text."""
    sizes = {"dropout": 0.0, "max_tokens": 256}
    etc = EtcConfig(radius=8, max_distance=3, tokens_per_global=8)
    for attention, more in (("longformer", {}), ("etc", {"etc": etc}), ("full", {})):
        write_text_bundle(workflow.folder / attention, attention=attention, **sizes, **more)
    text = yaml.safe_load((ROOT / "config/text-longformer.yaml").read_text())["text"]
    variants = text["variants"]
    variants["tokens-2048"]["options"] = {"max_tokens": 64}
    variants["roberta-512"] = {"pretrained": "./full", "options": {"max_tokens": 64}}
    variants["not-pretrained"]["pretrained"] = "./longformer"
    variants["epochs-15"]["training"] = {"max_steps": 6}
    variants["etc"] = {"pretrained": "./etc", "recipe": ["./cpc.yaml"]}
    recipe = (ROOT / "config/text/longformer/full-512.yaml").read_text().replace("512", "128")
    (workflow.folder / "config/text/longformer/full-512.yaml").write_text(recipe)
    (workflow.folder / "cpc.yaml").write_text("cpc: {weight: 0.2, fewest_sentences: 2}\n")
    section = {
        "made": {"seed": 0, "examples": 24},
        "pretrained": "./longformer",
        "training": STEPS,
        "tasks": {"wikihop": {"options": {"max_tokens": 256}, "submitted": "./test.json"}},
        "variants": variants,
    }
    questions = [wikihop_item(Random(i), i, "test", False) for i in range(3)]
    for question in questions:
        del question["answer"]
    (workflow.folder / "test.json").write_text(json.dumps(questions))
    (workflow.folder / "mine.yaml").write_text(yaml.safe_dump({"name": "mine", "text": section}))
    workflow.snakemake("--cores", "2", "text", "--configfile", "mine.yaml")
    folder = workflow.folder / "results/mine/text"
    encoders = {
        name: load_bundle(folder / "trained" / name / "wikihop").config.encoder for name in variants
    }
    assert {name: encoder.attention for name, encoder in encoders.items()} == {
        **dict.fromkeys(variants, "longformer"),
        "tokens-512-full": "full",
        "roberta-512": "full",
        "etc": "etc",
    }
    submitted = json.loads((folder / "predictions/wikihop/predictions.json").read_text())
    assert list(submitted) == [question["id"] for question in questions]
    assert not encoders["shared-projections"].longformer.separate_global
    assert "shared-projections, this run" in (folder / "report.html").read_text()
