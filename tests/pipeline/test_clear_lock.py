"""A lock goes only after proof that nobody can hold it."""

import dataclasses
import os
import subprocess
import sys

import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core import watchdog
from dna_bigbird.core.errors import InputError
from dna_bigbird.workflow.clear_lock import jobs_left_by, remove_stale_lock

ME = watchdog.this_process()
DEAD = dataclasses.replace(ME, start_time="1")
FAR = dataclasses.replace(ME, host="node7")


@pytest.fixture
def folder(tmp_path):
    """A folder with a lock; `record` adds a run."""
    locks = tmp_path / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").write_text("a\n")
    (locks / "0.output.lock").write_text("b\n")
    return tmp_path


def record(folder, process, name="run", seconds_before_lock=1.0):
    runs = folder / watchdog.RUNS
    runs.mkdir(parents=True, exist_ok=True)
    path = runs / f"{name}.json"
    path.write_text(process.to_json())
    lock = folder / ".snakemake" / "locks" / "0.input.lock"
    if lock.exists():
        modified = lock.stat().st_mtime_ns - int(seconds_before_lock * 1e9)
        os.utime(path, ns=(modified, modified))
    return path


def locks_of(folder) -> list[str]:
    return sorted(path.name for path in (folder / ".snakemake" / "locks").iterdir())


BOTH = ["0.input.lock", "0.output.lock"]


def test_a_dead_run_loses_its_lock(folder):
    path = record(folder, DEAD)
    assert remove_stale_lock(folder) == 1
    assert locks_of(folder) == []
    assert not path.exists()


def test_a_living_run_keeps_its_lock(folder):
    record(folder, ME)
    with pytest.raises(InputError, match=f"is running .process {ME.pid}.; wait for it"):
        remove_stale_lock(folder)
    assert locks_of(folder) == BOTH


def test_one_living_run_among_dead_ones_is_enough(folder):
    record(folder, DEAD, "a")
    record(folder, ME, "b")
    with pytest.raises(InputError, match="is running"):
        remove_stale_lock(folder)
    assert locks_of(folder) == BOTH


def test_a_run_of_another_machine_cannot_be_judged(folder):
    record(folder, FAR)
    with pytest.raises(InputError, match=r"a Snakemake on node7 .* snakemake --unlock"):
        remove_stale_lock(folder)
    assert locks_of(folder) == BOTH


def test_a_lock_without_a_record(folder):
    with pytest.raises(InputError, match="no record of the run that made it"):
        remove_stale_lock(folder)
    assert locks_of(folder) == BOTH


def test_a_record_younger_than_the_lock_did_not_make_it(folder):
    record(folder, DEAD, seconds_before_lock=-1)
    with pytest.raises(InputError, match="no record of the run that made it"):
        remove_stale_lock(folder)
    assert locks_of(folder) == BOTH


def test_a_damaged_record_is_named(folder):
    record(folder, DEAD).write_text("{")
    with pytest.raises(InputError, match=r"run.json: damaged record"):
        remove_stale_lock(folder)


def test_no_lock_no_question(tmp_path):
    """Records of dead runs go, those of living or distant ones stay."""
    paths = [record(tmp_path, process, str(i)) for i, process in enumerate((DEAD, ME, FAR))]
    assert remove_stale_lock(tmp_path) == 0
    assert [path.exists() for path in paths] == [False, True, True]
    assert remove_stale_lock(tmp_path / "empty") == 0


def test_distant_runs_of_days_ago_are_forgotten_once_no_lock_is_left(tmp_path):
    old, young = record(tmp_path, FAR, "old"), record(tmp_path, FAR, "young")
    two_days_ago = young.stat().st_mtime - 2 * 24 * 3600
    os.utime(old, (two_days_ago, two_days_ago))
    remove_stale_lock(tmp_path)
    assert not old.exists()
    assert young.exists()


def test_jobs_of_the_dead_run_are_waited_for(folder):
    record(folder, DEAD)
    answers, waits = [[41, 42], [42], []], []
    remove_stale_lock(folder, leftovers_of=lambda _: answers.pop(0), sleep=waits.append)
    assert len(waits) == 2
    assert locks_of(folder) == []


def test_jobs_that_do_not_end_keep_the_lock(folder):
    record(folder, DEAD)
    with pytest.raises(InputError, match=r"jobs of it are still running \(process 41, 42\)"):
        remove_stale_lock(folder, leftovers_of=lambda _: [41, 42], sleep=lambda _: None)
    assert locks_of(folder) == BOTH


def test_a_lock_made_meanwhile_is_left_alone(folder):
    record(folder, DEAD)
    lock = folder / ".snakemake" / "locks" / "0.output.lock"

    def another_run(_):
        lock.unlink()
        lock.with_suffix(".new").write_text("c\n")
        lock.with_suffix(".new").rename(lock)
        return []

    remove_stale_lock(folder, leftovers_of=another_run)
    assert lock.read_text() == "c\n"


def test_jobs_are_found_by_their_environment():
    environment = os.environ | {watchdog.VARIABLE: DEAD.to_json()}
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    job = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        job.stdout.readline()
        assert jobs_left_by([DEAD]) == [job.pid]
        assert jobs_left_by([FAR]) == []
    finally:
        job.communicate()
    assert jobs_left_by([DEAD]) == []


def test_from_the_command_line(folder, capsys):
    record(folder, ME)
    with pytest.raises(SystemExit, match="2") as end:
        main(["clear-lock", "--folder", str(folder)])
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    record(folder, DEAD)
    main(["clear-lock", "--folder", str(folder)])
    assert "stale lock removed" in capsys.readouterr().out
