"""Lift-over: a chain small enough to follow by hand, and the real one."""

import gzip
from collections import Counter

import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Interval
from dna_bigbird.genome.lift_over import lift_sites, read_chain
from dna_bigbird.genome.sites.reading import read_sites

# chrA 0-10 -> chrA 5-15; 10-12 deleted; 12-20 -> 15-23.  chrA 30-40 turns round: new size 50,
# reverse strand 10-20 is forward 30-40, so 30 -> 39.  chrB 0-10 -> chrC.  chrA 50-60 -> two places.
CHAIN = """\
chain 100 chrA 100 + 0 20 chrA 50 + 5 23 1
10 2 0
8

chain 90 chrA 100 + 30 40 chrA 50 - 10 20 2
10

chain 80 chrB 10 + 0 10 chrC 10 + 0 10 3
10

chain 70 chrA 100 + 50 60 chrA 50 + 40 50 4
10

chain 60 chrA 100 + 50 60 chrA 50 + 24 34 5
10
"""
SITES = """\
chrA\t0\t1\tfirst\t0\t+
chrA\t11\t12\tgap\t0\t+
chrA\t12\t13\tafter_gap\t0\t-
chrA\t30\t31\tturned\t0\t+
chrA\t31\t32\tturned_too\t0\t-
chrB\t3\t4\tmoved\t0\t+
chrA\t55\t56\ttwice\t0\t+
chrZ\t1\t2\tunknown\t0\t+
"""


@pytest.fixture
def files(tmp_path):
    chain, sites = tmp_path / "a.chain", tmp_path / "sites.bed"
    chain.write_text(CHAIN)
    sites.write_text(SITES)
    return chain, sites


def test_by_hand(files):
    chain, sites = files
    lifted, lost = lift_sites(read_sites(sites), read_chain(chain))
    assert [(x.name, x.site, x.strand_changed) for x in lifted] == [
        ("first", Interval("chrA", 5, 6, "+"), False),
        ("after_gap", Interval("chrA", 15, 16, "-"), False),
        ("turned_too", Interval("chrA", 38, 39, "+"), True),
        ("turned", Interval("chrA", 39, 40, "-"), True),
    ]
    assert [(x.name, x.reason) for x in lost] == [
        ("gap", "deleted"),
        ("moved", "to another chromosome (chrC)"),
        ("twice", "several targets (chrA:45, chrA:29)"),
        ("unknown", "chromosome not in the chain"),
    ]


def test_command_line(files, tmp_path, capsys):
    chain, sites = files
    out, lost = tmp_path / "new" / "out.bed", tmp_path / "new" / "lost.tsv"
    main(
        [
            "lift-over",
            f"--input={sites}",
            f"--chain={chain}",
            f"--output={out}",
            f"--unlifted={lost}",
        ]
    )
    absent, counts = capsys.readouterr().err.splitlines()
    assert absent.endswith("a.chain: it lacks the chromosome of 1 sites on chrZ")
    assert counts == "dna-bigbird: note: 4 lifted, 4 lost, 2 changed strand"
    assert out.read_text().splitlines()[0] == "chrA\t5\t6\tfirst\tchrA:0:+\t+"
    assert lost.read_text().splitlines()[:5] == [
        "# lifted: 4",
        "# lost: 4",
        "# strand changed: 2",
        "name\tchrom\tstart\tend\tstrand\treason",
        "gap\tchrA\t11\t12\t+\tdeleted",
    ]


def test_what_is_no_chain_file(tmp_path, files):
    with pytest.raises(InputError, match=r"missing\.chain: no such file"):
        read_chain(tmp_path / "missing.chain")
    with pytest.raises(
        InputError, match=r"sites\.bed: the first line is 'chrA.*expected a UCSC chain"
    ):
        read_chain(files[1])
    broken = tmp_path / "broken.chain"
    broken.write_text(CHAIN.replace("10 2 0", "10 2"))
    with pytest.raises(InputError, match=r"broken\.chain:2: '10 2': not a line of a chain file"):
        read_chain(broken)
    broken.write_text(CHAIN.replace("10 2 0", "10 3 0"))
    with pytest.raises(InputError, match=r"broken\.chain: cannot read this chain file"):
        read_chain(broken)
    cut = tmp_path / "cut.chain.gz"
    cut.write_bytes(gzip.compress(CHAIN.encode())[:-20])
    with pytest.raises(InputError, match=r"cut\.chain\.gz: .*truncated"):
        read_chain(cut)


