"""What score-variants writes: tables, annotated copies, and what an interrupted run leaves."""

import gzip
import io
import math
import os
import shutil
import subprocess
import threading

import pysam
import pytest

from dna_bigbird.core.errors import InputError, Interrupted, OutputError
from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.prediction.score_variants import score_variants
from dna_bigbird.prediction.variants import effects as variant_effects
from dna_bigbird.prediction.variants.effects import allele_windows
from dna_bigbird.prediction.variants.writers import choose_targets, info_ids
from tests.tiny_bundle import with_counts

HEADER = """\
##fileformat=VCFv4.2
##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##contig=<ID=1>
##contig=<ID=2>
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tNA1
"""


@pytest.fixture
def inputs(tmp_path, random_dna, bundle_folder):
    """Keyword arguments; 40 records with every kind of allele, on two chromosomes."""
    chromosomes = {"chr1": random_dna(900, 1), "chr2": random_dna(500, 2)}
    (tmp_path / "toy.fa").write_text("".join(f">{n}\n{b}\n" for n, b in chromosomes.items()))
    lines = []
    for number in range(40):
        name = "chr1" if number < 25 else "chr2"
        pos = 20 * (number % 25) + 5
        ref = chromosomes[name][pos - 1]
        alt = ["A", "C,G,T", "<DEL>", "*,GAT", "."][number % 5]
        info = "DP=3" if number % 2 else "."
        lines.append(f"{name[3:]}\t{pos}\trs{number}\t{ref}\t{alt}\t.\tPASS\t{info}\tGT\t0|1\n")
    (tmp_path / "variants.vcf").write_text(HEADER + "".join(lines))
    return {
        "vcf": tmp_path / "variants.vcf", "fasta": tmp_path / "toy.fa", "model": bundle_folder
    }  # fmt: skip


def table(path):
    lines = path.read_text().splitlines()
    return [dict(zip(lines[0].split("\t"), row.split("\t"), strict=True)) for row in lines[1:]]


def leftovers(folder):
    return [p.name for p in folder.iterdir() if "partial" in p.name]


def test_table(inputs, tmp_path):
    summary = score_variants(**inputs, output=tmp_path / "out.tsv", probabilities=True)
    rows = table(tmp_path / "out.tsv")
    assert list(rows[0]) == [
        "chrom", "pos", "id", "ref", "alt", "CTCF_diff", "CTCF_log_odds", "CTCF_ref", "CTCF_alt",
        "DNase_diff", "DNase_log_odds", "DNase_ref", "DNase_alt",
    ]  # fmt: skip
    assert len(rows) == summary.alleles == 8 * 7
    assert summary.records == 40
    assert summary.skipped == {
        "symbolic": 8, "overlapping deletion (*)": 8, "no alternative allele (.)": 8
    }  # fmt: skip
    for row in rows:
        diff, ref, alt = (float(row[f"DNase_{c}"]) for c in ("diff", "ref", "alt"))
        assert math.isnan(diff) == (row["alt"] in ("<DEL>", "*"))
        assert math.isnan(diff) or abs(alt - ref - diff) < 1e-4
    assert leftovers(tmp_path) == []


def test_annotated_copy_is_read_by_another_program(inputs, tmp_path):
    score_variants(**inputs, output=tmp_path / "out.vcf.gz", tsv=tmp_path / "out.tsv")
    expected = table(tmp_path / "out.tsv")
    found = []
    with pysam.VariantFile(str(tmp_path / "out.vcf.gz")) as records:
        about = records.header.info["BB_CTCF_LOGODDS"]
        assert (about.number, about.type) == ("A", "Float")
        assert about.description.startswith(
            "CTCF: log-odds of ALT minus that of REF; tiny (sha256 "
        )
        for record in records:
            for i, alt in enumerate(record.alts or ()):
                scores = {
                    name: record.info.get(f"BB_{name}", (None,) * len(record.alts))[i]
                    for name in ("CTCF_DIFF", "CTCF_LOGODDS", "DNase_DIFF", "DNase_LOGODDS")
                }
                found.append((record.chrom, record.pos, alt, scores))
    assert len(found) == len(expected)
    for (chrom, pos, alt, scores), row in zip(found, expected, strict=True):
        assert (chrom, str(pos), alt) == (row["chrom"], row["pos"], row["alt"])
        for name, value in scores.items():
            written = float(row[name.replace("DIFF", "diff").replace("LOGODDS", "log_odds")])
            assert value is None or math.isclose(value, written, rel_tol=1e-6)
            assert (value is None) == math.isnan(written)


