"""Windows cover every base, none is short, none lies outside."""

from hypothesis import given
from hypothesis import strategies as st

from dna_bigbird.inference.windows import window_starts, windows_of


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
