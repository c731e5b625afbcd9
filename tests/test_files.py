"""Files are either whole or absent, whatever goes wrong."""

import errno
import gzip
import shutil

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import open_text
from dna_bigbird.core.locks import kernel_lock
from dna_bigbird.core.writing import atomic_path


def test_atomic_path_keeps_the_old_file_when_the_block_fails(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="boom"), atomic_path(target) as partial:
        partial.write_text("half")
        raise RuntimeError("boom")
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]


def test_atomic_path_is_invisible_until_complete(tmp_path):
    target = tmp_path / "folder" / "out.txt"
    with atomic_path(target) as partial:
        partial.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"


def test_disk_full_is_one_clear_line(tmp_path):
    target = tmp_path / "out.h5"
    with (
        pytest.raises(InputError, match=r"out\.h5: cannot write it: No space left .* disk full"),
        atomic_path(target),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_read_inside_the_block_is_not_called_a_failed_write(tmp_path):
    missing = tmp_path / "missing"
    with pytest.raises(FileNotFoundError, match="missing"), atomic_path(tmp_path / "sub" / "out"):
        missing.read_text()


@pytest.mark.parametrize("compress", [False, True])
def test_open_text_sees_compression_from_the_bytes(tmp_path, compress):
    data = b"one\r\ntwo\n"
    path = tmp_path / "no_suffix"
    path.write_bytes(gzip.compress(data) if compress else data)
    with open_text(path) as text:
        assert text.read() == "one\ntwo\n"


def test_truncated_gzip_is_named(tmp_path):
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"ACGT" * 10_000 + bytes(range(65, 90)) * 999)[:-20])
    message = r"cut\.gz: the gzip stream ends in the middle"
    with pytest.raises(InputError, match=message), open_text(path) as text:
        text.read()


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="absent: no such file"), open_text(tmp_path / "absent"):
        pass


def test_a_lock_is_held_by_one_and_freed_at_the_end(tmp_path):
    lock = tmp_path / "new" / ".lock"
    with (
        kernel_lock(lock, "held"),
        pytest.raises(InputError, match="busy here"),
        kernel_lock(lock, "busy here"),
    ):
        pass
    with kernel_lock(lock, "busy here"):
        shutil.rmtree(lock.parent)  # as its holder may
    with kernel_lock(lock, "busy here"):
        assert lock.exists()


def test_a_locked_file_keeps_its_contents(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b"finished rows")
    with kernel_lock(path, "busy") as stream:
        assert stream.read() == b"finished rows"
        with pytest.raises(InputError, match="busy here"), kernel_lock(path, "busy here"):
            pass
    assert path.read_bytes() == b"finished rows"
