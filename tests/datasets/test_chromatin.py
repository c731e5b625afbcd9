"""Chromatin sets: the bin rule against base counting and the real file, rows, refusals."""

import csv
import gzip

import numpy as np
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.chromatin.chromatin_set_run import (
    ChromatinConfig,
    bins_with_any,
    label_bins,
)
from dna_bigbird.labelled.chromatin.peak_sheet import read_peaks, read_sheet
from dna_bigbird.labelled.labelled_set import LabelledSet

ALLOWED = ["--allow_empty_labels=true"]
HEADER = "label\tgroup\tcell\tpath\tprefix\n"


def write(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def build(tmp_path, toy, sheet, output="set.h5", extra=(), group="TF"):
    """Make and open a set; without `group` the command chooses what is kept."""
    path = write(tmp_path, "sheet.tsv", sheet)
    main(
        [
            "chromatin-set",
            f"--genome={toy.path}",
            f"--peaks={path}",
            f"--output={tmp_path / output}",
            "--assembly=toy",
            "--window=1000",
            "--split.validation=[chr1:10001-14000]",
            "--split.test=[chr2]",
            *([f"--require_group={group}"] if group else []),
            *extra,
        ]
    )
    return LabelledSet(tmp_path / output, toy)


@pytest.fixture
def three(tmp_path):
    """Peaks: A covers bin 10 of chr1 by 101 bases in two pieces, bin 60 and chr2's bin 20; B covers
    bin 10 by half only and bin 11 wholly; mark H covers bins 30 and 60 of chr1."""
    write(
        tmp_path,
        "a.bed",
        "chr1\t2000\t2060\nchr1\t2050\t2101\nchr1\t12000\t12200\nchr2\t4000\t4200\nchrUn\t1\t9\n",
    )
    write(tmp_path, "b.bed", "track name=b\r\n1 2100 2400\r\nchr2 4000 4150\r\n")
    write(tmp_path, "h.bed", "chr1\t6000\t6200\nchr1\t12000\t12200\n")
    return HEADER + "A\tTF\tX\ta.bed\nB\tTF\tX\tb.bed\nH\tHM\tX\th.bed\n"


def test_rows_by_hand(tmp_path, toy, three):
    made = build(tmp_path, toy, three, extra=ALLOWED)
    assert (made.label_names, made.label_groups) == (["A", "B", "H"], ["TF", "TF", "HM"])
    found = [
        (made.interval(i).chrom, int(made.bin_starts[i]), made.labels[i].tolist(), made.split[i])
        for i in range(len(made))
    ]
    assert found == [
        ("chr1", 2000, [1, 0, 0], 0),  # 101 of 200 bases of A; B has exactly half
        ("chr1", 2200, [0, 1, 0], 0),
        ("chr1", 12000, [1, 0, 1], 1),
        ("chr2", 4000, [1, 1, 0], 2),
    ]


def test_window_is_centred_and_comes_from_the_forward_strand(tmp_path, toy, three):
    made = build(tmp_path, toy, three, extra=ALLOWED)
    for i in range(len(made)):
        window = made.interval(i)
        assert (window.length, window.strand) == (1000, "+")
        assert made.bin_starts[i] - window.start == window.end - made.bin_starts[i] - 200 == 400
        assert made.sequence(i) == toy.fetch(window)


def test_required_group(tmp_path, toy, three, capsys):
    assert len(build(tmp_path, toy, three, extra=[*ALLOWED, "--require_group=none"])) == 5
    made = build(tmp_path, toy, three, extra=[*ALLOWED, "--require_group=HM"])
    assert made.bin_starts.tolist() == [6000, 12000]
    capsys.readouterr()
    message = refused(capsys, lambda: build(tmp_path, toy, three, extra=["--require_group=TFs"]))
    assert "--require_group TFs: no label belongs to this group; the groups are HM, TF" in message


def test_all_bins_may_be_kept(tmp_path, toy, three):
    """Every whole bin whose window is on the chromosome and across no border of 10,000..14,000."""
    made = build(tmp_path, toy, three, extra=[*ALLOWED, "--require_group=all"])
    expected = [
        (chrom, start)
        for chrom in ("chr1", "chr2")
        for start in range(0, toy.lengths[chrom], 200)
        if 400 <= start <= toy.lengths[chrom] - 600
        and not (chrom == "chr1" and any(b - 600 < start < b + 400 for b in (10_000, 14_000)))
    ]
    assert [(x.chrom, x.start + 400) for x in made.intervals] == expected
    labelled = made.labels.any(axis=1)
    assert made.bin_starts[labelled].tolist() == [2000, 2200, 6000, 12000, 4000]


def test_what_is_left_out_is_counted(tmp_path, toy):
    """First bin: its window starts at -400. Bin 22: window 4000..5000 fits; 45: N; 49: across."""
    peaks = [0, 4400, 8800, 9800, 11000, 19800]
    write(tmp_path, "a.bed", "".join(f"chr1\t{s}\t{s + 200}\n" for s in peaks) + "chrS\t0\t150\n")
    made = build(tmp_path, toy, HEADER + "A\tTF\tX\ta.bed\n", extra=["--max_n_fraction=0.09"])
    assert made.bin_starts.tolist() == [4400, 11000]
    assert {k: v for k, v in made.counts.items() if v} == {
        "peaks_read": 7,
        "labels_read": 1,
        "bins_with_a_label": 6,
        "left_out_window_past_the_end": 2,
        "left_out_window_with_n": 1,
        "left_out_window_across_splits": 1,
        "rows_train": 1,
        "rows_validation": 1,
    }


def test_blacklisted_bins_are_left_out(tmp_path, toy, three):
    """One base of bin 10; the base before bin 60; a chromosome that the genome does not have."""
    write(tmp_path, "b.bed.txt", "chr1\t2199\t2200\n1\t11000\t12000\nchrM\t0\t99999\n")
    blacklist = f"--blacklist={tmp_path / 'b.bed.txt'}"
    made = build(tmp_path, toy, three, extra=[*ALLOWED, blacklist])
    assert made.bin_starts.tolist() == [2200, 12000, 4000]
    assert made.counts["left_out_blacklisted_bin"] == 1
    assert "blacklist" in made.inputs


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("chr1\t5\t30000\n", "bad.bed:1: end 30,000 is beyond the end of chr1"),
        ("chrM\t5\t30\n", "bad.bed: none of its chromosomes (chrM) is in toy.fa (it has chr1"),
        ("chr1\t9\t5\n", "bad.bed:1: start 9 is beyond end 5"),
    ],
)
def test_bad_blacklists(tmp_path, toy, three, capsys, rows, message):
    path = write(tmp_path, "bad.bed", rows)
    extra = [*ALLOWED, f"--blacklist={path}"]
    assert message in refused(capsys, lambda: build(tmp_path, toy, three, extra=extra))
    assert not (tmp_path / "set.h5").exists()


