"""`dna-bigbird baseline` with networks: scores, strands, restarts, refusals."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from dna_bigbird.baselines.config import CnnPromConfig
from dna_bigbird.baselines.networks import build_network
from dna_bigbird.cli.main import main
from dna_bigbird.genome import Genome, reverse_complement
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.labelled.tokenized import RowsOnTheFly
from dna_bigbird.training.history import History
from dna_bigbird.training.network_baseline import BaseTokenizer
from dna_bigbird.training.probe import mean_over_strands


def command(folder, output, *options, kind="cnnprom"):
    main(
        [
            "baseline",
            f"--method={kind}",
            f"--genome={folder / 'toy.fa'}",
            f"--data={folder / 'set.h5'}",
            f"--output={folder / output}",
            f"--{kind}.width=0.1",
            "--training.max_steps=40",
            "--training.validate_every=20",
            "--training.checkpoint_every_steps=10",
            "--training.batch_size=16",
            "--training.learning_rate=0.003",
            "--training.precision=32-true",
            *options,
        ]
    )


@pytest.mark.parametrize("kind", ["cnnprom", "deepromoter", "deepsea"])
def test_every_network_learns_and_is_scored(promoters, kind, capsys):
    command(promoters, "scores.h5", "--seed=3", kind=kind)
    assert f"{kind} baseline:" in capsys.readouterr().err
    made = LabelledSet(promoters / "set.h5", Genome(promoters / "toy.fa"))
    scores = read_scores(promoters / "scores.h5")
    assert scores.name == kind
    for said in (
        "parameters; step ",
        " of 40, 16 windows per step, seed 3",
        "mean of both strands",
    ):
        assert said in scores.description
    held_out = np.sort(np.concatenate([made.rows("validation"), made.rows("test")]))
    assert scores.rows.tolist() == held_out.tolist()
    test = made.rows("test")
    assert roc_auc_score(made.labels_of(test)[:, 0], scores.of(test)[:, 0]) > 0.9
    assert (promoters / "scores.h5.checkpoints" / "history.tsv").is_file()


class KilledError(Exception):
    pass


def test_killed_and_started_again_gives_the_same_bytes(promoters, monkeypatch):
    command(promoters, "a.h5", f"--checkpoints={promoters / 'a'}")

    def kill(self, trainer, *rest, before=History.on_train_batch_start):
        if trainer.global_step == 27:
            raise KilledError("on purpose")
        return before(self, trainer, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(History, "on_train_batch_start", kill)
        with pytest.raises(SystemExit, match="1"):
            command(promoters, "b.h5", f"--checkpoints={promoters / 'b'}")
    assert not (promoters / "b.h5").exists()
    command(promoters, "b.h5", f"--checkpoints={promoters / 'b'}")
    assert (promoters / "a.h5").read_bytes() == (promoters / "b.h5").read_bytes()
    histories = [(promoters / x / "history.tsv").read_bytes() for x in "ab"]
    assert histories[0] == histories[1]


def test_probabilities_are_means_over_both_strands(promoters):
    made = LabelledSet(promoters / "set.h5", Genome(promoters / "toy.fa"))
    network = build_network(CnnPromConfig(width=0.1), made.window_bp, 2, seed=0).eval()
    numbers = made.rows("test")[:5]
    rows = RowsOnTheFly(made, numbers, BaseTokenizer(), max_tokens=made.window_bp)
    scores = mean_over_strands(network, rows, batch_size=2)
    for row, found in zip(numbers, scores, strict=True):
        bases = made.sequence(int(row))
        ids = [BaseTokenizer().encode(x) for x in (bases, reverse_complement(bases))]
        ids_BT = torch.from_numpy(np.stack(ids)).long()
        expected = network(ids_BT, torch.zeros_like(ids_BT, dtype=torch.bool)).sigmoid().mean(0)
        np.testing.assert_allclose(found, expected.detach(), atol=1e-6)


def test_one_strand_is_scored_on_request(promoters):
    made = LabelledSet(promoters / "set.h5", Genome(promoters / "toy.fa"))
    network = build_network(CnnPromConfig(width=0.1), made.window_bp, 2, seed=0)
    rows = RowsOnTheFly(made, made.rows("test")[:5], BaseTokenizer(), max_tokens=made.window_bp)
    forward, reverse, both = (
        mean_over_strands(network, rows, strands=strands) for strands in ("+", "-", "+-")
    )
    assert np.abs(forward - reverse).max() > 1e-4
    np.testing.assert_allclose(both, (forward + reverse) / 2, atol=1e-6)
    found = {}
    for strand in ("both", "forward"):  # the second goes on from the checkpoint of the first
        command(promoters, f"{strand}.h5", f"--checkpoints={promoters}/c", f"--strand={strand}")
        found[strand] = read_scores(promoters / f"{strand}.h5")
        assert found[strand].strand == strand
    assert "forward strand only" in found["forward"].description
    assert np.abs(found["both"].values - found["forward"].values).max() > 1e-4


def test_start_at_base_rates(promoters):
    """Hardly trained, with positives that weigh 8: every score is 8 / (8 + 1), half are positive."""
    command(
        promoters,
        "scores.h5",
        "--training.max_steps=1",
        "--training.validate_every=1",
        "--training.learning_rate=1e-9",
        "--training.positive_weight=8",
        "--training.start_at_base_rates=true",
    )
    values = read_scores(promoters / "scores.h5").values
    np.testing.assert_allclose(values, 8 / 9, atol=1e-4)


def test_a_rate_for_the_head_is_refused(promoters, capsys):
    with pytest.raises(SystemExit, match="2"):
        command(promoters, "scores.h5", "--training.head_learning_rate=0.1")
    assert "a baseline network has one rate" in capsys.readouterr().err


def test_a_window_that_is_too_short_is_one_line(promoters, build_set, capsys):
    build_set(promoters, upstream=15, downstream=8)
    with pytest.raises(SystemExit, match="2"):
        command(promoters, "scores.h5")
    assert "cnnprom cannot read windows of 23 bp" in capsys.readouterr().err
    assert not (promoters / "scores.h5").exists()
