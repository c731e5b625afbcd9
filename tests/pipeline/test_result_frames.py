"""Data frames of training and evaluation have the rows of the files next to them."""

import json

import h5py
import numpy as np
import pytest

from dna_bigbird.baselines.baseline_scores import BaselineScores
from dna_bigbird.bundles.info import info
from dna_bigbird.bundles.metrics import read_metrics
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.results import Comparison, TrainedModel
from dna_bigbird.corpus.token_statistics import TokenStatistics
from dna_bigbird.corpus.train_tokenizer import TrainedTokenizer
from dna_bigbird.evaluation.evaluate import Evaluation
from dna_bigbird.evaluation.evaluate_lm import LanguageEvaluation
from dna_bigbird.genome.genome import Reference
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.set_files import LabelledSetFile
from dna_bigbird.text.text_evaluate import EvaluatedText
from dna_bigbird.text.text_runs import RepeatedRuns

pytest.importorskip("pandas")


@pytest.fixture
def evaluation(toy_project) -> Evaluation:
    bundle = toy_project / "final/promoter"
    return Evaluation(
        bundle, toy_project / "report/promoter", read_metrics(bundle / "metrics.json"), 1
    )


def lines_of(path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_scores_have_a_row_for_model_and_baseline(evaluation, toy_project):
    stored = json.loads((toy_project / "final/promoter/metrics.json").read_text())
    frame = evaluation.to_dataframe().set_index(["source", "score"])
    assert list(frame) == ["value", "low", "high", "n"]
    for source, metrics in {"model": stored, "kmer": stored["baselines"]["kmer"]}.items():
        row = frame.loc[(source, "auroc")]
        assert row.tolist() == [metrics[k] for k in ("auroc", "auroc_low", "auroc_high", "n")]
    assert not [name for _, name in frame.index if name.endswith(("_low", "_high"))]


@pytest.mark.parametrize("table", ["per_label", "calibration", "curves"])
def test_tables_of_the_report(evaluation, table):
    header, *rows = lines_of(evaluation.report / f"{table}.tsv")
    frame = evaluation.to_dataframe(table)
    assert frame.columns.tolist() == header
    assert len(frame) == len(rows)
    numbers = frame.select_dtypes("number")
    assert len(numbers.columns) >= 2
    for name in numbers:
        written = [float(row[header.index(name)] or "nan") for row in rows]
        np.testing.assert_array_equal(frame[name], written)


def test_probabilities_of_an_evaluation_and_of_a_baseline(evaluation, toy_project):
    baseline = BaselineScores(toy_project / "kmer.h5", "kmer", "", 0)
    files = {
        "scores.h5": evaluation.to_dataframe("probabilities"),
        "kmer.h5": baseline.to_dataframe(),
    }
    for name, frame in files.items():
        folder = evaluation.report if name == "scores.h5" else toy_project
        with h5py.File(folder / name) as file:
            assert frame["row"].tolist() == file["rows"][:].tolist()
            assert frame["promoter"].tolist() == file["scores"][:, 0].tolist()


def test_an_unknown_table_is_refused(evaluation):
    with pytest.raises(InputError, match=r"table='labels': expected 'scores', .*'per_label'"):
        evaluation.to_dataframe("labels")


def test_the_history_of_a_training(toy_project):
    frame = TrainedModel(toy_project / "promoter", 20, 20, {}).to_dataframe()
    header, *rows = lines_of(toy_project / "promoter/history.tsv")
    assert frame.columns.tolist() == header == ["step", "split", "name", "value"]
    written = [[int(step), split, name, float(value)] for step, split, name, value in rows]
    assert frame.to_numpy().tolist() == written


def test_the_rows_of_a_labelled_set(toy_project):
    path = toy_project / "set.h5"
    labelled = LabelledSet(path)
    frame = LabelledSetFile(path, len(labelled), labelled.label_names, {}).to_dataframe()
    assert frame.columns.tolist() == [
        "chrom",
        "start",
        "end",
        "strand",
        "name",
        "split",
        "promoter",
    ]
    assert len(frame) == len(labelled) > 100
    for row in range(0, len(frame), 17):
        window, values = labelled.interval(row), frame.iloc[row]
        assert tuple(values[:4]) == (window.chrom, window.start, window.end, window.strand)
        assert values["name"] == labelled.name(row)
        assert row in labelled.rows(values["split"])
        assert values["promoter"] == labelled.labels_of(np.array([row]))[0, 0]


def test_scores_of_pretraining(toy_project):
    bundle = toy_project / "final/pretrained"
    metrics = read_metrics(bundle / "metrics.json")
    frame = LanguageEvaluation(bundle, toy_project / "report/lm.json", metrics).to_dataframe()
    assert set(frame["source"]) == {"model", *metrics.baselines}
    row = frame.set_index(["source", "score"]).loc[("model", "bits_per_base_masked")]
    assert row["value"] == metrics.stored["bits_per_base_masked"]


def test_small_results(tmp_path):
    rows = [{"model": "a", "auroc": 0.5}, {"model": "b", "auroc": None}]
    assert Comparison(tmp_path, rows, []).to_dataframe()["model"].tolist() == ["a", "b"]
    reference = Reference(tmp_path, "toy", {"chr1": 30, "chr2": 4})
    assert reference.to_dataframe().to_numpy().tolist() == [["chr1", 30], ["chr2", 4]]
    values = {"bp_per_token": 5.5, "n": 10, "bp_per_token.LINE": 6.5, "n.LINE": 4}
    statistics = TokenStatistics(tmp_path, values, ["LINE"]).to_dataframe()
    assert statistics.to_numpy().tolist() == [["all", 5.5, 10], ["LINE", 6.5, 4]]
    tokenizer = TrainedTokenizer(tmp_path, tmp_path, {"bp_per_token": 5.5, "seed": 1})
    assert tokenizer.to_dataframe().to_numpy().tolist() == [["bp_per_token", 5.5], ["seed", 1]]
    runs = RepeatedRuns(tmp_path, {"f1": 0.5, "f1_sd": 0.1, "runs": 3}).to_dataframe()
    assert runs.to_numpy().tolist() == [["f1", 0.5, 0.1, 3]]
    scores = {"f1": 0.5, "n": 3, "baselines": {"majority": {"f1": 0.25, "n": 3}}}
    evaluated = EvaluatedText(tmp_path, (), scores).to_dataframe()
    assert evaluated[["source", "score", "value"]].to_numpy().tolist() == [
        ["model", "f1", 0.5],
        ["majority", "f1", 0.25],
    ]


def test_facts_have_dotted_names():
    frame = info().to_dataframe().set_index("name")["value"]
    assert frame["config.task"] == "promoter"
    assert frame["config.encoder.num_layers"] == 2
