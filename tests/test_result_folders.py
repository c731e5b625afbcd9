"""A result folder is replaced only if a run wrote all that it holds."""

import os
import shutil

import pytest

from dna_bigbird.core import result_folders
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.result_folders import (
    BENCH_PAGE,
    DEMO,
    FILE_PER_LABEL,
    MODEL,
    MOTIFS,
    RECORD,
    ResultFolder,
    atomic_directory,
)

KIND = ResultFolder("a folder of a test")


def write(folder, *names, kind=KIND):
    with atomic_directory(folder, kind) as partial:
        for name in names:
            (partial / name).parent.mkdir(exist_ok=True)
            (partial / name).write_text("new")


def tree(folder):
    """Everything below a folder: the text of files, the targets of links."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


@pytest.fixture
def result(tmp_path):
    write(tmp_path / "out", "b.txt", "a/c.txt")
    return tmp_path / "out"


def test_the_record_names_all_that_a_run_wrote(result, tmp_path):
    assert (result / RECORD).read_text() == "a folder of a test\na\na/c.txt\nb.txt\n"
    write(result, "other")
    assert sorted(os.listdir(result)) == [RECORD, "other"]
    write(tmp_path / "again", "other")
    assert tree(tmp_path / "again") == tree(result)


def add_file(folder, name):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("mine")


ADDED = {
    "notes.md": lambda folder: add_file(folder, "notes.md"),
    ".hidden": lambda folder: add_file(folder, ".hidden"),
    "a/notes.md": lambda folder: add_file(folder, "a/notes.md"),
    "predictions": lambda folder: add_file(folder, "predictions/a.tsv"),
    "empty": lambda folder: (folder / "empty").mkdir(),
    "link": lambda folder: (folder / "link").symlink_to(folder.parent),
    "broken": lambda folder: (folder / "broken").symlink_to("nowhere"),
    "a/.snakemake_timestamp": lambda folder: add_file(folder, "a/.snakemake_timestamp"),
    "other.fai": lambda folder: add_file(folder, "other.fai"),
}


@pytest.mark.parametrize("name", ADDED)
def test_what_no_run_wrote_is_kept(result, name):
    ADDED[name](result)
    before = tree(result)
    with pytest.raises(InputError, match=f"out: the folder holds {name}, which no run"):
        write(result, "new")
    assert tree(result) == before
    assert os.listdir(result.parent) == ["out"]


@pytest.mark.parametrize("name", ADDED)
def test_what_is_added_during_the_run_is_kept(result, name):
    before = {}
    with (
        pytest.raises(InputError, match=f"out: the folder holds {name}, which .* checkpoints"),
        atomic_directory(result, KIND) as partial,
    ):
        (partial / "new").touch()
        ADDED[name](result)
        before = tree(result)
    assert tree(result) == before
    assert os.listdir(result.parent) == ["out"]


def test_a_folder_that_appears_during_the_run_is_kept(tmp_path):
    with (
        pytest.raises(InputError, match=r"out: the folder holds notes\.md"),
        atomic_directory(tmp_path / "out", KIND) as partial,
    ):
        (partial / "new").touch()
        (tmp_path / "out").mkdir()
        (tmp_path / "out/notes.md").write_text("mine")
    assert tree(tmp_path) == {"out": None, "out/notes.md": b"mine"}


def test_the_timestamp_of_snakemake_an_index_and_a_missing_file_do_not_matter(result):
    (result / ".snakemake_timestamp").touch()
    (result / "b.txt.fai").touch()
    (result / "a/c.txt").unlink()
    write(result, "new")
    assert sorted(os.listdir(result)) == [RECORD, "new"]


def test_a_copy_of_a_result_is_replaced_too(result):
    shutil.copytree(result, result.with_name("copy"))
    write(result.with_name("copy"), "new")
    assert (result.with_name("copy") / "new").exists()


def test_a_link_is_judged_by_its_folder(result, tmp_path):
    (tmp_path / "link").symlink_to("out")
    (result / "notes.md").touch()
    with pytest.raises(InputError, match=r"link: the folder holds notes\.md"):
        write(tmp_path / "link", "new")
    (result / "notes.md").unlink()
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(result)) == [RECORD, "new"]


def test_the_result_of_another_kind_is_kept(result):
    with pytest.raises(InputError, match="out: the folder holds a, which no run of this command"):
        write(result, "new", kind=MODEL)
    assert (result / "b.txt").exists()


@pytest.mark.parametrize("record", [b"", b"\xff\xfe\0", b"a folder of a test"])
def test_a_damaged_record_deletes_nothing(result, record):
    (result / RECORD).write_bytes(record)
    with pytest.raises(InputError, match="out: the folder holds a, which"):
        write(result, "new")
    assert (result / "b.txt").exists()


def test_a_name_that_is_not_utf_8_is_recorded(tmp_path):
    name = os.fsdecode(b"caf\xe9")
    for _ in range(2):
        write(tmp_path / "out", name)
    assert sorted(os.listdir(tmp_path / "out")) == sorted([RECORD, name])


BUNDLE = ("config.json", "model.safetensors", "metrics.json", "README.md")
OF_EARLIER_VERSIONS = [
    (
        MODEL,
        (*BUNDLE, "tokenizer.model", "history.tsv", "search.tsv", "sequences_read.safetensors"),
    ),
    (DEMO, ("demo.fa", "demo.fa.fai", "peaks.tsv", "truth.tsv", "README.md", "peaks/CTCF.bed")),
    (MOTIFS, ("motifs.tsv", "motifs.meme", "hits.bed", "index.html", "logos/CTCF_pos_1.png")),
    (
        BENCH_PAGE,
        ("index.html", "table.md", "table.tsv", "bench_summary.png", "gue_01_tata.png"),
    ),
]


@pytest.mark.parametrize(("kind", "names"), OF_EARLIER_VERSIONS)
def test_a_folder_without_a_record_may_hold_only_names_of_its_kind(tmp_path, kind, names):
    for name in names:
        add_file(tmp_path, name)
    kind.check_replaceable(tmp_path)
    for name in ("notes.md", "own.png", "predictions/a.tsv", f"{names[-1]}.bak"):
        add_file(tmp_path, name)
        with pytest.raises(InputError, match=f"the folder holds {name.partition('/a')[0]}, which"):
            kind.check_replaceable(tmp_path)
        shutil.rmtree(tmp_path / "predictions", ignore_errors=True)
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / kind.required[0]).unlink()
    with pytest.raises(InputError, match="the folder holds "):
        kind.check_replaceable(tmp_path)


def test_tracks_of_an_earlier_version_are_those_of_its_list(tmp_path):
    (tmp_path / "labels.tsv").write_text("label\tfile\nCTCF|x\tCTCF_x.bw\n")
    (tmp_path / "CTCF_x.bw").touch()
    FILE_PER_LABEL.check_replaceable(tmp_path)
    (tmp_path / "thesis.bw").touch()
    with pytest.raises(InputError, match=r"holds thesis\.bw"):
        FILE_PER_LABEL.check_replaceable(tmp_path)


def test_a_file_is_not_replaced_by_a_folder(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InputError, match="out: this is not a folder"):
        KIND.check_replaceable(tmp_path / "out")


def test_every_kind_has_its_own_first_line():
    kinds = [each for each in vars(result_folders).values() if isinstance(each, ResultFolder)]
    assert len({kind.what for kind in kinds}) == len(kinds) == 11
