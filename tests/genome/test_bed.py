"""BED reading: what is accepted, and what every refusal says."""

import gzip

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.bed import check_inside, iter_bed, place_on_genome, read_bed, start_site


@pytest.fixture
def genome(tmp_path):
    path = tmp_path / "toy.fa"
    path.write_text(">chr1\n" + "ACGT" * 25 + "\n>chr2\nACGTN\n")
    return Genome(path)


def bed(tmp_path, text, name="x.bed"):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


def test_reads_tabs_blanks_crlf_headers_and_gzip_alike(tmp_path):
    plain = "chr1\t5\t9\tp one\t7\t-\nchr2\t0\t1\n"
    expected = [
        (Interval("chr1", 5, 9, "-"), "p one", "7"),
        (Interval("chr2", 0, 1, "."), ".", "."),
    ]
    noisy = "track name=x\nbrowser position chr1\n# remark\n\n" + plain
    files = [
        bed(tmp_path, plain, "plain.bed"),
        bed(tmp_path, plain.replace("\n", "\r\n"), "crlf.bed"),
        bed(tmp_path, noisy, "noisy.bed"),
    ]
    zipped = tmp_path / "zipped.bed"  # seen from its bytes, whatever its name
    zipped.write_bytes(gzip.compress(plain.encode()))
    for path in [*files, zipped]:
        assert [(r.interval, r.name, r.score) for r in read_bed(path)] == expected, path
    blanks = bed(tmp_path, "chr1 5  9 p_one 7 -\r\nchr2 0 1\r\n")
    assert [r.interval for r in read_bed(blanks)] == [e[0] for e in expected]
    assert [r.line_number for r in read_bed(files[2])] == [5, 6]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("chr1\t7", r"x\.bed:2: 2 columns, expected at least 3"),
        ("chr1", r"x\.bed:2: 1 column, expected at least 3"),
        ("chrom\tstart\tend", r"x\.bed:2: start is 'start', expected a whole number.*header"),
        ("chr1\t1\t2.5", r"x\.bed:2: end is '2\.5', expected a whole number"),
        ("chr1\t-1\t5", r"x\.bed:2: start -1 is negative"),
        ("chr1\t9\t5", r"x\.bed:2: start 9 is beyond end 5"),
        ("chr1\t9\t9", r"x\.bed:2: start and end are both 9.*count from 0.*subtract 1"),
        ("chr1\t1\t2\tn\t0\tplus", r"x\.bed:2: strand \(column 6\) is 'plus'"),
    ],
)
def test_bad_rows_are_named_by_file_and_line(tmp_path, row, message):
    with pytest.raises(InputError, match=message):
        list(iter_bed(bed(tmp_path, f"chr1\t0\t1\n{row}\n")))


def test_one_based_single_bases_with_crlf_are_recognised(tmp_path):
    """A 1-based, inclusive list of single bases has start == end on every row."""
    with pytest.raises(InputError, match=r"x\.bed:1: start and end are both 1, .*counts from 1"):
        read_bed(bed(tmp_path, "chr1\t1\t1\tsite\t0\t+\r\n"))


def test_place_names_chromosomes_as_the_genome_and_counts_the_rest(tmp_path, genome):
    rows = read_bed(bed(tmp_path, "1\t0\t100\nchr9\t0\t1\nchr2\t0\t5\n"))
    placed = place_on_genome(rows, genome, "x.bed")
    assert [r.interval.chrom for r in placed.rows] == ["chr1", "chr2"]
    assert (placed.absent, placed.beyond) == (1, 0)


def test_rows_beyond_the_end_are_refused_unless_the_genome_is_a_piece(tmp_path, genome):
    path = bed(tmp_path, "chr1\t0\t100\nchr1\t90\t101\n")
    message = r"x\.bed:2: end 101 is beyond the end of chr1 \(100 bp in toy\.fa\)"
    with pytest.raises(InputError, match=rf"{message}.*--pieces true"):
        place_on_genome(read_bed(path), genome, path)
    with pytest.raises(InputError, match=rf"{message}.*Leave out such rows, or cut them$"):
        check_inside(read_bed(path), genome, path)
    placed = place_on_genome(read_bed(path), genome, path, pieces=True)
    assert (len(placed.rows), placed.beyond) == (1, 1)


def test_nothing_on_the_genome_is_an_error(tmp_path, genome):
    path = bed(tmp_path, "NC_000009.10\t0\t1\n")
    with pytest.raises(
        InputError, match=r"none of its chromosomes \(NC_000009\.10\) is in toy\.fa"
    ):
        place_on_genome(read_bed(path), genome, path)
    with pytest.raises(InputError, match=r"x\.bed:1: chromosome 'NC_000009\.10' is not in toy\.fa"):
        check_inside(read_bed(path), genome, path)
    with pytest.raises(InputError, match="no row in it"):
        place_on_genome([], genome, path)


def test_start_site_of_both_geometries(tmp_path):
    text = (
        "chr1\t70\t71\tA\t1\t-\n"
        "chr1 43969960 43970020 DPH2_1 900 + 43970009 43970020\n"
        "chr1 44017152 44017212 SLC6A9_3 900 - 44017152 44017163\n"
    )
    sites = [start_site(r, "x.bed") for r in read_bed(bed(tmp_path, text))]
    assert sites == [
        Interval("chr1", 70, 71, "-"),
        Interval("chr1", 43970009, 43970010, "+"),
        Interval("chr1", 44017162, 44017163, "-"),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("chr1\t1\t2\tn", r"x\.bed:1: no strand"),
        ("chr1\t1\t9\tn\t0\t+", r"x\.bed:1: the row is 8 bp wide"),
        ("chr1\t1\t61\tn\t0\t+", r"x\.bed:1: the row is 60 bp wide"),
        ("chr1\t1\t61\tn\t0\t+\t900\t911", r"x\.bed:1: the start site 900 .* lies outside"),
    ],
)
def test_rows_that_are_no_start_site(tmp_path, row, message):
    (parsed,) = read_bed(bed(tmp_path, row + "\n"))
    with pytest.raises(InputError, match=message):
        start_site(parsed, "x.bed")


def test_epd_native_file_agrees_with_its_one_base_form(real_data):
    """Spot check on the real file: the site is the 50th base of the row, read with the gene."""
    rows = read_bed(real_data / "promoters" / "epdnew_native_8column_example_hg38.bed")
    assert len(rows) == 100
    for row in rows:
        site, whole = start_site(row, "epd"), row.interval
        from_left = site.start - whole.start
        assert from_left == (49 if whole.strand == "+" else 10)
