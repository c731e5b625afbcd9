"""`dna-bigbird fetch` from the outside: what a user sees."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from dna_bigbird.cli.main import main

HEADER = "label\tgroup\tcell\turl\tsha256\n"


def describe(folder: Path, *keys: str) -> Path:
    path = folder / "thing.yaml"
    lines = ["name: thing", "title: A thing", "assembly: GRCh37", "format: BED", "licence: none"]
    path.write_text("\n".join([*lines, "citation: nobody", *keys]) + "\n")
    return path


def test_downloads_and_verifies(server, tmp_path, capsys):
    server.body = b"chr1\t5\t6\n"
    sha = hashlib.sha256(server.body).hexdigest()
    keys = (f"url: {server.address}/a.bed", f"sha256: {sha}", "verified: true")
    main(
        [
            "fetch",
            "--spec",
            str(describe(tmp_path, *keys)),
            "--output",
            str(tmp_path / "out" / "a.bed"),
        ]
    )
    assert (tmp_path / "out" / "a.bed").read_bytes() == server.body
    assert capsys.readouterr() == ("", "")


def test_tells_the_checksum_nobody_verified(server, tmp_path, capsys):
    server.body = b"x"
    keys = (f"url: {server.address}/a.bed", "sha256: null", "verified: false")
    main(["fetch", "--spec", str(describe(tmp_path, *keys)), "--output", str(tmp_path / "a.bed")])
    assert hashlib.sha256(b"x").hexdigest() in capsys.readouterr().err


def test_wrong_file_ends_with_status_2(server, tmp_path, capsys):
    server.body = b"login page"
    keys = (f"url: {server.address}/a.bed", f"sha256: {'a' * 64}", "verified: true")
    with pytest.raises(SystemExit, match="2") as end:
        main(
            [
                "fetch",
                "--spec",
                str(describe(tmp_path, *keys)),
                "--output",
                str(tmp_path / "o" / "a"),
            ]
        )
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert "wrong checksum" in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("o/*"))


def test_table_of_files_becomes_a_sample_sheet(server, tmp_path, capsys):
    server.body = b"chr1\t5\t6\n"
    rows = [f"{x}\tTF\tK562\t{server.address}/{x}.bed.gz\t-\n" for x in "ab"]
    (tmp_path / "t.tsv").write_text(HEADER + "".join(rows))
    spec = describe(tmp_path, "files: t.tsv", "verified: false")
    out = tmp_path / "out" / "samples.tsv"
    main(["fetch", "--spec", str(spec), "--output", str(out)])
    assert out.read_text().splitlines()[1:] == ["a\tTF\tK562\ta.bed.gz", "b\tTF\tK562\tb.bed.gz"]
    assert (out.parent / "b.bed.gz").read_bytes() == server.body
    assert "2 of 2 files have no checksum" in capsys.readouterr().err
    asked = len(server.ranges)
    main(["fetch", "--spec", str(spec), "--output", str(out)])
    assert len(server.ranges) == asked, "what is there is not fetched again"


def test_table_of_files_from_a_folder(tmp_path):
    (tmp_path / "t.tsv").write_text(HEADER + "a\tTF\tK562\thttp://nowhere.invalid/a.bed\t-\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.bed").write_text("chr1\t5\t6\n")
    spec = describe(tmp_path, "files: t.tsv", "verified: false")
    out = tmp_path / "out" / "samples.tsv"
    main(["fetch", "--spec", str(spec), "--output", str(out), "--local", str(tmp_path / "mine")])
    assert (out.parent / "a.bed").read_text() == "chr1\t5\t6\n"


def test_more_bytes_than_described_end_with_status_2(server, tmp_path, capsys):
    server.body = b"x" * 817
    keys = (f"url: {server.address}/a.bed", "sha256: null", "verified: false", "size_bytes: 5")
    output = tmp_path / "o" / "a.bed"
    with pytest.raises(SystemExit, match="2"):
        main(["fetch", "--spec", str(describe(tmp_path, *keys)), "--output", str(output)])
    (line,) = capsys.readouterr().err.splitlines()
    assert "a.bed: 817 bytes, but size_bytes of its description is 5" in line
    assert not list(tmp_path.glob("o/*"))


LIMITED = """
import resource, sys
from dna_bigbird.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # writing fails as on a full disk
main(sys.argv[1:])
"""


def test_a_local_copy_onto_a_full_disk(tmp_path):
    copy = tmp_path / "copy"
    copy.write_bytes(b"x" * 5000)
    spec = describe(
        tmp_path, "url: http://nowhere.invalid/a.bed", "sha256: null", "verified: false"
    )
    output = tmp_path / "out" / "a.bed"
    argv = ["fetch", "--spec", spec, "--output", output, "--local", copy]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *map(str, argv)], capture_output=True, text=True
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"{output}: cannot write it" in line
    assert not output.exists()
    assert copy.stat().st_size == 5000


def test_a_local_copy_of_another_size(tmp_path, capsys):
    copy = tmp_path / "copy"
    copy.write_bytes(b"x" * 50)
    keys = ("url: http://nowhere.invalid/a.bed", "sha256: null", "verified: false", "size_bytes: 5")
    argv = ["fetch", "--spec", describe(tmp_path, *keys), "--output", tmp_path / "a.bed"]
    with pytest.raises(SystemExit, match="2"):
        main([*map(str, argv), "--local", str(copy)])
    assert "copy: 50 bytes, but size_bytes of its description is 5" in capsys.readouterr().err
    assert not (tmp_path / "a.bed").exists()
