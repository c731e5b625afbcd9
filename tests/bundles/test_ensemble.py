"""An ensemble gives the mean of its members' probabilities, wherever a bundle is taken."""

import json
import shutil
from dataclasses import asdict

import numpy as np
import pytest
import torch

from dna_bigbird import load_bundle
from dna_bigbird.bundles.ensemble import join_bundles
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.bundles.weights import build_model
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import reverse_complement
from dna_bigbird.models.classifier import EnsembleClassifier, logit_of_mean
from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.predictor import Predictor

EXACT = Compute(precision="32-true")


def another(bundle_folder, folder, seed):
    """Save a bundle like the fixture's, with other weights."""
    first = load_bundle(bundle_folder)
    model = build_model(first.config)
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
    save_bundle(
        folder,
        model=model,
        config=first.config | {"seed": seed, "chosen_step": 10 * seed},
        tokenizer=first.tokenizer,
        metrics={},
        card="",
    )
    return folder


@pytest.fixture(scope="module")
def members(bundle_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("members")
    return [another(bundle_folder, folder / f"seed{seed}", seed) for seed in (1, 2, 3)]


@pytest.fixture(scope="module")
def joined(members, tmp_path_factory):
    folder = tmp_path_factory.mktemp("joined") / "three"
    join_bundles(members, folder)
    return folder


def test_probabilities_are_the_mean_of_the_members(joined, members, random_dna):
    sequences = [random_dna(length, seed=length) for length in (20, 120, 200, 200)]
    flipped = [reverse_complement(s) for s in sequences]

    def scores(folder, strand, given=sequences):
        predictor = Predictor(load_bundle(folder), strand=strand, compute=EXACT)
        return predictor.probabilities(given)

    for strand in ("forward", "both"):
        alone = np.array([scores(folder, strand) for folder in members])
        assert alone.std(axis=0).min() > 1e-4, "the members must differ"
        assert np.abs(scores(joined, strand) - alone.mean(axis=0)).max() < 1e-6
    assert np.abs(scores(joined, "both") - scores(joined, "both", flipped)).max() < 1e-6


def test_the_bundle_comes_back_and_says_what_it_holds(joined, members, tmp_path):
    loaded = load_bundle(joined)
    assert loaded.config["members"] == 3
    assert [x["seed"] for x in loaded.config["member_models"]] == [1, 2, 3]
    assert [x["chosen_step"] for x in loaded.config["member_models"]] == [10, 20, 30]
    assert "seed" not in loaded.config
    for number, folder in enumerate(members):
        expected = load_bundle(folder).model.state_dict()
        found = loaded.model.members[number].state_dict()
        assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
    card = (joined / "README.md").read_text()
    assert "mean over 3 independently trained models of 2 layers" in card
    assert "members: seed 1, step 10, weights " in card
    join_bundles(members, tmp_path / "again")
    for file in ("model.safetensors", "config.json", "README.md"):
        assert (tmp_path / "again" / file).read_bytes() == (joined / file).read_bytes()


def test_each_member_has_the_counts_that_help_it(bundle_folder, tmp_path, random_dna):
    """One without any, one of k-mers, one of positions: the mean of what they give alone."""
    sequences = [random_dna(length, seed=length) for length in (120, 200)]
    counts = [None, KmerHeadConfig(max_k=2), KmerHeadConfig(max_k=0, positions=200)]
    folders, first = [], load_bundle(bundle_folder)
    for number, words in enumerate(counts):
        config = first.config | {"seed": number} | ({"words": asdict(words)} if words else {})
        model = build_model(config)
        generator = torch.Generator().manual_seed(number)
        for parameter in model.parameters():
            parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
        folders.append(tmp_path / f"seed{number}")
        save_bundle(
            folders[-1], model=model, config=config, tokenizer=first.tokenizer, metrics={}, card=""
        )  # fmt: skip
    for name, chosen in (("all", folders), ("reversed", folders[::-1])):
        join_bundles(chosen, tmp_path / name)
        loaded = load_bundle(tmp_path / name)
        alone = [Predictor(load_bundle(x), compute=EXACT).probabilities(sequences) for x in chosen]
        found = Predictor(loaded, compute=EXACT).probabilities(sequences)
        assert np.abs(found - np.mean(alone, axis=0)).max() < 1e-6
        known = [member.words for member in loaded.config.member_models]
        assert known == (counts if name == "all" else counts[::-1])
        assert "counts in the window are added" in (tmp_path / name / "README.md").read_text()
    join_bundles([folders[1], another(folders[1], tmp_path / "other", 9)], tmp_path / "same")
    assert load_bundle(tmp_path / "same").config.words == counts[1]


def test_predict_takes_it(joined, members, tmp_path, random_dna, capsys):
    fasta = tmp_path / "x.fa"
    fasta.write_text(f">a\n{random_dna(450, 1)}\n")

    def table(folder):
        main(["predict", "--precision", "32-true", "--fasta", str(fasta), "--model", str(folder)])
        rows = [line.split("\t")[3:] for line in capsys.readouterr().out.splitlines()[1:]]
        return np.array(rows, dtype=float)

    mean = np.mean([table(folder) for folder in members], axis=0)
    assert np.abs(table(joined) - mean).max() < 2e-5  # five digits are printed


def test_the_logit_keeps_very_small_and_very_large_probabilities():
    logits = torch.tensor([[-90.0, 90.0, 3.0], [-95.0, 95.0, -1.0]])
    expected = logits.double().sigmoid().mean(dim=0)
    found = logit_of_mean(logits)
    assert found.double()[:1].sigmoid() == pytest.approx(expected[:1].numpy(), rel=1e-5)
    assert (-found.double()[1:2]).sigmoid() == pytest.approx(expected[:1].numpy(), rel=1e-5)
    assert found[2].sigmoid() == pytest.approx(float(expected[2]), rel=1e-6)


@pytest.fixture
def refused(members, bundle_folder, tmp_path):
    """Function (change of the second config) -> message."""

    def message(change, part=None):
        copy = shutil.copytree(members[1], tmp_path / "other")
        config = json.loads((copy / "config.json").read_text())
        (config[part] if part else config).update(change)
        (copy / "config.json").write_text(json.dumps(config))
        with pytest.raises(InputError, match="other: ") as caught:
            join_bundles([members[0], copy], tmp_path / "never")
        assert not (tmp_path / "never").exists()
        return str(caught.value)

    return message


@pytest.mark.parametrize(
    ("change", "part", "words"),
    [
        (
            {"label_names": ["CTCF", "H3K4me3"]},
            None,
            r"its label_names is ['CTCF', 'H3K4me3'], that",
        ),
        ({"window_bp": 300}, None, "its window_bp is 300, that of"),
        ({"task": "promoter"}, None, "its task is promoter, that of"),
        ({"num_random": 2}, "encoder", "its encoder.num_random is 2, that of"),
        ({"dropout": 0.3}, "head", "its head.dropout is 0.3, that of"),
    ],
    ids=str,
)
def test_members_must_agree(refused, change, part, words):
    assert words in refused(change, part)


def test_refusals(members, joined, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"names 1 bundle.*at least two"):
        join_bundles(members[:1], tmp_path / "never")
    with pytest.raises(InputError, match=r"seed1: has the same weights as .*seed1"):
        join_bundles([members[0], members[0]], tmp_path / "never")
    with pytest.raises(InputError, match="an ensemble of 3 models, and an ensemble takes a single"):
        join_bundles([members[0], joined], tmp_path / "never")
    with pytest.raises(ValueError, match="at least two members, got 1"):
        EnsembleClassifier([load_bundle(members[0]).model])
    assert list(tmp_path.iterdir()) == []


def test_another_tokenizer(members, tmp_path, random_dna):
    from dna_bigbird.corpus.tokenizer import TokenizerConfig, train_tokenizer

    copy = shutil.copytree(members[1], tmp_path / "other")
    words = [random_dna(500, seed) for seed in range(50, 70)]
    size = load_bundle(copy).tokenizer.vocab_size
    (copy / "tokenizer.model").write_bytes(train_tokenizer(words, TokenizerConfig(vocab_size=size)))
    config = json.loads((copy / "config.json").read_text())
    del config["sha256"]
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"other: has another tokenizer than .*seed1"):
        join_bundles([members[0], copy], tmp_path / "never")


def test_finetune_and_convert_refuse_it(joined, tmp_path, capsys):
    for line in (
        f"finetune --pretrained {joined} --genome x.fa --data x.h5 --output {tmp_path}/a "
        f"--checkpoints {tmp_path}/b",
        f"convert --from {joined} --to-huggingface {tmp_path}/a",
    ):
        with pytest.raises(SystemExit, match="2"):
            main(line.split())
        error = capsys.readouterr().err
        assert "an ensemble of 3 models" in error
        assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
