"""The real command, killed at drawn moments and started again: bitwise the undisturbed run."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from dna_bigbird import load_bundle
from dna_bigbird.cli.main import main
from dna_bigbird.core.watchdog import descendants, start_time_of
from dna_bigbird.training.checkpoint_files import read_checkpoint
from dna_bigbird.training.history import WINDOWS
from dna_bigbird.training.run_folder import list_checkpoints

pytestmark = pytest.mark.slow
STEPS = 400
PRETRAIN = (
    "pretrain --train train.h5 --validation validation.h5 --tokenizer bpe.model --seed 1 "
    "--model.hidden_size 16 --model.num_layers 2 --model.num_heads 2 --model.ffn_size 32 "
    "--model.max_tokens 96 --model.block_size 8 --model.num_random 1 "
    "--training.batch_size 8 --training.learning_rate 0.003 --training.warmup_steps 3 "
    "--training.log_every 5 --training.precision 32-true --threads 1 "
    "--training.validate_every 40 --training.validation_examples 12 "
)
SAVING = "--training.checkpoint_every_steps 4 --training.checkpoint_every_minutes 0.004 "
AGAIN = f"{PRETRAIN} --training.max_steps {STEPS} {SAVING} "
RECIPE = (
    "--model.norm_first true --model.positions rotary --model.stem_width 5 --model.qk_norm true "
    "--training.optimizer muon --training.schedule stable_decay "
)
"""What the paper does not have."""
HANG_S = 120
"""A guard against waiting for ever; nothing is measured by it."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder with token stores of a random genome."""
    folder = tmp_path_factory.mktemp("corpus")
    letters = np.random.default_rng(0).choice(list("ACGT"), 50_000)
    (folder / "toy.fa").write_text(f">chr1\n{''.join(letters)}\n")
    sizes = (
        "--documents.passes 2 --documents.min_sentences 4 --documents.max_sentences 8 "
        "--documents.min_sentence_bp 80 --documents.max_sentence_bp 160 "
        "--documents.max_start_bp 500 --genome toy.fa --seed 1"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for split, region in {"train": "1-40000", "validation": "40001-50000"}.items():
            main(f"documents --regions [chr1:{region}] --output {split}.bed.gz {sizes}".split())
            if split == "train":
                main(
                    [
                        "train-tokenizer",
                        "--genome",
                        "toy.fa",
                        "--documents",
                        "train.bed.gz",
                        "--output",
                        "bpe.model",
                        "--metrics",
                        "bpe.json",
                        "--seed",
                        "1",
                        "--tokenizer.vocab_size",
                        "128",
                    ]
                )
            main(
                f"tokenize --genome toy.fa --documents {split}.bed.gz --tokenizer bpe.model "
                f"--output {split}.h5 --assembly demo-toy".split()
            )
    return folder


@pytest.fixture(autouse=True)
def in_corpus(corpus, monkeypatch):
    monkeypatch.chdir(corpus)


def command(line: str, output: str, checkpoints: str) -> list[str]:
    given = [*line.split(), "--output", output, "--checkpoints", checkpoints]
    return [sys.executable, "-m", "dna_bigbird", *given]


def start(line: str, name: str) -> subprocess.Popen:
    """Start a pretraining of its own process group that writes to NAME and ck/NAME."""
    with open(f"{name}.log", "ab") as log:
        return subprocess.Popen(
            command(line, name, f"ck/{name}"),
            stderr=log,
            stdout=log,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )


def finish(line: str, name: str) -> None:
    assert start(line, name).wait(timeout=10 * HANG_S) == 0, Path(f"{name}.log").read_text()


def wait_until(condition, process: subprocess.Popen) -> None:
    """Wait for a condition, as long as the process lives."""
    until = time.monotonic() + HANG_S
    while process.poll() is None and not condition():
        assert time.monotonic() < until, "the run hangs"
        time.sleep(0.003)


def newest_step(name: str) -> int:
    paths = list_checkpoints(Path("ck") / name, "step")
    return int(paths[-1].stem.removeprefix("step_")) if paths else 0


def assert_equal(found, expected, where=""):
    """Same plain values and same bits in all tensors."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            assert_equal(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), where
        for i, value in enumerate(expected):
            assert_equal(found[i], value, f"{where}[{i}]")
    elif isinstance(expected, torch.Tensor):
        assert torch.equal(found, expected), where
    else:
        assert found == expected, where


def assert_same_run(name: str, undisturbed: str) -> None:
    """Same bundle; same weights, optimizer, schedule and history after the last step."""
    files = [
        {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        for folder in (name, undisturbed)
    ]
    assert files[0] == files[1]
    histories = [
        (Path("ck") / folder / "history.tsv").read_bytes() for folder in (name, undisturbed)
    ]
    assert histories[0] == histories[1] == files[1]["history.tsv"]
    states = [
        read_checkpoint(list_checkpoints(Path("ck") / folder, "step")[-1])
        for folder in (name, undisturbed)
    ]
    parts = ("state_dict", "optimizer_states", "lr_schedulers", "callbacks", "global_step", WINDOWS)
    for part in parts:
        assert_equal(states[0][part], states[1][part], part)
    sums = [
        re.findall("sha256 [0-9a-f]{64}", Path(f"{n}.log").read_text()) for n in (name, undisturbed)
    ]
    assert sums[0][-1:] == sums[1] != []


def kill_points(seed: int, count: int, steps: int = STEPS) -> list[tuple[int, float]]:
    """Draw (step to wait for, seconds more); with 0 for the step, seconds after the start."""
    rng = np.random.default_rng(seed)
    points = [(int(s), float(rng.uniform(0, 0.05))) for s in rng.integers(1, steps - 8, count - 4)]
    points.sort()
    for _ in range(4):  # between the others, while the run begins or continues
        points.insert(int(rng.integers(len(points))), (0, float(rng.uniform(0, 6))))
    print(f"kill points of seed {seed}: {points}")
    return points


def wait_for_point(process: subprocess.Popen, name: str, step: int, delay_s: float) -> None:
    if step:
        begun = newest_step(name)
        wait_until(lambda: newest_step(name) >= max(step, begun + 1), process)
    with_delay = time.monotonic() + delay_s
    wait_until(lambda: time.monotonic() >= with_delay, process)


def test_one_process_killed_at_any_moment(corpus):
    """24 times SIGKILL, each time with another number of data workers."""
    finish(f"{AGAIN} --training.workers 0", "whole")
    killed = 0
    for number, (step, delay_s) in enumerate(kill_points(1, 24)):
        process = start(f"{AGAIN} --training.workers {number % 3}", "killed")
        wait_for_point(process, "killed", step, delay_s)
        killed += process.poll() is None
        process.kill()
        process.wait()
    assert killed >= 20
    finish(AGAIN, "killed")
    assert_same_run("killed", "whole")


def test_the_fast_recipe_killed_at_any_moment(corpus):
    """Muon, rotary positions, a stem and a late decay: 10 times SIGKILL."""
    line = f"{AGAIN} {RECIPE}".replace(f"max_steps {STEPS}", f"max_steps {STEPS // 2}")
    finish(line, "whole_recipe")
    killed = 0
    for step, delay_s in kill_points(4, 10, STEPS // 2):
        process = start(line, "killed_recipe")
        wait_for_point(process, "killed_recipe", step, delay_s)
        killed += process.poll() is None
        process.kill()
        process.wait()
    assert killed >= 4  # a loaded machine begins late and is past a point
    finish(line, "killed_recipe")
    assert_same_run("killed_recipe", "whole_recipe")


def test_two_processes_killed_at_any_moment(corpus):
    """22 times one of two, or both: the other one ends by itself, no worker stays behind."""
    two = f"{AGAIN} --training.devices 2 --training.workers 1"
    finish(two, "whole_of_two")
    rng = np.random.default_rng(7)
    killed = 0
    for step, delay_s in kill_points(2, 22):
        first = start(two, "killed_of_two")
        wait_for_point(first, "killed_of_two", step, delay_s)
        family = {pid: start_time_of(pid) for pid in [first.pid, *descendants(first.pid)]}
        ranks = [pid for pid in family if b"--checkpoints" in _command_of(pid)]
        second = next((pid for pid in ranks if _is_second(pid)), first.pid)
        victim = rng.choice(["first", "second", "both"])
        killed += first.poll() is None
        if victim == "both":
            os.killpg(first.pid, signal.SIGKILL)
        elif first.poll() is None:
            os.kill(first.pid if victim == "first" else second, signal.SIGKILL)
        first.wait(timeout=HANG_S)
        until = time.monotonic() + HANG_S
        while alive := [p for p, s in family.items() if s and start_time_of(p) == s]:
            assert time.monotonic() < until, f"{victim} killed, {alive} stay behind"
            time.sleep(0.05)
    assert killed >= 20
    finish(two, "killed_of_two")
    assert_same_run("killed_of_two", "whole_of_two")
    assert "weights are the same on all 2 processes" in Path("killed_of_two.log").read_text()


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _is_second(pid: int) -> bool:
    try:
        return b"LOCAL_RANK=1\0" in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


FEW = f"{PRETRAIN} --training.max_steps 80 --training.checkpoint_every_steps 4 --training.gradient_clip 1"
SHARDED = f"{FEW} --training.devices 2 --training.strategy fsdp"


@pytest.fixture(scope="module")
def one(corpus):
    """Two micro-batches a step, by one process in turn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(corpus)
        finish(f"{FEW} --training.accumulate 2", "one")
    return "one"


def assert_close_run(name: str, other: str) -> None:
    """Same names and shapes everywhere in the checkpoint; weights but for rounding."""
    states = [
        read_checkpoint(list_checkpoints(Path("ck") / folder, "step")[-1])
        for folder in (name, other)
    ]
    for part in ("state_dict", "optimizer_states"):
        assert _shapes(states[0][part]) == _shapes(states[1][part])
    for key, value in states[1]["state_dict"].items():
        assert np.allclose(states[0]["state_dict"][key], value, atol=1e-4), key
    weights = [load_bundle(Path(folder)).model.state_dict() for folder in (name, other)]
    for key, value in weights[0].items():
        assert np.allclose(value, weights[1][key], atol=1e-4), key


def _shapes(value):
    if isinstance(value, dict):
        return {key: _shapes(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_shapes(inner) for inner in value]
    return tuple(value.shape) if isinstance(value, torch.Tensor) else type(value)


def test_two_processes_compute_what_one_does(one):
    finish(f"{FEW} --training.devices 2", "two")
    assert_close_run("two", one)


def test_two_processes_with_muon_compute_what_one_does(corpus):
    """And kill of both. Muon and Adam scale gradients up that are next to 0: few steps."""
    few = f"{PRETRAIN} {RECIPE} --training.max_steps 40 --training.checkpoint_every_steps 4"
    finish(f"{few} --training.accumulate 2", "one_muon")
    finish(f"{few} --training.devices 2", "two_muon")
    assert "weights are the same on all 2 processes" in Path("two_muon.log").read_text()
    assert_close_run("two_muon", "one_muon")
    kill_after(f"{few} --training.devices 2", "killed_two_muon", 8)
    finish(f"{few} --training.devices 2", "killed_two_muon")
    assert_same_run("killed_two_muon", "two_muon")


def kill_after(line: str, name: str, step: int) -> None:
    process = start(line, name)
    wait_until(lambda: newest_step(name) >= step, process)
    assert process.poll() is None, Path(f"{name}.log").read_text()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_shards_compute_what_one_process_does_and_restart_exactly(one):
    finish(SHARDED, "shards")
    assert_close_run("shards", one)
    kill_after(SHARDED, "killed_shards", 30)
    finish(SHARDED, "killed_shards")
    assert_same_run("killed_shards", "shards")


ETC = (
    "--model.attention etc --model.etc.radius 6 --model.etc.tokens_per_global 8 "
    "--cpc.fewest_sentences 4 --model.dropout 0.1 --model.attention_dropout 0.1"
)


def test_etc_with_hidden_sentences_killed_and_on_two_processes_and_shards(corpus):
    """Targets of both processes are told apart, so shards are compared with two whole copies."""
    finish(f"{FEW} {ETC}", "etc")
    kill_after(f"{FEW} {ETC}", "killed_etc", 30)
    finish(f"{FEW} {ETC}", "killed_etc")
    assert_same_run("killed_etc", "etc")
    two = f"{FEW} {ETC} --training.devices 2"
    finish(two, "etc_two")
    assert "weights are the same on all 2 processes" in Path("etc_two.log").read_text()
    finish(f"{two} --training.strategy fsdp", "etc_shards")
    assert_close_run("etc_shards", "etc_two")
    kill_after(two, "killed_etc_two", 30)
    finish(two, "killed_etc_two")
    assert_same_run("killed_etc_two", "etc_two")


def test_shards_of_etc_where_a_process_has_no_hidden_sentence(corpus):
    """Every process calls the encoder equally often, or the exchange of shards would not fit."""
    few = ETC.replace("fewest_sentences 4", "fewest_sentences 11")
    one = FEW.replace("--training.batch_size 8", "--training.batch_size 1").replace(
        "steps 80", "steps 40"
    )
    finish(f"{one} {few} --training.devices 2 --training.strategy fsdp", "etc_few")
    assert "cpc_loss" in Path("etc_few/history.tsv").read_text()


OWN = (
    "--model.positions rotary --model.norm_first true --model.qk_norm true --model.stem_width 3 "
    "--model.gradient_checkpointing true"
)


def test_two_processes_and_shards_with_the_encoder_settings_of_our_own(corpus):
    line = f"{FEW} {OWN}".replace("max_steps 80", "max_steps 12")
    line = line.replace("validate_every 40", "validate_every 12")
    finish(f"{line} --training.accumulate 2", "own_one")
    for strategy in ("ddp", "fsdp"):
        name = f"own_{strategy}"
        finish(f"{line} --training.devices 2 --training.strategy {strategy}", name)
        assert_close_run(name, "own_one")


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (SHARDED, f"{FEW} --training.accumulate 2"),
        (SHARDED, f"{FEW} --training.devices 2 --training.strategy ddp"),
        (f"{FEW} --training.accumulate 2", SHARDED),
    ],
)
def test_shards_go_on_as_something_else(one, first, then, request):
    name = f"handed_over_{request.node.callspec.id}"
    kill_after(first, name, 40)
    finish(then, name)
    assert "continuing after step" in Path(f"{name}.log").read_text()
    assert_close_run(name, one)


