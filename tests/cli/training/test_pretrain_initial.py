"""`pretrain --initial`: DNA models that start from other models."""

import pytest
import torch

from dna_bigbird import load_bundle
from dna_bigbird.bundles.info import describe_bundle
from dna_bigbird.models.weight_transfer import lift_to_etc
from tests.text_bundle import write_text_bundle
from tests.toy_project import MODEL, PRETRAIN, refused, run

START = PRETRAIN.replace("--tokenizer bpe.model", "--initial pretrained").replace(MODEL, "")
START = START.replace("--training.max_steps 20 --training.validate_every 10", "")
START += " --training.warmup_steps 0 --training.max_steps 2 --training.validate_every 2"
ETC = "--model.attention etc --model.etc.radius 6 --model.etc.tokens_per_global 8 --cpc.fewest_sentences 4"
STILL = "--training.learning_rate 1e-12 --training.weight_decay 0"


@pytest.fixture(scope="module")
def started(toy_project):
    """The toy project with a model that was lifted and all but not trained."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(toy_project)
        run(f"{START} {ETC} {STILL} --output initial/etc --checkpoints initial/etc-states")
    return toy_project


@pytest.fixture(autouse=True)
def in_project(started, monkeypatch):
    monkeypatch.chdir(started)


def assert_equal_weights(model, other) -> None:
    for name, weight in other.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], weight, atol=1e-6, rtol=0)


def test_blocks_go_to_both_streams():
    before, after = load_bundle("pretrained"), load_bundle("initial/etc")
    config = after.config.encoder
    assert (config.attention, config.etc.radius, config.max_tokens) == ("etc", 6, 96)
    assert after.model.heads == ("mlm", "cpc")
    generator = torch.Generator().manual_seed(1)
    assert_equal_weights(after.model.encoder, lift_to_etc(before.model.encoder, config, generator))
    assert_equal_weights(after.model.mlm, before.model.mlm)
    assert after.tokenizer.files == before.tokenizer.files


def test_the_bundle_names_what_both_trainings_read():
    before, after = load_bundle("pretrained").config, load_bundle("initial/etc").config
    assert before.initial_weights is None
    assert after.initial_weights == "pretrained"
    assert after.regions_read == before.regions_read  # the same store
    assert after.semi_synthetic


def test_the_same_attention_keeps_every_head():
    more = "--train test.h5 --output initial/same --checkpoints initial/same-states"
    run(f"{START} {STILL} {more}")
    before, after = load_bundle("pretrained"), load_bundle("initial/same")
    assert after.config.encoder == before.config.encoder
    assert after.model.heads == ("mlm", "pooler", "nsp")
    assert_equal_weights(after.model, before.model)
    assert after.config.regions_read[:-1] == before.config.regions_read
    described = describe_bundle(after)["config"]["regions_read"]["pretraining"]
    first, second = (record.summary() for record in after.config.regions_read)
    assert described == f"{first} of demo-toy; {second} of demo-toy"
    assert first != second


def test_another_pattern_and_a_longer_context_without_a_table_of_positions():
    further = START.replace("--initial pretrained", "--initial initial/etc")
    more = (
        "--model.attention etc --model.etc.radius 9 --model.max_tokens 160 --cpc.fewest_sentences 4"
    )
    run(f"{further} {more} {STILL} --output initial/long --checkpoints initial/long-states")
    config = load_bundle("initial/long").config.encoder
    assert (config.max_tokens, config.etc.radius, config.etc.tokens_per_global) == (160, 9, 8)
    assert_equal_weights(load_bundle("initial/long").model, load_bundle("initial/etc").model)
    run(
        f"{START} {STILL} --model.attention full --output initial/full --checkpoints initial/full-states"
    )
    assert load_bundle("initial/full").config.encoder.attention == "full"
    assert_equal_weights(load_bundle("initial/full").model, load_bundle("pretrained").model)


def test_other_weights_at_the_start_are_another_training(capsys):
    run(f"{START} --output initial/a --checkpoints initial/a-states")
    other = START.replace("--initial pretrained", "--initial initial/a")
    capsys.readouterr()
    run(f"{other} --output initial/b --checkpoints initial/a-states")
    assert "inputs.weights" in capsys.readouterr().err


def test_a_dry_run_reads_the_settings_of_the_bundle(capsys):
    run(f"{START} {ETC} --output never --checkpoints never-states --dry_run true")
    text, err = capsys.readouterr()
    assert "keeps its attention" not in err
    assert "sequences of 96 " in text
    assert "The second pass over hidden sentences" in text


@pytest.mark.parametrize("option", ["", "--model.attention bigbird"])
def test_a_bundle_that_keeps_its_attention_says_so(option, capsys):
    start = START.replace("--initial pretrained", "--initial initial/etc")
    run(f"{start} {option} --output never --checkpoints never-states --dry_run true")
    expected = "note: initial/etc keeps its attention etc: --model.attention bigbird, the default,"
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("--tokenizer bpe.model", "pretrain: give either --tokenizer or --initial"),
        ("--model.hidden_size 48", "hidden_size 48: the model of --initial pretrained has 16"),
        ("--model.max_tokens 128", "max_tokens 128: the model of --initial pretrained has 96"),
        (
            "--initial initial/etc --model.attention full",
            "attention full: the model of --initial initial/etc has etc",
        ),
        ("--initial promoter", "promoter: it has no head for masked tokens"),
        ("--cpc.weight 0.5", "--cpc is read with --model.attention etc only"),
        ("--initial bundled-encoder", "made with another tokenizer than"),
        ("--initial text", "text: a model of text, not of DNA"),
    ],
)
def test_wrong_starts_are_one_line(change, message, capsys, started):
    if not (started / "text").exists():
        write_text_bundle(started / "text", max_tokens=96)
    line = f"{START} {change} --output never --checkpoints never-states"
    assert message in refused(line, capsys).splitlines()[-1]
    assert not (started / "never").exists()
