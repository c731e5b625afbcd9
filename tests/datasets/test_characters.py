"""Characters of text and DNA in parts, and their examples."""

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus import characters
from dna_bigbird.corpus import characters as of_text
from dna_bigbird.corpus.characters import (
    COMPLEMENT,
    UNKNOWN,
    CharacterExamples,
    CharacterSplit,
    read_bases,
    read_characters,
    text_of,
)

HALVES = CharacterSplit(validation_share=0.1, test_share=0.2)


@pytest.fixture
def small_text8(monkeypatch, tmp_path):
    """A text of 2,000 characters that counts as text8."""
    monkeypatch.setattr(of_text, "PUBLISHED_BYTES", 2000)
    path = tmp_path / "text8"
    letters = np.random.default_rng(0).integers(0, 27, 2000)
    letters[:27] = range(27)
    path.write_bytes(bytes(of_text.TEXT8[i] for i in letters))
    return path


def test_the_usual_split_of_text8_has_90_5_and_5_percent(small_text8):
    """90 M, 5 M and 5 M of 100 M characters, in this order."""
    read = read_characters(small_text8, CharacterSplit(), "text8")
    assert [len(read.parts[name]) for name in ("train", "validation", "test")] == [1800, 100, 100]
    assert read.alphabet == of_text.TEXT8
    decoded = b"".join(bytes(read.alphabet[i] for i in part) for part in read.parts.values())
    assert decoded == small_text8.read_bytes()


def test_the_alphabet_is_the_bytes_that_occur(tmp_path):
    path = tmp_path / "text"
    path.write_bytes("naïve\n".encode() * 20)
    read = read_characters(path, HALVES, "bytes")
    assert read.alphabet == bytes(sorted(set("naïve\n".encode())))
    assert len(read.parts["test"]) == round(0.2 * 140)


def test_files_that_are_not_what_they_should_be(small_text8, tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"ab" * 1000)
    with pytest.raises(InputError, match="2 different bytes; text8 has a to z and space"):
        read_characters(other, CharacterSplit(), "text8")
    with pytest.raises(InputError, match="2 different bytes; enwik8 has 205 of them"):
        read_characters(other, CharacterSplit(), "enwik8")
    other.write_bytes(b"ab")
    with pytest.raises(InputError, match="2 bytes; text8 has 2,000"):
        read_characters(other, CharacterSplit(), "text8")
    with pytest.raises(InputError, match="2 bytes are too few for three parts"):
        read_characters(other, CharacterSplit(), "bytes")
    other.write_bytes(b"PK\3\4")
    with pytest.raises(InputError, match="other: a zip archive; expected the text itself"):
        read_characters(other, CharacterSplit(), "enwik8")
    with pytest.raises(InputError, match="regions of DNA; give shares of text"):
        read_characters(small_text8, CharacterSplit(test=["chr1"]), "text8")
    with pytest.raises(InputError, match="nothing: no such file"):
        read_characters(tmp_path / "nothing", CharacterSplit(), "bytes")
    with pytest.raises(ValueError, match=r"--split\.test_share 1\.0"):
        CharacterSplit(test_share=1.0)


@pytest.fixture
def fasta(tmp_path):
    """Two chromosomes; one has a gap and a single N."""
    path = tmp_path / "toy.fa"
    path.write_text(f">chr1\nACGTNAC{'N' * 20}GGTT\n>chr2\nCCCCCAAAAAgggggttttt\n")
    return path


def test_bases_of_each_part_with_an_n_between_stretches(fasta):
    split = CharacterSplit(validation=["chr2:6-10"], test=["chr2:16-20"])
    read = read_bases(fasta, split)
    assert read.alphabet == b"ACGTN"
    assert read.unscored == UNKNOWN
    assert text_of(read.parts["train"]) == "ACGTNACNGGTTNCCCCCNGGGGG"
    assert text_of(read.parts["validation"]) == "AAAAA"
    assert text_of(read.parts["test"]) == "TTTTT"


