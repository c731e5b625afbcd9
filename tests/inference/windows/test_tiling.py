"""Windows cover every base, none is short, none lies outside."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dna_bigbird import embed, mutagenesis, predict, score_variants
from dna_bigbird.prediction.windows.tiling import num_windows, tile, window_starts


@given(st.integers(1, 3000), st.integers(1, 500), st.integers(1, 500))
def test_every_base_is_covered_when_the_stride_is_no_longer_than_the_window(length, window, stride):
    stride = min(stride, window)
    covered = set()
    for start in window_starts(length, window, stride):
        assert start >= 0
        assert start + min(window, length) <= length
        covered.update(range(start, start + min(window, length)))
    assert covered == set(range(length))


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


NOTE = (
    r"2 of 3 records are shorter than the model's window of 200 bp; each is one window of its own"
)
LENGTHS = {"whole": 200, "short": 199, "base": 1}


@pytest.mark.parametrize(("function", "options"), [
    (predict, {}), (embed, {}), (embed, {"pooling": "tokens"}),
])  # fmt: skip
def test_short_records_are_counted_in_one_note(bundle_folder, random_dna, function, options):
    dna = {name: random_dna(length, seed=length) for name, length in LENGTHS.items()}
    notes = function(sequences=dna, model=bundle_folder, **options).notes
    assert sum(bool(re.match(NOTE, line)) for line in notes) == 1
    whole = function(sequences={"whole": dna["whole"]}, model=bundle_folder, **options).notes
    assert "shorter" not in " ".join(whole)


def test_a_short_window_that_is_asked_for_is_noted(bundle_folder, random_dna, tmp_path):
    fasta, vcf = tmp_path / "g.fa", tmp_path / "v.vcf"
    bases = random_dna(400, seed=1)
    fasta.write_text(f">chr1\n{bases}\n")
    alt = "C" if bases[199] == "A" else "A"
    columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"
    row = f"chr1\t200\t.\t{bases[199]}\t{alt}\t.\t.\t."
    vcf.write_text(f"##fileformat=VCFv4.2\n{columns}\n{row}\n")
    for window in (10, None):
        runs = [
            score_variants(vcf, fasta, bundle_folder, window=window),
            mutagenesis(fasta, "chr1:200-201", bundle_folder, window=window),
        ]
        for run in runs:
            noted = "windows of 10 bp are shorter than the model's window of 200 bp" in " ".join(
                run.notes
            )
            assert noted == (window == 10)