def test_a_blacklist_may_go_past_a_piece(tmp_path, toy, three):
    path = write(tmp_path, "b.txt", "chr1\t2000\t90000\nchr2\t50000\t60000\n")
    extra = [*ALLOWED, f"--blacklist={path}", "--pieces=true", "--split.validation=[]"]
    with pytest.raises(SystemExit, match="2"):  # nothing is left of chr1
        build(tmp_path, toy, three, extra=extra)
    write(tmp_path, "b.txt", "chr1\t3000\t90000\nchr2\t50000\t60000\n")
    made = build(tmp_path, toy, three, extra=extra)
    assert made.bin_starts.tolist() == [2000, 2200, 4000]


def test_folds_keep_overlapping_windows_together(tmp_path, toy):
    starts = [1000, 1200, 4000, 4600, 7000, 11000, 13000, 15000, 17000, 17800]
    write(tmp_path, "a.bed", "".join(f"chr1\t{s}\t{s + 200}\n" for s in starts))
    path = write(tmp_path, "sheet.tsv", HEADER + "A\tTF\tX\ta.bed\n")
    main(
        [
            "chromatin-set",
            f"--genome={toy.path}",
            f"--peaks={path}",
            f"--output={tmp_path / 'set.h5'}",
            "--assembly=toy",
            "--window=1000",
            "--split.folds=3",
            "--split.fold=1",
            "--require_group=TF",
        ]
    )
    made = LabelledSet(tmp_path / "set.h5", toy)
    assert made.bin_starts.tolist() == starts
    assert set(made.split.tolist()) == {0, 1, 2}
    split = dict(zip(starts, made.split.tolist(), strict=True))
    for one, other in ((1000, 1200), (4000, 4600), (17000, 17800)):
        assert split[one] == split[other]


