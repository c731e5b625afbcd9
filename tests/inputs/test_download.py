"""The download survives a bad server, and never leaves a wrong file under the final name."""

import hashlib
import re

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.sources.download import Patience, download, take_local
from dna_bigbird.genome.sources.specs import RemoteFile

BODY = bytes(range(256)) * 500
SHA = hashlib.sha256(BODY).hexdigest()
IMPATIENT = Patience(stall_s=0.2, tries=3)


@pytest.fixture
def get(server, tmp_path):
    """Download the server's file; returns (output, waits)."""
    server.body = BODY

    def run(sha256=SHA, name="data.bin"):
        waits: list[float] = []
        output = tmp_path / name
        file = RemoteFile(f"{server.address}/{name}", name, sha256)
        download(file, output, patience=IMPATIENT, sleep=waits.append)
        return output, waits

    return run


def left_behind(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_plain_download(get, tmp_path, server):
    output, waits = get()
    assert output.read_bytes() == BODY
    assert waits == []
    assert left_behind(tmp_path) == {"data.bin"}
    assert server.ranges == [None]


def test_goes_on_where_the_connection_was_cut(get, server):
    server.cut_after = [1000, 30_000]
    output, waits = get()
    assert output.read_bytes() == BODY
    assert server.ranges == [None, "bytes=1000-", "bytes=31000-"]
    assert waits == [1, 1], "each connection brought something: the wait does not grow"


def test_goes_on_in_the_next_run(get, server, tmp_path):
    server.cut_after = [5000, 0, 0, 0]
    with pytest.raises(InputError, match=r"gave up after 3 tries.*5,000 bytes are kept"):
        get()
    assert not (tmp_path / "data.bin").exists()
    output, _ = get()
    assert output.read_bytes() == BODY
    assert server.ranges[-1] == "bytes=5000-"


def test_a_stalled_connection_is_dropped(get, server):
    server.stall_after = [4096]
    output, _ = get()
    assert output.read_bytes() == BODY
    assert server.ranges == [None, "bytes=4096-"]


def test_waits_grow_while_nothing_comes(get, server):
    server.status = [503, 429]
    output, waits = get()
    assert output.read_bytes() == BODY
    assert waits == [1, 2]


def test_a_server_that_only_stalls_is_given_up(get, server):
    server.stall_after = [0, 0, 0]
    with pytest.raises(InputError, match=r"gave up after 3 tries .*no byte for 0.2 s"):
        get()


def test_server_ignoring_range_starts_over(get, server):
    server.ignore_range = True
    server.cut_after = [70_000]
    output, _ = get()
    assert output.read_bytes() == BODY
    assert server.ranges == [None, "bytes=70000-"]


def test_a_file_that_changed_meanwhile_starts_over(get, server):
    server.cut_after = [7000, 0, 0, 0]
    with pytest.raises(InputError, match="gave up"):
        get(sha256=None)
    server.body, server.etag = BODY[::-1], '"two"'
    output, _ = get(sha256=None)
    assert output.read_bytes() == BODY[::-1]


def test_complete_bytes_of_a_killed_run_are_taken(get, server, tmp_path):
    (tmp_path / ".data.bin.partial").write_bytes(BODY)
    output, _ = get()
    assert output.read_bytes() == BODY
    assert server.ranges == [f"bytes={len(BODY)}-"]


def test_kept_bytes_longer_than_the_file_are_dropped(get, tmp_path):
    (tmp_path / ".data.bin.partial").write_bytes(BODY + b"more")
    output, _ = get()
    assert output.read_bytes() == BODY


@pytest.mark.parametrize("name", [".data.bin.partial", ".data.bin.partial.version"])
def test_a_link_under_the_temporary_name_is_not_followed(get, tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"keep")
    (tmp_path / name).symlink_to(elsewhere)
    output, _ = get()
    assert output.read_bytes() == BODY
    assert elsewhere.read_bytes() == b"keep"


def test_kept_bytes_of_unknown_origin_are_not_used(get, server, tmp_path):
    """Without a checksum or a version, nothing says that they are from the same file."""
    (tmp_path / ".data.bin.partial").write_bytes(b"other")
    output, _ = get(sha256=None)
    assert output.read_bytes() == BODY
    assert server.ranges == [None]


def test_wrong_file_leaves_nothing(get, server, tmp_path):
    server.body = b"<html>moved</html>"
    found = hashlib.sha256(server.body).hexdigest()
    message = f"wrong checksum: sha256 {found} (18 bytes), expected {SHA}"
    with pytest.raises(InputError, match=re.escape(message)):
        get()
    assert left_behind(tmp_path) == set()


def test_404_is_said_at_once(get, server, tmp_path):
    server.status = [404]
    with pytest.raises(InputError, match=r"/data.bin: HTTP status 404 Not Found.*--local PATH"):
        get()
    assert server.ranges == [None]
    assert left_behind(tmp_path) == set()


def test_no_server_at_all(tmp_path, server):
    file = RemoteFile("http://127.0.0.1:9/x", "x", SHA)
    waits: list[float] = []
    with pytest.raises(InputError, match=r"gave up after 3 tries without a new byte .*refused"):
        download(file, tmp_path / "x", patience=IMPATIENT, sleep=waits.append)
    assert waits == [1, 2]


def test_progress_reaches_the_end(server, tmp_path):
    server.body, server.cut_after = BODY, [1000]
    seen: list[tuple[int, int | None]] = []
    file = RemoteFile(f"{server.address}/x", "x", SHA)
    download(
        file,
        tmp_path / "x",
        patience=IMPATIENT,
        sleep=lambda _: None,
        progress=lambda *counts: seen.append(counts),
    )
    assert seen[0] == (0, len(BODY))
    assert seen[-1] == (len(BODY), len(BODY))


def test_local_copy_is_verified(tmp_path):
    copy = tmp_path / "copy"
    copy.write_bytes(BODY)
    file = RemoteFile("http://nowhere.invalid/x", "x", SHA)
    assert take_local(file, copy, tmp_path / "x") == SHA
    assert (tmp_path / "x").read_bytes() == BODY
    copy.write_bytes(b"other")
    with pytest.raises(InputError, match=r"copy: wrong checksum"):
        take_local(file, copy, tmp_path / "y")
    assert not (tmp_path / "y").exists()
    with pytest.raises(InputError, match="no such file; expected a local copy of http://nowhere"):
        take_local(file, tmp_path / "gone", tmp_path / "y")
