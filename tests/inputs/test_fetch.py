"""`dna-bigbird fetch` from the outside: what a user sees."""

import hashlib
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
    assert list((tmp_path / "o").iterdir()) == []


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
