"""`--search` of finetune and baseline: validation rows only, recorded, continued."""

import csv
import json

import numpy as np
import pytest

from dna_bigbird import load_bundle
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.metrics.binary import auroc
from tests.toy_project import FINETUNE, refused, run

FEW = FINETUNE.replace(
    "--training.max_steps 20 --training.validate_every 10",
    "--training.max_steps 4 --training.validate_every 4",
)


def table_of(path) -> list[dict]:
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def best_of(rows) -> dict:
    (chosen,) = [row for row in rows if row["is_chosen"] == "True"]
    assert float(chosen["validation_macro_auroc"]) == max(
        float(row["validation_macro_auroc"]) for row in rows
    )
    return chosen


def test_finetune_keeps_the_best_recipe_and_records_all(project, monkeypatch, capsys):
    from dna_bigbird.training import finetune_run

    steps, training = [], finetune_run.train_on_labels
    read, sequence = set(), LabelledSet.sequence

    def counted(*args, **settings):
        steps.append(settings["checkpoints"].name)
        return training(*args, **settings)

    def watched(self, row):
        read.add(int(self.split[row]))
        return sequence(self, row)

    monkeypatch.setattr(finetune_run, "train_on_labels", counted)
    monkeypatch.setattr(LabelledSet, "sequence", watched)
    line = f"{FEW} --search 3 --output found --checkpoints ck/found"
    run(line)
    rows = table_of(project / "ck/found/search.tsv")
    assert read == {0, 1}, "no test row"
    assert steps[:3] == ["trial000", "trial001", "trial002"]
    chosen = best_of(rows)
    assert steps[3:] == [f"trial{int(chosen['trial']):03d}"]
    assert (project / "found/search.tsv").read_bytes() == (
        project / "ck/found/search.tsv"
    ).read_bytes()
    bundle = load_bundle("found")
    assert [x["trial"] for x in bundle.config.search] == [0, 1, 2]
    assert bundle.config.stored["training"]["learning_rate"] == float(chosen["learning_rate"])
    if chosen["dropout"]:
        assert bundle.config.encoder.dropout == float(chosen["dropout"])
    score = json.loads((project / "found/metrics.json").read_text())["macro_auroc"]
    assert score == pytest.approx(float(chosen["validation_macro_auroc"]), abs=1e-6)
    assert "recipes tried on validation rows: 3" in (project / "found/README.md").read_text()
    steps.clear()
    run(line.replace("--output found", "--output found_again"))
    assert len(steps) == 1, "finished trials are not run again"
    again = load_bundle("found_again").model.state_dict()
    assert all(again[key].equal(value) for key, value in bundle.model.state_dict().items())
    assert "--search -1" in refused(f"{FEW} --search -1 --output x", capsys)


def test_words_and_networks_are_searched_too(project):
    labelled = LabelledSet("set.h5")
    rows = labelled.rows("validation")
    truth = labelled.labels_of(rows)[:, 0]
    steps = "--training.max_steps 4 --training.validate_every 4 --cnnprom.width 0.1 --threads 1"
    steps += " --training.precision 32-true"  # as scores are computed
    for method, options in (("kmer", "--kmer.max_k 2"), ("cnnprom", steps)):
        line = (
            f"baseline --genome toy.fa --data set.h5 --method {method} {options} --strand forward"
        )
        run(f"{line} --search 3 --output searched.h5 --checkpoints ck/{method}")
        table = table_of(project / f"ck/{method}/search.tsv")
        chosen = best_of(table)
        scores = read_scores(project / "searched.h5")
        assert "best of 3 recipes on validation rows" in scores.description
        found = auroc(truth, scores.of(rows)[:, 0])
        assert found == pytest.approx(float(chosen["validation_macro_auroc"]), abs=1e-4)
        if method == "kmer":
            assert [(x["max_k"], x["strands"]) for x in table] == [
                ("2", "auto"), ("5", "apart"), ("5", "together")
            ]  # fmt: skip
    assert np.isfinite(scores.values).all()
