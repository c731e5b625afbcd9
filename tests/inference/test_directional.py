"""A model of labels with a direction: the higher strand, in predictions, scores and effects of variants."""

import json
import shutil

import numpy as np
import pytest

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.card import model_card
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import reverse_complement
from dna_bigbird.prediction.attribute import attribute
from dna_bigbird.prediction.predict import predict
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.prediction.variants.effects import compare
from tests.pipeline.test_evaluate_strand import evaluate, project, scores_of

__all__ = ["project"]
TYPES = {"multi-class": {}, "regression": {"target_means": 0.0, "target_stds": 1.0}}


@pytest.fixture(scope="module")
def directional(bundle_folder, tmp_path_factory):
    """The small bundle with the same weights and a direction."""
    folder = tmp_path_factory.mktemp("directional") / "tiny"
    shutil.copytree(bundle_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"directional": True}))
    return folder


def test_both_strands_give_the_higher_probability(bundle_folder, directional, random_dna):
    texts = [random_dna(200, seed) for seed in range(12)]
    forward = Predictor(load_bundle(bundle_folder), strand="forward")
    given = forward.probabilities(texts)
    turned = forward.probabilities([reverse_complement(text) for text in texts])
    assert (given > turned).any()
    assert (given < turned).any()
    model = load_bundle(directional)
    higher = Predictor(model, strand="both").probabilities(texts)
    assert np.allclose(higher, np.maximum(given, turned), atol=1e-6)
    assert np.allclose(Predictor(model, strand="forward").probabilities(texts), given, atol=1e-6)
    mean = Predictor(load_bundle(bundle_folder), strand="both").probabilities(texts)
    assert np.allclose(mean, (given + turned) / 2, atol=1e-6), "a bundle without the key has none"


@pytest.mark.parametrize(("label_type", "facts"), TYPES.items())
def test_classes_and_targets_of_one_strand_are_read_on_the_given_strand(
    directional, tmp_path, random_dna, label_type, facts
):
    """No strand is the higher one: classes would not add up to 1."""
    shutil.copytree(directional, tmp_path / "typed")
    config = json.loads((directional / "config.json").read_text())
    labels = len(config["label_names"])
    facts = {name: [value] * labels for name, value in facts.items()}
    config |= {"format_version": 2, "label_type": label_type, **facts}
    (tmp_path / "typed/config.json").write_text(json.dumps(config))
    model, texts = load_bundle(tmp_path / "typed"), [random_dna(200, seed) for seed in range(6)]
    given = Predictor(model, strand="forward").probabilities(texts)
    both = Predictor(model, strand="both")
    assert np.array_equal(both.probabilities(texts), given)
    assert any("the given strand is read" in line for line in both.notes())
    if label_type == "multi-class":
        assert np.allclose(given.sum(axis=1), 1)


def test_models_with_and_without_a_direction_are_not_averaged(bundle_folder, directional):
    bundles = [load_bundle(bundle_folder), load_bundle(directional)]
    with pytest.raises(
        InputError, match=r"its labels belong to one strand, those of .* have no dir"
    ):
        Predictor(bundles)


def test_a_direction_is_true_or_false(directional, tmp_path):
    shutil.copytree(directional, tmp_path / "wrong")
    config = json.loads((directional / "config.json").read_text())
    (tmp_path / "wrong/config.json").write_text(json.dumps(config | {"directional": "yes"}))
    with pytest.raises(InputError, match="directional is 'yes', expected true or false"):
        load_bundle(tmp_path / "wrong")


def test_the_card_says_so(directional, bundle_folder):
    for folder, expected in ((directional, True), (bundle_folder, False)):
        bundle = load_bundle(folder)
        assert (
            "- direction: trained on the strand" in model_card(bundle.config, {"n": 0})
        ) == expected


def test_evaluate_scores_the_given_strand_by_default(project, directional):
    for name, options in (("default", []), ("both", ["--strand=both"])):
        evaluate(
            project,
            directional,
            "forward",
            f"--output={project}/directional/{name}",
            f"--report={project}/report/directional_{name}",
            *(options or ["--strand=null"]),
        )
    default = scores_of(project, "directional_default")
    assert default.strand == "forward"
    assert np.allclose(default.values, scores_of(project, "forward").values, atol=1e-6)
    both = scores_of(project, "directional_both")
    assert (both.values >= default.values - 1e-6).all()
    assert "the higher of both strands" in both.description


def test_predict_and_attribute_read_the_strand_of_the_training(
    bundle_folder, directional, random_dna
):
    """Unless they are told otherwise: the given one of a model with a direction, else both."""
    texts = [random_dna(200, seed) for seed in range(6)]
    for model, strand, other in (
        (directional, "forward", "both"),
        (bundle_folder, "both", "forward"),
    ):
        default, same, opposite = (
            predict(sequences=texts, model=model, precision="32-true", **options).probabilities
            for options in ({}, {"strand": strand}, {"strand": other})
        )
        assert np.array_equal(default, same)
        assert not np.allclose(default, opposite)
        effects, same = (
            attribute(sequences=texts, model=model, labels="CTCF", **options).effects
            for options in ({}, {"strand": strand})
        )
        assert np.array_equal(effects, same)


def test_effects_of_alleles_are_those_of_the_higher_strand():
    """By a loop: each allele as `predict --strand both` gives it, then differences."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (2, 4, 3))  # strands, reference and three alleles, labels
    diff, log_odds, ref, alt = compare(logits, higher_of=2)
    for allele in range(3):
        for label in range(3):
            before = max(logits[0, 0, label], logits[1, 0, label])
            after = max(logits[0, 1 + allele, label], logits[1, 1 + allele, label])
            p, q = (1 / (1 + np.exp(-x)) for x in (before, after))
            found = [x[allele, label] for x in (diff, log_odds, ref, alt)]
            assert found == pytest.approx([q - p, after - before, p, q], abs=1e-6)