def test_regions_that_do_not_fit(fasta):
    with pytest.raises(InputError, match=r"--split\.validation: DNA needs regions"):
        read_bases(fasta, CharacterSplit(test=["chr2"]))
    with pytest.raises(InputError, match="chr2 has bases in both validation and test"):
        read_bases(fasta, CharacterSplit(validation=["chr2:1-9"], test=["chr2:9-12"]))
    with pytest.raises(InputError, match="no bases for validation, only N"):
        read_bases(fasta, CharacterSplit(validation=["chr1:10-20"], test=["chr2"]))


def test_the_complement_is_that_of_the_alphabet():
    pairs = dict(zip("ACGTN", "TGCAN", strict=True))
    for i, base in enumerate(characters.ALPHABET.decode()):
        assert characters.ALPHABET.decode()[COMPLEMENT[i]] == pairs[base]


@pytest.mark.parametrize("length", [200, 201, 207, 209, 210])
def test_an_epoch_has_every_window_once_from_an_offset(length):
    """Characters are predicted at most once; only the ends of the data are left out."""
    numbers = np.arange(length).astype(np.uint8)
    examples = CharacterExamples(numbers, 10, seed=3)
    for epoch in range(4):
        first = epoch * examples.examples_per_epoch
        windows = [examples[first + i] for i in range(examples.examples_per_epoch)]
        assert all(len(w) == 11 and (np.diff(w.astype(int)) == 1).all() for w in windows)
        predicted = np.sort(np.concatenate([w[1:] for w in windows]))
        assert (np.diff(predicted.astype(int)) == 1).all()
        assert length - 1 - len(predicted) < 2 * 10
    starts = {int(min(examples[e * examples.examples_per_epoch + i][0]
              for i in range(examples.examples_per_epoch))) for e in range(8)}  # fmt: skip
    assert len(starts) > 2


def test_examples_are_a_function_of_their_number():
    numbers = np.random.default_rng(0).integers(0, 4, 500).astype(np.uint8)
    one, two = (CharacterExamples(numbers, 20, seed=1, complement=COMPLEMENT) for _ in range(2))
    order = np.random.default_rng(1).permutation(60)
    drawn = {int(i): one[int(i)] for i in order}
    assert all(np.array_equal(two[i], drawn[i]) for i in range(60))
    assert not all(
        np.array_equal(CharacterExamples(numbers, 20, seed=2)[i], drawn[i]) for i in range(9)
    )


def test_about_every_second_window_is_a_reverse_complement():
    """An A is always followed by a C, on the other strand a G by a T."""
    numbers = np.tile(np.array([0, 1], np.uint8), 400)
    examples = CharacterExamples(numbers, 10, seed=0, complement=COMPLEMENT)
    kinds = [set(examples[i].tolist()) for i in range(200)]
    assert all(kind in ({0, 1}, {2, 3}) for kind in kinds)
    assert 70 < sum(kind == {2, 3} for kind in kinds) < 130


def test_validation_goes_from_left_to_right():
    numbers = np.arange(100).astype(np.uint8)
    examples = CharacterExamples(numbers, 30, seed=0, in_order=True)
    assert examples.examples_per_epoch == 3
    assert [examples[i][0] for i in range(3)] == [0, 30, 60]
    short = CharacterExamples(numbers, 300, seed=0, in_order=True)
    assert np.array_equal(short[0], numbers)


def test_too_few_characters():
    with pytest.raises(ValueError, match="19 characters; expected at least 20"):
        CharacterExamples(np.zeros(19, np.uint8), 10, seed=0)
    assert CharacterExamples(np.zeros(20, np.uint8), 10, seed=0).examples_per_epoch == 1
    with pytest.raises(ValueError, match="1 characters; expected at least 2"):
        CharacterExamples(np.zeros(1, np.uint8), 10, seed=0, in_order=True)
