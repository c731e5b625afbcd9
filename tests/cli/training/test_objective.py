"""What `pretrain` learns from: weights of NSP and repeats, masking, sites; what such bundles are used for."""

import json
from pathlib import Path

import pytest

from dna_bigbird import load_bundle
from dna_bigbird.bundles.bundled import bundled_encoder
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.core.files import sha256_of
from tests.toy_project import FINETUNE, PRETRAIN, bytes_of, refused, run

EVALUATE = "evaluate-lm --train train.h5 --test test.h5 --seed 1 --examples 20 --genome toy.fa"


@pytest.fixture(scope="module")
def without_nsp(toy_project) -> Path:
    """A bundle without next-sentence prediction, with test scores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(toy_project)
        run(f"{PRETRAIN} --nsp_weight 0 --output nsp0/trained --checkpoints nsp0/states")
        run(f"{EVALUATE} --model nsp0/trained --output nsp0/model --report nsp0/lm.json")
    return toy_project / "nsp0"


def test_the_bundle_has_no_next_sentence(without_nsp):
    bundle = load_bundle(without_nsp / "trained")
    assert bundle.model.heads == ("mlm",)
    expected = {"nsp_weight": 0.0, "repeat_weight": 1.0, "sites_share": 0.0}
    assert bundle.config.objective == expected
    assert "nsp_accuracy" not in (without_nsp / "trained" / "history.tsv").read_text()
    card = (without_nsp / "model" / "README.md").read_text()
    assert "trained to fill masked tokens:" in card
    assert "- weight of next-sentence prediction: 0.0" in card
    assert "nsp_accuracy" not in card


def test_the_same_tokens_are_scored_with_and_without(without_nsp, project):
    """The model without NSP reads the very examples of the other one, validation and test."""
    found, usual = (
        json.loads((folder / "metrics.json").read_text())
        for folder in (without_nsp / "model", project / "final/pretrained")
    )
    assert set(usual) - set(found) == {"nsp_accuracy", "nsp_accuracy_low", "nsp_accuracy_high"}
    counts = [name for name in usual if name.startswith("n_")]
    assert {n: found[n] for n in counts} == {n: usual[n] for n in counts}
    baseline = "token_bigram_informed_masked"
    theirs = [
        {
            k: v
            for k, v in table["baselines"][baseline].items()
            if not k.startswith(("model_minus", "by_"))
        }
        for table in (found, usual)
    ]
    assert theirs[0] == theirs[1]
    assert found["bits_per_base_masked"] != usual["bits_per_base_masked"]


def test_training_may_hide_other_tokens_than_the_paper(project, capsys):
    """Validation stays as it is, and the difference is said."""
    masking = "--masking.fraction 0.4 --masking.mask_share 1 --masking.random_share 0"
    steps = "--training.max_steps 1 --training.validate_every 1 --training.warmup_steps 0"
    figures = {}
    for name, options in (("paper", ""), ("spans", f"{masking} --masking.span_bp 30")):
        run(f"{PRETRAIN} {steps} --training.learning_rate 1e-30 --training.log_every 1 {options} "
            f"--output masks/{name} --checkpoints masks/{name}-states")  # fmt: skip
        lines = (Path("masks") / name / "history.tsv").read_text().splitlines()
        figures[name] = {tuple(line.split("\t")[1:3]): line.split("\t")[3] for line in lines}
        said = capsys.readouterr().err
        words = "training hides 40 % (100 % [MASK], 0 % random, spans of up to 30 bp), validation"
        assert (words in said) == (name == "spans")
    split, name = "validation", "bits_per_base_masked"
    assert figures["spans"][split, name] == figures["paper"][split, name]
    assert figures["spans"]["train", name] != figures["paper"]["train", name]
    assert load_bundle("masks/spans").config.masking["span_bp"] == 30


def test_it_is_fine_tuned_and_converted(without_nsp):
    line = FINETUNE.replace("--pretrained pretrained", "--pretrained nsp0/model")
    line = line.replace("--head.pooling mean", "--head.pooling cls")
    run(f"{line} --output nsp0/promoter --checkpoints nsp0/tuning")
    assert load_bundle(without_nsp / "promoter").config.head.pooling == "cls"
    run("convert --from nsp0/model --to-huggingface nsp0/hf --allow_different_attention true")
    run("convert --from-huggingface nsp0/hf --to nsp0/again")
    assert load_bundle(without_nsp / "again").model.heads == ("mlm",)


SHORT = (
    "--training.max_steps 4 --training.validate_every 2 --training.warmup_steps 1 "
    "--repeat_weight 0.1 --genome soft.fa --sites some.bed --sites_share 0.5"
)


@pytest.fixture(scope="module")
def soft_masked(toy_project) -> None:
    """soft.fa: the same bases, half of them in lower case; some.bed: three sites, one held out."""
    name, letters = (toy_project / "toy.fa").read_text().split()
    half = "".join(x if i // 50 % 2 else x.lower() for i, x in enumerate(letters))
    (toy_project / "soft.fa").write_text(f"{name}\n{half}\n")
    sites = "1\t900\t905\nchr1\t20000\t20001\nchr1\t55000\t55100\n"
    (toy_project / "some.bed").write_text(sites)


def test_weights_of_repeats_and_sites(project, soft_masked, capsys):
    """Validation stays as it is; the same bytes with a data worker, another run with other sites."""
    for name, options in (("one", SHORT), ("workers", f"{SHORT} --training.workers 1")):
        run(f"{PRETRAIN} {options} --output read/{name} --checkpoints read/{name}-states")
        said = capsys.readouterr().err
        assert "some.bed: 2 of 3 sites are in the training documents; 50 % of the examples" in said
        assert "1 are outside and not used" in said
    one, workers = (bytes_of(project / "read" / name) for name in ("one", "workers"))
    assert one["model.safetensors"] == workers["model.safetensors"]
    assert one["history.tsv"] == workers["history.tsv"]
    settings = json.loads((project / "read/one-states/settings.json").read_text())
    assert settings["objective"]["repeat_weight"] == 0.1
    assert settings["inputs"]["sites"] == sha256_of(project / "some.bed")
    assert settings["inputs"]["genome"] == sha256_of(project / "soft.fa")
    newest = max(Path("read/one-states").glob("step_*.ckpt"), key=lambda path: path.name)
    newest.unlink()  # as after a kill between the two checkpoints
    run(f"{PRETRAIN} {SHORT} --output read/again --checkpoints read/one-states")
    assert bytes_of(project / "read/again") == one
    (project / "some.bed").write_text("chr1\t20000\t20001\n")
    run(f"{PRETRAIN} {SHORT} --output read/other --checkpoints read/one-states")
    assert "settings changed (inputs.sites: " in capsys.readouterr().err
    assert bytes_of(project / "read/other")["model.safetensors"] != one["model.safetensors"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--repeat_weight 0.1",
            "--repeat_weight 0.1 reads lower case from the genome: give --genome",
        ),
        (
            "--repeat_weight 0.1 --genome toy.fa",
            "toy.fa: no chromosome of train.h5 has lower and upper case: repeats are not known",
        ),
        ("--sites far.bed", "far.bed: none of its 1 sites is in the documents of train.h5"),
        ("--sites sites.bed --sites_share 1.5", "--sites_share 1.5"),
        ("--repeat_weight -1", "--repeat_weight -1.0: expected at least 0"),
    ],
)
def test_what_cannot_be_read_is_refused(project, options, message, capsys):
    Path("far.bed").write_text("chr1\t59000\t59001\n")
    error = refused(f"{PRETRAIN} {options} --output never --checkpoints ck/never", capsys)
    assert message in error
    assert not Path("never").exists()


def test_learning_from_two_models(project, capsys):
    """Another model than from the tokens, the same bytes after a kill; what the teachers read counts as read."""
    line = f"{PRETRAIN} --seed 5 --output taught/model --checkpoints taught/states"
    elsewhere = PRETRAIN.replace("--train train.h5", "--train test.h5")
    run(f"{elsewhere} --seed 3 --output taught/second --checkpoints taught/second-states")
    taught = f"{line} --teachers pretrained taught/second"
    run(taught)
    before = bytes_of(project / "taught/model")
    max(Path("taught/states").glob("step_*.ckpt"), key=lambda path: path.name).unlink()
    run(taught)
    assert bytes_of(project / "taught/model") == before
    bundle = load_bundle("taught/model")
    assert bundle.config.objective["teachers"] == 2
    usual, other = (load_bundle(x).config.regions_read for x in ("pretrained", "taught/second"))
    assert usual != other
    assert bundle.config.regions_read == [*other, *usual]
    settings = json.loads((project / "taught/states/settings.json").read_text())
    assert len(set(settings["inputs"]["teachers"])) == 2
    run(line)
    assert "settings changed (inputs.teachers: " in capsys.readouterr().err
    alone = bytes_of(project / "taught/model")
    assert alone["model.safetensors"] != before["model.safetensors"]


def test_what_cannot_teach_is_refused(project, capsys):
    run(f"{PRETRAIN} --counts inputs --output taught/copies --checkpoints taught/copies-states")
    etc = "--model.attention etc --model.etc.tokens_per_global 8"
    for options, name in (
        (f"--teachers {bundled_encoder()}", str(bundled_encoder())),
        ("--teachers final/promoter", "final/promoter"),
        ("--teachers pretrained taught/copies", "taught/copies"),
        (f"--teachers pretrained {etc}", "--teachers"),
    ):
        error = refused(f"{PRETRAIN} {options} --output never --checkpoints ck/never", capsys)
        assert name in error
    assert not Path("never").exists()


def test_bundles_of_older_versions_have_both_heads():
    config = BundleConfig.from_json({"task": "pretraining", "encoder": {}})
    assert config.heads == ["mlm", "pooler", "nsp"]
    assert config.objective == {}


def test_a_weight_is_not_negative(project, capsys):
    message = refused(f"{PRETRAIN} --nsp_weight -1 --output x --checkpoints y", capsys)
    assert "--nsp_weight -1.0: expected at least 0" in message
