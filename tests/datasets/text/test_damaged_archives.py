"""Archives as nobody packs them: one line for each, and nothing is read from outside."""

import gzip
import io
import os
import struct
import tarfile
import zipfile

import pytest

from dna_bigbird.core.archive_checks import MOST_RECORDS
from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.reading import Folder
from tests.datasets.text.test_unpacking import archives, tar_of

FILES = {"train/pos/0_9.txt": b"good " * 300, "train/neg/1_2.txt": bytes(range(32, 127)) * 20}


def texts(path) -> dict[str, str]:
    with Folder(path) as folder:
        return {name: folder.text(name) for name in folder.names()}


def texts_or_none(path) -> dict[str, str] | None:
    """None: refused."""
    try:
        return texts(path)
    except InputError:
        return None


EXPECTED = {name: content.decode() for name, content in FILES.items()}


@pytest.mark.parametrize("form", archives({}))
def test_every_form_is_read(tmp_path, form):
    path = tmp_path / "a"
    path.write_bytes(archives(FILES)[form])
    assert texts(path) == EXPECTED


@pytest.mark.parametrize("form", archives({}))
def test_every_cut_is_one_line(tmp_path, form):
    path, content = tmp_path / "a", archives(FILES)[form]
    mark = content.rstrip(b"\0") if form == "tar" else content
    for length in [*range(0, len(mark), 1 + len(mark) // 60), len(mark) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"\A[^\n]+\Z"):
            texts(path)


@pytest.mark.parametrize("form", [form for form in archives({}) if form != "tar"])
def test_no_changed_byte_changes_a_text(tmp_path, form):
    """Every form but plain tar has a checksum of its contents."""
    path, content = tmp_path / "a", archives(FILES)[form]
    refused = 0
    for place in range(0, len(content), 1 + len(content) // 150):
        changed = bytearray(content)
        changed[place] ^= 0x41
        path.write_bytes(changed)
        found = texts_or_none(path)
        assert found in (None, EXPECTED), place
        refused += found is None
    assert refused > 50


def header(name: str = "a.txt", **fields) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(member, field, value)
    return member


def with_size(content: bytes, size: bytes) -> bytes:
    """A tar archive with other bytes in the size of its first header."""
    changed = bytearray(content)
    changed[124:136] = size
    changed[148:156] = b" " * 8
    changed[148:156] = b"%06o\0 " % sum(changed[:512])
    return bytes(changed)


def with_records(**records: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(header(pax_headers=records, size=600), io.BytesIO(b"a" * 600))
    return stream.getvalue()


def archive_with_records(count: int) -> bytes:
    stream = io.BytesIO()
    records = {f"a{i}": "1" for i in range(count)}
    with tarfile.open(fileobj=stream, mode="w", pax_headers=records) as archive:
        archive.addfile(header())
    return stream.getvalue()


LONG_NAMES = header("././@LongLink", type=tarfile.GNUTYPE_LONGNAME, size=512)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (with_size(tar_of(FILES), b"\xff" * 12), "cannot read it as a tar"),
        (with_size(tar_of(FILES), b"\xff" * 11 + b"\0"), "cannot read it as a tar"),
        (with_size(tar_of(FILES), b"\x80" + b"\xff" * 11), "cannot read it as a tar|unpacked it is larger"),
        (with_size(tar_of(FILES), b"zzzzzzzzzzz\0"), "cannot read it as a tar"),
        (tar_of(FILES)[:2048] + b"x" * 512 + tar_of(FILES)[2560:], "damaged at byte 2,048"),
        (tar_of(FILES).rstrip(b"\0"), "cannot read it as a tar"),
        (with_records(**{"GNU.sparse.map": "x", "GNU.sparse.size": "y"}), "cannot read it as"),
        (with_records(**{"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}), "cannot read it as"),
        (
            with_records(
                **{"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "z"}
            ),
            "cannot read it as",
        ),
        (with_records(**{"GNU.sparse.size": "-5"}), "cannot read it as"),
        (with_records(size="-1"), "cannot read it as"),
        (with_records(comment="x" * 2**21), r"a header of 2,\d+,\d+ bytes"),
        (archive_with_records(MOST_RECORDS + 1), "a header with 1001 entries"),
        (
            (LONG_NAMES.tobuf(tarfile.GNU_FORMAT) + b"a" * 512) * 2000 + header().tobuf(),
            "cannot read it as a tar",
        ),
    ],
    ids=[
        "size -1", "size -256", "size 2^95", "size zzz", "header", "no end", "map", "no map",
        "realsize", "size only", "pax size", "long record", "many records", "long names",
    ],
)  # fmt: skip
def test_headers_of_tar(tmp_path, content, words):
    for name, packed in (("a.tar", content), ("a.tar.gz", gzip.compress(content))):
        path = tmp_path / name
        path.write_bytes(packed)
        with pytest.raises(InputError, match=rf"{name}: .*({words})") as caught:
            texts(path)
        assert "\n" not in str(caught.value)


def zipped(name: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, b"a")
    return stream.getvalue()


def test_names_that_are_not_utf8(tmp_path):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", encoding="latin-1", format=tarfile.GNU_FORMAT) as a:
        a.addfile(header("caf\xe9.txt"))
    (tmp_path / "a.tar").write_bytes(stream.getvalue())
    with pytest.raises(InputError, match=r"a\.tar: the name 'caf\\udce9\.txt' is not UTF-8; ids"):
        Folder(tmp_path / "a.tar")
    (tmp_path / "a.zip").write_bytes(zipped("é.txt").replace("é".encode(), b"\xff\xfe"))
    with pytest.raises(InputError, match=r"a\.zip: cannot read it as .*'utf-8' codec"):
        Folder(tmp_path / "a.zip")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / os.fsdecode(b"caf\xe9.txt")).write_text("a")
    with pytest.raises(InputError, match=r"folder: the name 'caf\\udce9\.txt' is not UTF-8"):
        Folder(tmp_path / "folder")


@pytest.mark.parametrize("name", ["../secret.txt", "a/../../secret.txt", "a\0b", "", ".", "\udce9"])
@pytest.mark.parametrize("form", ["folder", "tar", "zip-stored"])
def test_only_names_of_the_folder_are_read(tmp_path, form, name):
    """TriviaQA's questions name the files of their evidence."""
    (tmp_path / "secret.txt").write_text("secret")
    path = tmp_path / "a"
    if form == "folder":
        path.mkdir()
        (path / "a").mkdir()
        (path / "a" / "b.txt").write_text("b")
    else:
        path.write_bytes(archives({"a/b.txt": b"b"})[form])
    with Folder(path) as folder:
        with pytest.raises(InputError, match=r"a: no file '.*' in it\Z"):
            folder.text(name)
        with pytest.raises(InputError, match="no file"):
            folder.text(str(tmp_path / "secret.txt"))


def test_a_password(tmp_path):
    content = bytearray(zipped("a.txt"))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.index(signature) + offset
        content[place : place + 2] = struct.pack("<H", 1)
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.zip: a\.txt: damaged: .*encrypted"):
        texts(tmp_path / "a.zip")
