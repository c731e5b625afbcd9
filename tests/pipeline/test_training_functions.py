"""The training functions called from Python: the same files as the commands, results as values."""

import dataclasses
import json
from pathlib import Path

import pytest

from dna_bigbird.baselines.baseline import baseline
from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.results import TrainedModel
from dna_bigbird.evaluation.evaluate import evaluate
from dna_bigbird.evaluation.evaluate_lm import evaluate_lm
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.finetune import finetune
from dna_bigbird.training.pretrain import pretrain
from tests.toy_project import bytes_of

ENCODER = EncoderConfig(
    hidden_size=16,
    num_layers=2,
    num_heads=2,
    ffn_size=32,
    max_tokens=96,
    block_size=8,
    num_random=1,
)
TRAINING = TrainConfig(
    max_steps=20,
    batch_size=8,
    learning_rate=0.003,
    warmup_steps=3,
    log_every=5,
    validate_every=10,
    precision="32-true",
)


@pytest.fixture
def project(toy_project, monkeypatch) -> Path:
    monkeypatch.chdir(toy_project)
    return toy_project


def metrics_of(folder: Path) -> dict:
    return json.loads((folder / "metrics.json").read_text())


def test_pretrain(project, tmp_path, capsys):
    result = pretrain(
        project / "train.h5",
        project / "validation.h5",
        tmp_path / "model",
        tmp_path / "checkpoints",
        project / "bpe.model",
        seed=1,
        model=ENCODER,
        training=dataclasses.replace(TRAINING, validation_examples=12),
        threads=1,
    )
    assert bytes_of(tmp_path / "model") == bytes_of(project / "pretrained")
    assert result.output == tmp_path / "model"
    assert (result.step, result.max_steps) == (result.metrics["step"], 20)
    assert result.metrics == metrics_of(project / "pretrained")
    bits = f"bits per base masked {result.metrics['bits_per_base_masked']:.4g}"
    best = f"step {result.step} of 20 is best on validation: {bits} (n = 12 examples)."
    assert result.summary().startswith(f"{tmp_path}/model: {best}")
    assert ("more steps" in result.summary()) == (result.step == 20)
    assert capsys.readouterr().out == "", "the command line prints the summary"


def test_finetune(project, tmp_path, capsys):
    result = finetune(
        project / "toy.fa",
        project / "set.h5",
        project / "pretrained",
        tmp_path / "model",
        tmp_path / "checkpoints",
        seed=1,
        head=HeadConfig(pooling="mean"),
        training=TRAINING,
        threads=1,
    )
    assert bytes_of(tmp_path / "model") == bytes_of(project / "promoter")
    assert result.metrics == metrics_of(project / "promoter")
    assert result.metrics["macro_auroc"] > 0.5
    assert capsys.readouterr().out == ""


def test_evaluate(project, tmp_path, capsys):
    result = evaluate(
        project / "toy.fa",
        project / "promoter",
        project / "set.h5",
        tmp_path / "model",
        tmp_path / "report",
        baselines={"kmer": project / "kmer.h5"},
        seed=1,
        replicates=50,
    )
    assert bytes_of(tmp_path / "report") == bytes_of(project / "report/promoter")
    assert result.metrics == metrics_of(project / "final/promoter")
    first, model, kmer, gain, read_before = result.summary().splitlines()
    assert first == f"{tmp_path}/model: AUROC on 46 test windows, 95 % interval in brackets"
    assert model.startswith(f"  model  {result.metrics['auroc']:.3f}")
    assert kmer.startswith(f"  kmer   {result.metrics['baselines']['kmer']['auroc']:.3f}")
    difference = result.metrics["auroc"] - result.metrics["baselines"]["kmer"]["auroc"]
    assert gain.startswith(f"  model minus kmer: {difference:+.3f}")
    assert read_before.endswith(": 0 in pretraining, 0 in an earlier fine-tuning")
    assert capsys.readouterr().out == ""


def test_evaluate_lm(project, tmp_path, capsys):
    result = evaluate_lm(
        project / "pretrained",
        project / "train.h5",
        project / "test.h5",
        tmp_path / "model",
        tmp_path / "lm.json",
        seed=1,
        examples=20,
        genome=project / "toy.fa",
    )
    assert bytes_of(tmp_path / "model") == bytes_of(project / "final/pretrained")
    assert result.report.read_bytes() == (project / "report/lm.json").read_bytes()
    assert result.metrics == metrics_of(tmp_path / "model")
    lines = result.summary().splitlines()
    assert lines[0].endswith(f"{result.metrics['bits_per_base_masked']} (masked); baselines:")
    of_classes = lines[1 + len(result.metrics["baselines"]) :]
    bases = f"{result.metrics['n_masked_bp']:,} bp: "
    assert [x.partition(bases)[0] for x in of_classes] == ["unseen, ", "unknown, "]
    assert capsys.readouterr().out == ""


def test_baseline(project, tmp_path, capsys):
    result = baseline(
        project / "toy.fa",
        project / "set.h5",
        tmp_path / "kmer.h5",
        seed=1,
        kmer=KmerConfig(max_k=3),
    )
    assert result.output.read_bytes() == (project / "kmer.h5").read_bytes()
    scores = read_scores(result.output)
    assert (result.name, result.description) == ("kmer", scores.description)
    assert result.num_rows == len(scores.rows)
    captured = capsys.readouterr()
    assert captured.out == result.summary() == ""
    assert "dna-bigbird: note: kmer baseline: " in captured.err


def test_a_process_that_writes_no_files_has_no_summary(tmp_path):
    result = TrainedModel(tmp_path, 10, 20, {}, is_writer=False)
    assert result.summary() == ""


def test_results_cannot_be_changed(tmp_path):
    result = TrainedModel(tmp_path, 10, 20, {})
    with pytest.raises(dataclasses.FrozenInstanceError, match="step"):
        result.step = 20


def test_a_setting_is_named_as_an_argument(project, tmp_path):
    with pytest.raises(InputError, match=r"^replicates 0"):
        evaluate(
            project / "toy.fa",
            project / "promoter",
            project / "set.h5",
            tmp_path / "model",
            tmp_path / "report",
            replicates=0,
        )
