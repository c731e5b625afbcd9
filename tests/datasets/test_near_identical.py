"""Near-identical sequences, against sets of 12-mers that are cut and compared in plain Python."""

import functools
import gzip

import numpy as np
import pytest
from scipy.sparse import csr_array

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import reverse_complement
from dna_bigbird.labelled.near_identical import (
    NONE,
    distinct,
    kmers_of,
    near_identical,
    shared_share,
)


def letters(sequences):
    return np.array([list(s.encode()) for s in sequences], dtype=np.uint8)


def random_sequence(rng, length_bp):
    return "".join(rng.choice(list("ACGT"), length_bp))


def mutated(rng, sequence, rate):
    """Replace exactly this share of the bases by others."""
    bases = list(sequence)
    for i in rng.choice(len(bases), round(rate * len(bases)), replace=False):
        bases[i] = rng.choice([b for b in "ACGT" if b != bases[i]])
    return "".join(bases)


@functools.cache
def telling(sequence):
    """The 12-mers of a sequence, each as the lesser of its two strands: docs/explanation/splits-and-leakage.md."""
    found = set()
    for i in range(len(sequence) - 11):
        word = sequence[i : i + 12]
        if "N" not in word and len({word[j : j + 3] for j in range(10)}) >= 7:
            found.add(min(word, reverse_complement(word)))
    return found


def share(a, b):
    a, b = telling(a), telling(b)
    return len(a & b) / max(len(a), len(b), 1)


def search(sequences, split, **options):
    bases = letters(sequences)
    return near_identical(lambda rows: bases[rows], bases.shape[1], np.array(split), **options)


