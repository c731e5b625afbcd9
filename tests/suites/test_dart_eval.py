"""DART-Eval rebuilt: windows, elements and motifs by hand, real elements, and what is wrong with a file."""

import gzip
from importlib import resources

import numpy as np
import pytest

from dna_bigbird.bench.suites import dart_eval
from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Interval, reverse_complement

LENGTH = 20_000
JASPAR = (resources.files("dna_bigbird.genome") / "data/jaspar_selection.jaspar").read_text()


@pytest.fixture
def chromosome(random_dna):
    return random_dna(LENGTH, 1)


@pytest.fixture
def genomes(tmp_path, chromosome):
    (tmp_path / "g.fa").write_text(f">chr1\n{chromosome}\n>chrN\n{'N' * LENGTH}\n")
    return Genomes({"GRCh38": tmp_path / "g.fa"})


def write_bed(folder, *lines):
    (folder / "regulatory.bed").write_text("".join(f"{line}\n" for line in lines))


def pairs_of(folder, genomes, name="regulatory-elements"):
    (task,) = (task for task in dart_eval.tasks(folder) if task.name == name)
    return dart_eval.read(folder, task, genomes)


def dinucleotides(sequence):
    counts: dict[str, int] = {}
    for i in range(len(sequence) - 1):
        counts[sequence[i : i + 2]] = counts.get(sequence[i : i + 2], 0) + 1
    return counts


def test_only_the_element_is_shuffled_in_its_window(tmp_path, genomes, chromosome):
    write_bed(tmp_path, "chr1\t1000\t1100\telement")
    (row,) = pairs_of(tmp_path, genomes).rows
    assert row.interval == Interval("chr1", 875, 1225, "+")
    assert row.sequence == chromosome[875:1225]
    assert row.name == "chr1:876-1225"
    inside, shuffled = row.sequence[125:225], row.changed[125:225]
    assert (row.changed[:125], row.changed[225:]) == (row.sequence[:125], row.sequence[225:])
    assert dinucleotides(shuffled) == dinucleotides(inside)
    assert sum(a != b for a, b in zip(shuffled, inside, strict=True)) > 40


def test_a_long_element_fills_its_window(tmp_path, genomes, chromosome):
    write_bed(tmp_path, "chr1\t500\t2500")
    (row,) = pairs_of(tmp_path, genomes).rows
    assert row.sequence == chromosome[1325:1675]
    assert dinucleotides(row.changed) == dinucleotides(row.sequence)
    assert sum(a != b for a, b in zip(row.sequence, row.changed, strict=True)) > 150


def test_an_element_on_the_other_strand_is_read_there(tmp_path, genomes, chromosome):
    write_bed(tmp_path, "chr1\t1000\t1051\tx\t0\t-")
    (row,) = pairs_of(tmp_path, genomes).rows
    assert row.sequence == reverse_complement(chromosome[850:1200])
    inside = row.sequence.index(reverse_complement(chromosome[1000:1051]))
    assert row.changed[:inside] == row.sequence[:inside]
    assert row.changed[inside + 51 :] == row.sequence[inside + 51 :]
    assert row.changed != row.sequence


def test_what_is_left_out_is_counted(tmp_path, genomes):
    write_bed(
        tmp_path, "chr1\t1000\t1100", "chr1\t1000\t1100", "chr1\t1348\t1450", "chr1\t10\t60", "chr1\t19900\t19960",
        "chrN\t1000\t1100", "chr1\t2000\t2010",
    )  # fmt: skip
    rows = pairs_of(tmp_path, genomes)
    assert len(rows.rows) == 1
    assert rows.counts == {
        "rows_read": 7,
        "left_out_overlapping": 2,
        "left_out_at_the_end_of_a_chromosome": 2,
        "left_out_unknown_bases": 1,
        "left_out_short_element": 1,
    }


def test_a_large_file_is_sampled(tmp_path, genomes, monkeypatch):
    monkeypatch.setattr(dart_eval, "MOST_ELEMENTS", 7)
    write_bed(tmp_path, *(f"chr1\t{start}\t{start + 50}" for start in range(200, 19_600, 400)))
    rows = pairs_of(tmp_path, genomes)
    assert len(rows.rows) == 7
    assert rows.counts == {"rows_read": 49, "left_out_beyond_the_sample": 42}
    starts = sorted(row.interval.start for row in rows.rows)
    assert starts[-1] - starts[0] > 6000
    assert pairs_of(tmp_path, genomes) == rows


def test_no_two_windows_share_a_base(tmp_path, genomes):
    rng = np.random.default_rng(0)
    starts = rng.integers(200, 19_600, 150).tolist()
    write_bed(tmp_path, *(f"chr1\t{start}\t{start + 50}" for start in starts))
    rows = pairs_of(tmp_path, genomes)
    covered: set[int] = set()
    for row in rows.rows:
        bases = set(range(row.interval.start, row.interval.end))
        assert not covered & bases
        covered |= bases
    for start in starts:  # nothing was left out that would have had room
        assert covered & set(range(start + 25 - 175, start + 25 + 175))
    assert len(rows.rows) + rows.counts["left_out_overlapping"] == 150