def test_two_processes_that_diverge_say_which_examples(corpus):
    line = FEW.replace("learning_rate 0.003", "learning_rate 1e30")
    process = start(f"{line} --training.devices 2 --training.accumulate 2", "diverged")
    assert process.wait(timeout=10 * HANG_S) == 2
    said = Path("diverged.log").read_text()
    assert "Traceback" not in said
    place = r"is not a number at step \d+, on process [01], in the batch of examples \d+, \d+, "
    assert re.search(f"error: training diverged: (the loss|a gradient) {place}", said), said
    assert not Path("diverged").exists()


def test_signals_outside_slurm_change_nothing(corpus):
    """SIGUSR1 at 12 drawn moments, also while the run is being prepared: it saves and goes on."""
    line = f"{PRETRAIN} --training.max_steps {STEPS}"
    finish(line, "quiet")
    process = start(line, "signalled")
    wait_until(lambda: _handles_sigusr1(process.pid), process)
    rng = np.random.default_rng(3)
    waits_s = [0.0, *rng.uniform(0.0, 2.0, 3), *rng.uniform(0.0, 0.8, 8)]
    for wait_s in waits_s:
        until = time.monotonic() + wait_s
        wait_until(lambda until=until: time.monotonic() >= until, process)
        if process.poll() is None:
            process.send_signal(signal.SIGUSR1)
    assert process.wait(timeout=10 * HANG_S) == 0
    assert "signal SIGUSR1: saved after step" in Path("signalled.log").read_text()
    assert_same_run("signalled", "quiet")