def test_index_finds_records(inputs, tmp_path):
    score_variants(**inputs, output=tmp_path / "out.vcf.gz")
    with pysam.TabixFile(str(tmp_path / "out.vcf.gz")) as records:
        lines = list(records.fetch("2", 100, 200))
    positions = [int(line.split("\t")[1]) for line in lines]
    assert positions == [105, 125, 145, 165, 185]


def test_an_annotated_copy_says_nothing_else(inputs, tmp_path):
    """Taking our fields away gives the original, byte for byte."""
    score_variants(**inputs, output=tmp_path / "out.vcf")
    kept = []
    for line in (tmp_path / "out.vcf").read_text().splitlines(keepends=True):
        if line.startswith(("##dna-bigbird=", "##INFO=<ID=BB_")):
            continue
        columns = line.split("\t")
        if not line.startswith("#"):
            fields = [f for f in columns[7].split(";") if not f.startswith("BB_")]
            columns[7] = ";".join(fields) or "."
        kept.append("\t".join(columns))
    assert "".join(kept) == inputs["vcf"].read_text()


def test_compressed_and_plain_copies_are_the_same(inputs, tmp_path):
    for name in ("out.vcf", "out.vcf.gz", "again.vcf.gz"):
        score_variants(**inputs, output=tmp_path / name)
    packed = (tmp_path / "out.vcf.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "out.vcf").read_bytes()
    assert (tmp_path / "again.vcf.gz").read_bytes() == packed
    again, first = (tmp_path / f"{name}.vcf.gz.tbi" for name in ("again", "out"))
    assert again.read_bytes() == first.read_bytes()


def test_annotating_again_takes_other_names(inputs, tmp_path):
    score_variants(**inputs, output=tmp_path / "one.vcf", labels="CTCF")
    score_variants(**inputs | {"vcf": tmp_path / "one.vcf"}, output=tmp_path / "two.vcf")
    with pysam.VariantFile(str(tmp_path / "two.vcf")) as records:
        names = [name for name in records.header.info if name.startswith("BB_")]
        record = next(iter(records))
        assert record.info["BB_CTCF_DIFF"] == record.info["BB_CTCF_2_DIFF"]
    assert names == [
        "BB_CTCF_DIFF", "BB_CTCF_LOGODDS", "BB_CTCF_2_DIFF", "BB_CTCF_2_LOGODDS",
        "BB_DNase_DIFF", "BB_DNase_LOGODDS",
    ]  # fmt: skip


def test_names_of_fields_are_legal_and_differ():
    labels = ["GM12878|CTCF|None", "GM12878 CTCF None", "8988T", "µ", "β"]
    names = [name for pair in info_ids(labels, set()) for name in pair]
    assert len(set(names)) == 10
    assert all(name.replace("_", "").isascii() and name.startswith("BB_") for name in names)


def test_standard_input_and_output_give_the_same(inputs, tmp_path, monkeypatch, capsys):
    score_variants(**inputs, output=tmp_path / "out.tsv")
    text = inputs["vcf"].read_bytes()

    class Stdin:
        buffer = io.BytesIO(text)

    monkeypatch.setattr("sys.stdin", Stdin())
    summary = score_variants(**inputs | {"vcf": "-"}, output="-")
    assert capsys.readouterr().out == (tmp_path / "out.tsv").read_text()
    assert summary.records == 40
    Stdin.buffer = io.BytesIO(text)
    score_variants(**inputs | {"vcf": "-"}, output=tmp_path / "streamed.vcf.gz")
    score_variants(**inputs, output=tmp_path / "out.vcf.gz")
    streamed = (tmp_path / "streamed.vcf.gz").read_bytes()
    assert streamed == (tmp_path / "out.vcf.gz").read_bytes()


def test_a_pipe_is_read_once(inputs, tmp_path):
    """As the shell makes one of `--vcf <(bcftools view calls.bcf)`."""
    score_variants(**inputs, output=tmp_path / "out.tsv")
    os.mkfifo(tmp_path / "pipe")
    text = inputs["vcf"].read_text()
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(text,))
    writer.start()
    score_variants(**inputs | {"vcf": tmp_path / "pipe"}, output=tmp_path / "piped.tsv")
    writer.join()
    assert (tmp_path / "piped.tsv").read_bytes() == (tmp_path / "out.tsv").read_bytes()


