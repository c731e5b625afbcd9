"""Peak files named one by one: labels, refusals, and the same set as from a sheet."""

import gzip
import re
from pathlib import Path

import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.labelled.chromatin.peak_sheet import label_of, peak_rows
from dna_bigbird.labelled.labelled_set import LabelledSet
from tests.tiny_bundle import draw_dna

SPLIT = "--split.validation chr1:20,001-25,000 --split.test chr1:25,001-30,000"


@pytest.fixture
def files(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("g.fa").write_text(f">chr1\n{draw_dna(30_000, 1)}\n")
    rows = [(start, start + 300) for start in range(1000, 29_000, 1700)]
    Path("CTCF.narrowPeak").write_text("".join(f"chr1\t{a}\t{b}\n" for a, b in rows))
    with gzip.open("H3K4me3.broadPeak.gz", "wt") as text:
        text.write("track name=x\n" + "".join(f"chr1\t{a + 500}\t{b + 500}\tp\n" for a, b in rows))
    Path("sheet.tsv").write_text(
        "label\tgroup\tcell\tpath\nA\tTF\t\tCTCF.narrowPeak\nB\tTF\t\tH3K4me3.broadPeak.gz\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("K562_CTCF.bed", "K562_CTCF"),
        ("a/ENCFF1.NARROWPEAK.gz", "ENCFF1"),
        ("x.bed9.bgz", "x"),
        ("rep1.v2.peaks", "rep1.v2"),
        (".bed", ".bed"),
        ("plain", "plain"),
    ],
)
def test_the_label_of_a_file(name, label):
    assert label_of(Path(name)) == label


def test_labels_come_from_names_or_files(files):
    rows = peak_rows([Path("CTCF.narrowPeak"), Path("mark=H3K4me3.broadPeak.gz")])
    assert [(row.label, row.path.name) for row in rows] == [
        ("CTCF", "CTCF.narrowPeak"),
        ("mark", "H3K4me3.broadPeak.gz"),
    ]


def test_one_file_of_peaks_is_no_sheet(files):
    assert [row.label for row in peak_rows(Path("CTCF.narrowPeak"))] == ["CTCF"]
    assert [row.label for row in peak_rows(Path("sheet.tsv"))] == ["A", "B"]


@pytest.mark.parametrize(
    ("peaks", "message"),
    [
        ("CTCF.narrowPeak CTCF=H3K4me3.broadPeak.gz", "both make the label 'CTCF'"),
        ("CTCF.narrowPeak sheet.tsv", "sheet.tsv: expected BED"),
        ("CTCF.narrowPeak absent.bed", "absent.bed: no such file"),
        ("x=absent.bed", "absent.bed: no such file"),
        ("=CTCF.narrowPeak", "expected NAME=FILE"),
        ("header.bed.gz", "header.bed.gz: expected BED rows .*delete a row with column names"),
    ],
)
def test_wrong_peaks_are_refused(files, peaks, message):
    with gzip.open("header.bed.gz", "wt") as text:
        text.write("chrom\tstart\tend\nchr1\t100\t400\n")
    with pytest.raises(InputError, match=message):
        peak_rows([Path(text) for text in peaks.split()])


@pytest.mark.parametrize("name", ["ctcf.bedGraph", "ctcf.bdg.gz", "CTCF.BG"])
def test_signal_is_not_peaks(files, name):
    rows = "chr1\t100\t400\t2.5\n"
    with gzip.open(name, "wt") if name.endswith(".gz") else open(name, "w") as text:
        text.write(rows)
    with pytest.raises(InputError, match=re.escape(name)):
        peak_rows([Path(name)])


def test_the_set_is_that_of_a_sheet(files):
    common = f"chromatin-set --genome g.fa --assembly toy {SPLIT} --window 400"
    main(f"{common} --peaks A=CTCF.narrowPeak B=H3K4me3.broadPeak.gz --output files.h5".split())
    main(f"{common} --peaks sheet.tsv --output sheet.h5".split())
    ours, theirs = LabelledSet("files.h5"), LabelledSet("sheet.h5")
    assert ours.label_names == theirs.label_names == ["A", "B"]
    assert ours.labels.tolist() == theirs.labels.tolist()
    assert ours.bin_starts.tolist() == theirs.bin_starts.tolist()


def test_few_labels_get_a_shorter_window(files):
    main(
        f"chromatin-set --genome g.fa --assembly toy {SPLIT} --peaks sheet.tsv --output s.h5".split()
    )
    assert LabelledSet("s.h5").window_bp == 2000


def test_many_labels_of_one_file_need_no_group(files):
    names = [f"factor{number}" for number in range(11)]
    starts = [*range(1000, 19_000, 1700), 25_200]
    Path("clustered.bed").write_text(
        "".join(f"chr1\t{start}\t{start + 300}\t{name}\n" for start in starts for name in names)
    )
    common = f"chromatin-set --genome g.fa --assembly toy {SPLIT} --window 400 --output s.h5"
    main([*common.split(), "--peaks", "*=clustered.bed"])
    assert sorted(LabelledSet("s.h5").label_names) == sorted(names)


def test_a_region_without_peaks_is_named(files, capsys):
    common = "chromatin-set --genome g.fa --assembly toy --window 400 --background 0 --output s.h5"
    held_out = "--peaks CTCF.narrowPeak --split.test chr1:29,501-30,000"
    main(f"{common} {held_out}".split())
    assert "none is in chr1:29,501-30,000;" in capsys.readouterr().err


def test_a_set_without_held_out_rows_is_noted(files, capsys):
    common = "chromatin-set --genome g.fa --assembly toy --peaks sheet.tsv --output s.h5"
    main(f"{common} --window 400".split())
    assert "note: no row for validation and test, which finetune and" in capsys.readouterr().err
    main(f"{common} --window 400 --split.test chr1:25,001-30,000".split())
    assert "note: no row for validation, which finetune and" in capsys.readouterr().err
    main(f"{common} --window 400 {SPLIT}".split())
    assert "no row for" not in capsys.readouterr().err


def test_a_peak_file_is_not_overwritten(files, capsys):
    before = Path("CTCF.narrowPeak").read_bytes()
    Path("peaks.h5").hardlink_to("CTCF.narrowPeak")
    with pytest.raises(SystemExit, match="2"):
        main(
            f"chromatin-set --genome g.fa --assembly toy {SPLIT} --peaks A=CTCF.narrowPeak "
            "--output peaks.h5".split()
        )
    assert "would be overwritten" in capsys.readouterr().err
    assert Path("CTCF.narrowPeak").read_bytes() == before


def test_a_baseline_needs_held_out_rows(files, capsys):
    main(
        [
            "chromatin-set",
            "--genome",
            "g.fa",
            "--assembly",
            "toy",
            "--peaks",
            "sheet.tsv",
            "--output",
            "s.h5",
        ]
    )
    with pytest.raises(SystemExit, match="2"):
        main(["baseline", "--genome", "g.fa", "--data", "s.h5", "--output", "kmer.h5"])
    assert "s.h5: no row for validation or test" in capsys.readouterr().err
    assert not Path("kmer.h5").exists()


def test_a_label_may_have_an_equals_sign(tmp_path):
    (tmp_path / "a=b.bed").write_text("chr1\t0\t200\n")
    (row,) = peak_rows([Path(f"x=y={tmp_path}/a=b.bed")])
    assert (row.label, row.path) == ("x=y", tmp_path / "a=b.bed")
