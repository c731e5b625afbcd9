"""Scores of a character model and of baselines on the same characters."""

import json

import numpy as np
import pytest

from dna_bigbird.baselines.base_mixture import BaseMixtureCausal
from dna_bigbird.bundles.character_model import load_character_model
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.characters import CharacterSplit
from dna_bigbird.evaluation.evaluate_characters import evaluate_characters
from dna_bigbird.evaluation.evaluate_characters_run import score_characters
from dna_bigbird.models.character_config import CharacterConfig
from dna_bigbird.training.character_config import StagedTraining
from dna_bigbird.training.character_phases import predictor_rows, read_parts
from dna_bigbird.training.train_characters import train_characters

MODEL = CharacterConfig(
    hidden_size=8, num_heads=2, ffn_size=8, causal_windows=[4], dilations=[1], dropout=0.0
)
TRAINING = StagedTraining(
    phase_steps=[2, 2], examples_per_step=[2, 2], batch_size=2, max_tokens=32, validations=1, precision="32-true",
    validation_examples=2,
)  # fmt: skip
REGIONS = CharacterSplit(validation=["chr1:8,001-9,000"], test=["chr1:9,001-12,000", "chr2"])


def trained(folder, source, path, split):
    settings = {
        "model": MODEL,
        "training": TRAINING,
        "threads": 1,
        "source": source,
        "split": split,
    }
    train_characters(path, folder / source, folder / f"{source}-checkpoints", **settings)
    return folder / source


@pytest.fixture(scope="module")
def dna(tmp_path_factory):
    """A genome of 12,000 and 500 bases, the first with repeats, and a model of it."""
    folder = tmp_path_factory.mktemp("bases")
    rng = np.random.default_rng(0)
    bases = "".join(rng.choice(list("ACGT"), 6000))
    path = folder / "toy.fa"
    path.write_text(f">chr1\n{bases}{bases}\n>chr2\n{bases[:200]}N{bases[:299]}\n")
    return path, trained(folder, "dna", path, REGIONS)


def test_dna_is_scored_with_its_baselines_on_the_same_bases(dna, tmp_path):
    path, folder = dna
    output = tmp_path / "scores.json"
    result = evaluate_characters(folder, path, output, max_tokens=64, stride=16, threads=1)
    rows = {row["predictor"]: row for row in result.rows}
    assert list(rows) == ["model", "order_1", "order_4", "order_8", "order_12", "mixture"]
    assert {row["n"] for row in rows.values()} == {3000 + 200 + 299 - 1}
    assert (
        rows["mixture"]["bits"] < 1 < rows["order_1"]["bits"]
    )  # the test repeats the training part
    stored = json.loads(output.read_text())
    assert stored["predictors"] == result.rows
    assert (stored["split"], stored["max_tokens"], stored["stride"]) == ("test", 64, 16)
    assert "mixture: " in result.summary()


def test_the_numbers_are_those_of_the_model_and_of_the_mixture(dna, tmp_path):
    path, folder = dna
    result = evaluate_characters(
        folder, path, tmp_path / "s.json", max_tokens=64, stride=16, threads=1
    )
    rows = {row["predictor"]: row["bits"] for row in result.rows}
    parts = read_parts(path, "dna", REGIONS).parts
    test = parts["test"]
    scored = (test != 4) & (np.arange(len(test)) > 0)
    nats = score_characters(load_character_model(folder)[0], test, window=64, stride=16)
    assert rows["model"] == pytest.approx(nats[scored].mean() / np.log(2), abs=1e-6)
    text = ["".join("ACGTN"[i] for i in part) for part in (parts["train"], test)]
    nats = BaseMixtureCausal().fit_sequences([text[0]]).nll([text[1]])[0]
    assert rows["mixture"] == pytest.approx(np.nanmean(nats[1:]) / np.log(2), abs=1e-5)


def test_text_has_counts_of_characters(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"the cat sat on the mat. " * 200)
    folder = trained(tmp_path, "bytes", path, CharacterSplit())
    result = evaluate_characters(
        folder, path, tmp_path / "s.json", "validation", max_tokens=64, stride=64
    )
    rows = {row["predictor"]: row["bits"] for row in result.rows}
    assert list(rows) == ["model", "order_1", "order_3", "order_5", "order_7"]
    assert rows["order_7"] < 0.2 < 2 < rows["order_1"]
    first = evaluate_characters(
        folder,
        path,
        tmp_path / "s.json",
        most_characters=51,
        with_baselines=False,
        max_tokens=64,
        stride=64,
    )
    assert [(row["predictor"], row["n"]) for row in first.rows] == [("model", 50)]


def test_rows_leave_out_what_one_predictor_does_not_score():
    nats = {
        "a": np.array([np.nan, 1, 2, 3]) * np.log(2),
        "b": np.array([9, 1, np.nan, 5]) * np.log(2),
    }
    rows = predictor_rows(nats, np.array([0, 1, 1, 4], np.uint8), None, seed=0)
    assert [(row["bits"], row["n"]) for row in rows] == [(2.0, 2), (3.0, 2)]
    assert {row["low"] for row in rows} == {None}  # one piece
    rows = predictor_rows(nats, np.array([0, 1, 1, 4], np.uint8), 4, seed=0)
    assert [(row["bits"], row["n"]) for row in rows] == [(1.0, 1), (1.0, 1)]


def test_wrong_input_is_one_line(dna, tmp_path):
    path, folder = dna
    output = tmp_path / "s.json"
    other = tmp_path / "other.fa"
    other.write_text(path.read_text().replace("ACG", "AAG"))
    with pytest.raises(InputError, match=r"other\.fa: not the file that .* was trained on"):
        evaluate_characters(folder, other, output)
    with pytest.raises(InputError, match=r"stride 65"):
        evaluate_characters(folder, path, output, max_tokens=64, stride=65)
    with pytest.raises(InputError, match="no character model"):
        evaluate_characters(tmp_path, path, output)
    assert not output.exists()
