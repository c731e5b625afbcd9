"""Background of chromatin sets: which bins without a peak are drawn, when, and what is said."""

import numpy as np
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.labelled.chromatin.chromatin_set_run import (
    draw_background,
)
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.splits import SplitConfig

HEADER = "label\tgroup\tcell\tpath\n"
VALIDATION = "--split.validation=[chr1:10001-14000]"


@pytest.fixture
def sheet(tmp_path):
    """A in bins 10 and 60 of chr1 and 20 of chr2, H in bin 30 of chr1; 20 bases of A in bin 32."""
    peaks = [("chr1", 2000, 2200), ("chr1", 12000, 12200), ("chr2", 4000, 4200), ("1", 6400, 6420)]
    (tmp_path / "a.bed").write_text("".join(f"{c}\t{s}\t{e}\n" for c, s, e in peaks))
    (tmp_path / "h.bed").write_text("chr1\t6000\t6200\n")
    path = tmp_path / "sheet.tsv"
    path.write_text(HEADER + "A\tTF\tX\ta.bed\nH\tHM\tX\th.bed\n")
    return path


def build(toy, sheet, *extra, name="set.h5", split=(VALIDATION, "--split.test=[chr2]")):
    output = sheet.with_name(name)
    words = [f"--genome={toy.path}", f"--peaks={sheet}", f"--output={output}", "--assembly=toy"]
    main(["chromatin-set", *words, "--window=1000", "--allow_empty_labels=true", *split, *extra])
    return LabelledSet(output, toy)


def background(made):
    """Rows without a label, as (chromosome, start of the bin, split)."""
    rows = np.flatnonzero(~made.labels.any(axis=1))
    return [(made.interval(i).chrom, int(made.bin_starts[i]), int(made.split[i])) for i in rows]


def test_few_labels_get_three_bins_without_a_peak_per_bin_with_one(toy, sheet):
    made = build(toy, sheet)
    assert made.labels.sum(axis=0).tolist() == [3, 1]  # the bin of H alone is kept too
    drawn = background(made)
    assert [sum(split == s for *_, s in drawn) for split in (0, 1, 2)] == [6, 3, 3]
    for chrom, start, split in drawn:
        assert (chrom == "chr2") == (split == 2)
        assert (start >= 10_400 and start + 600 <= 14_000) == (split == 1)
    assert made.counts["background_bins"] == 12
    assert "--require_group none " in made.command
    assert "--background 3 --seed 0 " in made.command


def test_every_bin_that_may_be_drawn_is_drawn_and_no_other(toy, sheet, tmp_path, capsys):
    """More are asked for than there are: whole windows without a peak, N in the bin or blacklist."""
    (tmp_path / "black.bed").write_text("chr2\t6199\t6200\n")
    made = build(toy, sheet, "--background=1000", f"--blacklist={tmp_path / 'black.bed'}")
    forbidden = {("chr1", start) for start in (2000, 6000, 6400, 12000)}  # a base with a peak
    forbidden |= {("chr1", 9000), ("chr2", 4000), ("chr2", 6000)}  # N, a peak, blacklisted
    expected = {
        (chrom, start)
        for chrom in ("chr1", "chr2")
        for start in range(400, toy.lengths[chrom] - 599, 200)
        if (chrom, start) not in forbidden
        and not (chrom == "chr1" and any(b - 600 < start < b + 400 for b in (10_000, 14_000)))
    }
    assert {(chrom, start) for chrom, start, _ in background(made)} == expected
    missing = made.counts["background_missing"]
    assert missing == 4000 - len(expected)
    assert f"note: background: {missing:,} bins fewer than asked for" in capsys.readouterr().err


def test_the_windows_of_a_chromosome_are_computed_once(toy, sheet, monkeypatch):
    asked = []
    splits_of = SplitConfig.splits_of

    def noted(self, chrom, starts, ends):
        asked.append(chrom)
        return splits_of(self, chrom, starts, ends)

    monkeypatch.setattr(SplitConfig, "splits_of", noted)
    assert build(toy, sheet).counts["background_bins"]
    assert sorted(asked) == ["chr1", "chr2"]  # those with a label


