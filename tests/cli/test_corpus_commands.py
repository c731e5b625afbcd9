"""documents, train-tokenizer and tokenize, as the workflow calls them."""

import gzip
import json
import re
import shutil

import h5py
import numpy as np
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.corpus.document_file import iter_document_file
from dna_bigbird.corpus.token_store import TokenStore
from tests.bedtools_program import needs_bedtools


@pytest.fixture
def folder(tmp_path, monkeypatch):
    letters = np.random.default_rng(0).choice(list("ACGTacgt"), 60_000)
    letters[30_000:31_000] = "N"
    (tmp_path / "toy.fa").write_text(f">chr1\n{''.join(letters)}\n>chr2\n{'ACGT' * 300}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> None:
    main(line.split())


def make(name: str, workers: int = 1) -> None:
    sizes = "--documents.passes 2 --documents.min-sentences 3 --documents.max-sentences 9"
    run(
        f"documents --genome toy.fa --regions [chr1,2:1-1000] --exclude [1:50001-60000] "
        f"--output {name}/d.bed.gz --seed 7 {sizes}"
    )
    run(
        f"train-tokenizer --genome toy.fa --documents {name}/d.bed.gz --output {name}/dna_bpe.model "
        f"--metrics {name}/metrics.json --seed 7 --tokenizer.vocab_size 200 --tokenizer.sample_bp 50000"
    )
    run(
        f"tokenize --genome toy.fa --documents {name}/d.bed.gz --tokenizer {name}/dna_bpe.model "
        f"--output {name}/d.h5 --workers {workers} --assembly toy"
    )


def test_two_runs_give_equal_bytes(folder, capfd):
    make("a")
    make("b", workers=2)
    files = sorted(path.name for path in (folder / "a").iterdir())
    assert files == ["d.bed.gz", "d.h5", "dna_bpe.model", "metrics.json"]
    for file in files:
        assert (folder / "a" / file).read_bytes() == (folder / "b" / file).read_bytes(), file
    documents = list(iter_document_file(folder / "a" / "d.bed.gz"))
    assert {d.interval.chrom for d in documents} == {"chr1", "chr2"}
    assert 49_500 < max(d.interval.end for d in documents) <= 50_000
    metrics = json.loads((folder / "a" / "metrics.json").read_text())
    assert metrics["vocab_size"] == 200
    assert metrics["sample_bp"] == 50_000
    assert metrics["unknown_tokens"] == 0
    assert metrics["seed"] == 7
    assert metrics["split"] == "train"
    store = TokenStore(folder / "a" / "d.h5")
    store.verify()
    assert store.assembly == "toy"
    assert str(folder).encode() not in (folder / "a" / "d.h5").read_bytes()
    captured = capfd.readouterr()
    assert captured.err == ""
    found = re.findall(
        r"[ab]/d.bed.gz: (\d+) documents, (\d+) predicted, on 50,000 bp in 3 ", captured.out
    )
    assert len(found) == len(captured.out.splitlines()) == 2
    assert {int(drawn) for drawn, _ in found} == {len(documents)}
    assert all(int(predicted) == pytest.approx(len(documents), rel=0.2) for _, predicted in found)


def test_token_statistics(folder, capsys):
    make("a")
    (folder / "r.bed").write_text("1\t0\t20000\tLINE/L1\n1\t25000\t70000\tSINE\n")
    command = "token-statistics --store a/d.h5 --genome toy.fa --tokenizer a/dna_bpe.model"
    run(f"{command} --output a/s.json --repeats r.bed --pieces --documents 20")
    found = json.loads((folder / "a" / "s.json").read_text())
    assert found["n.chr1"] + found["n.chr2"] == found["n"]
    assert {"bp_per_token.LINE", "bp_per_token.chr1.SINE", "n.chr2.none"} <= found.keys()
    assert found["vocab_size"] == 200
    output = capsys.readouterr().out
    assert f"{found['bp_per_token']} bp per token (paper: 8.78, perhaps the mean" in output
    run(f"{command} --output a/t.json")
    assert "bp_per_token.soft_masked" in json.loads((folder / "a" / "t.json").read_text())
    with pytest.raises(SystemExit, match="2"):
        run(f"{command} --output a/u.json --repeats r.bed")
    assert "r.bed:2: end 70,000 is beyond the end of chr1" in capsys.readouterr().err
    assert not (folder / "a" / "u.json").exists()


def refused(capsys, line: str) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit, match="2"):
        run(line)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def other_genomes(folder) -> list[str]:
    """The toy genome with one other base, with the same bases in another order, and a longer one."""
    text = (folder / "toy.fa").read_text()
    header, chr1, rest = text.split("\n", 2)
    changed = chr1[:40_000] + "acgt"["cgta".index(chr1[40_000].lower())] + chr1[40_001:]
    (folder / "one.fa").write_text("\n".join([header, changed, rest]))
    (folder / "turned.fa").write_text("\n".join([header, chr1[::-1], rest]))
    (folder / "longer.fa").write_text("\n".join([header, chr1 + "A", rest]))
    return ["one.fa", "turned.fa", "longer.fa"]


