"""Results are short in a notebook: shapes and a few names, at most 300 characters."""

import dataclasses
import typing
from pathlib import Path

import numpy as np
import pytest

import dna_bigbird
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.cli.commands import every_command, find_command
from dna_bigbird.cli.parser import load_function
from dna_bigbird.core.results import MOST, Written, short_repr
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.prediction.results import Mutagenesis, Predictions

LABELS = [f"label number {number}" for number in range(919)]
WITHOUT = ("completion",)
"""Commands that return no result."""


def results_of(name: str) -> list[type]:
    command = find_command(name)
    hint = typing.get_type_hints(load_function(dataclasses.replace(command, function_for="")))
    returned = hint["return"]
    return list(typing.get_args(returned) or (returned,))


@pytest.mark.parametrize("name", [name for name in every_command() if name not in WITHOUT])
def test_every_result_is_short(name):
    for result in results_of(name):
        assert result.__repr__ is short_repr, (
            f"{result.__name__}: derive it from core.results.Result"
        )


def test_large_results():
    n = 237
    predictions = Predictions(
        np.array(["chr1"] * n), np.arange(n), np.arange(n) + 1,
        np.zeros((n, 919), np.float32), LABELS, ["a note of a few words"] * 12,
    )  # fmt: skip
    assert repr(predictions) == (
        "Predictions(sequence=<str 237>, start=<int64 237>, end=<int64 237>, "
        "probabilities=<float32 237 x 919>, label_names=['label number 0', 'label number 1', "
        "'label number 2', ... 919], notes=['a note of a few words', 'a note of a few words', "
        "'a note of a few words', ... 12])"
    )
    matrix = np.zeros((400, 4, 919))
    shown = repr(Mutagenesis("chr1", 0, "ACGT" * 100, LABELS, matrix, matrix))
    assert "reference='ACGT" in shown
    assert "diff=<float64 400 x 4 x 919>" in shown
    assert len(shown) <= MOST


def test_a_bundle_and_its_parts():
    bundle = load_bundle(Path(dna_bigbird.__file__).parent / "bundles/data/tata")
    for shown in (bundle, bundle.config, bundle.metrics, bundle.tokenizer):
        assert len(repr(shown)) <= MOST
    parameters = sum(tensor.numel() for tensor in bundle.model.state_dict().values())
    assert (
        f"promoter, {parameters / 1e6:.1f} M parameters, label_names=['promoter'], window_bp=300"
        in repr(bundle)
    )
    assert repr(bundle.tokenizer) == "DnaTokenizer(10 entries, reads='dna')"
    assert "task='promoter'" in repr(bundle.config)
    assert repr(bundle.metrics).startswith("Metrics(")


def test_sets_and_stores(toy_project):
    labelled = LabelledSet(toy_project / "set.h5")
    assert f"promoter, {len(labelled)} rows, 200 bp" in repr(labelled)
    store = TokenStore(toy_project / "train.h5")
    assert f"{store.num_documents} documents" in repr(store)
    assert max(len(repr(labelled)), len(repr(store))) <= MOST


def test_a_long_path_keeps_its_end(tmp_path):
    shown = repr(Written(tmp_path / "a" / ("long" * 30) / "model"))
    assert shown.endswith("long/model')")
    assert len(shown) < 90