def test_near_identical_rows_may_be_dropped(tmp_path, toy):
    """The window of chr1's bin 5,200 stands again in chr2, which is the test."""
    text = toy.path.read_text()
    chr1 = text.split("\n")[1]
    start = text.index(">chr2") + 6 + 6000 - 400
    path = tmp_path / "twice.fa"
    path.write_text(text[:start] + chr1[4800:5800] + text[start + 1000 :])
    twice = Genome(path)
    write(
        tmp_path,
        "a.bed",
        "chr1\t2000\t2200\nchr1\t5200\t5400\nchr1\t12000\t12200\nchr2\t6000\t6200\n",
    )
    sheet = HEADER + "A\tTF\tX\ta.bed\n"
    assert build(tmp_path, twice, sheet).bin_starts.tolist() == [2000, 5200, 12000, 6000]
    made = build(tmp_path, twice, sheet, extra=["--near_identical=drop"])
    assert made.bin_starts.tolist() == [2000, 12000, 6000]
    assert (made.counts["left_out_leaks_train"], made.counts["rows_train"]) == (1, 1)


def test_cells_come_from_the_sheet(tmp_path, toy, three):
    made = build(tmp_path, toy, three, extra=ALLOWED)
    assert made.label_cells == ["X", "X", "X"]


def test_one_label_of_each_name(tmp_path, toy):
    write(
        tmp_path,
        "many.bed",
        "chr1\t1000\t1200\tCTCF\nchr1\t3000\t3200\tAR\nchr1\t3000\t3200\tCTCF\n",
    )
    made = build(tmp_path, toy, HEADER + "*\tTF\t\tmany.bed\tTFBS_\n")
    assert made.label_names == ["TFBS_AR", "TFBS_CTCF"]
    assert made.labels.tolist() == [[0, 1], [1, 1]]


def test_rare_labels_go_before_the_rows_are_chosen(tmp_path, toy):
    write(tmp_path, "r.bed", "chr1\t1000\t1200\tA\nchr1\t3000\t3200\tA\nchr1\t7000\t7200\tB\n")
    made = build(tmp_path, toy, HEADER + "*\tTF\t\tr.bed\n", extra=["--min_positive=2"])
    assert (made.label_names, made.bin_starts.tolist()) == (["A"], [1000, 3000])


def build_bins(genome, labels):
    """Every bin that the merged peaks of some label cover by more than half: chromosome, number, labels."""
    rows = []
    for rank, (chrom, length) in enumerate(genome.lengths.items()):
        numbers = bins_with_any(labels, chrom, 200, length)
        packed = label_bins(labels, chrom, numbers)
        rows += [[rank, i, *on] for i, on in zip(numbers.tolist(), packed[:].tolist(), strict=True)]
    return np.array(rows)


