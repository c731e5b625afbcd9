"""Start sites from every format, drawn by hand; what every refusal says."""

import gzip

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Interval
from dna_bigbird.genome.sites.reading import MAX_SITES_A_GENE, format_of, read_sites

BED = "track name=x\n# by hand\nchr1\t99\t100\tAAA_1\t0\t+\nchr1\t149\t150\tAAA_2\t0\t-\n"
EPD = "chr1 50 110 AAA_1 900 + 99 110\nchr1 139 199 AAA_2 900 - 139 150\n"
UCSC = (
    "chr1\t50\t110\tAAA_1\t900\t+\t99\t110\t0\t2\t49,11\t0,49\n"
    "chr1\t139\t199\tAAA_2\t900\t-\t139\t150\t0\t2\t11,49\t0,11\n"
)
SGA = "NC_000001.10\tTSS\t100\t+\t1\tAAA_1\nNC_000001.10\tTSS\t150\t-\t1\tAAA_2\n"
FPS = (
    "TI   by hand\n"
    "FP   AAA_1               :+S  EU:NC_000001.10      1+       100; 00001.\n"
    "FP   AAA_2               :+S  EU:NC_000001.10      1-       150; 00002.\n"
)
# The transcripts on '+' start at base 100 counted from 1, that on '-' at base 150, its last one.
GTF = (
    "#!genome-build toy\n"
    'chr1\tx\tgene\t90\t200\t.\t+\t.\tgene_id "G1"; gene_name "AAA";\n'
    'chr1\tx\ttranscript\t100\t200\t.\t+\t.\tgene_id "G1"; transcript_id "T1"; gene_name "AAA";\n'
    'chr1\tx\texon\t100\t120\t.\t+\t.\tgene_id "G1"; transcript_id "T1"; level 2;\n'
    'chr1\tx\ttranscript\t100\t180\t.\t+\t.\tgene_id "G1"; transcript_id "T2"; gene_name "AAA";\n'
    'chr1\tx\ttranscript\t50\t150\t.\t-\t.\tgene_id "G1"; note "a; b"; gene_name "AAA"; level 2\n'
)
GFF = (
    "##gff-version 3\n"
    "chr1\tx\tgene\t90\t200\t.\t+\t.\tID=gene:G1;Name=AAA\n"
    "chr1\tx\tmRNA\t100\t200\t.\t+\t.\tID=T1;Parent=gene:G1;gene_name=AAA\n"
    "chr1\tx\ttranscript\t50\t150\t.\t-\t.\tID=T2;Parent=gene:G1;gene_name=AAA;\n"
    "##FASTA\n>chr1\nACGT\n"
)
KINDS = {"bed": BED, "gtf": GTF, "gff": GFF, "fps": FPS, "sga": SGA}


def written(tmp_path, text, name="sites"):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", [BED, EPD, UCSC, SGA, FPS, GTF, GFF])
def test_every_format_gives_the_same_sites(tmp_path, text):
    """0-based 99 on '+' and 149 on '-', plain or packed, with or without the format named."""
    path = written(tmp_path, text)
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(text.encode()))
    kind = format_of(path)
    for sites in (read_sites(path), read_sites(packed), read_sites(path, kind)):
        assert [(s.interval, s.name) for s in sites] == [
            (Interval("chr1", 99, 100, "+"), "AAA_1"),
            (Interval("chr1", 149, 150, "-"), "AAA_2"),
        ]
        assert len({s.gene for s in sites}) == 1
        assert sites[0].gene in ("AAA", "G1", "gene:G1")


@pytest.mark.parametrize("kind", KINDS)
def test_the_format_is_told_by_the_first_row(tmp_path, kind):
    assert format_of(written(tmp_path, KINDS[kind])) == kind


def test_a_separator_before_a_position_is_a_blank(tmp_path):
    """Found by `make fuzz`: U+001C is white space for `strip` and no digit for `int`."""
    text = FPS.replace("1+       100", "1+\x1c      100")
    assert text != FPS
    assert read_sites(written(tmp_path, text))[0].interval == Interval("chr1", 99, 100, "+")
    usual = read_sites(written(tmp_path, GTF))
    assert read_sites(written(tmp_path, GTF.replace("\t50\t", "\t\x1e50\t"))) == usual


def test_genes_where_there_is_no_transcript(tmp_path):
    text = (
        'chrM\tx\tgene\t10\t20\t.\t-\t.\tgene_id "A"\n'
        'chrM\tx\texon\t10\t12\t.\t-\t.\tgene_id "A"\n'
        'chrM\tx\tgene\t30\t40\t.\t+\t.\tgene_id "B"\n'
    )
    sites = read_sites(written(tmp_path, text))
    assert [(s.interval.start, s.name, s.gene) for s in sites] == [
        (19, "A_1", "A"),
        (29, "B_1", "B"),
    ]


