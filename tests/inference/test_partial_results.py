"""Finished rows survive a kill at any byte; a run continues only its own rows."""

import errno
from pathlib import Path

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError, Interrupted, OutputError
from dna_bigbird.prediction.partial_results import (
    file_identity,
    first_difference,
    open_partial_results,
    partial_results_path,
)

IDENTITY = {"strand": "both", "files": {"fasta": {"size": 10, "mtime_ns": 1}}}


class Killed(BaseException):
    """What a kill looks like to the file: no clean-up of the caller runs."""


def columns(first, count):
    numbers = np.arange(first, first + count)
    return {
        "name": np.array([f"chr{n}" for n in numbers]),
        "start": numbers.astype(np.int64),
        "score": np.linspace(0, 1, count * 3, dtype=np.float32).reshape(count, 3),
    }


FRAMES = [columns(0, 2), columns(2, 1), columns(3, 4)]


def leave(output, frames=FRAMES, identity=IDENTITY, error=Killed):
    with (
        pytest.raises(error, match="stop"),
        open_partial_results(output, identity, resume=False) as stored,
    ):
        for frame in frames:
            stored.append(frame)
        raise error("stop")


def assert_equal(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            assert one[name].dtype == other[name].dtype
            np.testing.assert_array_equal(one[name], other[name])


def parts_of(output):
    return sorted(partial_results_path(output).glob("*.npz"))


def test_a_run_is_continued_after_its_last_whole_part_whatever_byte_it_was_killed_at(tmp_path):
    output = tmp_path / "out.tsv"
    leave(output)
    files = {path: path.read_bytes() for path in partial_results_path(output).iterdir()}
    parts = parts_of(output)
    for number, part in enumerate(parts):
        size = len(files[part])
        for cut in (*range(0, size, 41), size - 1, size):
            partial_results_path(output).mkdir(exist_ok=True)
            for path in files.keys() - {*parts[number:]}:
                path.write_bytes(files[path])
            part.write_bytes(files[part][:cut])
            expected = FRAMES[: number + (cut == size)]
            with open_partial_results(output, IDENTITY, resume=True) as stored:
                assert stored.rows == sum(len(frame["start"]) for frame in expected)
                stored.append(columns(100, 2))
                assert_equal(list(stored.frames()), [*expected, columns(100, 2)])
            assert not partial_results_path(output).exists()


def test_a_flipped_bit_or_a_part_that_follows_none_is_not_believed(tmp_path):
    output = tmp_path / "out.tsv"
    leave(output)
    parts_of(output)[2].rename(partial_results_path(output) / "000000007.npz")
    with pytest.raises(Killed), open_partial_results(output, IDENTITY, resume=True) as stored:
        assert stored.rows == 3
        raise Killed
    assert len(parts_of(output)) == 2
    whole = bytearray(parts_of(output)[0].read_bytes())
    whole[300] ^= 1
    parts_of(output)[0].write_bytes(whole)
    with open_partial_results(output, IDENTITY, resume=True) as stored:
        assert stored.rows == 0


@pytest.mark.parametrize("resume", [True, False])
def test_rows_of_an_earlier_version_are_refused_or_thrown_away(tmp_path, capsys, resume):
    """They were one file."""
    output = tmp_path / "out.tsv"
    partial_results_path(output).write_bytes(b"dna-bigbird rows 1\n")
    if resume:
        with pytest.raises(InputError, match="comes from an earlier version"):
            open_partial_results(output, IDENTITY, resume=True).__enter__()
        assert partial_results_path(output).read_bytes() == b"dna-bigbird rows 1\n"
        return
    with open_partial_results(output, IDENTITY, resume=False) as stored:
        assert stored.rows == 0
    assert "out.tsv: the rows of an interrupted run" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_any_column_type_but_objects_comes_back(tmp_path):
    with open_partial_results(tmp_path / "x", {}, resume=False) as stored:
        given = {
            "flag": np.array([True, False]),
            "text": np.array(["α", "ctcf|é"]),
            "half": np.zeros((2, 0), np.float16),
            "many": np.arange(16, dtype=np.uint8).reshape(2, 2, 4)[:, ::-1],
        }
        stored.append(given)
        assert_equal(list(stored.frames()), [given])


def test_rows_of_a_column_are_read_in_any_order(tmp_path):
    with open_partial_results(tmp_path / "x", {}, resume=False) as stored:
        for frame in FRAMES:
            stored.append(frame)
        whole = {name: np.concatenate([frame[name] for frame in FRAMES]) for name in FRAMES[0]}
        rng = np.random.default_rng(0)
        for name in whole:
            column = stored.column(name)
            assert column.shape == whole[name].shape
            for rows in (np.arange(7), rng.permutation(7), np.array([6, 6, 0]), np.array([], int)):
                np.testing.assert_array_equal(column.read(rows), whole[name][rows])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strand": "forward"}, "its strand was both, now it is forward"),
        (
            {"files": {"fasta": {"size": 11, "mtime_ns": 1}}},
            "its files.fasta.size was 10, now it is 11",
        ),
        ({"labels": [1]}, r"its labels was None, now it is \[1\]"),
    ],
)
def test_rows_of_another_run_are_refused_and_kept(tmp_path, change, message):
    output = tmp_path / "out.tsv"
    leave(output)
    kept = {path: path.read_bytes() for path in partial_results_path(output).iterdir()}
    with (
        pytest.raises(InputError, match=message),
        open_partial_results(output, IDENTITY | change, True),
    ):
        pytest.fail("it was continued")
    assert {path: path.read_bytes() for path in partial_results_path(output).iterdir()} == kept


