"""TATA displacement: what the swaps move, real promoters, and files that are wrong."""

import gzip
from collections import Counter

import pytest

from dna_bigbird.bench.suites import tata
from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.core.errors import InputError

TSS = 249


def with_box(background: str, first: int, box: str = "TATAAAAG") -> str:
    start = TSS + first
    return background[:start] + box + background[start + len(box) :]


@pytest.fixture
def background(random_dna):
    """300 random bases without anything like a TATA box upstream."""
    return random_dna(300, 3).replace("TA", "GC")


def fits(site: str) -> int:
    """Letters of TATAWAWR that a site has, letter by letter."""
    return sum(
        (site[0] == "T", site[1] == "A", site[2] == "T", site[3] == "A", site[4] in "AT",
         site[5] == "A", site[6] in "AT", site[7] in "AG")
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "expected"), [(-31, -31), (-36, -36), (-26, -26), (-37, None), (-25, None)]
)
def test_a_box_is_found_within_the_tolerance(background, first, expected):
    position = tata.find_box(with_box(background, first), TSS)
    assert position == (None if expected is None else TSS + expected)


def test_the_best_box_counts_and_of_equal_ones_the_nearest(background):
    two = with_box(with_box(background, -36, "TATAAAAC"), -27, "TATAAAAG")
    assert tata.find_box(two, TSS) == TSS - 27
    seven = with_box(background, -31, "TATCAAAG")
    assert tata.find_box(seven, TSS) == TSS - 31
    assert tata.find_box(with_box(background, -31, "TATCCAAG"), TSS) is None


def test_swaps_move_the_box_and_leave_the_rest(background):
    promoter = tata.Promoter("p", with_box(background, -31), TSS)
    move, control = tata.displace(promoter)
    changed, other = move.apply(promoter.sequence), control.apply(promoter.sequence)
    assert move.first == TSS - 33
    assert changed.count("TATAAAAG") == 1
    assert changed.index("TATAAAAG") == move.second + 2
    assert other.index("TATAAAAG") == TSS - 31
    assert control.second - control.first == move.second - move.first
    assert abs(control.first - move.first) <= 40


@pytest.fixture(scope="module")
def real(real_data):
    folder = real_data / "promoters"
    (task,) = tata.tasks(folder)
    return tata.read(folder, task, Genomes({}))


def test_edits_of_real_promoters_keep_composition_and_initiator(real):
    for row in real.rows:
        for edited in (row.changed, row.control):
            assert Counter(edited) == Counter(row.sequence)
            assert edited[TSS - 2 : TSS + 5] == row.sequence[TSS - 2 : TSS + 5]
            assert 8 <= sum(a != b for a, b in zip(edited, row.sequence, strict=True)) <= 24


def test_real_boxes_are_away_after_the_change_and_there_after_the_control(real):
    def best(sequence):
        return max(fits(sequence[TSS + x : TSS + x + 8]) for x in range(-36, -25))

    for row in real.rows:
        assert best(row.sequence) >= 7 > best(row.changed)
        assert best(row.control) >= 7


def test_promoters_without_a_box_are_counted(real, real_data):
    with gzip.open(real_data / "promoters/human_tata_promoters_300bp.txt.gz", "rt") as stream:
        lines = [line.strip() for line in stream]
    expected = sum(max(fits(x[213 + i : 221 + i]) for i in range(11)) >= 7 for x in lines)
    assert real.counts["rows_read"] == 2000
    assert len(real.rows) + real.counts.get("left_out_without_room", 0) == expected
    assert real.counts["left_out_without_tata_box"] == 2000 - expected
    assert len(real.rows) > 1200


def test_equal_files_give_equal_pairs_in_any_order(tmp_path, real_data, real):
    with gzip.open(real_data / "promoters/human_tata_promoters_300bp.txt.gz", "rt") as stream:
        lines = [line.strip() for line in stream][:40]
    (tmp_path / "human_tata_promoters_300bp.txt").write_text("\n".join(lines[::-1]) + "\n\n")
    again = tata.read(tmp_path, tata.tasks(tmp_path)[0], Genomes({}))
    by_sequence = {row.sequence: (row.changed, row.control) for row in real.rows}
    assert len(again.rows) > 15
    for row in again.rows:
        assert by_sequence[row.sequence] == (row.changed, row.control)


def test_fasta_with_another_start_site(tmp_path, background):
    longer = "ACGTACGTAC" + with_box(background, -31)
    (tmp_path / "promoters.fa").write_text(f">a first\n{longer[:100]}\n{longer[100:].lower()}\n")
    (tmp_path / "tss.txt").write_text("259\n")
    (row,) = tata.read(tmp_path, tata.tasks(tmp_path)[0], Genomes({})).rows
    assert (row.name, row.sequence) == ("a", longer)
    assert row.changed[226 + 2 : 226 + 10] != "TATAAAAG"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("other.txt", "ACGT\n", r": no promoters in it; expected human_tata_promoters_300bp\.txt or"),
        ("human_tata_promoters_300bp.txt", "ACGT" * 75 + "\nACGT\n",
         r"300bp\.txt:2: 4 characters, 'ACGT'; expected one sequence of 300 bases per line"),
        ("human_tata_promoters_300bp.txt", "ACGT" * 74 + "ACGX\n", r":1: .*'X' at position 300"),
        ("human_tata_promoters_300bp.txt", "chr1\t5\t300\n", r":1: 10 characters"),
        ("promoters.fa", ">a\n" + "ACGT" * 20 + "\n",
         r"promoters\.fa:1: a has 80 bases and the start site is at offset 249 \(from 0\)"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        tata.read(tmp_path, tata.tasks(tmp_path)[0], Genomes({}))


def test_a_start_site_that_is_not_a_number(tmp_path):
    (tmp_path / "promoters.fa").write_text(">a\n" + "ACGT" * 80 + "\n")
    (tmp_path / "tss.txt").write_text("-50\n")
    with pytest.raises(
        InputError, match=r"tss\.txt:1: '-50'; expected the offset of the start site"
    ):
        tata.read(tmp_path, tata.tasks(tmp_path)[0], Genomes({}))
