"""The workflow on a small real SLURM cluster of two nodes: make test-cluster.

What is proven is printed. Results are compared with runs of the same commands that no cluster
touched; whether SLURM did the work is asked of `sacct`.
"""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from dna_bigbird.core import watchdog
from dna_bigbird.training.run_folder import flatten
from tests.cluster.conftest import CONFIG
from tests.toy_project import PRETRAIN
from tests.workflow.conftest import ROOT, copy_of_the_workflow
from tests.workflow.test_dag import DEMO_JOBS

pytestmark = pytest.mark.slow

PATIENCE_S = 900
OUTPUT = "output.txt"
PRETRAINED = "results/tiny/trained/pretrained"
PROMOTER = "results/tiny/trained/promoter"
LOCAL_RULES = {"browser", "browser_regions", "write_config", "prediction_regions", "report"}
MPI = {"mpi": "srun", "mem_mb": 1000}
LONG = {"precision": "32-true", "devices": 2, "batch_size": 16, "max_steps": 1800}
LONG |= {"validate_every": 300}
"""About three minutes on two cores: longer than what is left of two time limits."""
TWO_BY_TWO = MPI | {"nodes": 2, "tasks_per_node": 2}
GLOBAL_BATCH = {"batch_size": 2, "precision": "32-true", "checkpoint_every_steps": 5}
GLOBAL_BATCH |= {"optimizer": "adamw"}
"""With Muon the order of additions moves a weight by 2e-4 in 60 steps, also on one machine: its five
Newton-Schulz steps enlarge the smallest singular values of a gradient up to 3.44^5 = 485 times."""
LOSS_TOLERANCE = 2e-5
"""Relative: gradients are added in another order. history.tsv has six digits, so that one step in
the last is 1e-5 at most."""
WEIGHT_TOLERANCE = 2e-6
"""Absolute; 1e-7 was measured, weights are about 0.02."""
LIMITS = {"runtime": 2, "slurm_extra": "--signal=SIGUSR1@60 --requeue"}
"""The signal comes 60 to 120 s before the limit of 2 minutes; before training it is remembered."""


def submitted(output: str) -> dict[str, str]:
    """Read from Snakemake's output which SLURM job ran which rule."""
    found = re.findall(r"submitted with SLURM jobid (\d+) \(log: \S+/rule_(\w+?)/", output)
    assert found, output
    return dict(found)


def accounted(jobs, fields: str, *options: str) -> list[list[str]]:
    """Ask sacct about jobs."""
    command = ["sacct", "-n", "-P", "-o", fields, "-j", ",".join(jobs), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("|") for line in done.stdout.splitlines()]


def states_of(jobs) -> dict[str, str]:
    """Return the state of each job, once sacct knows that they are over."""

    def are_over() -> bool:
        states = _states(jobs)
        is_known = states.keys() >= set(jobs)
        return is_known and not {"RUNNING", "PENDING", "COMPLETING"} & set(states.values())

    wait_for(are_over, "sacct")
    return _states(jobs)


def _states(jobs) -> dict[str, str]:
    return dict(accounted(jobs, "JobID,State", "-X"))


def wait_for(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.2)


def checksum(log: str, processes: int) -> str:
    """Read the checksum of weights and optimizer state that a training of N processes notes."""
    text = f"are the same on all {processes} processes" if processes > 1 else ""
    (found,) = re.findall(rf"weights ?{text}: sha256 (\w+)", log)
    return found


def history(copy, folder: str) -> dict[tuple[str, str, str], float]:
    with open(copy.folder / folder / "history.tsv", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t")
        return {(r["step"], r["split"], r["name"]): float(r["value"]) for r in rows}


def largest_difference(a: dict, b: dict) -> float:
    assert a.keys() == b.keys()
    return max(float(np.abs(a[name] - b[name]).max()) for name in a)


def bytes_below(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] != "."}


def metrics_below(results: Path) -> dict[str, float]:
    """Return the figures of every metrics.json by place and key."""
    return {
        f"{path.parent.relative_to(results)} {key}": value
        for path in sorted(results.glob("*/*/metrics.json"))
        for key, value in flatten(json.loads(path.read_text())).items()
    }


@pytest.fixture
def start(copy):
    """Function (*arguments): Snakemake in the background. With the test it ends, and its jobs."""
    running = []

    def begin(*arguments: str) -> subprocess.Popen:
        environment = os.environ | {"XDG_CACHE_HOME": str(copy.folder / ".cache")}
        environment.pop(watchdog.VARIABLE, None)
        command = [sys.executable, "-m", "snakemake", *arguments]
        with open(copy.folder / OUTPUT, "w") as stream:
            running.append(
                subprocess.Popen(
                    command, cwd=copy.folder, env=environment, stdout=stream, stderr=stream
                )
            )
        return running[-1]

    yield begin
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)


def output_of(copy) -> str:
    """Return what a Snakemake in the background has printed."""
    return (copy.folder / OUTPUT).read_text()


def has_checkpoint(copy) -> bool:
    return any((copy.folder / "results/tiny/checkpoints/pretrained").glob("step_*.ckpt"))


