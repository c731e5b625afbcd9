"""More threads or processes than a machine can take are cut down, and a note says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from dna_bigbird.core import limits
from dna_bigbird.core.errors import InputError
from dna_bigbird.metrics.bootstrap import draw_units

PACKAGE = Path(limits.__file__).parents[1]


@pytest.fixture
def machine(monkeypatch):
    """Set the processors and the memory that there are."""

    def pretend(processors: int, free: int | None) -> None:
        monkeypatch.setattr(limits, "usable_processors", lambda: processors)
        monkeypatch.setattr(limits, "free_bytes", lambda: free)

    return pretend


@pytest.mark.parametrize(
    ("asked", "expected", "said"),
    [
        (3, 3, ""),
        (4, 4, ""),
        (40000, 4, "40000 threads: this process may use 4 processors, so 4 run"),
    ],
)
def test_threads(machine, capsys, asked, expected, said):
    machine(4, None)
    assert limits.allowed_threads(asked) == expected
    assert capsys.readouterr().err == (f"dna-bigbird: note: {said}\n" if said else "")


@pytest.mark.parametrize(
    ("asked", "free", "expected", "said"),
    [
        (0, 0, 0, ""),
        (8, 8 * 10**9, 8, ""),
        (9, None, 8, "9 workers: at most 4 for each of 2 usable processors, so 8 processes start"),
        (100, 10**12, 8, "100 workers: at most 4 for each of 2 usable processors, so 8"),
        (6, 1_600_000_000, 5, "6 workers: 1.6 GB of memory are free and each takes 0.3 GB, so 5"),
        (6, 0, 1, "6 workers: 0.0 GB of memory are free and each takes 0.3 GB, so 1 process start"),
        (1, 0, 1, ""),
    ],
)
def test_workers(machine, capsys, asked, free, expected, said):
    machine(2, free)
    assert limits.allowed_workers(asked, 300_000_000) == expected
    shown = capsys.readouterr().err
    assert shown.startswith(f"dna-bigbird: note: {said}") if said else shown == ""
    assert shown.count("\n") == bool(said)


def test_torch_gets_the_allowed_threads(machine):
    before = torch.get_num_threads()
    try:
        machine(1, None)
        limits.use_threads(40000)
        assert torch.get_num_threads() == 1
        limits.use_threads(0)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_a_command_with_far_too_many_threads_runs(tmp_path):
    """Two OpenMP regions with 40,000 threads are a segmentation fault."""
    fasta = tmp_path / "a.fa"
    fasta.write_text(f">a\n{'ACGTTGCAAC' * 30}\n")
    options = ["predict", "--fasta", str(fasta)]
    done = subprocess.run(
        [sys.executable, "-m", "dna_bigbird", *options, "--threads", "40000"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "dna-bigbird: note: 40000 threads: this process may use " in done.stderr


def test_nobody_sets_threads_or_starts_processes_past_the_limits():
    """Options of users reach torch and multiprocessing through `limits` alone."""
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "set_num_threads(" in path.read_text()
    }
    assert users == {
        "core/limits.py",
        "prediction/runner.py",  # its share of what the parent was allowed
        "attention/backends/workers.py",  # divides what there is
        "evaluation/long_attention/plan.py",  # one thread for each job
    }
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        for name in ("get_context(", "ProcessPoolExecutor(", "num_workers="):
            if name in text:
                assert "allowed_workers(" in text, path


def test_the_innermost_control_group_counts_too(tmp_path, monkeypatch):
    """A job of a cluster has its limits some folders down."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    own = tmp_path / "own"
    own.write_text("0::/slurm/job_7\n")
    root = tmp_path / "cgroup"
    (root / "slurm/job_7").mkdir(parents=True)
    (root / "slurm/cpu.max").write_text("400000 100000\n")
    assert limits.usable_processors(root, own) == 4
    (root / "slurm/job_7/cpu.max").write_text("150000 100000\n")
    assert limits.usable_processors(root, own) == 2

    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9 kB\nMemAvailable:   4000000 kB\n")
    assert limits.free_bytes(meminfo, root, own) == 4_096_000_000
    job = root / "slurm/job_7"
    (job / "memory.max").write_text("3000000000\n")
    (job / "memory.current").write_text("2500000000\n")
    (job / "memory.stat").write_text("anon 1\ninactive_file 300000000\n")
    assert limits.free_bytes(meminfo, root, own) == 800_000_000
    assert limits.free_bytes(tmp_path / "none", tmp_path / "none", own) is None


def test_memory_is_checked_before_it_is_taken(machine):
    machine(4, 10**9)
    limits.check_memory("--replicates 3", 10**9)
    with pytest.raises(
        InputError, match=r"--replicates 3: .* 2\.0 GB of memory, and 1\.0 GB are free"
    ):
        limits.check_memory("--replicates 3", 2 * 10**9)
    machine(4, None)
    limits.check_memory("--replicates 3", 10**15)


def test_bootstrap_draws_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="replicates 1000000000000: "):
        draw_units(100, replicates=10**12, seed=0)