@pytest.mark.parametrize("alt", ["", "."])
def test_nothing_to_score_gives_whole_files(inputs, tmp_path, alt):
    lines = inputs["vcf"].read_text().splitlines(keepends=True)
    wanted = [x for x in lines if x.startswith("#") or x.split("\t")[4] == alt]
    (tmp_path / "few.vcf").write_text("".join(wanted))
    few = inputs | {"vcf": tmp_path / "few.vcf"}
    summary = score_variants(**few, output=tmp_path / "out.vcf.gz", tsv=tmp_path / "out.tsv")
    assert (summary.records, summary.alleles) == (8 if alt else 0, 0)
    assert table(tmp_path / "out.tsv") == []
    written = gzip.decompress((tmp_path / "out.vcf.gz").read_bytes()).decode()
    assert [x for x in written.splitlines(keepends=True) if x in wanted] == wanted


class Stopped:
    """Ctrl-C after some groups; counts the groups that are scored."""

    def __init__(self, monkeypatch, after):
        self.scored = 0
        original = Predictor.logits

        def logits(predictor, groups):
            for group in groups:
                if self.scored == after:
                    raise KeyboardInterrupt
                self.scored += 1
                yield from original(predictor, [group])

        monkeypatch.setattr(Predictor, "logits", logits)


@pytest.mark.parametrize("outputs", [("out.tsv", None), ("out.vcf.gz", "out2.tsv")])
@pytest.mark.parametrize("after", [1, 7, 23])
def test_an_interrupted_run_goes_on(inputs, tmp_path, monkeypatch, outputs, after):
    monkeypatch.setattr(variant_effects, "FRAME_ALLELES", 3)
    output, tsv = (name and tmp_path / name for name in outputs)
    expected = {}
    with monkeypatch.context() as patch:
        whole = Stopped(patch, after=-1)
        summary = score_variants(**inputs, output=output, tsv=tsv)
        for path in filter(None, (output, tsv)):
            expected[path] = path.read_bytes()
            path.unlink()
    with monkeypatch.context() as patch:
        Stopped(patch, after)
        with pytest.raises(Interrupted, match=r"out\..*: interrupted (after|before)"):
            score_variants(**inputs, output=output, tsv=tsv)
    assert not output.exists()
    with monkeypatch.context() as patch:
        rest = Stopped(patch, after=-1)
        again = score_variants(**inputs, output=output, tsv=tsv, resume=True)
    assert {path: path.read_bytes() for path in expected} == expected
    assert (again.records, again.skipped) == (summary.records, summary.skipped)
    assert whole.scored - after <= rest.scored <= whole.scored - after + 3
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("after", [1, 7])
def test_records_that_do_not_fit_are_absent_after_a_restart_too(
    inputs, tmp_path, monkeypatch, after
):
    monkeypatch.setattr(variant_effects, "FRAME_ALLELES", 3)
    lines = inputs["vcf"].read_text().splitlines(keepends=True)
    head = [line for line in lines if line.startswith("#")]
    spoilt = [
        line.replace("\trs", "\tbad").replace("\t", "\t9", 1)  # another position
        if number % 3 == 0 and line.split("\t")[4][0] in "ACGT"
        else line
        for number, line in enumerate(lines[len(head) :])
    ]
    inputs["vcf"].write_text("".join(head + spoilt))
    settings = inputs | {"ref_mismatch": "skip"}
    output, tsv = tmp_path / "out.vcf", tmp_path / "out.tsv"
    with monkeypatch.context() as patch:
        Stopped(patch, after=-1)
        summary = score_variants(**settings, output=output, tsv=tsv)
    assert summary.skipped["record that does not fit the genome"] > 5
    expected = {path: path.read_bytes() for path in (output, tsv)}
    ids = {row["id"] for row in table(tsv)}
    assert ids
    assert not any(name.startswith("bad") for name in ids)
    in_memory = score_variants(**settings)
    assert set(in_memory.id) == ids
    assert len(in_memory.diff) == len(in_memory.pos) == len(table(tsv))
    for line in output.read_text().splitlines():
        assert "\tbad" not in line or "BB_" not in line
    assert output.read_text().count("\tbad") == sum("\tbad" in line for line in spoilt)
    for path in expected:
        path.unlink()
    with monkeypatch.context() as patch:
        Stopped(patch, after)
        with pytest.raises(Interrupted):
            score_variants(**settings, output=output, tsv=tsv)
    with monkeypatch.context() as patch:
        Stopped(patch, after=-1)
        score_variants(**settings, output=output, tsv=tsv, resume=True)
    assert {path: path.read_bytes() for path in expected} == expected


