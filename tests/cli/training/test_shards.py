"""A pretraining in shards on two processes goes on from its checkpoint; kills are in tests/cli/test_restart.py."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import torch

from dna_bigbird.training.checkpoint_files import read_checkpoint
from dna_bigbird.training.run_folder import list_checkpoints
from tests.toy_project import PRETRAIN

LINE = (
    f"{PRETRAIN} --training.max_steps 4 --training.validate_every 4 --training.checkpoint_every_steps 2 "
    "--training.devices 2 --training.strategy fsdp --output shards/model --checkpoints shards/states"
)


def train() -> str:
    """Run a process, which starts the other one, and return its log."""
    done = subprocess.run(
        [sys.executable, "-m", "dna_bigbird", *LINE.split()],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def weights() -> dict[str, torch.Tensor]:
    newest = list_checkpoints(Path("shards/states"), "step")[-1]
    return read_checkpoint(newest)["state_dict"]


def test_shards_go_on_from_a_checkpoint(toy_project, monkeypatch):
    monkeypatch.chdir(toy_project)
    train()
    whole = weights()
    (toy_project / "shards/states/step_000000004.ckpt").unlink()
    shutil.rmtree("shards/model")
    assert "continuing after step 2" in train()
    again = weights()
    assert again.keys() == whole.keys()
    assert all(again[name].equal(whole[name]) for name in whole)