@pytest.mark.parametrize("seed", range(3))
def test_bins_against_counting_bases(tmp_path, toy, seed):
    rng = np.random.default_rng(seed)
    sheet, covered = HEADER, {}
    for label in "PQR":
        rows = []
        for _ in range(40):
            chrom = str(rng.choice(["chr1", "chr2", "chrS"]))
            start = int(rng.integers(0, toy.lengths[chrom] - 1))
            end = min(toy.lengths[chrom], start + int(rng.integers(1, 500)))
            rows.append(f"{chrom}\t{start}\t{end}\n")
            painted = covered.setdefault((label, chrom), np.zeros(toy.lengths[chrom], bool))
            painted[start:end] = True
        write(tmp_path, f"{label}.bed", "".join(rows))
        sheet += f"{label}\tTF\tX\t{label}.bed\n"
    labels, _, _ = read_peaks(read_sheet(write(tmp_path, "s.tsv", sheet)), toy)
    bins = build_bins(toy, labels)

    expected = []
    for rank, (chrom, length) in enumerate(toy.lengths.items()):
        for i in range(length // 200):
            on = [
                (label, chrom) in covered
                and covered[label, chrom][200 * i : 200 * i + 200].sum() > 100
                for label in "PQR"
            ]
            if any(on):
                expected.append([rank, i, *map(int, on)])
    assert bins.tolist() == expected


def test_equal_inputs_give_equal_bytes(tmp_path, toy, three):
    for name in ("a.h5", "b.h5"):
        build(tmp_path, toy, three, name, ALLOWED)
    first = (tmp_path / "a.h5").read_bytes()
    assert first == (tmp_path / "b.h5").read_bytes()
    assert str(tmp_path).encode() not in first


def refused(capsys, call):
    with pytest.raises(SystemExit, match="2") as stop:
        call()
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_label_without_positive(tmp_path, toy, three, capsys):
    write(tmp_path, "h.bed", "chr1\t6000\t6100\n")  # half of a bin, and no more anywhere
    message = refused(capsys, lambda: build(tmp_path, toy, three))
    assert "h.bed: label 'H' has no positive: no 200-bp bin is covered by more than half" in message
    write(tmp_path, "h.bed", "chr1\t12000\t12200\n")
    message = refused(capsys, lambda: build(tmp_path, toy, three))
    assert "h.bed: label 'H' has no positive: no row of the training split has it" in message
    assert "--allow_empty_labels true" in message
    build(tmp_path, toy, three, extra=ALLOWED)
    assert "dna-bigbird: note: no positive in the training split: H\n" in capsys.readouterr().err
    write(tmp_path, "h.bed", "# nothing\n")
    message = refused(capsys, lambda: build(tmp_path, toy, three))
    assert "h.bed: no peak in it, so label 'H' has no positive" in message


@pytest.mark.parametrize(
    ("sheet", "message"),
    [
        ("label\tgroup\tpath\nA\tTF\ta.bed\n", "sheet.tsv:1: the header lacks cell"),
        ("label group cell path\n", "sheet.tsv:1: the header lacks label, group, cell, path"),
        (HEADER, "sheet.tsv: no row in it"),
        (HEADER + "A\tTF\tX\tgone.bed\n", "sheet.tsv:2: there is no file"),
        (HEADER + "A TF X a.bed\n", "sheet.tsv:2: nothing in the column group. Are there tabs"),
        (
            HEADER + 2 * "A\tTF\tX\ta.bed\n",
            "sheet.tsv:3: label 'A' from a.bed is already in line 2",
        ),
        (HEADER + "*\tTF\tX\ta.bed\n", "a.bed:1: no name in column 4"),
        (HEADER + "A\tTF\tX\tbeyond.bed\n", "beyond.bed:1: end 30,000 is beyond the end of chr1"),
    ],
)
def test_bad_sheets(tmp_path, toy, three, capsys, sheet, message):
    write(tmp_path, "beyond.bed", "chr1\t100\t30000\n")
    assert message in refused(capsys, lambda: build(tmp_path, toy, sheet))
    assert not (tmp_path / "set.h5").exists()


def test_peaks_beyond_a_piece_may_be_left_out(tmp_path, toy):
    write(tmp_path, "a.bed", "chr1\t1000\t1200\nchr1\t20000\t20200\n")
    made = build(tmp_path, toy, HEADER + "A\tTF\tX\ta.bed\n", extra=["--pieces=true"])
    assert (len(made), made.counts["left_out_beyond_the_piece"]) == (1, 1)


def test_contradictory_settings(tmp_path, toy, three, capsys):
    message = refused(capsys, lambda: build(tmp_path, toy, three, extra=["--window=1001"]))
    assert "--window 1001 cannot be centred on --bin 200" in message
    with pytest.raises(ValueError, match="--window 100 is shorter than --bin 200"):
        ChromatinConfig(window=100)
    with pytest.raises(ValueError, match="--window 1001 cannot be centred on --bin 200"):
        ChromatinConfig(window=1001)


def test_real_bins_equal_the_independently_built_table(real_data, tmp_path):
    """All 5,611 bins with all their labels, from the three peak files."""
    folder = real_data / "chromatin"
    # A genome of the right length without bases is enough: bins depend on peaks only.
    (tmp_path / "chr22.fa").write_text(
        ">chr22\n" + "N" * 21_000_000 + "\n>chr17\n" + "N" * 1_000_000
    )
    sheet = write(
        tmp_path,
        "sheet.tsv",
        HEADER
        + f"*\tTF\t\t{folder / 'encode_tfbs_clustered_hg19_chr22_1-21000000.bed.gz'}\tTFBS_\n"
        + f"*\tTF\t\t{folder / 'encode_ctcf_rad21_hg19_chr17_chr22.bed.gz'}\n"
        + "HeLa-S3_H3K4me3_None\tHM\tHeLa-S3\t"
        + f"{folder / 'encode_h3k4me3_hela_hg19_chr22_1-21000000.broadPeak.gz'}\n",
    )
    genome = Genome(tmp_path / "chr22.fa")
    labels, _, _ = read_peaks(read_sheet(sheet), genome)
    bins = build_bins(genome, labels)
    names = np.array([x.name for x in labels])
    ours = {
        (int(number) * 200, frozenset(names[np.array(row, bool)]))
        for rank, number, *row in bins
        if rank == 0
    }
    table = folder / "multilabel_200bp_bins_hg19_chr22_16050000-21000000.tsv.gz"
    with gzip.open(table, "rt") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert len(rows) == 5611
    assert ours == {(int(r["start"]), frozenset(r["labels"].split(","))) for r in rows}
    assert (bins[:, 2:].sum(axis=0) >= 50).sum() == 124