def test_a_run_of_other_settings_is_not_continued(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(variant_effects, "FRAME_ALLELES", 3)
    with monkeypatch.context() as patch:
        Stopped(patch, 7)
        with pytest.raises(Interrupted, match="continue with --resume"):
            score_variants(**inputs, output=tmp_path / "out.tsv")
    with pytest.raises(InputError, match=r"cannot continue .* its window was 200, now it is 100"):
        score_variants(**inputs, output=tmp_path / "out.tsv", window=100, resume=True)
    inputs |= {"model": with_counts(inputs["model"])}  # of the same file
    with pytest.raises(InputError, match=r"cannot continue .* its network_weight"):
        score_variants(**inputs, output=tmp_path / "out.tsv", network_weight=0.5, resume=True)
    score_variants(**inputs, output=tmp_path / "out.tsv", resume=True)


def test_wrong_input_leaves_nothing(inputs, tmp_path):
    lines = inputs["vcf"].read_text().splitlines(keepends=True)
    wrong = tmp_path / "wrong.vcf"
    wrong.write_text("".join(lines[:-4]) + lines[-4].replace("rs36\t", "rs36\tN"))
    with pytest.raises(InputError, match=r"wrong.vcf:43: REF is 'N.' at 2:225, but toy.fa has"):
        score_variants(**inputs | {"vcf": wrong}, output=tmp_path / "out.vcf.gz")
    wrong.write_text("".join([*lines[:6], lines[7], lines[6]]))
    with pytest.raises(InputError, match=r"wrong.vcf:8: 1:5 comes after 1:25; .* must be sorted"):
        score_variants(**inputs | {"vcf": wrong}, output=tmp_path / "out.vcf.gz")
    assert {p.name for p in tmp_path.iterdir()} == {
        "toy.fa", "toy.fa.fai", "variants.vcf", "wrong.vcf"
    }  # fmt: skip
    score_variants(**inputs | {"vcf": wrong}, output=tmp_path / "out.vcf")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"output": "x.tsv", "format": "vcf"}, r"output x.tsv: the name of a VCF file ends in"),
        ({"output": "x.vcf", "format": "tsv"}, r"output x.vcf: a table is plain text; end its"),
        ({"output": "x.tsv.gz"}, r"output x.tsv.gz: a table is plain text"),
        ({"output": "x.tsv", "tsv": "y.tsv"}, r"tsv is a table in addition to an annotated VCF"),
        ({"output": "x.vcf", "tsv": "y.vcf"}, r"tsv y.vcf: a table is plain text"),
        ({"output": None, "tsv": "y.tsv"}, r"tsv names a second file"),
        (
            {"output": "x.xlsx"},
            r"output x.xlsx: .xlsx is not the suffix of a format that is written",
        ),
        ({"output": "x.h5", "format": "tsv"}, r"output x.h5: .h5 is not the suffix of a format"),
        (
            {"output": "x.csv", "format": "tsv"},
            r"output x.csv: .csv is the suffix of CSV, but this is",
        ),
        (
            {"output": "x.tsv", "format": "csv"},
            r"output x.tsv: .tsv is the suffix of TSV, but this is",
        ),
        ({"output": "x.csv", "format": "vcf"}, r"output x.csv: the name of a VCF file ends in"),
        ({"output": "x.vcf", "tsv": "y.csv"}, r"tsv y.csv: .csv is the suffix of CSV, but this is"),
    ],
)
def test_names_and_formats_must_agree(settings, message):
    with pytest.raises(InputError, match=message):
        choose_targets(**{"format": None, "tsv": None} | settings)


