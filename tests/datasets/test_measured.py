"""Labels that were not measured in a region: bins by base counting, the file, what is refused."""

import dataclasses
import gzip
import json
import re
from pathlib import Path

import h5py
import numpy as np
import pytest

from dna_bigbird.bundles.info import describe_labelled
from dna_bigbird.cli.main import main
from dna_bigbird.evaluation.compare_heads_run import areas_of
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_data import PackedLabels
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import LabelScores, write_scores
from tests.bedtools_program import needs_bedtools

HEADER = "label\tgroup\tcell\tpath\tmeasured\n"
BIN, REGIONS = 200, [("chr1", 0, 6_100), ("chr1", 6_100, 9_999), ("chr2", 2_000, 12_000)]
"""Bins 0 to 48 of chr1 are inside (two regions that touch), 49 is not with its last base; bins 10 to 59 of chr2."""

SPLIT = ("chr1:4001-7000", "chr2:8001-12000")


def build(tmp_path, toy, sheet, *extra, split=SPLIT, name="set.h5"):
    (tmp_path / "sheet.tsv").write_text(sheet)
    main(
        ["chromatin-set", f"--genome={toy.path}", f"--peaks={tmp_path / 'sheet.tsv'}", "--assembly=toy",
         f"--output={tmp_path / name}", "--window=1000",
            "--require_group=none",
         f"--split.validation=[{split[0]}]", f"--split.test=[{split[1]}]", *extra]
    )  # fmt: skip
    return LabelledSet(tmp_path / name, toy)


@pytest.fixture
def sheet(tmp_path):
    """A is measured everywhere, B in `REGIONS`; A has every third bin, B every fourth."""
    for name, step in (("a", 3), ("b", 4)):
        peaks = [(chrom, n * BIN) for chrom in ("chr1", "chr2") for n in range(3, 55, step)]
        text = "".join(f"{chrom}\t{start}\t{start + BIN}\n" for chrom, start in peaks)
        (tmp_path / f"{name}.bed").write_text(text)
    (tmp_path / "b.measured.bed").write_text("".join(f"{c}\t{s}\t{e}\n" for c, s, e in REGIONS))
    return HEADER + "A\tTF\tX\ta.bed\nB\tTF\tX\tb.bed\tb.measured.bed\n"


def is_inside(chrom, start):
    """Every base of the bin is in a region."""
    return all(
        any(c == chrom and s <= at < e for c, s, e in REGIONS) for at in range(start, start + BIN)
    )


def place(made, row):
    return made.interval(row).chrom, int(made.bin_starts[row])


def test_a_bin_outside_of_the_measured_regions_has_no_label(tmp_path, toy, sheet):
    made = build(tmp_path, toy, sheet)
    labels = made.labels
    inside = np.array([is_inside(*place(made, row)) for row in range(len(made))])
    numbers = made.bin_starts // BIN
    assert 0 < (~inside).sum() < len(made)
    assert not np.isnan(labels[:, 0]).any()
    assert (np.isnan(labels[:, 1]) == ~inside).all()
    assert (labels[inside, 1] == (numbers[inside] % 4 == 3)).all()
    assert made.packed_labels.measured().tolist() == [len(made), inside.sum()]
    assert made.packed_labels.positives().tolist() == np.nansum(labels, axis=0).tolist()
    assert made.counts["positives_not_measured"] == sum(
        not is_inside(chrom, n * BIN) for chrom in ("chr1", "chr2") for n in range(3, 55, 4)
    )


def test_a_row_needs_a_measured_label(tmp_path, toy, sheet):
    """Outside of B's regions A makes a bin a row; without A there is none, as a background neither."""
    made = build(tmp_path, toy, sheet)
    kept = {place(made, row) for row in range(len(made))}
    assert {n for n in range(49, 55) if ("chr1", n * BIN) in kept} == {51, 54}, "those of A"
    assert ("chr2", 7 * BIN) not in kept, "B alone has it"
    only_b = HEADER + "B\tTF\tX\tb.bed\tb.measured.bed\n"
    every = build(tmp_path, toy, only_b, "--require_group=all")
    assert all(is_inside(*place(every, row)) for row in range(len(every)))
    assert every.counts["left_out_bin_not_measured"] == 20_000 // BIN - 49 + 10
    drawn = build(tmp_path, toy, only_b, "--background=50")
    assert drawn.counts["background_bins"] > 0
    assert all(is_inside(*place(drawn, row)) for row in range(len(drawn)))


def test_a_set_without_missing_cells_keeps_its_bytes(tmp_path, toy, sheet):
    before = build(tmp_path, toy, sheet.replace("\tb.measured.bed", ""), name="before.h5")
    narrow = "label\tgroup\tcell\tpath\nA\tTF\tX\ta.bed\nB\tTF\tX\tb.bed\n"
    build(tmp_path, toy, narrow, name="without.h5")
    assert (tmp_path / "before.h5").read_bytes() == (tmp_path / "without.h5").read_bytes()
    assert before.labels.dtype == np.uint8


def test_a_set_is_described_with_what_was_measured(tmp_path, toy, sheet, capsys):
    made = build(tmp_path, toy, sheet)
    missing = int(np.isnan(made.labels).sum())
    assert f"1 of 2 labels were not measured in all rows: {missing:,} of" in capsys.readouterr().err
    facts = describe_labelled(tmp_path / "set.h5")
    assert facts["cells_not_measured"] == missing
    first, second = facts["first_labels"]
    assert (first["rows_measured"], second["rows_measured"]) == (len(made), len(made) - missing)
    assert json.dumps(facts)
    frame = made.to_dataframe()
    assert frame["B"].isna().sum() == missing