def test_shares_are_those_of_plain_sets():
    rng = np.random.default_rng(0)
    a = [random_sequence(rng, 300) for _ in range(30)]
    b = [mutated(rng, s, rate) for s, rate in zip(a, np.linspace(0, 0.3, 30), strict=True)]
    b = [reverse_complement(s) if i % 2 else s for i, s in enumerate(b)]
    a[3] = a[3][:100] + "N" * 50 + a[3][150:]
    a[4] = "CA" * 75 + a[4][150:]
    found = shared_share(distinct(kmers_of(letters(a))), distinct(kmers_of(letters(b))))
    assert found.tolist() == [share(x, y) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("length_bp", [0, 5, 11])
def test_rows_shorter_than_a_word_have_none(length_bp):
    assert kmers_of(np.full((2, length_bp), ord("A"), dtype=np.uint8)).shape == (2, 0)


@pytest.mark.parametrize(
    "unit", ["A", "CA", "CAG", "GATA", "TTAGG", "TTAGGG", "AAAAAAAC", "AAAAAAAAAAAAT"]
)
def test_repeats_of_short_units_tell_nothing(unit):
    assert (kmers_of(letters([(unit * 30)[:30]])) == NONE).all()


def test_nearly_every_word_of_random_sequence_tells_something():
    words = kmers_of(letters([random_sequence(np.random.default_rng(0), 100_000)]))
    assert (words == NONE).mean() < 0.02


@pytest.mark.parametrize("length_bp", [300, 2000, 8000])
@pytest.mark.parametrize(
    ("rate", "is_found"), [(0, True), (0.02, True), (0.1, False), (0.15, False)]
)
def test_planted_copies_on_both_strands(length_bp, rate, is_found):
    """Up to 2 % of other bases is always found; a repeat family at 10 to 15 % is not."""
    rng = np.random.default_rng(length_bp)
    train = [random_sequence(rng, length_bp) for _ in range(40)]
    test = [mutated(rng, s, rate) for s in train]
    test = [reverse_complement(s) if i % 2 else s for i, s in enumerate(test)]
    found = search(train + test, [0] * 40 + [2] * 40)
    assert found.row.tolist() == (list(range(40)) if is_found else [])
    assert found.other.tolist() == [i + 40 for i in found.row]


def test_at_5_percent_a_pair_is_found_if_it_is_beyond_the_limit():
    rng = np.random.default_rng(1)
    train = [random_sequence(rng, 300) for _ in range(200)]
    test = [mutated(rng, s, 0.05) for s in train]
    found = search(train + test, [0] * 200 + [1] * 200)
    shares = [share(a, b) for a, b in zip(train, test, strict=True)]
    assert found.row.tolist() == [i for i, x in enumerate(shares) if x >= 0.5]
    assert found.share.tolist() == [x for x in shares if x >= 0.5]
    assert 80 < len(found.row) < 180


@pytest.mark.parametrize(
    ("shift", "is_found"), [(10, True), (300, True), (450, True), (600, False)]
)
def test_shifted_copies_are_found_up_to_about_half_a_window(shift, is_found):
    rng = np.random.default_rng(2)
    long = [random_sequence(rng, 2000) for _ in range(20)]
    rows = [s[:1000] for s in long] + [reverse_complement(s[shift : shift + 1000]) for s in long]
    assert len(search(rows, [0] * 20 + [2] * 20).row) == (20 if is_found else 0)


def test_a_short_shared_repeat_makes_no_pair():
    """An identical 300-bp element in windows of 2,000 bp, and poly-A with dinucleotide runs."""
    rng = np.random.default_rng(3)
    element = random_sequence(rng, 300)
    simple = "A" * 400 + "CA" * 300 + "GGGTTA" * 80
    rows = [random_sequence(rng, 220) + simple + random_sequence(rng, 300) for _ in range(60)]
    rows = [s + element for s in rows]
    assert len({len(s) for s in rows}) == 1
    assert len(search(rows, [0] * 30 + [2] * 30).row) == 0


def test_rows_without_telling_words_are_counted_not_compared():
    rng = np.random.default_rng(4)
    simple = "CA" * 130 + random_sequence(rng, 40)
    gap = "N" * 300
    found = search([simple, gap, gap, simple], [0, 0, 2, 2])
    assert (found.row.tolist(), found.not_compared) == ([], 4)


def test_rows_of_one_split_are_not_compared_and_each_pair_of_splits_is():
    rng = np.random.default_rng(5)
    a, b = random_sequence(rng, 300), random_sequence(rng, 300)
    assert len(search([a, a, b, b], [0, 0, 2, 2]).row) == 0
    found = search([a, a, a, b], [0, 1, 2, 2])
    assert list(zip(found.row, found.other, strict=True)) == [(0, 1), (0, 2), (1, 2)]


def test_a_copy_is_found_within_a_large_family():
    """A family far larger than a bucket; rows of the family are no pairs, each row and its copy is."""
    rng = np.random.default_rng(6)
    ancestor = random_sequence(rng, 400)
    train = [mutated(rng, ancestor, 0.08) for _ in range(300)]
    test = [mutated(rng, s, 0.01) for s in train]
    order = rng.permutation(300)
    found = search(train + [test[i] for i in order], [0] * 300 + [2] * 300)
    assert found.row.tolist() == list(range(300))
    right = order[found.other - 300] == found.row
    assert right.all()


def test_all_pairs_of_a_mixture_are_found():
    """Copies of every kind and distance, against comparing every pair."""
    rng = np.random.default_rng(7)
    sources = [random_sequence(rng, 700) for _ in range(10)]
    rows = []
    for _ in range(160):
        source, at = sources[rng.integers(10)], rng.integers(0, 400)
        row = mutated(rng, source[at : at + 300], rng.choice([0, 0.01, 0.03, 0.08]))
        rows.append(reverse_complement(row) if rng.random() < 0.5 else row)
    split = rng.integers(0, 3, 160)
    for limit in (0.5, 0.35):
        found = search(rows, split, min_shared=limit)
        near = {
            (i, split[j])
            for i in range(160)
            for j in range(160)
            if split[i] < split[j] and share(rows[i], rows[j]) >= limit
        }
        assert len(near) > 80
        told = zip(found.row.tolist(), found.other.tolist(), found.share.tolist(), strict=True)
        assert near == {(i, split[j]) for i, j, x in told if x == share(rows[i], rows[j])}


def test_real_windows_against_every_pair(real_data):
    """chr22 left and right of 19.5 Mb, by a product of sparse tables; its segmental duplications hit."""
    (path,) = (real_data / "genome").glob("hg19_chr22_*.fa.gz")
    with gzip.open(path, "rb") as stream:
        next(stream)
        chromosome = np.frombuffer(stream.read().replace(b"\n", b"").upper(), dtype=np.uint8)
    bases = chromosome[18_500_100:21_000_000].reshape(-1, 300)[: 2_499_900 // 300]
    bases = np.concatenate([chromosome[16_050_000:17_550_000].reshape(-1, 300), bases])
    split = np.where(np.arange(len(bases)) < 5_000 + 3_333, 0, 2)
    found = near_identical(lambda rows: bases[rows], 300, split)

    words = distinct(kmers_of(bases))
    row, column = np.nonzero(words != NONE)
    table = csr_array((np.ones(len(row), np.int32), (row, words[row, column])), (len(bases), 4**12))
    sizes = np.diff(table.indptr)
    train, test = np.flatnonzero((split == 0) & (sizes >= 50)), np.flatnonzero(split == 2)
    common = (table[train] @ table[test].T).tocoo()
    left, right = train[common.row], test[common.col]
    near = common.data / np.maximum(sizes[left], sizes[right]) >= 0.5
    near &= sizes[right] >= 50
    assert len(set(left[near])) > 100
    assert set(found.row.tolist()) == set(left[near].tolist())


def test_the_limit_has_limits():
    with pytest.raises(InputError, match=r"--min_shared 0\.1: expected 0\.3 to 1"):
        search(["ACGT" * 10], [0], min_shared=0.1)
    assert len(search(["ACGT" * 10], [0]).row) == 0