def test_inputs_are_not_written_over(inputs):
    with pytest.raises(InputError, match=r"variants.vcf: this is the input vcf"):
        score_variants(**inputs, output=inputs["vcf"])


def test_resume_needs_files(inputs):
    with pytest.raises(InputError, match=r"resume continues a file"):
        score_variants(**inputs, output="-", resume=True)


def test_a_folder_that_cannot_be_written_to(inputs, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"file/out.tsv: cannot write it: "):
        score_variants(**inputs, output=tmp_path / "out.vcf", tsv=tmp_path / "file" / "out.tsv")


def test_long_chromosomes_get_the_other_index(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr("dna_bigbird.prediction.variants.writers.TBI_MAX_BP", 800)
    score_variants(**inputs, output=tmp_path / "out.vcf.gz")
    assert not (tmp_path / "out.vcf.gz.tbi").exists()
    index = str(tmp_path / "out.vcf.gz.csi")
    with pysam.TabixFile(str(tmp_path / "out.vcf.gz"), index=index) as records:
        assert len(list(records.fetch("2", 100, 200))) == 5


def bcftools(*words):
    """Run bcftools; what it says on standard error, where it also warns of what is invalid."""
    return subprocess.run(
        ["bcftools", *map(str, words)], capture_output=True, text=True, check=True
    )


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="bcftools is not installed")
def test_bcftools_finds_nothing_to_warn_of(inputs, tmp_path):
    """Not one of its warnings is new, REF agrees, and the new fields can be asked for."""
    score_variants(**inputs, output=tmp_path / "out.vcf.gz")
    before = bcftools("view", inputs["vcf"]).stderr
    assert bcftools("view", tmp_path / "out.vcf.gz").stderr == before
    query = bcftools("query", "-f", "%POS %BB_DNase_DIFF\n", tmp_path / "out.vcf.gz").stdout
    with pysam.VariantFile(str(tmp_path / "out.vcf.gz")) as records:
        assert [int(line.split()[0]) for line in query.splitlines()] == [r.pos for r in records]


@pytest.mark.skipif(shutil.which("bcftools") is None, reason="bcftools is not installed")
def test_windows_are_those_of_the_consensus_of_bcftools(tmp_path, random_dna):
    """An insertion, a deletion and a substitution, each put into the genome by another program."""
    bases = random_dna(400, 9)
    (tmp_path / "toy.fa").write_text(f">1\n{bases}\n")
    genome = Genome(tmp_path / "toy.fa")
    for pos, ref, alt in (
        (150, bases[149], bases[149] + "GATTACA"),
        (200, bases[199:207], bases[199]),
        (250, bases[249:252], "TGCA"),
    ):
        vcf = tmp_path / "one.vcf"
        record = f"1\t{pos}\t.\t{ref}\t{alt}\t.\t.\t.\n"
        vcf.write_text(HEADER.replace("\tFORMAT\tNA1", "") + record)
        bcftools("view", vcf, "-Oz", "-o", tmp_path / "one.vcf.gz")
        bcftools("index", "-f", tmp_path / "one.vcf.gz")
        told = bcftools("consensus", "-f", tmp_path / "toy.fa", tmp_path / "one.vcf.gz").stdout
        haplotype = "".join(told.splitlines()[1:])
        site = Interval("1", pos - 1, pos - 1 + len(ref))
        (forward,), (reverse,) = allele_windows(genome, site, [alt], 60)
        first = (site.start + site.end) // 2 - 30
        assert forward == haplotype[first : first + 60]
        mirrored = reverse_complement(haplotype)
        first = (len(bases) - site.end + len(bases) - site.start) // 2 - 30
        assert reverse == mirrored[first : first + 60]


