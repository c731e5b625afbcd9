"""Windows cover every base, none is short, none lies outside."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from dna_bigbird.inference.windows import num_windows, tile, window_starts, windows_of


@given(st.integers(1, 3000), st.integers(1, 500), st.integers(1, 500))
def test_every_base_is_covered_when_the_stride_is_no_longer_than_the_window(length, window, stride):
    stride = min(stride, window)
    covered = set()
    for start in window_starts(length, window, stride):
        assert start >= 0
        assert start + min(window, length) <= length
        covered.update(range(start, start + min(window, length)))
    assert covered == set(range(length))


def test_windows_carry_their_own_bases():
    bases = "ACGTTGCAAC"
    found = list(windows_of("s", bases, window_bp=4, stride_bp=3, offset=100))
    assert [(w.start, w.end) for w in found] == [(100, 104), (103, 107), (106, 110)]
    assert all(w.bases == bases[w.start - 100 : w.end - 100] for w in found)


@given(
    st.text(alphabet="ACGT", min_size=1, max_size=60), st.integers(1, 20), st.integers(1, 25),
    st.lists(st.integers(0, 60), max_size=6), st.integers(0, 70),
)  # fmt: skip
def test_tiles_of_pieces_are_the_windows_of_the_whole(bases, window, stride, cuts, first):
    edges = [0, *sorted(min(c, len(bases)) for c in cuts), len(bases)]
    pieces = [bases[a:b] for a, b in itertools.pairwise(edges)]
    starts = window_starts(len(bases), window, stride)
    assert num_windows(len(bases), window, stride) == len(starts)
    expected = [(start, bases[start : start + window]) for start in starts]
    assert list(tile(pieces, window, stride, first)) == expected[first:]