def test_the_seed_decides_and_nothing_else(toy, sheet):
    first = build(toy, sheet, name="a.h5")
    again = build(toy, sheet, name="b.h5")
    other = build(toy, sheet, "--seed=1", name="c.h5")
    assert first.path.read_bytes() == again.path.read_bytes()
    assert background(first) != background(other)
    chr1_only = build(toy, sheet, name="d.h5", split=(VALIDATION, "--split.test=[]"))
    on_chr1 = [x for x in background(first) if x[0] == "chr1"]
    assert [x for x in background(chr1_only) if x[0] == "chr1"] == on_chr1


@pytest.mark.parametrize("group", ["TF", "none", "all"])
def test_an_explicit_group_is_obeyed(toy, sheet, group):
    made = build(toy, sheet, f"--require_group={group}")
    assert bool(background(made)) == (group == "all")
    assert "background" not in made.command + str(made.counts)
    if group == "TF":
        both = build(toy, sheet, "--require_group=TF", "--background=2", name="both.h5")
        assert len(background(both)) == 2 * 3
        assert both.labels.sum(axis=0).tolist() == [3, 0]


def test_with_ten_labels_nothing_is_drawn_and_tf_is_required(toy, sheet, tmp_path):
    """As before; the bytes are those of an explicit --require_group TF."""
    rows = [f"chr1\t{1000 + 600 * i}\t{1200 + 600 * i}\tT{i}\n" for i in range(9)]
    (tmp_path / "t.bed").write_text("".join(rows))
    sheet.write_text(HEADER + "*\tTF\tX\tt.bed\nH\tHM\tX\th.bed\n")
    made = build(toy, sheet)
    assert len(made.label_names) == 10
    assert made.bin_starts.tolist() == [1000 + 600 * i for i in range(9)]
    explicit = build(toy, sheet, "--require_group=TF", name="explicit.h5")
    assert explicit.path.read_bytes() == made.path.read_bytes()
    sheet.write_text(HEADER + "*\tTF\tX\tt.bed\n")  # nine
    assert len(background(build(toy, sheet))) == 27


def test_folds_deal_background_too(toy, sheet, tmp_path):
    starts = [1000, 4000, 7000, 11000, 13000, 15000, 17000]
    (tmp_path / "h.bed").write_text("".join(f"chr1\t{s}\t{s + 200}\n" for s in starts))
    sheet.write_text(HEADER + "H\tHM\tX\th.bed\n")
    folds = ("--split.folds=3", "--split.fold=1")
    made = build(toy, sheet, "--background=1", split=folds)
    assert len(background(made)) == len(starts)
    assert set(made.split.tolist()) == {0, 1, 2}


def test_labels_of_most_rows_are_told(toy, sheet, capsys):
    build(toy, sheet, "--require_group=TF")
    note = (
        "dna-bigbird: note: 1 of 2 labels are positive in more than half of the 3 rows (A 100%): there is "
        "little background. For more bins without a peak: --background 3\n"
    )
    assert note in capsys.readouterr().err
    build(toy, sheet)
    assert "more than half" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--background=-1"], "--background -1"),
        (["--background=2", "--require_group=all"], "every bin is in the set already"),
    ],
)
def test_contradictions(toy, sheet, capsys, extra, message):
    with pytest.raises(SystemExit, match="2"):
        build(toy, sheet, *extra)
    assert message in capsys.readouterr().err


def test_a_draw_has_each_split_in_proportion():
    splits = np.repeat([0, 1, 2], [60, 35, 5]).astype(np.int8)
    positives = np.array([0, 0, 1, 2, 2], dtype=np.int8)
    places, missing = draw_background(splits, positives, 4, chrom="chr1", seed=0)
    assert np.bincount(splits[places]).tolist() == [8, 4, 5]
    assert missing == 3
    assert len(set(places.tolist())) == len(places)
    assert places.tolist() == sorted(places.tolist())
    renamed, _ = draw_background(splits, positives, 4, chrom="1", seed=0)
    assert renamed.tolist() == places.tolist()