UNSCORED = (
    "1\t0\tt1\tN\t]2:10]N\t.\t.\t.\n"  # a breakend at a telomere
    "1\t0\tt2\tN\t<DEL>\t.\t.\tSVTYPE=DEL;END=0\n"
    "1\t7\ts1\tN\t<DUP>\t.\t.\tSVTYPE=DUP;\n"  # REF N as callers of structural variants write it
    "1\t8\ts2\tN\t<NON_REF>\t.\t.\tEND=20\n"
    "1\t9\ts3\tN\t.\t.\t.\tEND=20\n"
    "1\t9\ts4\tN\t*\t.\t.\t;\n"
    "1\t950\ts5\tN\tN[2:3[\t.\t.\t.\n"  # beyond the end
)


def test_records_without_bases_to_compare_are_copied_and_counted(inputs, tmp_path):
    """They need not fit the genome, which only alleles of bases can."""
    head, record = HEADER.replace("\tFORMAT\tNA1", ""), "1\t99\trs\t{}\tA,C,G,T\t.\t.\tAC=1;\n"
    base = Genome(inputs["fasta"]).fetch(Interval("chr1", 98, 99))
    lines = UNSCORED.splitlines(keepends=True)
    scored = record.format(base).replace(f"{base},", "", 1).replace(f",{base}\t", "\t")
    inputs["vcf"].write_text(head + "".join([*lines[:-1], scored, lines[-1]]))
    summary = score_variants(**inputs, output=tmp_path / "out.vcf")
    assert summary.skipped == {
        "breakend": 2, "symbolic": 3, "overlapping deletion (*)": 1, "no alternative allele (.)": 1,
    }  # fmt: skip
    written = [x for x in (tmp_path / "out.vcf").read_text().splitlines(True) if x[0] != "#"]
    assert [x for x in written if "BB_" not in x] == lines
    (info,) = [x.split("\t")[7] for x in written if "BB_" in x]
    assert info.startswith("AC=1;BB_")


def test_a_position_of_0_with_bases(inputs, tmp_path):
    """The file counts from 0, or is damaged; with `skip` the other records are scored."""
    inputs["vcf"].write_text(inputs["vcf"].read_text().replace("1\t5\t", "1\t0\t"))
    with pytest.raises(InputError, match=r"variants.vcf:\d+: POS is 0"):
        score_variants(**inputs)
    found = score_variants(**inputs, ref_mismatch="skip")
    assert found.skipped["record that does not fit the genome"] == 1


def test_a_reference_of_another_letter(inputs, tmp_path):
    """VCF 4.3 writes the first base of a code in the genome; a code in the file is named as it is."""
    inputs["fasta"].write_text(">chr1\nACGTRCGTACGTKCGT\n")
    head = HEADER.replace("\tFORMAT\tNA1", "")
    inputs["vcf"].write_text(f"{head}1\t5\ta\tA\tC\t.\t.\t.\n1\t12\tb\ttG\tt\t.\t.\t.\n")
    assert score_variants(**inputs, window=8).ref == ["A", "tG"]
    inputs["vcf"].write_text(f"{head}1\t4\ta\tR\tC\t.\t.\t.\n")
    with pytest.raises(InputError, match=r"variants.vcf:\d+: REF is 'R'"):
        score_variants(**inputs, window=8)
