"""Leaks between splits: the table, the exit status, sets without them."""

import csv
import tempfile

import numpy as np
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled_set import LabelledData, LabelledSet, write_labelled_set
from dna_bigbird.labelled.shared_rows import LeakageRows, find_leaks, rows_of_data, without_leaks
from tests.bedtools_program import needs_bedtools

WINDOW_BP = 400


@pytest.fixture
def genome(tmp_path) -> Genome:
    """chr1 and chr2 of 20,000 bp; chr2:5,000-6,000 is a reversed copy of chr1:1,000-2,000."""
    rng = np.random.default_rng(0)
    one, two = ("".join(rng.choice(list("ACGT"), 20_000)) for _ in range(2))
    two = two[:5000] + reverse_complement(one[1000:2000]) + two[6000:]
    path = tmp_path / "genome.fa"
    path.write_text(f">chr1\n{one}\n>chr2\n{two}\n")
    return Genome(path)


def make(rows, *, stored=None, sequences=None, pair=None, labels=None, counts=None):
    """A set of (chrom, start, split) rows."""
    n = len(rows)
    return LabelledData(
        task="promoter",
        window_bp=WINDOW_BP,
        label_names=["promoter"],
        label_groups=["promoter"],
        intervals=[Interval(c, s, s + WINDOW_BP, "+") for c, s, _ in rows],
        names=[f"r{i}" for i in range(n)],
        labels=np.array(labels or [1] * n, dtype=np.uint8)[:, None],
        split=np.array([x[2] for x in rows], dtype=np.uint8),
        negatives="random_base",
        stored=None if stored is None else np.array(stored),
        sequences=sequences,
        pair=None if pair is None else np.array(pair),
        counts=counts or {},
    )


CLEAN = [("chr1", 3000, 0), ("chr1", 8000, 1), ("chr2", 100, 2)]
COPY = [("chr1", 1100, 0), ("chr2", 5500, 2)]  # chr2:5500-5900 is chr1:1100-1500, reversed


def test_shared_bases_split_pairs_and_copies_are_told_apart(genome):
    rows = [*CLEAN, *COPY, ("chr1", 3399, 2), ("chr1", 3400, 1)]
    data = make(rows, pair=[0, 1, 2, 3, 4, 5, 2])
    found = [
        (x.row, x.other, x.category, x.measure)
        for x in find_leaks(rows_of_data(data, genome)).leaks
    ]
    assert found == [
        (0, 5, "shared_bases", 1),
        (3, 4, "near_identical", 1.0),
        (6, 2, "split_pair", 1),
        (6, 5, "near_identical", pytest.approx(0.9974, abs=1e-4)),
        (6, 5, "shared_bases", 399),
    ]


@needs_bedtools
def test_rows_that_share_bases_are_those_of_bedtools(tmp_path, monkeypatch):
    import pybedtools

    rng = np.random.default_rng(1)
    chrom, start = rng.integers(0, 3, 500), rng.integers(-100, 60_000, 500)
    split = rng.integers(0, 3, 500)
    windows = Windows(("a", "b", "c"), chrom.astype(np.uint32), start, WINDOW_BP)

    def nothing(rows):
        return np.full((len(rows), WINDOW_BP), ord("N"), dtype=np.uint8)

    leaks = find_leaks(LeakageRows(windows, split, np.arange(500), nothing)).leaks
    found = {(x.row, int(split[x.other])): x.measure for x in leaks}
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    beds = [
        pybedtools.BedTool(
            # bedtools counts no negative positions, so all are moved
            [("abc"[chrom[i]], start[i] + 1000, start[i] + 1000 + WINDOW_BP, str(i))
             for i in np.flatnonzero(split == number)]
        )
        for number in range(3)
    ]  # fmt: skip
    expected = {}
    for less, more in ((0, 1), (0, 2), (1, 2)):
        for hit in beds[less].intersect(beds[more], wo=True):
            key = int(hit[3]), more
            expected[key] = max(int(hit[-1]), expected.get(key, 0))
    assert len(expected) > 100
    assert found == expected


def write(tmp_path, data, genome):
    path = tmp_path / "set.h5"
    write_labelled_set(path, data, genome, assembly="toy", command="", inputs={})
    return path


def report(tmp_path, genome):
    main(
        [
            "leakage",
            f"--genome={genome.path}",
            f"--data={tmp_path / 'set.h5'}",
            f"--output={tmp_path / 'leakage.tsv'}",
        ]
    )


