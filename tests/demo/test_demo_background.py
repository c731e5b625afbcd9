"""The shipped sequence is the real one, and stays so where nothing was planted."""

import gzip
import hashlib

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import embedded_sequence


def test_the_shipped_sequence_is_the_one_in_its_provenance(real_sequence):
    assert len(real_sequence) == 1_000_000
    assert set(real_sequence) == set("ACGTN")
    digest = hashlib.sha256(real_sequence.encode()).hexdigest()
    assert digest == "75a16db26fa56d3eb6e4a569cbc8bfc3fa370fe3937f3729054b881d95d6b085"
    assert embedded_sequence.load_background() == real_sequence


def test_the_only_gap_is_where_the_docs_say(real_sequence):
    assert real_sequence[509_431:609_431] == "N" * 100_000
    assert real_sequence.count("N") == 100_000


def test_the_shipped_sequence_is_hg19(real_sequence, real_data):
    """Base by base against the chr22 of another source."""
    with gzip.open(real_data / "genome" / "hg19_chr22_1-21000000.fa.gz", "rt") as stream:
        chr22 = "".join(line.strip() for line in stream if not line.startswith(">"))
    assert chr22[20_000_000:21_000_000].upper() == real_sequence


def test_bases_outside_flanks_and_sites_are_untouched(sequence, real_sequence, truth):
    touched = bytearray(len(sequence))
    for row in truth:
        if row["kind"] in ("flank", "site", "decoy"):
            touched[row["start"] : row["end"]] = b"\1" * (row["end"] - row["start"])
    assert len(sequence) == len(real_sequence)
    wrong = [
        i
        for i, (planted, real) in enumerate(zip(sequence, real_sequence, strict=True))
        if planted != real and not touched[i]
    ]
    assert wrong == []
    assert 0.6 < touched.count(0) / len(touched) < 0.8  # most of the genome is real


def test_a_damaged_installation_is_named(monkeypatch):
    monkeypatch.setattr(embedded_sequence, "SEQUENCE_SHA256", "0" * 64)
    with pytest.raises(InputError, match=r"sha256 of the sequence is 75a16db.*damaged"):
        embedded_sequence.load_background()
