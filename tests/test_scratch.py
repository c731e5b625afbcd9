"""Two processes, kills at any moment and file systems without locks leave no half or mixed output."""

import fcntl
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dna_bigbird.core import scratch
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.result_folders import RECORD, ResultFolder, atomic_directory
from dna_bigbird.core.writing import atomic_path, claimed

KIND = ResultFolder("a folder of a test", others=("old",))


def child(code: str, *arguments: object) -> subprocess.Popen:
    """Start Python code that prints `ready` when it is where it should be, then waits for a line."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


WRITE = """
    import sys
    from pathlib import Path
    from dna_bigbird.core.writing import atomic_path
    with atomic_path(Path(sys.argv[1])) as path:
        path.write_text("first")
        print("ready", flush=True)
        sys.stdin.readline()
"""


@pytest.fixture
def writing(tmp_path):
    """A process that is writing tmp_path/out, and that path."""
    target = tmp_path / "out"
    process = child(WRITE, target)
    assert process.stdout.readline() == "ready\n"
    yield process, target
    process.kill()
    process.communicate()


def test_the_second_process_stops_with_one_line(writing):
    process, target = writing
    for write in (atomic_path, claimed):
        with pytest.raises(InputError, match=r"out: another process is writing it"), write(target):
            pass
    process.communicate("\n")
    assert target.read_text() == "first"
    assert os.listdir(target.parent) == ["out"], "a lock or temporary file was left"
    with atomic_path(target) as path:
        path.write_text("second")
    assert target.read_text() == "second"


def test_a_killed_process_leaves_the_old_file_and_its_folder_is_removed(writing):
    process, target = writing
    target.write_text("old")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert target.read_text() == "old"
    with atomic_path(target) as path:
        path.write_text("new")
    assert os.listdir(target.parent) == ["out"]


def test_without_locks_no_two_processes_write_to_one_temporary_name(writing, monkeypatch):
    process, target = writing

    def none(stream, operation):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", none)
    with atomic_path(target) as path:
        path.write_text("second")
        process.communicate("\n")
        assert target.read_text() == "first"
    assert target.read_text() == "second"


RACE = """
    import sys
    from pathlib import Path
    from dna_bigbird.core.errors import InputError
    from dna_bigbird.core.writing import atomic_path
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        with atomic_path(Path(sys.argv[1])) as path:
            path.write_text(sys.argv[2] * 1_000_000)
            print("wrote", flush=True)
            sys.stdin.readline()
    except InputError:
        print("stopped", flush=True)
"""


def test_of_processes_that_start_at_once_one_writes(tmp_path):
    processes = [child(RACE, tmp_path / "out", letter) for letter in "abc"]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.stdout.readline().strip() for process in processes]
    for process in processes:
        process.communicate("\n" if process.poll() is None else None)
    assert sorted(said) == ["stopped", "stopped", "wrote"]
    assert len(set((tmp_path / "out").read_text())) == 1
    assert os.listdir(tmp_path) == ["out"]


def folder_with(path: Path, name: str) -> Path:
    path.mkdir()
    (path / name).write_text(name)
    return path


@pytest.mark.parametrize("can_exchange", [True, False])
def test_of_a_folder_the_old_or_the_new_one_survives_every_kill(
    tmp_path, can_exchange, monkeypatch
):
    """A kill is simulated before each system call that changes names."""
    if not can_exchange:
        monkeypatch.setattr(scratch, "_exchange", lambda one, other: False)
    for kill_at in range(4):
        target = folder_with(tmp_path / f"model{kill_at}", "old")
        left = os.fork()
        if left == 0:
            _replace_and_die(target, kill_at)
        os.waitpid(left, 0)
        with claimed(target):  # as the next run does first
            assert set(os.listdir(target)) in ({"old"}, {"new", RECORD})
        assert [p for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def _replace_and_die(target: Path, kill_at: int) -> None:
    calls = iter(range(100))

    def counted(function):
        def call(*arguments):
            if next(calls) == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments)

        return call

    for name in ("rename", "replace"):
        setattr(Path, name, counted(getattr(Path, name)))
    scratch._exchange = counted(scratch._exchange)
    scratch.remove_scratch = counted(scratch.remove_scratch)
    with atomic_directory(target, KIND) as folder:
        (folder / "new").write_text("new")
    os.kill(os.getpid(), signal.SIGKILL)


def test_links_are_written_through(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "file").symlink_to("real/file")
    (tmp_path / "folder").symlink_to("real/folder")
    with atomic_path(tmp_path / "file") as path:
        path.write_text("x")
    for name in ("one", "two"):
        with atomic_directory(tmp_path / "folder", KIND) as path:
            (path / name).touch()
    assert (tmp_path / "file").is_symlink()
    assert (tmp_path / "real" / "file").read_text() == "x"
    assert (tmp_path / "folder").is_symlink()
    assert sorted(os.listdir(tmp_path / "real" / "folder")) == [RECORD, "two"]


def test_folders_that_were_created_for_nothing_are_removed(tmp_path):
    with pytest.raises(RuntimeError, match="boom"), claimed(tmp_path / "a" / "b" / "out"):
        raise RuntimeError("boom")
    assert os.listdir(tmp_path) == []


def test_a_long_name_can_be_written(tmp_path):
    with atomic_path(tmp_path / ("n" * 255)) as path:
        path.write_text("x")
    assert os.listdir(tmp_path) == ["n" * 255]


def test_a_fork_that_outlives_its_parent_holds_nothing(tmp_path):
    code = """
        import os, sys
        from pathlib import Path
        from dna_bigbird.core.writing import claimed
        with claimed(Path(sys.argv[1])):
            if os.fork() == 0:
                print("ready", flush=True)
                sys.stdin.readline()
                os._exit(0)
            sys.stdin.readline()
    """
    process = child(code, tmp_path / "out")
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.wait()
    with claimed(tmp_path / "out"):
        pass
    process.stdin.close()  # ends the fork
    process.stdout.close()