@pytest.fixture
def motif_pairs(tmp_path, genomes):
    write_bed(tmp_path, *(f"chr1\t{start}\t{start + 50}" for start in range(200, 19_600, 400)))
    (tmp_path / "motifs.jaspar").write_text(JASPAR)
    return pairs_of(tmp_path, genomes, "motifs")


def test_motifs_are_put_into_the_middle_of_the_same_neutral_sequences(motif_pairs, chromosome):
    by_background: dict[str, list] = {}
    for row in motif_pairs.rows:
        by_background.setdefault(row.name, []).append(row)
    assert len(by_background) == 20
    groups = {row.group for row in motif_pairs.rows}
    assert len(groups) == JASPAR.count(">") == motif_pairs.counts["motifs_read"]
    for rows in by_background.values():
        assert {row.group for row in rows} == groups
        flanks = {(row.sequence[:140], row.sequence[-140:]) for row in rows}
        assert len(flanks) == 1
        for row in rows:
            assert sorted(row.sequence) == sorted(row.changed)
            assert row.sequence[:140] not in chromosome


def test_the_site_is_the_consensus_and_the_control_another_order(motif_pairs):
    """SP1 MA0079.3: the largest count of each column, from the lines of the file."""
    sites = set()
    for row in motif_pairs.rows:
        if row.group == "SP1 MA0079.3":
            start = 175 - 11 // 2
            sites.add((row.sequence[start : start + 11], row.changed[start : start + 11]))
    (consensus,) = {site for site, _ in sites}
    columns = [line.split("[")[1].split("]")[0].split() for line in JASPAR.splitlines()[1:5]]
    best = [max(range(4), key=lambda base: int(columns[base][i])) for i in range(11)]
    assert consensus == "".join("ACGT"[base] for base in best)
    others = {other for _, other in sites}
    assert len(others) > 5
    for other in others:
        assert sorted(other) == sorted(consensus)
        assert other not in (consensus, reverse_complement(consensus))


def test_a_motif_without_another_order_is_counted(tmp_path, genomes):
    write_bed(tmp_path, *(f"chr1\t{start}\t{start + 50}" for start in range(200, 19_600, 400)))
    (tmp_path / "motifs.jaspar").write_text(">M1\nA [5 5 5]\nC [0 0 0]\nG [0 0 0]\nT [1 1 1]\n")
    rows = pairs_of(tmp_path, genomes, "motifs")
    assert rows.rows == []
    assert rows.counts["motifs_left_out_without_another_order"] == 1


def test_real_peaks_of_ctcf(real_data, tmp_path):
    """Real ENCODE peaks on the real piece of chr22; their control has the dinucleotides of each."""
    with gzip.open(
        real_data / "chromatin/encode_ctcf_rad21_hg19_chr17_chr22.bed.gz", "rt"
    ) as stream:
        peaks = [line for line in stream if line.startswith("chr22\t")]
    (tmp_path / "regulatory.bed").write_text("".join(peaks))
    genome = real_data / "genome/hg19_chr22_1-21000000.fa.gz"
    rows = pairs_of(tmp_path, Genomes({"GRCh37": genome}))
    assert rows.assembly == "GRCh37"
    assert len(rows.rows) + sum(v for k, v in rows.counts.items() if k != "rows_read") == len(peaks)
    assert len(rows.rows) > 100
    for row in rows.rows:
        assert dinucleotides(row.changed) == dinucleotides(row.sequence)
        assert len(row.sequence) == 350
    different = [
        np.mean([a != b for a, b in zip(row.sequence, row.changed, strict=True)])
        for row in rows.rows
    ]
    assert np.median(different) > 0.4


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["chr1\t100"], r"regulatory\.bed:1: 2 columns, expected at least 3"),
        (
            ["chr1\t1000\t1100", "chr1\t1\t1"],
            r"regulatory\.bed:2: start and end are both 1, an empty row",
        ),
        (["chrom\tstart\tend"], r"regulatory\.bed:1: start is 'start', expected a whole number"),
        (
            ["chr1\t19900\t20001"],
            r"regulatory\.bed:1: chr1:19,901-20,001 is not in g\.fa, which ends before",
        ),
        (
            ["chr2\t1000\t1100"],
            r"regulatory\.bed:1: chr2:1,001-1,100 is not in g\.fa, which has no such",
        ),
    ],
)
def test_what_is_wrong_with_the_elements(tmp_path, genomes, lines, message):
    write_bed(tmp_path, *lines)
    with pytest.raises(InputError, match=message):
        pairs_of(tmp_path, genomes)


def test_files_and_genomes_that_are_missing(tmp_path, genomes):
    with pytest.raises(InputError, match=r"no regulatory\.bed in it; expected regulatory\.bed or"):
        dart_eval.tasks(tmp_path)
    write_bed(tmp_path, "chr1\t1000\t1100")
    assert [task.name for task in dart_eval.tasks(tmp_path)] == ["regulatory-elements"]
    with pytest.raises(InputError, match=r"--genome has 0 assemblies; expected one"):
        pairs_of(tmp_path, Genomes({}))
    with pytest.raises(InputError, match=r"--chain is not used here"):
        pairs_of(tmp_path, Genomes(genomes.fastas, chain=tmp_path / "x.chain"))
