"""`dna-bigbird mutagenesis`: files and messages; the effects are those of score-variants."""

import csv

import numpy as np
import pytest

from dna_bigbird import mutagenesis, predict, score_variants
from dna_bigbird.cli.main import main
from tests.tiny_bundle import draw_dna, write_tiny_bundle


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """An untrained model of two labels and windows of 60 bp; its scores mean nothing."""
    encoder = {
        "hidden_size": 16, "num_layers": 1, "num_heads": 2, "ffn_size": 16,
        "max_tokens": 64, "block_size": 8, "num_random": 1, "dropout": 0.0,
    }  # fmt: skip
    return write_tiny_bundle(
        tmp_path_factory.mktemp("models") / "tiny", vocab_size=32, encoder=encoder, window_bp=60
    )


@pytest.fixture
def genome(tmp_path):
    path = tmp_path / "genome.fa"
    path.write_text(f">chr1\n{draw_dna(300, 1)}\n>chr2\n{draw_dna(90, 2)}\n")
    return path


def run(capsys, *arguments) -> tuple[int, str, str]:
    try:
        main(["mutagenesis", *map(str, arguments)])
        status = 0
    except SystemExit as error:
        status = error.code
    return status, *capsys.readouterr()


def test_every_substitution_has_the_effect_that_score_variants_gives(model, genome, tmp_path):
    """Near an end of the chromosome, too."""
    found = mutagenesis(genome, "chr1:3-8", model)
    lines = ["##fileformat=VCFv4.2", "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO"]
    places = [
        (i, "ACGT".index(alt))
        for i, ref in enumerate(found.reference)
        for alt in "ACGT"
        if alt != ref
    ]
    lines += [f"1\t{i + 3}\t.\t{found.reference[i]}\t{'ACGT'[a]}\t.\t.\t." for i, a in places]
    vcf = tmp_path / "all.vcf"
    vcf.write_text("\n".join(lines) + "\n")
    scored = score_variants(vcf, genome, model)
    rows, columns = zip(*places, strict=True)
    # Rounding depends on the company that a window is computed in (docs/how-to/predict.md).
    np.testing.assert_allclose(found.diff[rows, columns], scored.diff, atol=2e-6)
    np.testing.assert_allclose(found.log_odds[rows, columns], scored.log_odds, atol=2e-5)
    assert np.abs(scored.diff).max() > 1e-3
    own = [(i, "ACGT".index(base)) for i, base in enumerate(found.reference)]
    assert all((found.log_odds[place] == 0).all() for place in own)


def test_table_arrays_and_picture_hold_the_same(model, genome, tmp_path, capsys):
    common = ("--fasta", genome, "--model", model, "--region", "chr1:100-104", "--labels", "CT*")
    status, table, _ = run(capsys, *common)
    assert status == 0
    header, *rows = [line.split("\t") for line in table.splitlines()]
    assert header == ["chrom", "pos", "ref", *(f"CTCF_{base}_log_odds" for base in "ACGT")]
    assert [row[:3] for row in rows] == [
        ["chr1", str(100 + i), base] for i, base in enumerate(draw_dna(300, 1)[99:104])
    ]
    for kind in ("m.tsv", "m.npz"):
        assert (
            run(capsys, *common, "--output", tmp_path / kind, "--picture", tmp_path / "m.svg")[0]
            == 0
        )
    assert (tmp_path / "m.tsv").read_text() == table
    assert run(capsys, *common, "--output", tmp_path / "m.CSV")[0] == 0
    with open(tmp_path / "m.CSV", newline="") as stream:
        assert list(csv.reader(stream)) == [header, *rows]
    assert b"<svg" in (tmp_path / "m.svg").read_bytes()
    arrays = np.load(tmp_path / "m.npz", allow_pickle=False)
    assert arrays["start"] == 99
    assert arrays["labels"].tolist() == ["CTCF"]
    shown = np.array([[float(x) for x in row[3:]] for row in rows])
    np.testing.assert_allclose(arrays["log_odds"][:, :, 0], shown, rtol=1e-4, atol=1e-9)