def test_without_resume_it_starts_anew_and_says_so(tmp_path, capsys):
    output = tmp_path / "out.tsv"
    leave(output)
    assert capsys.readouterr().err == ""
    with open_partial_results(output, {"other": 1}, resume=False, unit="variants") as stored:
        assert stored.rows == 0
        assert list(stored.frames()) == []
    assert "out.tsv: 7 variants of an interrupted run are thrown away" in capsys.readouterr().err


def test_bad_input_leaves_nothing_unless_there_was_something_before(tmp_path):
    output = tmp_path / "out.tsv"
    leave(output, error=InputError)
    assert list(tmp_path.iterdir()) == []
    leave(output)
    with (
        pytest.raises(InputError, match="line 9"),
        open_partial_results(output, IDENTITY, True) as stored,
    ):
        stored.append(columns(7, 1))
        raise InputError("line 9")
    with open_partial_results(output, IDENTITY, resume=True) as stored:
        assert stored.rows == 8


def fail(output, error, rows):
    with open_partial_results(output, {}, resume=False) as stored:
        if rows:
            stored.append(columns(0, rows))
        raise error


def test_an_interrupt_tells_how_to_go_on(tmp_path):
    output = tmp_path / "out.tsv"
    with pytest.raises(Interrupted, match="interrupted before the first windows"):
        fail(output, KeyboardInterrupt, rows=0)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Interrupted, match="after 2 windows; continue with --resume") as caught:
        fail(output, KeyboardInterrupt, rows=2)
    assert caught.value.status == 130
    assert partial_results_path(output).exists()


def test_a_failed_write_of_the_file_keeps_the_rows(tmp_path):
    output = tmp_path / "out.tsv"
    with pytest.raises(OutputError, match="cannot write it: No room; 2 windows are kept"):
        fail(output, OutputError("whatever", "No room"), rows=2)
    with open_partial_results(output, {}, resume=True) as stored:
        assert stored.rows == 2


def test_a_disk_that_fills_while_rows_are_added_keeps_the_whole_ones(tmp_path, monkeypatch):
    output = tmp_path / "out.tsv"
    whole = Path.write_bytes

    def filled(path, content):
        whole(path, content[:20])
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with (
        pytest.raises(OutputError, match="No space left on device; 2 windows are kept"),
        open_partial_results(output, IDENTITY, resume=False) as stored,
    ):
        stored.append(FRAMES[0])
        with monkeypatch.context() as patch:
            patch.setattr(Path, "write_bytes", filled)
            stored.append(FRAMES[1])
    assert len(parts_of(output)) == 1
    with open_partial_results(output, IDENTITY, resume=True) as stored:
        assert_equal(list(stored.frames()), FRAMES[:1])


def test_two_processes_do_not_write_one_output(tmp_path):
    output = tmp_path / "out.tsv"
    with open_partial_results(output, {}, resume=False) as stored:
        stored.append(columns(0, 2))
        with pytest.raises(InputError, match="another process is writing it"):
            fail(output, KeyboardInterrupt, rows=0)
        assert_equal(list(stored.frames()), [columns(0, 2)])


def test_a_changed_file_has_another_identity(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text("ACGT")
    before = file_identity(path)
    assert first_difference(before, file_identity(path)) == ""
    path.write_text("ACGTA")
    assert first_difference(before, file_identity(path)) != ""
