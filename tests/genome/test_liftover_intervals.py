"""Whole intervals on another assembly, against lifting each of their bases."""

import pytest

from dna_bigbird.genome import Interval
from dna_bigbird.genome.lift_over import lift_interval, read_chain

# chrA 0-20 -> chrA 5-25 but for 10-12, which the new assembly has not, and 4 bases that only it has.
# chrA 30-40 turns round. chrA 50-60 and chrB go elsewhere.
CHAIN = """\
chain 100 chrA 100 + 0 20 chrA 60 + 5 27 1
10 2 4
8

chain 90 chrA 100 + 30 40 chrA 60 - 10 20 2
10

chain 80 chrB 10 + 0 10 chrC 10 + 0 10 3
10

chain 70 chrA 100 + 50 60 chrA 60 + 40 50 4
10

chain 60 chrA 100 + 50 60 chrA 60 + 30 40 5
10
"""


@pytest.fixture
def chain(tmp_path):
    path = tmp_path / "a.chain"
    path.write_text(CHAIN)
    return read_chain(path)


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (Interval("chrA", 0, 10, "+"), Interval("chrA", 5, 15, "+")),
        (Interval("chrA", 3, 4, "-"), Interval("chrA", 8, 9, "-")),
        (Interval("chrA", 12, 20, "-"), Interval("chrA", 19, 27, "-")),
        # The new size is 60, so its reverse strand 10-20 is forward 40-50.
        (Interval("chrA", 30, 34, "+"), Interval("chrA", 46, 50, "-")),
        (Interval("chrA", 36, 40, "-"), Interval("chrA", 40, 44, "+")),
        (Interval("chrA", 8, 14, "+"), None),  # across the gap: two bases longer
        (Interval("chrA", 5, 11, "+"), None),  # its last base is deleted
        (Interval("chrA", 11, 15, "+"), None),  # its first base is deleted
        (Interval("chrA", 15, 35, "+"), None),  # its ends are on two strands
        (Interval("chrA", 95, 105, "+"), None),
        (Interval("chrB", 2, 6, "+"), None),  # to another chromosome
        (Interval("chrA", 52, 56, "+"), None),  # to two places
        (Interval("chrZ", 2, 6, "+"), None),
    ],
    ids=str,
)
def test_by_hand(chain, interval, expected):
    assert lift_interval(interval, chain) == expected


def of_every_base(interval, chain):
    """Return the only target of each base of an interval as (chromosome, position, strand); None without."""
    targets = [
        chain.chains.convert_coordinate(interval.chrom, position, interval.strand)
        for position in range(interval.start, interval.end)
    ]
    return [base[0][:3] if base and len(base) == 1 else None for base in targets]


def is_lifted(first, last, length_bp):
    """Return whether the targets of both ends are on chr22 and as far apart as before."""
    if first is None or last is None or {first[0], last[0]} != {"chr22"}:
        return False
    return first[2] == last[2] and abs(first[1] - last[1]) == length_bp - 1


@pytest.mark.parametrize("strand", ["+", "-"])
def test_real_intervals_have_their_bases_in_order(real_data, strand):
    """500 bp every 9 kb of GRCh38 chr22: an interval is lifted if its ends are as far apart, and then
    nearly all bases of nearly all intervals are where it has them."""
    chain = read_chain(real_data / "chain" / "hg38ToHg19.chr17_chr22_only.over.chain.gz")
    lifted, lost, shares = 0, 0, []
    for start in range(15_000_000, 21_000_000, 9_000):
        interval = Interval("chr22", start, start + 500, strand)
        bases = of_every_base(interval, chain)
        first, last = bases[0], bases[-1]
        result = lift_interval(interval, chain)
        if not is_lifted(first, last, 500):
            assert result is None
            lost += 1
            continue
        lifted += 1
        order = range(result.start, result.end)
        places = order if result.strand == strand else reversed(order)
        expected = [("chr22", place, result.strand) for place in places]
        assert (first, last) == (expected[0], expected[-1])
        shares.append(sum(map(tuple.__eq__, (x or () for x in bases), expected)) / 500)
    assert lifted > 450
    assert lost > 100
    assert sum(share == 1 for share in shares) >= 0.99 * lifted


def test_real_rows_of_a_suite_have_all_their_bases(real_data):
    """Promoters and other DNA of chr22 on both strands, all 251 bp."""
    from dna_bigbird.bench.suites.suite import find_suite

    chain = read_chain(real_data / "chain" / "hg38ToHg19.chr17_chr22_only.over.chain.gz")
    suite, folder = find_suite("genomic-benchmarks"), real_data / "benchmarks/genomic_benchmarks"
    (task,) = (x for x in suite.tasks(folder) if x.name == "human_nontata_promoters")
    strands, lifted, lost = set(), 0, 0
    for row in suite.intervals(folder, task):
        interval = row.interval
        if interval.chrom != "chr22" or interval.end > 19_000_000:
            continue
        result, bases = lift_interval(interval, chain), of_every_base(interval, chain)
        if not is_lifted(bases[0], bases[-1], interval.length):
            assert result is None
            lost += 1
            continue
        lifted += 1
        order = range(result.start, result.end)
        places = order if result.strand == interval.strand else reversed(order)
        assert bases == [("chr22", x, result.strand) for x in places]
        strands.add(interval.strand)
    assert strands == {"+", "-"}
    assert lifted > 10 * lost
