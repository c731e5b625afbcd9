"""allTFs.pos.bed inside the bundle's folder or next to it, plain or packed, as it is published."""

import gzip
import io
import tarfile

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.labelled.deepsea.coordinates import (
    NAMES,
    find_coordinates,
    unpacked_coordinates,
)
from tests.datasets.test_deepsea import refused, small  # noqa: F401 - a fixture

BED = "allTFs.pos.bed"


def packed(content: bytes, name: str, *, member: str = BED) -> bytes:
    """The bytes of the BED file as a file of that name holds them."""
    if name.endswith(".tar.gz"):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w:gz") as archive:
            for path, data in (("notes/README", b"coordinates\n"), (member, content)):
                entry = tarfile.TarInfo(path)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        return stream.getvalue()
    return gzip.compress(content) if name.endswith(".gz") else content


def in_a_folder_of_its_own(bundle):
    """Move the .mat files into a folder, away from the coordinates, which are removed."""
    content = (bundle.folder / BED).read_bytes()
    (bundle.folder / BED).unlink()
    (bundle.folder / "mat").mkdir()
    for path in bundle.folder.glob("*.mat"):
        path.rename(bundle.folder / "mat" / path.name)
    return content


@pytest.mark.parametrize("where", ["mat", "."])
@pytest.mark.parametrize("name", NAMES)
def test_every_form_gives_the_same_rows(small, where, name):  # noqa: F811
    old = small.write().read("--window=1000", output="old.h5")
    content = in_a_folder_of_its_own(small)
    (small.folder / where / name).write_bytes(packed(content, name, member=f"./code/{BED}"))
    new = small.read("--window=1000", f"--bundle={small.folder}/mat", output="new.h5")
    assert list(new.intervals) == list(old.intervals)
    assert (new.labels == old.labels).all()


def test_a_named_file_is_used(small):  # noqa: F811
    old = small.write().read("--window=1000", output="old.h5")
    content = in_a_folder_of_its_own(small)
    named = small.folder / "elsewhere"
    named.write_bytes(packed(content, "x.tar.gz"))
    (small.folder / "mat" / BED).write_text("not the coordinates\n")
    extra = (f"--bundle={small.folder}/mat", f"--row_coordinates={named}")
    assert list(small.read("--window=1000", *extra).intervals) == list(old.intervals)


def test_missing_coordinates_are_reported_before_anything_is_read(small, capsys):  # noqa: F811
    small.write()
    in_a_folder_of_its_own(small)
    (small.folder / "mat" / "train.mat").write_bytes(b"not read")
    error = refused(capsys, small, f"--bundle={small.folder}/mat", f"--genome={small.folder}/no.fa")
    assert f"mat: no {BED} in this folder or next to it (plain, .gz or .tar.gz)" in error
    assert "http://deepsea.princeton.edu/media/code/allTFs.pos.bed.tar.gz" in error
    assert "--row_coordinates" in error


def test_coordinates_that_were_looked_up_are_not_overwritten(small, capsys):  # noqa: F811
    small.write()
    content = in_a_folder_of_its_own(small)
    bed = small.folder / BED
    bed.write_bytes(content)
    error = refused(capsys, small, f"--bundle={small.folder}/mat", output=BED)
    assert f"--output {bed}: .bed is the suffix of BED, but this is written as HDF5" in error
    assert bed.read_bytes() == content


def test_messages_name_the_archive(small, capsys):  # noqa: F811
    small.write()
    content = in_a_folder_of_its_own(small)
    archive = small.folder / "mat" / f"{BED}.tar.gz"
    lines = content.splitlines(keepends=True)
    lines[3] = b"chr1\t3000\t3300\n"
    archive.write_bytes(packed(b"".join(lines), archive.name))
    error = refused(capsys, small, f"--bundle={small.folder}/mat")
    assert f"{archive}, {BED}:4: expected rows of 200 bp" in error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-20], "cannot read it as a tar archive"),
        (lambda content: content[:200] + bytes(40) + content[240:], "cannot read it as a tar"),
        (lambda content: content[:40], "cannot read it as a tar archive"),
        (lambda content: gzip.compress(b""), "tar archive|no allTFs.pos.bed in this archive"),
        (lambda content: packed(b"x", "a.tar.gz", member="all.bed"), f"no {BED} in this archive"),
    ],
    ids=["cut short", "damaged", "cut in the first header", "empty", "something else"],
)
def test_an_archive_without_readable_coordinates(tmp_path, change, message):
    path = tmp_path / f"{BED}.tar.gz"
    rows = b"".join(b"chr1\t%d\t%d\n" % (200 * i, 200 * i + 200) for i in range(500))
    path.write_bytes(change(packed(rows, path.name)))
    with pytest.raises(InputError, match=message) as raised, unpacked_coordinates(path):
        pass
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_unpacked_file_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("dna_bigbird.labelled.deepsea.coordinates._MAX_BYTES", 10)
    path = tmp_path / "a.tar.gz"
    path.write_bytes(packed(b"chr1\t0\t200\n", path.name))
    with (
        pytest.raises(InputError, match="has 11 bytes; expected less than 10"),
        unpacked_coordinates(path),
    ):
        pass


def test_a_header_that_fills_the_memory(tmp_path):
    path, stream = tmp_path / "a.tar.gz", io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo(BED)
        entry.pax_headers = {"comment": "x" * 2**21}
        archive.addfile(entry)
    path.write_bytes(stream.getvalue())
    with (
        pytest.raises(InputError, match=r"cannot read it .*a header of 2,\d+,\d+ bytes"),
        unpacked_coordinates(path),
    ):
        pass


def test_the_folder_itself_goes_first(tmp_path):
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    for folder in (tmp_path, bundle):
        (folder / NAMES[2]).touch()
    assert find_coordinates(bundle) == bundle / NAMES[2]
    (bundle / NAMES[2]).unlink()
    assert find_coordinates(bundle) == tmp_path / NAMES[2]
