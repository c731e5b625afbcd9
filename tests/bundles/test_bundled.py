"""The bundled model: it loads, is small, says what it is, and scores as its card says."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import rankdata

from dna_bigbird.bundles import bundled
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.bundled import bundled_any_promoter, bundled_encoder, bundled_model
from dna_bigbird.bundles.seen_sequences import SEQUENCES
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.labelled.labelled_set import sequence_hash
from dna_bigbird.prediction.predictor import Predictor

CHECKOUT = Path(__file__).parents[2]
PARTS = ("random_base", "permuted", "genomic", "epdnew")


def test_the_bundles_are_whole_and_small():
    total = 0
    classifiers = [(x, {SEQUENCES}) for x in (bundled_model(), bundled_any_promoter())]
    for folder, more in (*classifiers, (bundled_encoder(), set())):
        files = {path.name: path.stat().st_size for path in folder.iterdir()}
        assert set(files) == {
            "README.md", "config.json", "metrics.json", "model.safetensors", "tokenizer.model", *more,
        }  # fmt: skip
        total += sum(files.values())
    assert total <= 12e6
    for folder, _ in classifiers:
        config = load_bundle(folder).config
        assert (config.label_names, config.window_bp) == (["promoter"], 300)


def test_all_have_a_name_unless_a_folder_is_called_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    encoder = load_bundle("bundled-encoder")
    assert encoder.folder == bundled_encoder()
    assert encoder.config.task == "pretraining"
    assert load_bundle("bundled-tata").folder == bundled_model()
    assert load_bundle("bundled-promoter").folder == bundled_model(), "its name in earlier versions"
    assert load_bundle("bundled-any-promoter").folder == bundled_any_promoter()
    shutil.copytree(bundled_model(), "bundled-encoder")
    assert load_bundle("bundled-encoder").config.task == "promoter"


def test_the_classifier_has_the_architecture_of_the_encoder():
    """But for the dropout; it started from the encoder before."""
    encoder, promoter = (load_bundle(x()).config for x in (bundled_encoder, bundled_model))
    assert replace(promoter.encoder, dropout=0.0) == encoder.encoder


def test_the_model_of_all_promoters_is_a_regression_on_the_encoder():
    """Its encoder has the weights of the pretrained one, and its last layer a number per dimension."""
    encoder, promoter = (load_bundle(x()) for x in (bundled_encoder, bundled_any_promoter))
    assert promoter.config.regions_read[:1] == encoder.config.regions_read
    before, after = encoder.model.encoder.state_dict(), promoter.model.encoder.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert promoter.model.label_layer.weight.shape == (1, encoder.config.encoder.hidden_size)
    assert not promoter.config.directional


def test_package_data_takes_all_its_files():
    told = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    patterns = told["tool"]["setuptools"]["package-data"]["dna_bigbird"]
    package = Path(bundled.__file__).parents[1]
    taken = {path for pattern in patterns for path in package.glob(pattern)}
    folders = (bundled_model(), bundled_any_promoter(), bundled_encoder())
    assert {path for folder in folders for path in folder.iterdir()} <= taken


def test_card_tells_the_scores_of_every_part_next_to_the_baselines():
    folder = bundled_model()
    card, metrics = (
        (folder / "README.md").read_text(),
        json.loads((folder / "metrics.json").read_text()),
    )
    for source in (metrics, *metrics["baselines"].values()):
        for part in PARTS:
            assert f"{source[f'auroc_{part}']:.3f} [" in card
            assert source[f"auroc_low_{part}"] <= source[f"auroc_{part}"]
    assert f"{metrics['scan_calls_per_kb']:.2g} [" in card
    assert not re.search(r"/work|/tmp|/home", card + (folder / "config.json").read_text())


def test_an_installation_without_it_says_how_to_make_one(tmp_path, monkeypatch):
    monkeypatch.setattr(bundled, "BUNDLED", tmp_path)
    with pytest.raises(
        InputError, match=r"this installation has no bundled one\. Make one with: make demo"
    ):
        bundled_model()


def test_real_promoters_rank_above_random_dna(real_data):
    """Most of these were in training: that the right weights are in the box, no more."""
    import gzip

    with gzip.open(real_data / "promoters" / "human_tata_promoters_300bp.txt.gz", "rt") as stream:
        promoters = [line.strip() for line in stream][:100]
    rng = np.random.default_rng(0)
    random = ["".join(rng.choice(list("ACGT"), 300)) for _ in promoters]
    scores = Predictor(load_bundle(bundled_model())).probabilities(promoters + random)[:, 0]
    ranks = rankdata(scores)[:100]
    assert (ranks.sum() - 100 * 101 / 2) / 100**2 > 0.95


@pytest.mark.slow
def test_held_out_scores_are_those_of_the_card(real_data, tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "tools.bundled", f"--data={real_data}", f"--work={tmp_path}"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "as the card says" in run.stdout


def test_bad_input_is_one_line_and_good_input_names_the_model(tmp_path, capsys):
    (tmp_path / "bad.fa").write_text(">a\nACGT\n>a\nACGT\n")
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["predict", "--fasta", str(tmp_path / "bad.fa")])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"dna-bigbird: error: {tmp_path}/bad.fa:3: a second record is called 'a'; names must differ"
    ]
    (tmp_path / "good.fa").write_text(">a\n" + "ACGT" * 75 + "\n")
    main(["predict", "--fasta", str(tmp_path / "good.fa")])
    first = capsys.readouterr().err.splitlines()[0]
    calls = load_bundle(bundled_model()).metrics.scores["scan_calls_per_kb"]
    for said in (
        "bundled-tata",
        "a human TATA promoter",
        "bundled-any-promoter",
        f"{calls:.2g} false calls",
    ):
        assert said in first


def test_the_classifier_remembers_the_tata_promoters_that_it_was_trained_on(real_data):
    """In either direction; 400 of the 2,000 are test rows, and 59 and 22 other promoters have coordinates."""
    import gzip

    bundle = load_bundle(bundled_model())
    with gzip.open(real_data / "promoters" / "human_tata_promoters_300bp.txt.gz", "rt") as stream:
        promoters = [line.strip() for line in stream]
    remembered = set(bundle.sequences_read.tolist())
    is_read = [sequence_hash(text) in remembered for text in promoters]
    metrics = bundle.metrics.stored
    expected = metrics["n_promoters_train"] - 59 + metrics["n_promoters_validation"] - 22
    assert (len(promoters), sum(is_read)) == (2000, expected)


@pytest.mark.slow
def test_the_classifier_remembers_the_rows_of_its_set(real_data, tmp_path):
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "tools.bundled_hashes",
            f"--data={real_data}",
            f"--work={tmp_path}",
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "4,635 sequences, as in the bundle" in run.stdout