def test_a_gene_has_a_bounded_number_of_promoters(tmp_path):
    """`peak_1`, `peak_2`, … are no promoters of one gene."""

    def rows(stem, count):
        return "".join(f"chr1\t{i}\t{i + 1}\t{stem}_{i + 1}\t0\t+\n" for i in range(count))

    text = rows("GENE", MAX_SITES_A_GENE) + rows("peak", MAX_SITES_A_GENE + 1)
    text += "chr1\t7\t8\tplain\t0\t+\nchr1\t7\t8\tHLA_DRB1_2\t0\t+\n"
    genes = [s.gene for s in read_sites(written(tmp_path, text))]
    assert genes.count("GENE") == MAX_SITES_A_GENE
    assert "peak" not in genes
    assert genes[-2:] == ["", "HLA_DRB1"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("chr1\t149\t150", "chr1\t149\tx", r"sites:4: end is 'x', expected a whole number"),
        ("AAA_2\t0\t-", "AAA_2\t0\t.", r"sites:4: no strand \(column 6\)"),
        ("149\t150\tAAA_2", "140\t150\tAAA_2", r"sites:4: the row is 10 bp wide; .*GTF or GFF"),
    ],
)
def test_wrong_bed(tmp_path, old, new, message):
    with pytest.raises(InputError, match=message):
        read_sites(written(tmp_path, BED.replace(old, new)))


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (GTF, "\t50\t150\t.\t-", "\t50\t150\t.\tx", r"sites:6: strand \(column 7\) is 'x'"),
        (GTF, "\t50\t150\t", "\t50\t-150\t", r"sites:6: end is -150; this format counts from 1"),
        (GTF, "\t50\t150\t", "\t0\t150\t", r"sites:6: start is 0; this format counts from 1"),
        (GTF, "\t50\t150\t", "\t151\t150\t", r"sites:6: start 151 is beyond end 150"),
        (GTF, "x\texon\t100", "x\texon 100", r"sites:4: 8 columns between tabs, expected 9"),
        (GTF, 'note "a; b"', 'note "a', r"sites:6: cannot read the attributes .*\(GTF\)"),
        (GFF, "ID=T2;Parent", 'ID "T2";Parent', r"sites:4: cannot read the attributes .*\(GFF3\)"),
        (SGA, "\t150\t-", "\t150\t0", r"sites:2: strand is '0'; a start site needs"),
        (SGA, "\t150\t-\t1\tAAA_2", "\t150\t-", r"sites:2: 4 columns between tabs"),
        (SGA, "\t150\t", "\t15O\t", r"sites:2: position is '15O', expected a whole number"),
        (FPS, "1-       150", "1-      150", r"sites:3: cannot read this FP line; expected the"),
        (FPS, "1-       150", "10       150", r"sites:3: strand is '0'"),
    ],
)
def test_wrong_rows_are_named(tmp_path, text, old, new, message):
    assert old in text
    with pytest.raises(InputError, match=message):
        read_sites(written(tmp_path, text.replace(old, new)))


def test_what_is_no_file_of_sites(tmp_path):
    with pytest.raises(InputError, match=r"sites:1: the row 'ACGT' is none of BED, GTF, GFF"):
        read_sites(written(tmp_path, "ACGT\n"))
    with pytest.raises(InputError, match=r"sites: no row in it"):
        read_sites(written(tmp_path, "# nothing\n"))
    with pytest.raises(InputError, match=r"sites: no start site in it; it was read as GTF"):
        read_sites(written(tmp_path, 'c\tx\texon\t10\t12\t.\t-\t.\tgene_id "A"\n'))
    with pytest.raises(ValueError, match="unknown format 'xls'; there are: auto, bed"):
        read_sites(written(tmp_path, BED), "xls")


def test_native_epd_rows_of_the_sample_hold_their_site_at_base_50(real_data):
    """The rows span -49..+10, so the site is 49 bases from the 5' end."""
    path = real_data / "promoters" / "epdnew_native_8column_example_hg38.bed"
    rows = [line.split() for line in path.read_text().splitlines()]
    sites = read_sites(path)
    assert len(sites) == len(rows) == 100
    for fields, site in zip(rows, sites, strict=True):
        first = int(fields[1]) + 49 if fields[5] == "+" else int(fields[2]) - 1 - 49
        assert (site.interval.start, site.gene) == (first, fields[3].rpartition("_")[0])


def test_real_epdnew_genes(real_data):
    """Every name has the form GENE_k; no gene is too large to be one."""
    sites = read_sites(real_data / "promoters" / "epdnew_human_hg38_without_chr1_chr2.bed.gz")
    assert len(sites) == 24_736
    assert all(s.name.startswith(f"{s.gene}_") for s in sites)
    assert len({s.gene for s in sites}) == 13_677
