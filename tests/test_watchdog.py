"""Children end with the Snakemake that started them, and with no other process."""

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dna_bigbird.core import child_start, watchdog
from dna_bigbird.core.watchdog import Process, announce, start, state_of, this_process

STAND_IN = """
import os, subprocess, sys
from pathlib import Path
from dna_bigbird.core.watchdog import announce
announce(Path(sys.argv[1]))
job = subprocess.Popen([sys.executable, "-c", sys.argv[2]])
print(job.pid, flush=True)
sys.stdin.read()
"""
JOB = """
import subprocess, sys
from dna_bigbird.core import watchdog
watchdog.start()
helper = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
print(helper.pid, flush=True)
helper.wait()
"""


@pytest.fixture
def sleeper():
    """A process that waits; the test may kill it."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    yield child
    child.kill()
    child.wait()


def identity(pid: int) -> Process:
    return dataclasses.replace(this_process(), pid=pid, start_time=watchdog.start_time_of(pid))


def test_a_process_is_alive_then_dead(sleeper):
    process = identity(sleeper.pid)
    assert state_of(process) == "alive"
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert state_of(process) == "dead", "a zombie does nothing any more"
    sleeper.wait()
    assert state_of(process) == "dead"


def test_a_reused_id_is_another_process():
    assert state_of(this_process()) == "alive"
    assert state_of(dataclasses.replace(this_process(), start_time="1")) == "dead"


def test_other_machines_and_boots():
    me = this_process()
    assert state_of(dataclasses.replace(me, host="node7")) == "elsewhere"
    assert state_of(dataclasses.replace(me, pid_namespace="pid:[1]")) == "elsewhere"
    assert state_of(dataclasses.replace(me, boot_id="before")) == "dead"
    assert state_of(dataclasses.replace(me, host="node7", boot_id="other")) == "elsewhere"


def test_an_id_in_use_without_start_time_counts_as_alive(monkeypatch, tmp_path):
    """No /proc, or other users' processes hidden: no proof of death."""
    me = this_process()
    monkeypatch.setattr(watchdog, "_this_system", lambda: (me.host, me.boot_id, me.pid_namespace))
    monkeypatch.setattr(watchdog, "PROC", tmp_path)
    assert state_of(me) == "alive"


def test_json_round_trip_and_damage():
    me = this_process()
    assert Process.from_json(me.to_json()) == me
    for text in ("", "{}", "[]", '{"pid": "x"}'):
        with pytest.raises(ValueError, match=r".+"):
            Process.from_json(text)


def test_announce_writes_a_record_and_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv(watchdog.VARIABLE, "old")
    announce(tmp_path)
    (record,) = tmp_path.glob("*.json")
    assert Process.from_json(record.read_text()) == this_process()
    assert os.environ[watchdog.VARIABLE] == this_process().to_json()


def test_a_job_snakemake_keeps_the_main_one(tmp_path, monkeypatch):
    monkeypatch.setenv(watchdog.VARIABLE, "main")
    announce(tmp_path / "runs", is_job=True)
    assert os.environ[watchdog.VARIABLE] == "main"
    announce(tmp_path / "runs", is_cluster_job=True)
    assert os.environ[watchdog.VARIABLE] == this_process().to_json()
    assert not (tmp_path / "runs").exists(), "only the main process can hold the lock"


@pytest.mark.parametrize("value", ["", "nonsense", None])
def test_nothing_to_watch(monkeypatch, value):
    if value is None:
        monkeypatch.delenv(watchdog.VARIABLE, raising=False)
    else:
        monkeypatch.setenv(watchdog.VARIABLE, value)
    assert start(end=pytest.fail) is None


@pytest.mark.parametrize("change", [{"host": "node7"}, {"pid_namespace": "pid:[1]"}])
def test_a_parent_on_another_machine_is_not_watched(monkeypatch, change):
    process = dataclasses.replace(this_process(), **change, pid=1, start_time="0")
    monkeypatch.setenv(watchdog.VARIABLE, process.to_json())
    assert start(end=pytest.fail) is None


@pytest.mark.parametrize("change", [{"start_time": "1"}, {"boot_id": "before"}])
def test_a_parent_that_died_first_ends_the_job_at_once(monkeypatch, change):
    process = dataclasses.replace(this_process(), **change)
    monkeypatch.setenv(watchdog.VARIABLE, process.to_json())
    ended = []
    assert start(end=lambda: ended.append(True)) is None
    assert ended == [True]


@pytest.mark.parametrize("with_pidfd", [True, False])
def test_the_end_comes_with_the_parent(monkeypatch, sleeper, with_pidfd):
    monkeypatch.setattr(child_start, "POLL_S", 0.01)
    if not with_pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.setenv(watchdog.VARIABLE, identity(sleeper.pid).to_json())
    ended = []
    thread = start(end=lambda: ended.append(True))
    assert thread.daemon
    assert ended == []
    sleeper.kill()
    thread.join(timeout=30)
    assert ended == [True]


def gone(pid: int) -> bool:
    return watchdog.start_time_of(pid) is None


def test_a_killed_parent_takes_its_job_and_the_jobs_children_along(tmp_path):
    """The real thing: parent, job with a watchdog, and a helper process of the job."""
    parent = subprocess.Popen(
        [sys.executable, "-c", STAND_IN, str(tmp_path), JOB],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    job, helper = int(parent.stdout.readline()), int(parent.stdout.readline())
    watched = [os.pidfd_open(pid) for pid in (job, helper)]
    assert len(list(tmp_path.glob("*.json"))) == 1
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    import select

    for pidfd in watched:
        assert select.select([pidfd], [], [], 30)[0], "still running after 30 s"
        os.close(pidfd)
    parent.stdin.close()
    parent.stdout.close()
    assert gone(job)
    assert gone(helper)
    assert len(list(tmp_path.glob("*.json"))) == 1, "the record of a killed run stays"


def test_the_record_goes_with_a_normal_end(tmp_path):
    parent = subprocess.run(
        [sys.executable, "-c", STAND_IN, str(tmp_path), "pass"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    assert parent.returncode == 0
    assert list(Path(tmp_path).glob("*")) == []
