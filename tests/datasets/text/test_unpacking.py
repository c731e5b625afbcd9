"""Compressed text that grows too far: refused before the memory is full, and the option raises the limit."""

import bz2
import gzip
import io
import json
import lzma
import os
import tarfile
import tracemalloc
import zipfile

import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.unpacking import LEAST_BYTES, RATIO, Allowance, unpacked_limit
from dna_bigbird.text.data.reading import (
    Folder,
    read_documents,
    read_json_lines,
    read_json_list,
)
from dna_bigbird.text.set_options import SetOptions
from tests.limited_memory import error_line, run_limited

SMALL_GIB = 2**-10
"""1 MiB."""
LARGE = 5 * 2**20
"""Bytes, which become some thousand."""


@pytest.fixture(autouse=True)
def small_limit():
    with unpacked_limit(SMALL_GIB):
        yield


def tar_of(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def zip_of(files: dict[str, bytes], method: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def archives(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files in every form of an archive that is read."""
    plain = tar_of(files)
    made = {"tar": plain, "gz": gzip.compress(plain), "bz2": bz2.compress(plain)}
    made["xz"] = lzma.compress(plain)
    methods = {"stored": 0, "deflate": 8, "bzip2": 12, "lzma": 14}
    return made | {f"zip-{name}": zip_of(files, method) for name, method in methods.items()}


@pytest.mark.parametrize("form", ["gz", "bz2", "xz", "zip-deflate", "zip-bzip2", "zip-lzma"])
def test_an_archive_that_grows(tmp_path, form):
    path = tmp_path / "a"
    path.write_bytes(archives({"a.txt": b"a" * LARGE})[form])
    assert path.stat().st_size < 50_000
    words = rf"{path}: unpacked it is larger than 0\.000977 GiB, .*--max_unpacked_gib 1\Z"
    with pytest.raises(InputError, match=words), Folder(path) as folder:
        folder.text("a.txt")
    with unpacked_limit(1), Folder(path) as folder:
        assert folder.text("a.txt") == "a" * LARGE


def test_members_count_together_and_each_once(tmp_path):
    path = tmp_path / "a"
    files = {f"{i}.txt": b"a" * 2**18 for i in range(5)}
    path.write_bytes(zip_of(files, 8))
    with Folder(path) as folder:
        for _ in range(9):
            folder.text("0.txt")
        for i in range(4):
            folder.text(f"{i}.txt")
        with pytest.raises(InputError, match="unpacked it is larger than"):
            folder.text("4.txt")


@pytest.mark.parametrize("form", ["folder", "tar", "zip-stored"])
def test_a_compressed_file_in_a_folder_or_archive(tmp_path, form):
    """BigPatent has gzip files within tar."""
    files = {"a.gz": gzip.compress(b"a" * LARGE)}
    path = tmp_path / "a"
    if form == "folder":
        path.mkdir()
        (path / "a.gz").write_bytes(files["a.gz"])
    else:
        path.write_bytes(archives(files)[form])
    with Folder(path) as folder, pytest.raises(InputError, match="unpacked it is larger"):
        folder.text("a.gz")
    with unpacked_limit(1), Folder(path) as folder:
        assert len(folder.text("a.gz")) == LARGE


def test_json_that_grows(tmp_path):
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(json.dumps([{}] * (LARGE // 4)).encode()))
    with pytest.raises(InputError, match=r"a\.json\.gz: unpacked it is larger than"):
        read_json_list(path)
    with unpacked_limit(1):
        assert len(read_json_list(path)) == LARGE // 4


def test_lines_that_grow(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a"}\n' * (LARGE // 10)))
    for read in (read_json_lines, read_documents):
        with pytest.raises(InputError, match=r"a\.jsonl\.gz: unpacked it is larger than"):
            list(read(path))
    plain = tmp_path / "a.txt.gz"
    plain.write_bytes(gzip.compress(b"a b\n\n" * (LARGE // 4)))
    with pytest.raises(InputError, match=r"a\.txt\.gz: unpacked it is larger than"):
        list(read_documents(plain))


def test_by_default_a_file_may_grow_twentyfold(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(os.urandom(1000))
    with unpacked_limit(0):
        assert Allowance(path).limit == LEAST_BYTES == 256 * 2**20
        path.write_bytes(b"x" * (LEAST_BYTES // RATIO + 2**20))
        assert Allowance(path).limit == RATIO * path.stat().st_size > LEAST_BYTES
        os.truncate(path, 2**40)  # a hole counts as nothing
        assert Allowance(path).limit < 2**30
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with unpacked_limit(0):
        assert Allowance(pipe).limit == float("inf")


@pytest.mark.parametrize("gib", [-1, float("nan"), float("inf")])
def test_a_limit_that_is_none(gib):
    with pytest.raises(InputError, match="--max_unpacked_gib"):
        SetOptions(max_unpacked_gib=gib)


def sparse_member(size: int) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("GNUSparseFile.0/a.txt")
        member.pax_headers = {
            "GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "a.txt",
            "GNU.sparse.realsize": str(size),
        }  # fmt: skip
        member.size = 1024
        archive.addfile(member, io.BytesIO(b"1\n0\n512\n".ljust(512, b"\0") + b"a" * 512))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (200 * 2**30, "unpacked it is larger than"),
        (2**19, r"a\.txt: a file with holes; expected text"),
    ],
)
def test_a_member_with_holes(tmp_path, size, words):
    path = tmp_path / "a.tar"
    path.write_bytes(sparse_member(size))
    with unpacked_limit(0), Folder(path) as folder:
        assert folder.names() == ["a.txt"]
        with pytest.raises(InputError, match=words):
            folder.text("a.txt")


def test_an_archive_with_a_hole_of_200_gb(tmp_path):
    path, size = tmp_path / "a.tar", 200 * 2**30
    member = tarfile.TarInfo("a.txt")
    member.size = size
    with open(path, "wb") as stream:
        stream.write(member.tobuf(tarfile.GNU_FORMAT))
        stream.truncate(size + 512 + 10240)
    words = r"unpacked it is larger than 0\.25 GiB"
    with (
        unpacked_limit(0),
        Folder(path) as folder,
        pytest.raises(InputError, match=words),
    ):
        folder.text("a.txt")


@pytest.mark.parametrize("name", ["a.zip", "a.json.gz"])
def test_the_command_takes_little_memory(tmp_path, name):
    """With the limit by default: 300 MiB of one letter, some 300 KiB on disk."""
    path, size = tmp_path / name, LEAST_BYTES * 6 // 5
    if name == "a.zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("wikihop/train.json", b"a" * size)
    else:
        with gzip.open(path, "wb", compresslevel=1) as stream:
            stream.write(b"a" * size)
    assert path.stat().st_size < 3 * 2**20
    output = tmp_path / "documents.jsonl"
    command = ["text", "documents", "--set", "wikihop", "--data", path, "--output", output]
    line = error_line(run_limited(*command, mebibytes=1000))
    assert f"{path}: unpacked it is larger than 0.25 GiB" in line
    assert "--max_unpacked_gib 1" in line
    assert not output.exists()


def test_the_option_of_the_command(tmp_path, capsys):
    lines = [{"text": f"{'a ' * 2000}{i}", "label": 0} for i in range(300)]
    path, output = tmp_path / "a.jsonl.gz", tmp_path / "documents.jsonl"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    command = ["text", "documents", "--set", "json-lines", "--data", str(path)]
    command += ["--split", "train", "--output", str(output), "--max_unpacked_gib"]
    with pytest.raises(SystemExit, match="2"):
        main([*command, str(SMALL_GIB)])
    assert "unpacked it is larger than 0.000977 GiB" in capsys.readouterr().err
    assert not output.exists()
    main([*command, "1"])
    assert output.exists()


@pytest.mark.parametrize("unit", ["[]", "{}", "[[]]", "[{}]", '{"":{}}', '{"":0}', "[0]", '"ab"'])
def test_json_takes_a_limited_multiple_of_its_text(unit):
    text = f"[{','.join([unit] * 50_000)}]"
    tracemalloc.start()
    value = json.loads(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(value) == 50_000
    assert peak < 40 * len(text)


def test_entities_of_xml_do_not_grow(tmp_path):
    """Each of ten entities names the one before ten times."""
    entities = [f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10)]
    head = f'<!DOCTYPE x [<!ENTITY a0 "{"a" * 100}">{"".join(entities)}]>'
    article = '<article id="1" title="t"><p>&a9;</p></article>'
    folder, output = tmp_path / "set", tmp_path / "documents.jsonl"
    folder.mkdir()
    (folder / "articles-x.xml").write_text(f"{head}<articles>{article}</articles>")
    truth = '<articles><article id="1" hyperpartisan="true"/></articles>'
    (folder / "ground-truth-x.xml").write_text(truth)
    command = ["text", "documents", "--set", "hyperpartisan", "--data", folder]
    line = error_line(run_limited(*command, "--output", output))
    assert "articles-x.xml" in line
    assert not output.exists()