@pytest.mark.parametrize(
    "line",
    [
        "tokenize --documents a/d.bed.gz --tokenizer a/dna_bpe.model --output o",
        "train-tokenizer --documents a/d.bed.gz --output o --metrics o.json",
    ],
)
def test_documents_of_another_genome_are_refused(folder, capsys, line):
    make("a")
    for name in other_genomes(folder):
        error = refused(capsys, f"{line} --genome {name}")
        assert (
            "a/d.bed.gz:1: the documents were drawn from another genome: chr1 has other" in error
            or (
                f"a/d.bed.gz:1: the documents were drawn from another genome: chr1 had 60,000 bp, and has "
                f"60,001 bp in {name}" in error
            )
        )
        assert "draw them again: dna-bigbird documents" in error
        assert not (folder / "o").exists()


def test_a_store_of_another_genome_is_refused(folder, capsys):
    make("a")
    line = "token-statistics --store a/d.h5 --tokenizer a/dna_bpe.model --output o"
    for name in other_genomes(folder):
        error = refused(capsys, f"{line} --genome {name}")
        assert (
            f"a/d.h5: made from another genome (toy): {name} has other bases on chr1, chr2" in error
        )
        assert not (folder / "o").exists()
    # Made by an earlier version: the checksum of the file is there, that of the sequences is not.
    with h5py.File("a/d.h5", "r+") as file:
        for name in ("sequences_sha256", "header_sha256", "datasets_sha256", "text_attributes"):
            del file.attrs[name]
    with pytest.raises(SystemExit, match="2"):
        run(f"{line} --genome one.fa")
    error = capsys.readouterr().err
    assert "a/d.h5: made from another genome (toy): one.fa is another file (its checksum" in error
    run(f"{line} --genome toy.fa")


def test_the_same_bases_written_otherwise_are_the_same_genome(folder, capsys):
    make("a")
    records = (folder / "toy.fa").read_text().upper().split(">")[1:]
    lines = []
    for record in reversed(records):
        name, bases = record.split("\n")[:2]
        lines += [f">{name.removeprefix('CHR')}", *re.findall(".{1,70}", bases)]
    (folder / "same.fa").write_text("\n".join([*lines, ">more", "ACGT"]) + "\n")
    at = "--genome same.fa --tokenizer a/dna_bpe.model"
    run(f"tokenize {at} --documents a/d.bed.gz --output o.h5 --assembly toy")
    with h5py.File("o.h5") as made, h5py.File("a/d.h5") as first:
        assert made.attrs["checksum"] == first.attrs["checksum"]
        assert made.attrs["sequences_sha256"] == first.attrs["sequences_sha256"]
    run(f"token-statistics {at} --store a/d.h5 --output o.json")