def test_real_promoters_lift_to_the_expected_file(real_data, tmp_path, capsys):
    """24,733 of 24,736 lift, 3 are lost, 40 change strand; chr17 and chr22 agree byte for byte."""
    promoters, out = real_data / "promoters", tmp_path / "hg19.bed"
    main(
        [
            "lift-over",
            f"--input={promoters / 'epdnew_human_hg38_without_chr1_chr2.bed.gz'}",
            f"--chain={real_data / 'chain' / 'hg38ToHg19.over.chain.gz'}",
            f"--output={out}",
            f"--unlifted={tmp_path / 'lost.tsv'}",
        ]
    )
    assert capsys.readouterr().err == "dna-bigbird: note: 24733 lifted, 3 lost, 40 changed strand\n"
    ours = [x for x in out.read_text().splitlines() if x.split("\t")[0] in ("chr17", "chr22")]
    with gzip.open(promoters / "epdnew_human_hg19_lifted_chr17_chr22.bed.gz", "rt") as stream:
        assert ours == stream.read().splitlines()
    lost = [line.split("\t") for line in (tmp_path / "lost.tsv").read_text().splitlines()[4:]]
    assert [(fields[0], fields[1], fields[-1]) for fields in lost] == [
        ("TCRB_1", "chr7", "deleted"),
        ("TCR8_1", "chr7", "deleted"),
        ("ANKRD20A3_1", "chr9", "deleted"),
    ]
    rows = [line.split("\t") for line in out.read_text().splitlines()]
    turned = Counter(fields[0] for fields in rows if fields[4][-1] != fields[5])
    assert turned == {"chr10": 20, "chr15": 8, "chrX": 5, "chr9": 4, "chr21": 3}


def test_there_and_back_again(real_data):
    """All 2,537 sites of chr17 and chr22 come back to their base and strand."""
    lifted_bed = real_data / "promoters" / "epdnew_human_hg19_lifted_chr17_chr22.bed.gz"
    back, lost = lift_sites(
        read_sites(lifted_bed), read_chain(real_data / "chain" / "hg19ToHg38.over.chain.gz")
    )
    original = read_sites(real_data / "promoters" / "epdnew_human_hg38_without_chr1_chr2.bed.gz")
    wanted = {(s.name, s.interval) for s in original if s.interval.chrom in ("chr17", "chr22")}
    assert not lost
    assert len(back) == 2537
    assert {(x.name, x.site) for x in back} == wanted


@pytest.mark.parametrize("kind", ["gtf", "gff", "sga", "fps"])
def test_sites_of_every_format_are_lifted(files, tmp_path, kind):
    """Three of the sites above: kept, after a gap, turned round."""
    rows = {
        "gtf": 'chrA\tx\ttranscript\t{0}\t{0}\t.\t{1}\t.\tgene_id "g";\n',
        "gff": "chrA\tx\tmRNA\t{0}\t{0}\t.\t{1}\t.\tParent=g\n",
        "sga": "chrA\tTSS\t{0}\t{1}\t1\tg\n",
        "fps": "FP   g                   :+S  EU:chrA              1{1}{0:>10}; 1.\n",
    }
    path = tmp_path / "sites"
    path.write_text("".join(rows[kind].format(*x) for x in ((1, "+"), (13, "-"), (31, "+"))))
    lifted, _ = lift_sites(read_sites(path), read_chain(files[0]))
    assert [x.site for x in lifted] == [
        Interval("chrA", 5, 6, "+"),
        Interval("chrA", 15, 16, "-"),
        Interval("chrA", 39, 40, "-"),
    ]