def _handles_sigusr1(pid: int) -> bool:
    caught = re.search(r"SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text())
    return bool(caught) and bool(int(caught[1], 16) >> (signal.SIGUSR1 - 1) & 1)


def test_a_folder_in_use_is_refused_until_its_owner_is_gone(corpus):
    """Its data workers live for seconds after it; they do not hold the folder."""
    endless = f"{PRETRAIN} --training.max_steps 40000 --training.workers 2"
    first = start(endless, "owner")
    wait_until(lambda: newest_step("owner") > 0, first)
    refused = subprocess.run(
        command(endless, "other", "ck/owner"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    lines = refused.stderr.strip().splitlines()
    assert len(lines) == 1
    assert "error: ck/owner: another process trains in this folder now; wait for it" in lines[0]
    reached = newest_step("owner")
    first.kill()
    first.wait()
    second = start(endless, "owner")
    wait_until(lambda: newest_step("owner") > reached, second)
    assert second.poll() is None, Path("owner.log").read_text()
    second.kill()
    second.wait()
    assert "continuing after step" in Path("owner.log").read_text()


LONGFORMER = (
    "--model.attention longformer --model.longformer.windows 4 9 --model.longformer.dilations 1 2 "
    "--model.dropout 0.1 --model.attention_dropout 0.1"
)
PERFORMER = (
    "--model.attention performer --model.performer.num_features 16 --model.performer.redraw_interval 7 "
    "--model.dropout 0.1 --model.gradient_checkpointing true"
)


@pytest.mark.parametrize("options", [LONGFORMER, PERFORMER], ids=["longformer", "performer"])
def test_longformer_and_performer_killed_and_on_two_processes(corpus, options, request):
    """The Performer draws its features again every 7 steps, the same on both processes."""
    name = request.node.callspec.id
    finish(f"{FEW} {options}", name)
    kill_after(f"{FEW} {options}", f"killed_{name}", 30)
    finish(f"{FEW} {options}", f"killed_{name}")
    assert_same_run(f"killed_{name}", name)
    two = f"{FEW} {options} --training.devices 2"
    finish(two, f"{name}_two")
    assert "weights are the same on all 2 processes" in Path(f"{name}_two.log").read_text()
    finish(f"{two} --training.strategy fsdp", f"{name}_shards")
    assert_close_run(f"{name}_shards", f"{name}_two")
