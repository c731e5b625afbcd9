"""`dna-bigbird rank-variants`: which variants take part, what is written, what is refused."""

import json

import numpy as np
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.pipeline.known_variants import read_truth
from dna_bigbird.pipeline.variant_baselines import gc_changes

TRUTH = [
    ("101", "A", "C", "EFFECT=break;LABEL=CTCF,RAD21;FACTOR=CTCF"),
    ("151", "A", "C", "EFFECT=none;LABEL=JUN"),
    ("201", "A", "G", "EFFECT=none"),
    ("251", "A", "T", "EFFECT=create;LABEL=JUN"),
    ("301", "A", "C", "EFFECT=break;LABEL=JUN"),
]
SCORES = [(-3.0, 0.5), (0.1, 0.2), (0.0, -0.4), (0.0, 2.0), (0.0, -0.3)]
"""Of CTCF and JUN."""


@pytest.fixture
def files(tmp_path):
    header = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
    rows = "".join(f"chr1\t{p}\tv{p}\t{r}\t{a}\t.\t.\t{i}\n" for p, r, a, i in TRUTH)
    (tmp_path / "truth.vcf").write_text(header + rows)
    lines = ["chrom\tpos\tid\tref\talt\tCTCF_diff\tCTCF_log_odds\tJUN_diff\tJUN_log_odds"]
    for (p, r, a, _), (ctcf, jun) in zip(TRUTH, SCORES, strict=True):
        lines.append(f"chr1\t{p}\tv{p}\t{r}\t{a}\t9\t{ctcf}\t9\t{jun}")
    (tmp_path / "scores.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "genome.fa").write_text(f">chr1\n{'A' * 400}\n")
    return tmp_path


def rank(folder, *arguments) -> int:
    try:
        main(
            [
                "rank-variants",
                "--scores",
                str(folder / "scores.tsv"),
                "--truth",
                str(folder / "truth.vcf"),
                "--genome",
                str(folder / "genome.fa"),
                "--output",
                str(folder / "out"),
                *arguments,
            ]
        )
    except SystemExit as error:
        return error.code
    return 0


def test_metrics_and_table(files):
    """Largest: broken 3, 0.3, neutral 0.2, 0.4. Down in own labels: broken 3, 0.3, neutral -0.2."""
    assert rank(files) == 0
    metrics = json.loads((files / "out/metrics.json").read_text())
    assert metrics["auroc_break"] == 0.75
    assert metrics["auroc_break_own_label"] == 1
    assert metrics["n_break_own_label"] == 3
    assert metrics["auroc_create"] == 1
    assert (metrics["n"], metrics["n_labels"], metrics["split"]) == (5, 2, "all")
    assert metrics["semi_synthetic"] is True
    # A to C or G gains one: of both broken and both neutral variants.
    assert metrics["baselines"]["gc"]["auroc_break"] == 0.5
    header, *rows = [x.split("\t") for x in (files / "out/ranked.tsv").read_text().splitlines()]
    table = [dict(zip(header, row, strict=True)) for row in rows]
    assert [row["model_largest"] for row in table] == ["3", "0.2", "0.4", "2", "0.3"]
    assert [row["model_own_label"] for row in table] == ["-3", "0.2", "nan", "2", "-0.3"]


def test_regions_count_from_1_with_both_ends(files):
    truth = read_truth(files / "truth.vcf", ["chr1:101-151", "chr1:300-301"])
    assert truth.effects == ["break", "none", "break"]
    assert truth.labels == [{"CTCF", "RAD21"}, {"JUN"}, {"JUN"}]


def test_gc_changes(files):
    truth = read_truth(files / "truth.vcf", None)
    np.testing.assert_array_equal(gc_changes(truth.variants)[:, 0], [1, 1, 1, 0, 1])


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (("scores.tsv", "chrom\t", "seq\t"), (), "scores.tsv:1: expected the columns chrom, pos"),
        (
            ("scores.tsv", "0.2\n", "x\n"),
            (),
            "scores.tsv:3: 9 columns, the header has 9, and scores",
        ),
        (("scores.tsv", "chr1\t201", "chr1\t202"), (), "truth.vcf:5: chr1:201 A>G is not in"),
        (("scores.tsv", "-0.4", "nan"), (), "scores.tsv: no score of chr1:201"),
        (("truth.vcf", "EFFECT=create", "EFFECT=odd"), (), "truth.vcf:6: expected one allele and"),
        (None, ("--regions", '["chr2:1-5"]'), "truth.vcf: no variant in --regions to rank"),
        (None, ("--regions", '["chr2"]'), "--regions 'chr2' is not a region"),
        (None, ("--block_bp", "0"), "--block_bp 0: expected at least 1"),
    ],
)
def test_what_cannot_be_ranked_is_one_line(files, capsys, change, arguments, message):
    if change:
        name, old, new = change
        text = (files / name).read_text()
        assert old in text
        (files / name).write_text(text.replace(old, new))
    assert rank(files, *arguments) == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (files / "out").exists()