def test_documents_without_their_genome_are_read_with_a_note(folder, capsys):
    make("a")
    text = gzip.decompress((folder / "a" / "d.bed.gz").read_bytes()).decode()
    lines = text.splitlines(keepends=True)
    assert [line.split()[:4] for line in lines[:2]] == [
        ["#genome", "sequence", "chr1", "length"],
        ["#genome", "sequence", "chr2", "length"],
    ]
    old = folder / "old.bed.gz"
    old.write_bytes(gzip.compress("".join(lines[2:]).encode()))
    capsys.readouterr()
    run("tokenize --genome toy.fa --documents old.bed.gz --tokenizer a/dna_bpe.model --output o.h5")
    error = capsys.readouterr().err
    assert (
        error.count("note: old.bed.gz: does not say from which genome its documents on chr1") == 1
    )
    with h5py.File("o.h5") as made, h5py.File("a/d.h5") as first:
        assert made.attrs["sequences_sha256"] == first.attrs["sequences_sha256"]
    other_genomes(folder)
    old.write_bytes(old.read_bytes() + (folder / "a" / "d.bed.gz").read_bytes())  # files joined
    line = "tokenize --documents old.bed.gz --tokenizer a/dna_bpe.model --output o"
    assert "drawn from another genome" in refused(capsys, f"{line} --genome one.fa")
    old.write_bytes(gzip.compress("".join([lines[0].replace("length", "l"), *lines[1:]]).encode()))
    error = refused(capsys, f"{line} --genome toy.fa")
    assert "old.bed.gz:1: expected '#genome sequence NAME length BP sha256 CHECKSUM'" in error


@needs_bedtools
def test_other_programs_read_documents_with_their_genome(folder):
    make("a")
    documents = list(iter_document_file(folder / "a" / "d.bed.gz"))
    import pybedtools

    assert len(pybedtools.BedTool(str(folder / "a" / "d.bed.gz"))) == len(documents)
    merged = pybedtools.BedTool(str(folder / "a" / "d.bed.gz")).sort().merge()
    assert {x.chrom for x in merged} == {"chr1", "chr2"}


def test_info_describes_and_verifies_a_token_store(folder, capsys):
    make("a")
    capsys.readouterr()
    run("info a/d.h5 --verify --format json")
    shown = json.loads(capsys.readouterr().out)
    store, documents = (
        TokenStore(folder / "a" / "d.h5"),
        list(iter_document_file(folder / "a" / "d.bed.gz")),
    )
    assert shown["documents"] == len(documents)
    assert shown["sentences"] == sum(len(d.sentence_ends) for d in documents)
    assert shown["bp"] == sum(d.interval.length for d in documents)
    assert shown["tokens"] == len(store.tokens(0, 10**9))
    assert shown["bp_per_token"] == pytest.approx(shown["bp"] / shown["tokens"], abs=1e-6)
    assert shown["checksum_verified"] is True
    assert shown["attributes"]["vocab_size"] == 200
    run("info a/d.h5 --format json")
    assert json.loads(capsys.readouterr().out)["checksum_verified"] is False
    shutil.copy(folder / "a" / "d.h5", folder / "changed.h5")
    with h5py.File(folder / "changed.h5", "r+") as file:
        file["sentence_bounds"][3] += 1
    for line, message in (
        ("info changed.h5 --verify", "changed.h5: damaged: the sha256 of sentence_bounds is "),
        ("info a/d.bed.gz", "d.bed.gz: not an HDF5 file, or one cut short"),
        ("info a --verify", "--verify is for a token store"),
    ):
        with pytest.raises(SystemExit, match="2"):
            run(line)
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "documents --genome toy.fa --regions [chr3] --output o",
            "chromosome 'chr3' is not in toy.fa",
        ),
        ("documents --genome toy.fa --regions [chr1:1-70000] --output o", "ends after chr1"),
        ("documents --genome toy.fa --regions [chr1:1-60,000] --output o", "double quotes"),
        (
            "documents --genome toy.fa --regions [chr1:30001-31000] --output o",
            "no document in regions",
        ),
        ("documents --genome toy.fa --output o --documents.passes 0", "--documents.passes 0"),
        (
            "tokenize --genome toy.fa --documents no.bed --tokenizer no.model --output o",
            "no.model: no such",
        ),
    ],
)
def test_bad_input_is_one_line(folder, capsys, line, message):
    with pytest.raises(SystemExit, match="2") as stop:
        run(line)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (folder / "o").exists()


def test_a_vocabulary_too_large_for_the_corpus(folder, capsys):
    run("documents --genome toy.fa --regions [chr2] --output d.bed.gz")
    with pytest.raises(SystemExit, match="2"):
        run(
            "train-tokenizer --genome toy.fa --documents d.bed.gz --output t.model --metrics m.json"
        )
    assert "they allow at most" in capsys.readouterr().err
    assert not (folder / "t.model").exists()


@pytest.mark.parametrize("command", ["documents", "train-tokenizer", "tokenize"])
def test_help_names_every_option(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    text = capsys.readouterr().out
    assert "--genome" in text
    assert "--output" in text
