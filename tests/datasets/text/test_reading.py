"""JSON and folders of text: values come back, and what is wrong is named with its place."""

import gzip
import io
import json
import tarfile
import zipfile

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.reading import Folder, need, read_json_lines, read_json_list

ITEMS = [{"id": 1, "text": "naïve 😀"}, {"id": 2, "text": "a\u2028b"}]


@pytest.fixture(params=["plain", "gzip"])
def written(request, tmp_path):
    """Function (text) -> the file that holds it."""

    def write(text):
        path = tmp_path / "items.json"
        content = text.encode()
        path.write_bytes(gzip.compress(content) if request.param == "gzip" else content)
        return path

    return write


def test_a_list(written):
    assert read_json_list(written(json.dumps(ITEMS))) == ITEMS


def test_lines(written):
    """A line separator of Unicode inside a text ends no line; empty lines are passed over."""
    text = "\n\n".join(json.dumps(item, ensure_ascii=False) for item in ITEMS)
    assert list(read_json_lines(written(text))) == [(1, ITEMS[0]), (3, ITEMS[1])]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1}', r"items\.json: expected a JSON list, found an object"),
        ('[{"a": 1}, 3]', r"items\.json: item 1: expected an object, found a whole number"),
        ('[{"a": 1}', r"items\.json: not valid JSON"),
        ("[" * 100_000, r"items\.json: not valid JSON"),
        ('[{"a": "\\ud83d"}]', r"items\.json: not valid JSON: '\\ud83d' is half of a character"),
    ],
)
def test_no_list(written, text, words):
    with pytest.raises(InputError, match=words):
        read_json_list(written(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1}\n[1]\n', r"items\.json:2: expected an object, found a list"),
        ('{"a": 1}\n{"a"\n', r"items\.json:2: not valid JSON"),
        ('{"a": "\\udc00"}\n', r"items\.json:1: not valid JSON: .* half of a character"),
    ],
)
def test_no_lines(written, text, words):
    with pytest.raises(InputError, match=words):
        list(read_json_lines(written(text)))


def test_whole_characters_written_as_two_halves(written):
    assert read_json_list(written('[{"a": "\\ud83d\\ude00"}]')) == [{"a": "😀"}]


def test_no_file(tmp_path):
    with pytest.raises(InputError, match=r"none\.json: no such file"):
        read_json_list(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("item", "kind", "words"),
    [
        ({}, str, "dev: item 3: no 'x'; expected a text"),
        ({"x": None}, (str, list), "dev: item 3: 'x' is None, expected a text or a list"),
        ({"x": True}, int, "dev: item 3: 'x' is True, expected a whole number"),
        ({"x": 1.5}, int, r"dev: item 3: 'x' is 1\.5, expected a whole number"),
        ({"x": "1"}, float, "dev: item 3: 'x' is '1', expected a number"),
    ],
)
def test_what_is_needed_is_named(item, kind, words):
    with pytest.raises(InputError, match=words):
        need(item, "x", kind, "dev: item 3")


def test_what_is_there_is_given():
    assert need({"x": 2}, "x", float, "") == 2
    assert need({"x": False}, "x", bool, "") is False


FILES = {"b/2.txt": "two\r\n", "a/1.txt": "naïve", "b/10.txt": "ten"}


@pytest.fixture(params=["folder", "tar", "tar.gz", "zip"])
def folder(request, tmp_path):
    """The files as a folder or an archive."""
    if request.param == "folder":
        for name, text in FILES.items():
            path = tmp_path / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        return tmp_path / "files"
    path = tmp_path / f"files.{request.param}"
    if request.param == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.mkdir("b")
            for name, text in FILES.items():
                archive.writestr(name, text)
        return path
    with tarfile.open(path, "w:gz" if request.param == "tar.gz" else "w") as archive:
        archive.addfile(directory := tarfile.TarInfo("b"))
        directory.type = tarfile.DIRTYPE
        for name, text in FILES.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("b/link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return path


def test_a_folder_and_an_archive_give_the_same(folder):
    """No link is followed out of an archive."""
    with Folder(folder) as files:
        names = [name for name in files.names() if name != "b"]
        assert {name: files.text(name) for name in names} == FILES
        with pytest.raises(InputError, match=r"no file 'b/3\.txt' in it"):
            files.text("b/3.txt")


def test_no_folder(tmp_path):
    with pytest.raises(InputError, match="no such folder or archive"):
        Folder(tmp_path / "none")
    (tmp_path / "text.tar").write_text("plain")
    with pytest.raises(InputError, match=r"text\.tar: cannot read it as a tar or zip archive"):
        Folder(tmp_path / "text.tar")
    (tmp_path / "bytes").mkdir()
    (tmp_path / "bytes" / "x.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"x\.txt: not text in UTF-8"):
        Folder(tmp_path / "bytes").text("x.txt")


@pytest.mark.parametrize("folder", ["tar.gz", "zip"], indirect=True)
def test_a_cut_archive_is_one_line(folder, tmp_path):
    cut = tmp_path / "cut.tar"
    cut.write_bytes(folder.read_bytes()[: folder.stat().st_size // 2])
    with pytest.raises(InputError, match=r"cut\.tar: cannot read it as a tar or zip archive"):
        Folder(cut)