def table(tmp_path):
    with open(tmp_path / "leakage.tsv") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def test_an_empty_report_is_a_header_and_status_0(tmp_path, genome, capsys):
    write(tmp_path, make(CLEAN), genome)
    report(tmp_path, genome)
    assert (tmp_path / "leakage.tsv").read_text() == (
        "row\tsplit\tchrom\tstart\tend\tstrand\tother_row\tother_split\tother_chrom\tother_start\t"
        "other_end\tother_strand\tkind\tmeasure\n"
    )
    assert capsys.readouterr().err.startswith(
        "dna-bigbird: note: nothing leaks: 3 rows (1 train, 1 validation, 1 test), 0 too simple to compare; shared bases "
    )


def test_leaks_are_written_and_refused(tmp_path, genome, capsys):
    write(tmp_path, make([*CLEAN, *COPY]), genome)
    with pytest.raises(SystemExit, match="2"):
        report(tmp_path, genome)
    error = capsys.readouterr().err
    assert (
        "set.h5: 1 rows share something with another split (near_identical 1), of 5 rows" in error
    )
    assert error.count("\n") == 1
    (row,) = table(tmp_path)
    assert (row["row"], row["split"], row["other_row"], row["other_split"]) == (
        "3",
        "train",
        "4",
        "test",
    )
    assert (row["other_chrom"], row["other_start"], row["other_end"]) == ("chr2", "5500", "5900")
    assert (row["kind"], row["measure"]) == ("near_identical", "1")


def test_a_stored_negative_is_compared_by_its_own_bases(tmp_path, genome):
    """The copy is an artificial negative here; where it would lie on the genome says nothing."""
    copied = np.frombuffer(genome.fetch(Interval("chr1", 1100, 1500)).encode(), dtype=np.uint8)
    data = make(
        [("chr1", 1100, 0), ("chr2", 100, 2), ("chr2", 100, 2)],
        stored=[-1, -1, 0],
        sequences=copied[None],
        labels=[1, 1, 0],
    )
    write(tmp_path, data, genome)
    with pytest.raises(SystemExit, match="2"):
        report(tmp_path, genome)
    assert [(x["row"], x["other_row"]) for x in table(tmp_path)] == [("0", "2")]


def test_without_leaks_takes_training_rows_with_their_pairs(tmp_path, genome):
    rows = [("chr1", 3000, 0), ("chr1", 3000, 0), ("chr1", 1100, 0), ("chr1", 1100, 0)]
    rows += [("chr1", 8000, 1), ("chr1", 1200, 1), ("chr2", 5500, 2), ("chr2", 5500, 2)]
    rng = np.random.default_rng(2)
    data = make(
        rows,
        stored=[-1, 1, -1, 0, -1, -1, -1, 2],
        sequences=rng.choice(np.frombuffer(b"ACGT", np.uint8), (3, WINDOW_BP)),
        labels=[1, 0, 1, 0, 1, 1, 1, 0],
        counts={"sites_read": 9, "positives_train": 2, "positives_validation": 2}
        | {"positives_test": 1},
    )
    left = without_leaks(data, genome)
    assert left.names == ["r0", "r1", "r4", "r6", "r7"]
    assert left.split.tolist() == [0, 0, 1, 2, 2]
    assert left.counts == {
        "sites_read": 9,
        "positives_train": 1,
        "positives_validation": 1,
        "positives_test": 1,
        "left_out_leaks_train": 2,
        "left_out_leaks_validation": 1,
    }
    assert data.counts["positives_train"] == 2
    write(tmp_path, left, genome)
    report(tmp_path, genome)
    made = LabelledSet(tmp_path / "set.h5", genome)
    assert made.sequence(1).encode() == data.sequences[1].tobytes()
    assert made.sequence(4).encode() == data.sequences[2].tobytes()


def test_a_clean_set_stays_as_it_is(genome):
    left = without_leaks(make(CLEAN), genome)
    assert left.names == ["r0", "r1", "r2"]
    assert left.counts == {"left_out_leaks_train": 0, "left_out_leaks_validation": 0}


def test_nothing_left_to_train_on_is_refused(genome):
    with pytest.raises(
        InputError, match=r"every training row \(1\) is nearly the same as a held-out"
    ):
        without_leaks(make(COPY), genome)
