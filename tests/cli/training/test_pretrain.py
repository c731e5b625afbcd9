"""`dna-bigbird pretrain`, as the workflow calls it, on a toy genome."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from dna_bigbird import load_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from tests.toy_project import FINETUNE, PRETRAIN, bytes_of, refused, run
from tests.unprivileged import permissions_count


def test_pretrained_bundle_says_what_it_is(project):
    bundle = load_bundle(project / "pretrained")
    assert bundle.config["task"] == "pretraining"
    assert bundle.config["assembly"] == "demo-toy"
    assert bundle.config["semi_synthetic"] is True
    assert bundle.config["encoder"]["vocab_size"] == bundle.tokenizer.vocab_size == 128
    assert bundle.metrics["split"] == "validation"
    assert bundle.metrics["step"] in (10, 20)
    assert 1 < bundle.metrics["bits_per_base_masked"] < 4
    assert "Semi-synthetic" in (project / "pretrained" / "README.md").read_text()
    history = (project / "pretrained" / "history.tsv").read_text().splitlines()
    assert history[0] == "step\tsplit\tname\tvalue"
    best = f"{bundle.metrics['step']}\tvalidation\tbits_per_base_masked\t"
    assert any(line.startswith(best) for line in history)


def test_tokens_of_an_example_are_counted(project):
    """As compare-lm shows them: examples made one by one, their tokens counted."""
    config = load_bundle(project / "pretrained").config
    tokenizer = load_bundle(project / "pretrained").tokenizer
    store = TokenStore(project / "train.h5")
    length = config.encoder.max_tokens
    examples = PretrainExamples(store, tokenizer, length, MaskingConfig(), 2 * config.seed)
    tokens = [len(examples[i]["token_ids"]) for i in range(examples.examples_per_epoch)]
    assert config.tokens_per_example == round(float(np.mean(tokens[:1024])), 1) < length


def test_equal_runs_give_equal_bytes(project):
    run(f"{PRETRAIN} --output again/pretrained --checkpoints again/ck1")
    assert bytes_of(project / "again/pretrained") == bytes_of(project / "pretrained")
    lazily = "--training.workers 1 --training.tokenize on_the_fly"
    run(f"{FINETUNE} --output again/promoter --checkpoints again/ck2 {lazily}")
    assert bytes_of(project / "again/promoter") == bytes_of(project / "promoter")


def test_backends_compute_the_same(project, monkeypatch):
    """The gathered way gives the scores of the default one, in training and in prediction."""
    run(
        f"{PRETRAIN} --output gathered/pretrained --checkpoints gathered/checkpoints "
        "--training.attention_backend gather"
    )
    ours, theirs = (load_bundle(project / f) for f in ("pretrained", "gathered/pretrained"))
    expected = ours.metrics["bits_per_base_masked"]
    assert theirs.metrics["bits_per_base_masked"] == pytest.approx(expected, abs=1e-4)
    for backend in ("auto", "dense", "gather"):
        run(
            f"predict --fasta toy.fa --model promoter --output {backend}.tsv --backend {backend} "
            "--precision 32-true"
        )
    tables = [np.loadtxt(f"{b}.tsv", skiprows=1, usecols=3) for b in ("auto", "dense", "gather")]
    np.testing.assert_allclose(tables[1], tables[0], rtol=1e-4)
    np.testing.assert_allclose(tables[2], tables[0], rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "on_gpu", "message"),
    [
        (
            "flex",
            False,
            "attention_backend flex has no backward pass on a CPU; use auto, cpu_chunks",
        ),
        (
            "cpu_chunks",
            True,
            "attention_backend cpu_chunks runs on a CPU, and training takes the GPU",
        ),
        (
            "cpu_chunks --model.attention_dropout 0.1",
            False,
            "attention_backend cpu_chunks has no dropout, the model's attention_dropout is 0.1",
        ),
        ("triton", False, "attention_backend triton runs on a GPU, and there is none; use auto"),
        (
            "native",
            False,
            "backend 'native' takes head dimensions that are multiples of 16 up to 256, got 8, the",
        ),
    ],
)
def test_backend_that_cannot_train_is_refused(options, on_gpu, message, monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: on_gpu)
    error = refused(
        f"{PRETRAIN} --output never --checkpoints never2 --training.attention_backend {options}",
        capsys,
    )
    assert message in error
    assert not os.path.exists("never")


@pytest.mark.parametrize("line", [PRETRAIN, FINETUNE])
def test_compiling_needs_a_compiler(line, project, monkeypatch, capsys):
    monkeypatch.setattr(
        "dna_bigbird.training.machine.flex_obstacle", lambda machine: "no C++ compiler"
    )
    options = "--output never --checkpoints never2 --training.compile true"
    expected = "--training.compile true cannot compile here: no C++ compiler; leave it out"
    assert expected in refused(f"{line} {options}", capsys)
    assert not os.path.exists("never")


def test_a_store_of_another_tokenizer_is_refused(project, capsys):
    run(
        "train-tokenizer --genome toy.fa --documents train.bed.gz --output other.model "
        "--metrics other.json --seed 1 --tokenizer.vocab_size 100"
    )
    line = PRETRAIN.replace("bpe.model", "other.model")
    message = refused(f"{line} --output x --checkpoints ck/x", capsys)
    assert "train.h5: made with another tokenizer than other.model" in message


def test_pretraining_needs_two_segments(project, capsys):
    message = refused(f"{PRETRAIN} --model.num_segments 1 --output x --checkpoints ck/x", capsys)
    assert "--model.num_segments 1: pairs of segments need 2" in message


def test_one_process_of_a_machine_verifies_the_stores(project, monkeypatch, capsys):
    """The second process of a machine relies on the first, which ends the run if there is damage."""
    calls = []

    def stop(*_, **__):
        raise InputError("before the first step")

    monkeypatch.setattr(TokenStore, "verify", lambda self, progress: calls.append(self.path.name))
    monkeypatch.setattr("dna_bigbird.training.pretraining_start.fit", stop)
    monkeypatch.setenv("LOCAL_RANK", "1")
    line = f"{PRETRAIN} --output never --checkpoints ck/never"
    assert "before the first step" in refused(line, capsys)
    assert calls == []
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert "before the first step" in refused(line, capsys)
    assert calls == ["train.h5", "validation.h5"]


def test_checkpoints_that_may_not_be_read_are_not_overwritten(project, capsys):
    """The command would have begun again at step 0, over the good states, with exit status 0."""
    shutil.copytree("checkpoints/pretrained", "ck/mine")
    states = sorted(Path("ck/mine").glob("*.ckpt"))
    contents = [path.read_bytes() for path in states]
    for path in states:
        path.chmod(0)
    try:
        with permissions_count():
            error = refused(f"{PRETRAIN} --output never --checkpoints ck/mine", capsys)
    finally:
        for path in states:
            path.chmod(0o666)
    assert f"{states[-1]}: cannot read it now: Permission denied; nothing was changed" in error
    assert "training starts over" not in error
    assert [path.read_bytes() for path in sorted(Path("ck/mine").glob("*.ckpt"))] == contents
    run(f"{PRETRAIN} --output readable --checkpoints ck/mine")
    assert (
        Path("readable/model.safetensors").read_bytes()
        == Path("pretrained/model.safetensors").read_bytes()
    )