def test_rows_are_kept_and_joined_with_what_is_missing():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, size=(50, 11)).astype(np.float32)
    missing = rng.random((50, 11)) < 0.3
    truth[missing] = np.nan
    packed = dataclasses.replace(
        PackedLabels.of(np.nan_to_num(truth)), missing=np.packbits(missing, axis=1)
    )
    rows = rng.permutation(50)[:20]
    for made, expected in (
        (packed[:], truth),
        (packed[7], truth[7]),
        (packed.keep(rows)[:], truth[rows]),
        (
            PackedLabels.joined([packed.keep(rows), packed], 11)[:],
            np.concatenate([truth[rows], truth]),
        ),
    ):
        np.testing.assert_array_equal(made, expected)
    assert packed.positives(rows).tolist() == (truth[rows] == 1).sum(axis=0).tolist()
    assert packed.measured(rows).tolist() == (~missing[rows]).sum(axis=0).tolist()
    bits_below = rng.integers(0, 256, size=packed.bits.shape).astype(np.uint8)
    noisy = dataclasses.replace(
        packed,
        bits=np.where(packed.missing, packed.bits | bits_below & packed.missing, packed.bits),
    )
    np.testing.assert_array_equal(noisy[:], truth)
    assert noisy.positives().tolist() == packed.positives().tolist()
    whole = PackedLabels.of(np.nan_to_num(truth))
    assert dataclasses.replace(whole, missing=np.zeros_like(whole.bits)).missing is None


def test_an_earlier_program_does_not_take_missing_cells_for_negatives(tmp_path, toy, sheet):
    """Its readers stop at versions after 3."""
    data = build(tmp_path, toy, sheet)
    assert data.packed_labels.missing is not None
    with h5py.File(tmp_path / "set.h5") as file:
        assert file.attrs["format_version"] == 4


def test_models_of_two_windows_are_compared_on_the_same_measured_cells(tmp_path, toy, sheet):
    paths = [tmp_path / name for name in ("wide.h5", "narrow.h5")]
    for path, window in zip(paths, (1000, 600), strict=True):
        split = ("chr2:8001-12000", "chr1:4001-18000")
        made = build(tmp_path, toy, sheet, f"--window={window}", split=split, name=path.name)
        rows = made.rows("test")
        scores = LabelScores(
            name="model",
            description="noise",
            label_names=made.label_names,
            rows=rows,
            values=np.random.default_rng(window).random((len(rows), 2)).astype(np.float32),
            set_sha256="",
        )
        (tmp_path / "evaluation" / path.stem).mkdir(parents=True)
        write_scores(tmp_path / "evaluation" / path.stem / "scores.h5", scores)
    names = [path.stem for path in paths]
    (wide, narrow), _ = areas_of(tmp_path, names, paths, seed=0, replicates=5)
    assert wide.measured[1] < wide.measured[0] == wide.n
    assert wide.measured.tolist() == narrow.measured.tolist()


@needs_bedtools
def test_bedtools_compares_the_measured_cells(tmp_path, toy, sheet, capsys):
    made = build(tmp_path, toy, sheet, "--check_every=1")
    assert f"the labels of {len(made):,} of {len(made):,} bins are those" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        (None, r"sheet\.tsv:3: there is no BED file of measured regions .*b\.measured\.bed"),
        ("", r"b\.measured\.bed: no region in it; expected those where label 'B' was measured"),
        ("chr1\t5\t30000\n", r"b\.measured\.bed:1: end 30,000 is beyond the end of chr1"),
        ("chrQ\t5\t30\n", r"b\.measured\.bed: none of its chromosomes \(chrQ\) is in toy\.fa"),
        ("chrS\t0\t150\n", r"b\.bed: label 'B' has no positive"),
    ],
)  # fmt: skip
def test_bad_regions(tmp_path, toy, sheet, capsys, regions, message):
    if regions is None:
        (tmp_path / "b.measured.bed").unlink()
    else:
        (tmp_path / "b.measured.bed").write_text(regions)
    with pytest.raises(SystemExit, match="2"):
        build(tmp_path, toy, sheet)
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert re.search(message, text)
    assert not (tmp_path / "set.h5").exists()


def test_real_labels_on_chr17_are_of_the_factors_measured_there(real_data, tmp_path):
    """The sheet of tests/real: 52 training rows are on chr17, where only CTCF and Rad21 were measured."""
    here = Path(__file__).parents[1] / "real"
    text = (here / "peaks.tsv").read_text().replace("../../../shared/data", str(real_data))
    (tmp_path / "chr22.bed").write_text((here / "chr22.bed").read_text())
    genome = tmp_path / "genome.fa"
    genome.write_text(">chr17\n" + "A" * 1_000_000 + "\n>chr22\n" + "A" * 21_000_000 + "\n")
    split = ("chr22:20000001-20500000", "chr22:19500001-20000000")
    made = build(tmp_path, Genome(genome), text, "--min_positive=50", split=split)
    peaks = real_data / "chromatin" / "encode_ctcf_rad21_hg19_chr17_chr22.bed.gz"
    with gzip.open(peaks, "rt") as lines:
        of_both = {line.split()[3] for line in lines}
    is_17 = made.intervals.chrom == made.intervals.chromosomes.index("chr17")
    assert (is_17 & (made.split == 0)).sum() == is_17.sum() == 52
    elsewhere = np.array([name not in of_both for name in made.label_names])
    assert elsewhere.sum() == len(made.label_names) - 6
    assert (np.isnan(made.labels) == is_17[:, None] & elsewhere).all()