def process_of_rank(copy, rank: int) -> int:
    """Find the process of a training in a folder by its environment."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            environment = (entry / "environ").read_bytes().split(b"\0")
            is_here = (entry / "cwd").resolve() == copy.folder
        except OSError:
            continue
        wanted = f"SLURM_PROCID={rank}".encode()
        if is_here and wanted in environment and b"pretrain" in command and b"srun" not in command:
            return int(entry.name)
    raise AssertionError(f"no process of rank {rank}")


@pytest.fixture(scope="module")
def two_by_two(new_copy, tmp_path_factory):
    """A folder in which both trainings ran on 2 nodes x 2 tasks, and the rules by SLURM job."""
    copy = new_copy(tmp_path_factory.mktemp("two_by_two"))
    copy.tiny(**GLOBAL_BATCH, nodes=2, devices=2)
    profile = copy.profile({"pretrain": TWO_BY_TWO, "finetune": TWO_BY_TWO})
    return copy, submitted(copy.snakemake(*profile, PROMOTER, *CONFIG))


def test_two_nodes_times_two_tasks_train_as_one_process(two_by_two, copy, proved):
    many, jobs = two_by_two
    assert sorted(jobs.values()) == ["finetune", "pretrain"]
    assert set(states_of(jobs).values()) == {"COMPLETED"}
    for job in jobs:
        assert accounted([f"{job}.0"], "NNodes,NTasks") == [["2", "4"]]
    for rule in ("pretrain", "finetune_promoter"):
        assert checksum(many.log(rule), processes=4)

    copy.tiny(**GLOBAL_BATCH, accumulate=4)
    copy.snakemake("--cores", "1", PROMOTER, *CONFIG)
    assert checksum(copy.log("pretrain"), processes=1)
    losses = []
    for folder in (PRETRAINED, PROMOTER):
        found, alone = history(many, folder), history(copy, folder)
        assert found.keys() == alone.keys()
        losses += [abs(found[key] / alone[key] - 1) for key in alone if key[2] == "loss"]
    assert max(losses) <= LOSS_TOLERANCE
    weights = (load_file(x.folder / PRETRAINED / "model.safetensors") for x in (many, copy))
    moved = largest_difference(*weights)
    assert 0 < moved <= WEIGHT_TOLERANCE
    proved(
        "pretraining and fine-tuning on 2 nodes x 2 tasks (sacct: 2 nodes, 4 tasks, COMPLETED) end "
        "with the same weights and optimizer state on all 4 processes; with one process and accumulate "
        f"4 each of {len(losses)} losses is the same within {max(losses):.1g} (relative; six digits are "
        f"written), each weight within {moved:.1g}"
    )


def test_a_killed_process_ends_its_step_and_the_retry_ends_the_same(
    copy, start, two_by_two, proved
):
    copy.tiny(**GLOBAL_BATCH, nodes=2, devices=2)
    main = start(*copy.profile({"pretrain": TWO_BY_TWO}, retries=1), PRETRAINED, *CONFIG)
    wait_for(lambda: has_checkpoint(copy) or main.poll() is not None, "a checkpoint")
    os.kill(process_of_rank(copy, rank=3), signal.SIGKILL)
    main.wait(PATIENCE_S)
    output = output_of(copy)
    assert main.returncode == 0, output
    assert sorted(states_of(submitted(output)).values()) == ["COMPLETED", "FAILED"]
    log = copy.log("pretrain")
    assert log.count("=== ") == 2, "the log keeps both attempts"
    assert "continuing after step" in log
    assert checksum(log, processes=4) == checksum(two_by_two[0].log("pretrain"), processes=4)
    proved(
        "kill -9 of one process of four ends the job at once; the retry goes on from the checkpoint "
        "to the same weights and optimizer state, bit for bit"
    )


def test_a_cancelled_job_is_reported_and_not_waited_for(copy, start, proved):
    copy.tiny(max_steps=1_000_000)
    main = start(*copy.profile({"pretrain": {"runtime": 60}}), PRETRAINED, *CONFIG)
    log = copy.folder / "logs/tiny/pretrain.log"
    wait_for(lambda: log.exists() or main.poll() is not None, "pretraining")
    (job,) = submitted(output_of(copy))
    subprocess.run(["scancel", job], check=True)
    cancelled_at = time.monotonic()
    main.wait(PATIENCE_S)
    output = output_of(copy)
    took_s = time.monotonic() - cancelled_at
    assert main.returncode == 1
    assert f"SLURM-job '{job}' failed, SLURM status is: 'CANCELLED'" in output
    assert states_of([job])[job].startswith("CANCELLED")
    proved(
        f"scancel: Snakemake reported the job as failed and ended with status 1, {took_s:.0f} s later"
    )


def test_time_limits_and_requeues_leave_no_trace(new_copy, copy, start, tmp_path_factory, proved):
    """After two requeues the limit is lifted, or a busy machine would need any number."""
    copy.tiny(**LONG)
    two_processes = MPI | {"nodes": 1, "tasks_per_node": 2} | LIMITS
    main = start(*copy.profile({"pretrain": two_processes}), PRETRAINED, *CONFIG)
    log = copy.folder / "logs/tiny/pretrain.log"

    def requeues() -> int:
        return log.read_text().count(" requeued") if log.exists() else 0

    wait_for(lambda: requeues() >= 2 or main.poll() is not None, "two requeues")
    (job,) = submitted(output_of(copy))
    unlimited = ["scontrol", "update", f"JobId={job}", "TimeLimit=UNLIMITED"]
    subprocess.run(unlimited, check=False, capture_output=True)
    main.wait(PATIENCE_S)
    output = output_of(copy)
    assert main.returncode == 0, output
    assert requeues() >= 2, "the training is too short for this machine"
    states = [state for (state,) in accounted([job], "State", "-X", "--duplicates")]
    assert states == ["REQUEUED"] * requeues() + ["COMPLETED"]
    disturbed = log.read_text()
    assert disturbed.count(f"SLURM job {job}\n") == requeues() + 1, "the log keeps every attempt"

    alone = new_copy(tmp_path_factory.mktemp("undisturbed"))
    alone.tiny(**LONG)
    alone.snakemake(PRETRAINED, "--cores", "2", "--set-threads", "pretrain=1", *CONFIG)
    assert checksum(alone.log("pretrain"), processes=2) == checksum(disturbed, processes=2)
    assert bytes_below(alone.folder / PRETRAINED) == bytes_below(copy.folder / PRETRAINED)
    proved(
        f"{disturbed.count(' requeued')} time limits, each answered with a checkpoint and a requeue, "
        "end with the weights, the optimizer state and the bundle of the undisturbed run, bit for bit"
    )


def test_a_cancelled_training_saves_and_ends_with_143(cluster, toy_project, proved):
    """`scancel` sends SIGTERM to both tasks; `sbatch --requeue` and preemption do the same."""
    name = "cancelled"
    options = (
        f"--training.max_steps 600 --training.devices 2 --output {name} --checkpoints ck/{name}"
    )
    line = f"{PRETRAIN} --training.checkpoint_every_steps 3 {options}"
    run = f"{sys.executable} -m dna_bigbird {line}"
    script = toy_project / "job.sh"
    script.write_text(
        # The signal goes to the shells of the tasks, too.
        "#!/bin/sh\n"
        f"srun sh -c 'trap : TERM; {run} 2>task$SLURM_PROCID; echo $? >status$SLURM_PROCID'\n"
    )

    def submit() -> str:
        resources = ["--nodes=1", "--ntasks-per-node=2"]
        command = ["sbatch", "--parsable", *resources, "--output=job.log", script]
        done = subprocess.run(command, cwd=toy_project, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def read(file: str) -> str:
        path = toy_project / file
        return path.read_text() if path.exists() else ""

    job = submit()
    wait_for(lambda: any((toy_project / "ck" / name).glob("step_*.ckpt")), "a checkpoint")
    subprocess.run(["scancel", job], check=True)
    assert states_of([job])[job].startswith("CANCELLED")
    wait_for(lambda: read("status0") and read("status1"), "the tasks")
    assert (read("status0"), read("status1")) == ("143\n", "143\n")
    says = r"dna-bigbird: interrupted at step (\d+) of 600; the same command continues\n"
    (step,) = re.findall(says, read("task0"))
    assert "interrupted" not in read("task1")
    assert not (toy_project / name).exists()
    assert states_of([again := submit()]) == {again: "COMPLETED"}
    assert f"continuing after step {step}\n" in read("task0")
    alone = run.replace(name, "undisturbed").split()
    subprocess.run(alone, cwd=toy_project, check=True, capture_output=True)
    assert bytes_below(toy_project / name) == bytes_below(toy_project / "undisturbed")
    proved(
        f"scancel: two tasks end with 143 after saving step {step}, with one line; the same job then ends "
        "with the bundle of the undisturbed run, bit for bit"
    )


def test_the_demo_runs_through_slurm(cluster, tmp_path, proved):
    workflow = copy_of_the_workflow(tmp_path)
    output = workflow.snakemake(
        "--executor", "slurm", "--workflow-profile", "workflow/profiles/slurm-test", "all"
    )
    jobs = submitted(output)
    expected = {name: n for name, n in DEMO_JOBS.items() if name not in LOCAL_RULES}
    ran = list(jobs.values())
    assert {name: ran.count(name) for name in set(ran)} == expected
    assert set(states_of(jobs).values()) == {"COMPLETED"}
    assert (tmp_path / "results/report.html").stat().st_size > 0
    proved(
        f"the demo ran through SLURM: {len(jobs)} jobs, one for each rule that is not local, COMPLETED"
    )

    found, local = (metrics_below(folder / "results") for folder in (tmp_path, ROOT))
    if not local:
        return
    assert found.keys() == local.keys()
    different = {key: (found[key], local[key]) for key in found if found[key] != local[key]}
    assert different == {}, "is results/ of this version, and made on two cores? (make clean demo)"
    proved(f"its {len(found)} figures are those of the demo in results/, which no cluster touched")
