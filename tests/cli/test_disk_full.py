"""A full disk is one clear line, status 2, and nothing left behind."""

import os
import subprocess
import sys

import pytest

ROOM = 100_000  # bytes left on the disk: less than any of the outputs below


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "dna_bigbird", *map(str, arguments)], capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Demo data, documents and a tokenizer on a disk with room."""
    folder = tmp_path_factory.mktemp("inputs")
    fasta, documents = folder / "demo" / "demo.fa", folder / "documents.bed.gz"
    model = folder / "bpe.model"
    for command in (
        ("demo-data", "--output", folder / "demo"),
        ("documents", "--genome", fasta, "--output", documents),
        ("train-tokenizer", "--genome", fasta, "--documents", documents, "--output", model,
         "--metrics", folder / "m.json", "--tokenizer.vocab_size", 512),
    ):  # fmt: skip
        done = run(*command)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def full_disk(tmp_path):
    folder = tmp_path / "full"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        (folder / "ballast").write_bytes(b"x" * (2**20 - ROOM))
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("demo", ["demo-data", "--output", "{out}"]),
        ("genome.fa", ["genome", "--inputs", "[{fasta}]", "--output", "{out}"]),
        (
            "tokens.h5",
            ["tokenize", "--genome", "{fasta}", "--documents", "{documents}",
             "--tokenizer", "{model}", "--output", "{out}"],
        ),
        (
            "set.h5",
            ["promoter-set", "--genome", "{fasta}", "--sites", "{sites}", "--output", "{out}",
             "--upstream", "4000", "--downstream", "4000", "--assembly", "demo22"],
        ),
    ],
)  # fmt: skip
def test_disk_full(inputs, full_disk, name, arguments):
    places = {
        "out": full_disk / name,
        "fasta": inputs / "demo" / "demo.fa",
        "sites": inputs / "demo" / "promoters.bed",
        "documents": inputs / "documents.bed.gz",
        "model": inputs / "bpe.model",
    }
    done = run(*(argument.format(**places) for argument in arguments))
    assert done.returncode == 2, done.stderr
    assert f"{full_disk / name}" in done.stderr
    assert "disk full" in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in full_disk.iterdir()] == ["ballast"]
