"""`dna-bigbird score-variants`: options, what is said on standard error, exit status."""

import csv
import gzip

import pysam
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.prediction.score_variants import score_variants

COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


@pytest.fixture
def folder(tmp_path, bundle_folder):
    """A toy genome and two records."""
    (tmp_path / "toy.fa").write_text(">chr1\n" + "GATTACA" * 60 + "\n")
    (tmp_path / "variants.vcf").write_text(
        COLUMNS + "1\t99\trs1\tG\tA,<DEL>\t.\t.\t.\n1\t101\trs2\tTT\tT\t.\t.\tDP=1\n"
    )
    return tmp_path


@pytest.fixture
def run(folder, bundle_folder, monkeypatch, capsys):
    """Function (further words) -> (standard output, standard error)."""
    monkeypatch.chdir(folder)

    def _run(*words):
        files = ["--vcf", "variants.vcf", "--fasta", "toy.fa", "--model", str(bundle_folder)]
        main(["score-variants", *files, *words])
        return capsys.readouterr()

    return _run


def test_a_table_on_standard_output(run):
    out, err = run("--labels", "CTC*")
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == ["chrom", "pos", "id", "ref", "alt", "CTCF_diff", "CTCF_log_odds"]
    assert [line[:5] for line in lines[1:]] == [
        ["1", "99", "rs1", "G", "A"],
        ["1", "99", "rs1", "G", "<DEL>"],
        ["1", "101", "rs2", "TT", "T"],
    ]
    assert lines[2][5:] == ["nan", "nan"]
    assert err.endswith("dna-bigbird: note: not scored, of 3 alleles in 2 records: 1 symbolic\n")


def test_the_card_of_a_model_of_the_package_does_not_cover_variants(folder, bundle_folder):
    files = [str(folder / name) for name in ("variants.vcf", "toy.fa")]
    for model, is_told in (
        ("bundled-tata", True),
        ("bundled-any-promoter", True),
        (bundle_folder, False),
    ):
        notes = score_variants(*files, model=model).notes
        assert any("does not cover variants" in line for line in notes) == is_told


@pytest.mark.parametrize("options", [["--output", "a.csv"], ["--output", "a", "--format", "csv"]])
def test_commas_have_the_rows_of_the_table(run, folder, options):
    table, _ = run()
    run(*options)
    with open(folder / options[1], newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows == [line.split("\t") for line in table.splitlines()]


def test_both_files_at_once(run, folder):
    out, _ = run("--output", "a.vcf.gz", "--tsv", "a.tsv", "--probabilities", "--strand", "forward")
    assert out == ""
    with pysam.VariantFile(str(folder / "a.vcf.gz")) as records:
        first = next(iter(records))
    header, row = (line.split("\t") for line in (folder / "a.tsv").read_text().splitlines()[:2])
    scores = dict(zip(header, row, strict=True))
    assert float(scores["DNase_diff"]) == pytest.approx(first.info["BB_DNase_DIFF"][0], rel=1e-6)
    assert float(scores["DNase_alt"]) == pytest.approx(
        float(scores["DNase_ref"]) + float(scores["DNase_diff"]), abs=1e-4
    )


def test_vcf_on_standard_output(run, folder):
    out, _ = run("--format", "vcf")
    assert out.startswith("##fileformat=VCFv4.2\n##dna-bigbird=<model=")
    assert out.splitlines()[-1].startswith("1\t101\trs2\tTT\tT\t.\t.\tDP=1;BB_CTCF_DIFF=")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "1\t98\t.\tG\tA\t.\t.\t.\n",
            "variants.vcf:2: REF is 'G' at 1:98, but toy.fa has 'A' there",
        ),
        ("1\t0\t.\tG\tA\t.\t.\t.\n", "variants.vcf:2: POS is 0, a telomere"),
        ("1 99 . G A . . .\n", "variants.vcf:2: 1 column, the header has 8"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(run, folder, capsys, text, message):
    (folder / "variants.vcf").write_text(COLUMNS + text)
    before = {path.name for path in folder.iterdir()} | {"toy.fa.fai"}
    with pytest.raises(SystemExit, match=r"^2$"):
        run("--output", "out.tsv")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"dna-bigbird: error: {message}")
    assert err.count("\n") == 1
    assert {path.name for path in folder.iterdir()} | {"toy.fa.fai"} == before


def test_records_that_do_not_fit_may_be_left_out(run, folder):
    with open(folder / "variants.vcf", "a") as stream:
        stream.write("1\t103\t.\tC\tA\t.\t.\t.\n")
    out, err = run("--ref-mismatch", "skip")
    assert [line.split("\t")[1] for line in out.splitlines()] == ["pos", "99", "99", "101"]
    assert "1 record that does not fit the genome, 1 symbolic" in err
    question = (
        "variants.vcf: 1 of 3 records (33%) do not fit toy.fa and are left out. Is the VCF on"
    )
    assert err.count(question) == 1
    out, _ = run("--ref-mismatch", "skip", "--format", "vcf")
    records = [line.split("\t") for line in out.splitlines() if not line.startswith("#")]
    assert [(r[1], "BB_" in r[7]) for r in records] == [("99", True), ("101", True), ("103", False)]
    assert records[-1] == ["1", "103", ".", "C", "A", ".", ".", "."]


def test_the_question_for_the_assembly_also_comes_of_a_stream(run, folder, monkeypatch):
    with open(folder / "variants.vcf", "a") as stream:
        stream.write("1\t103\t.\tC\tA\t.\t.\t.\n")
    with open(folder / "variants.vcf") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        out, err = run("--ref-mismatch", "skip", "--vcf", "-")
    assert len(out.splitlines()) == 4
    assert err.count("standard input: 1 of 3 records (33%) do not fit toy.fa") == 1


def test_nothing_left_is_status_2_and_no_output(run, folder, capsys):
    (folder / "variants.vcf").write_text(COLUMNS + "1\t103\t.\tC\tA\t.\t.\t.\n")
    with pytest.raises(SystemExit, match=r"^2$"):
        run("--ref-mismatch", "skip", "--output", "out.vcf.gz", "--tsv", "out.tsv")
    err = capsys.readouterr().err
    assert "error: variants.vcf: nothing is left to score: 1 of 1 records do not fit toy.fa" in err
    assert err.count("\n") == 1
    assert not list(folder.glob("*out*"))


@pytest.mark.parametrize("ending", [".vcf", ".vcf.gz"])
def test_genome_and_vcf_swapped(folder, bundle_folder, monkeypatch, capsys, ending):
    monkeypatch.chdir(folder)
    vcf = folder / f"v{ending}"
    text = b"##fileformat=VCFv4.2\n" + (folder / "variants.vcf").read_bytes()
    vcf.write_bytes(gzip.compress(text) if ending == ".vcf.gz" else text)
    words = ["score-variants", "--model", str(bundle_folder)]
    with pytest.raises(SystemExit, match=r"^2$"):
        main([*words, "--vcf", "toy.fa", "--fasta", vcf.name])
    expected = (
        f"dna-bigbird: error: {vcf.name}: expected the genome as FASTA, and this looks like a VCF file, "
        "and toy.fa like a FASTA file: are the two swapped? Expected: --vcf variants.vcf --fasta genome.fa\n"
    )
    assert capsys.readouterr().err == expected
    with pytest.raises(SystemExit, match=r"^2$"):
        main([*words, "--vcf", vcf.name, "--fasta", vcf.name])
    err = capsys.readouterr().err
    assert "this looks like a VCF file. Expected: --vcf" in err
    assert "gunzip" not in err