def test_a_whole_short_record_needs_no_region(model, tmp_path, capsys):
    path = tmp_path / "short.fa"
    path.write_text(">piece\nACGTNACG\n")
    status, table, _ = run(capsys, "--fasta", path, "--model", model, "--effect", "diff")
    assert status == 0
    assert [line.split("\t")[2] for line in table.splitlines()[1:]] == list("ACGTNACG")
    assert table.splitlines()[5].split("\t")[3:] == ["nan"] * 8


def test_one_window_for_all_bases_has_the_effects_of_its_predictions(model, genome, tmp_path):
    found = mutagenesis(genome, "chr1:101-103", model, within="chr1:96-155")
    assert (found.chrom, found.start, found.reference) == ("chr1", 100, draw_dna(300, 1)[100:103])
    window = draw_dna(300, 1)[95:155]
    changed = {base: window[:6] + base + window[7:] for base in "ACGT"}
    path = tmp_path / "windows.fa"
    path.write_text("".join(f">{base}\n{text}\n" for base, text in changed.items()))
    predicted = predict(path, model=model, strand="forward", precision="32-true").probabilities
    effects = mutagenesis(
        genome, "chr1:102-102", model, within="chr1:96-155", strand="forward", effect="diff"
    ).diff[0]
    np.testing.assert_allclose(effects, predicted - predicted["ACGT".index(window[6])], atol=2e-6)
    assert np.abs(effects).max() > 1e-4
    whole = mutagenesis(genome, model=model, within="chr1:96-155")
    np.testing.assert_allclose(whole.log_odds[5:8], found.log_odds, atol=2e-5)
    assert len(whole.reference) == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "2 records; say which bases to change with --region"),
        (("--region", "chr1"), "--region 'chr1' is not a region; write it as"),
        (("--region", "chr1:9-3"), "is empty or starts below 1"),
        (("--region", "chr1:0-3"), "is empty or starts below 1"),
        (("--region", "chr1:299-301"), "--region chr1:299-301: chr1 has 300 bases in genome.fa"),
        (("--region", "chr7:1-3"), "chromosome 'chr7' is not in genome.fa"),
        (("--region", "chr1:1-3", "--labels", "CTFC"), "near are CTCF"),
        (
            ("--region", "chr1:1-3", "--output", "m.txt"),
            "m.txt: the name of a matrix ends in .tsv, .csv or .npz",
        ),
        (
            ("--region", "chr1:1-3", "--picture", "m.gif"),
            "--picture m.gif: the name ends in .png, .svg",
        ),
        (("--region", "chr1:1-3", "--window", "1"), "--window 1: expected from 2"),
        (("--within", "chr1:1"), "--within 'chr1:1' is not a region"),
        (("--within", "chr1:290-301"), "--within chr1:290-301: chr1 has 300 bases"),
        (
            ("--within", "chr1:1-60", "--region", "chr1:60-61"),
            "--region chr1:60-61 is not inside of --within chr1:1-60; expected",
        ),
        (
            ("--within", "chr1:1-60", "--region", "chr2:1-3"),
            "--region chr2:1-3 is not inside of --within chr1:1-60",
        ),
        (
            ("--within", "chr1:1-60", "--window", "60"),
            "--window 60 and --within chr1:1-60: one window only; leave one out",
        ),
        (("--region", "chr1:1-3", "--threads", "-1"), "--threads -1"),
    ],
)
def test_bad_input_is_one_line(model, genome, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    before = {path.name for path in tmp_path.iterdir()}
    status, out, err = run(capsys, "--fasta", genome, "--model", model, *arguments)
    assert status == 2
    assert out == ""
    assert message in err
    assert len(err.splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} - before <= {"genome.fa.fai"}


def test_a_long_region_is_refused_before_anything_is_scored(model, tmp_path, capsys):
    path = tmp_path / "long.fa"
    path.write_text(f">long\n{'ACGT' * 5001}\n")
    assert "20,004 bases; at most 20,000" in run(capsys, "--fasta", path, "--model", model)[2]
    picture = ("--region", "long:1-1001", "--picture", tmp_path / "m.png")
    assert "shows at most 1,000" in run(capsys, "--fasta", path, "--model", model, *picture)[2]
