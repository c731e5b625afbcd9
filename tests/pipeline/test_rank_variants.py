"""`dna-bigbird rank-variants`: which variants take part, what is written, what is refused."""

import json

import numpy as np
import pytest

from dna_bigbird.baselines import base_two_sided
from dna_bigbird.cli.main import main
from dna_bigbird.evaluation import rank_variants_baselines
from dna_bigbird.evaluation.rank_variants_baselines import count_changes, gc_changes
from dna_bigbird.evaluation.rank_variants_run import read_truth
from dna_bigbird.genome import Genome
from dna_bigbird.genome.variants import Variant

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


def rank(folder, *arguments, scores=None) -> int:
    try:
        main(
            [
                "rank-variants",
                "--scores",
                *(scores or [str(folder / "scores.tsv")]),
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


def write_likelihood(folder, name="likelihood_log_ratio"):
    lines = [f"chrom\tpos\tid\tref\talt\t{name}"]
    for (p, r, a, _), value in zip(TRUTH, [-4.0, 1.0, -2.0, 0.5, -0.5], strict=True):
        lines.append(f"chr1\t{p}\tv{p}\t{r}\t{a}\t{value}")
    (folder / "likelihood.tsv").write_text("\n".join(lines) + "\n")


def rank_named(folder, *arguments):
    scores = [f"net={folder / 'scores.tsv'}", f"masked={folder / 'likelihood.tsv'}"]
    return rank(folder, *arguments, scores=scores)


@pytest.mark.parametrize("name", ["likelihood_log_ratio", "embedding_distance"])
def test_several_tables_are_compared_on_the_same_variants(files, name):
    """Largest by the likelihood: broken 4, 0.5, neutral 1, 2."""
    write_likelihood(files, name)
    assert rank_named(files) == 0
    metrics = json.loads((files / "out/metrics.json").read_text())
    assert metrics["auroc_break"] == 0.75
    masked = metrics["baselines"]["masked"]
    assert masked["auroc_break"] == 0.5
    assert metrics["auroc_break_gain_over_masked"] == 0.25
    assert "auroc_break_own_label" not in masked
    rows = [x.split("\t") for x in (files / "out/sources.tsv").read_text().splitlines()]
    table = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    assert [(row["source"], row["question"]) for row in table][:5] == [
        ("net", "break"), ("net", "break_own_label"), ("net", "create"),
        ("net", "create_own_label"), ("masked", "break"),
    ]  # fmt: skip
    assert (table[4]["n"], table[4]["n_positive"], table[4]["auroc"]) == ("4", "2", "0.5")
    assert table[0]["minus_kmer"] == "nan"
    header = (files / "out/ranked.tsv").read_text().split("\n")[0].split("\t")
    assert header[6:] == ["net_largest", "net_own_label", "masked_largest", "gc_largest"]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (["kmer=scores.tsv"], "--scores kmer="),
        (["a=scores.tsv", "a=likelihood.tsv"], "--scores: a is given twice"),
        (["a=scores.tsv", "b=other.tsv"], "other.tsv: its labels are not those of"),
    ],
)
def test_tables_that_cannot_be_compared_are_refused(files, capsys, monkeypatch, scores, message):
    write_likelihood(files)
    text = (files / "scores.tsv").read_text()
    (files / "other.tsv").write_text(text.replace("JUN_", "REST_"))
    monkeypatch.chdir(files)
    assert rank(files, scores=scores) == 2
    assert message in capsys.readouterr().err
    assert not (files / "out").exists()


def test_counting_gives_the_log_ratio_of_the_two_bases(files, monkeypatch):
    """Each hidden base is asked for with the bases around it, from the joined training windows."""
    bases = "".join(np.random.default_rng(3).choice(list("ACGT"), 400))
    (files / "genome.fa").write_text(f">chr1\n{bases}\n")
    genome = Genome(files / "genome.fa")
    rows = [(0, 150), (100, 200), (260, 330)]

    class Set:
        def rows(self, split):
            return {"train": [0, 1, 2]}[split]

        def interval(self, row):
            return rank_variants_baselines.Interval("chr1", *rows[row])

    monkeypatch.setattr(rank_variants_baselines, "open_labelled_set", lambda data, genome: Set())
    variants = []
    for pos in (5, 210, 240):
        ref = bases[pos - 1]
        alt = "A" if ref != "A" else "G"
        variants.append(Variant("chr1", pos, ".", ref, (alt,), line=1))
    found = count_changes(variants, genome, files)
    mixture = base_two_sided.BaseMixtureTwoSided().fit_sequences([bases[:200], bases[260:330]])
    p = mixture.probabilities([bases], [np.array([4, 209, 239])])[0]
    for row, v in enumerate(variants):
        ref, alt = "ACGT".index(v.ref), "ACGT".index(v.alts[0])
        assert found[row, 0] == pytest.approx(np.log(p[row, alt] / p[row, ref]))


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
        (None, ("--block_bp", "0"), "--block_bp 0"),
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
