"""The whole target `text` of the demo's config, from made text to the report."""

import json
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.cli.main import main
from dna_bigbird.models.attention_config import EtcConfig
from dna_bigbird.text.report.text_results import published_tables
from dna_bigbird.workflow.text_tasks import TextTasks
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
def test_longformers_ablations_and_questions_with_hidden_sentences_run(tmp_path, monkeypatch):
    """The commands of the rows of config/text-longformer.yaml and of a recipe with CPC, tiny, on made text."""
    monkeypatch.chdir(tmp_path)
    etc = EtcConfig(radius=8, max_distance=3, tokens_per_global=8)
    for attention, more in (("longformer", {}), ("etc", {"etc": etc}), ("full", {})):
        write_text_bundle(Path(attention), attention=attention, dropout=0.0, **more)
    variants = yaml.safe_load((ROOT / "config/text-longformer.yaml").read_text())["text"][
        "variants"
    ]
    variants["tokens-2048"]["options"] = {"max_tokens": 64}
    variants["roberta-512"] = {"pretrained": "./full", "options": {"max_tokens": 64}}
    variants["not-pretrained"]["pretrained"] = "./longformer"
    variants["epochs-15"]["training"] = {"max_steps": 6}
    variants["etc"] = {"pretrained": "./etc", "recipe": ["./cpc.yaml"]}
    shutil.copytree(ROOT / "config/text/longformer", "config/text/longformer")
    full = Path("config/text/longformer/full-512.yaml")
    full.write_text(full.read_text().replace("max_tokens: 512", "max_tokens: 128"))
    Path("cpc.yaml").write_text("cpc: {weight: 0.2, fewest_sentences: 2}\n")
    main(["text", "made-data", "--output", "made", "--examples", "24"])
    section = {
        "pretrained": "./longformer",
        "training": STEPS | {"measure_speed": False},
        "tasks": {"wikihop": {"options": {"max_tokens": 256}}},
        "variants": variants,
    }
    encoders = {}
    for name, row in TextTasks(".", section, 0).trainings.items():
        train, scored = row.path("train"), row.path("scored")
        main(
            shlex.split(
                f"text train {row.task_options} --train {train} --validation {row.path('validation')} "
                f"--pretrained {row.pretrained} --output trained/{name} --checkpoints runs/{name} "
                f"--threads 1 {row.options}"
            )
        )
        line = f"text evaluate --model trained/{name} --data {scored} --split validation"
        main(f"{line} --output scores/{name} --threads 1".split())
        encoders[name.partition("/")[0]] = load_bundle(f"trained/{name}").config.encoder
    attentions = dict.fromkeys([*variants, "wikihop"], "longformer")
    attentions |= {"tokens-512-full": "full", "roberta-512": "full", "etc": "etc"}
    assert {name: encoder.attention for name, encoder in encoders.items()} == attentions
    assert not encoders["shared-projections"].longformer.separate_global
    assert encoders["wikihop"].longformer.separate_global
