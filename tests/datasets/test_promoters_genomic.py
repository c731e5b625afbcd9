"""Genomic negatives: away from every site, alike in composition, disjoint, in the right split."""

import gzip
import itertools
import json
import tempfile

import numpy as np
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.repeats import RepeatClasses
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.promoter.genomic_negatives import (
    GC_TOLERANCE,
    REPEAT_TOLERANCE,
    candidate_windows,
)
from tests.bedtools_program import needs_bedtools

REGIONS = ("--split.validation=[chrA:200001-280000]", "--split.test=[chrB]")


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    """chrA, chrB (300 and 150 kb, GC and repeats change every 500 bp, gap of N), chrC in one case."""
    rng = np.random.default_rng(7)

    def bases(length):
        blocks = []
        for gc, masked in zip(
            rng.uniform(0.3, 0.7, length // 500), rng.random(length // 500), strict=True
        ):
            p = [(1 - gc) / 2, gc / 2, gc / 2, (1 - gc) / 2]
            block = "".join(rng.choice(list("ACGT"), 500, p=p))
            cut = int(500 * masked)
            blocks.append(block[:cut].lower() + block[cut:])
        return "".join(blocks)

    a, b, c = bases(300_000), bases(150_000), bases(20_000).upper()
    a = a[:100_000] + "N" * 5000 + a[105_000:]
    path = tmp_path_factory.mktemp("genome") / "toy.fa"
    path.write_text(f">chrA\n{a}\n>chrB\n{b}\n>chrC\n{c}\n")
    return Genome(path)


def some_sites(count=60, seed=1):
    rng = np.random.default_rng(seed)
    places = [("chrA", p) for p in rng.integers(1000, 299_000, count * 2 // 3)]
    places += [("chrB", p) for p in rng.integers(1000, 149_000, count - len(places))]
    return [(c, int(p), "+-"[i % 2], f"g{i}_1") for i, (c, p) in enumerate(places)]


def write_bed(path, sites):
    path.write_text("".join(f"{c}\t{p}\t{p + 1}\t{n}\t0\t{s}\n" for c, p, s, n in sites))
    return path


def build(tmp_path, genome, sites, *extra, split=REGIONS, up=250, down=50, output="set.h5"):
    if sites:
        extra = (f"--sites={write_bed(tmp_path / 'sites.bed', sites)}", *extra)
    main(
        [
            "promoter-set",
            f"--genome={genome.path}",
            f"--output={tmp_path / output}",
            "--assembly=toy",
            f"--upstream={up}",
            f"--downstream={down}",
            "--negatives=genomic",
            "--near_identical=keep",
            *split,
            *extra,
        ]
    )
    return LabelledSet(tmp_path / output, genome)


def windows(made):
    return [made.interval(i) for i in range(len(made))]


def shares(genome, window):
    """GC and repeats, counted letter by letter in the file."""
    text = genome.letters(window).decode()
    known = [x for x in text if x not in "Nn"]
    return (
        sum(x in "GCgc" for x in known) / len(known),
        sum(x.islower() for x in known) / len(known),
    )


def test_rows_and_attributes(tmp_path, genome):
    made = build(tmp_path, genome, some_sites())
    assert made.negatives == "genomic"
    assert made.labels[:, 0].tolist() == [1, 0] * (len(made) // 2)
    assert (made.pairs[::2] == made.pairs[1::2]).all()
    assert len(set(made.pairs.tolist())) == len(made) // 2 == 60 - sum_left_out(made)
    for i in range(0, len(made), 2):
        assert made.interval(i) != made.interval(i + 1)
        assert made.sequence(i + 1) == genome.fetch(made.interval(i + 1))
        assert "N" not in made.sequence(i + 1)
        assert made.name(i) == made.name(i + 1)
    assert {made.interval(i).strand for i in range(1, len(made), 2)} == {"+", "-"}


def test_a_second_one_is_another_window_and_the_first_one_stays(tmp_path, genome):
    one = build(tmp_path, genome, some_sites())
    two = build(
        tmp_path, genome, some_sites(), "--negatives=permuted,genomic,genomic", output="two.h5"
    )
    assert two.negatives == "permuted,genomic,genomic"
    first = [two.interval(i) for i in range(2, len(two), 4)]
    second = [two.interval(i) for i in range(3, len(two), 4)]
    assert first == [one.interval(i) for i in range(1, len(one), 2)]
    taken = sorted((x.chrom, x.start, x.end) for x in first + second)
    for (chrom, _, end), (other, start, _) in itertools.pairwise(taken):
        assert chrom != other or start >= end


def test_background_is_any_window_and_leaves_matched_ones_as_they_are(tmp_path, genome):
    """Their mean GC content is that of the genome (blocks of 500 bp from 0.3 to 0.7), whatever the site's."""
    matched = build(tmp_path, genome, some_sites())
    asked = "--negatives=genomic,background,background"
    made = build(tmp_path, genome, some_sites(), asked, output="more.h5")
    rows = np.arange(len(made))
    assert [made.interval(i) for i in rows[1::4]] == [
        matched.interval(i) for i in rows[1 : len(matched) : 2]
    ]
    windows = [made.interval(i) for i in rows if i % 4]
    taken = sorted((x.chrom, x.start, x.end) for x in windows)
    for (chrom, _, end), (other, start, _) in itertools.pairwise(taken):
        assert chrom != other or start >= end
    sites = {(chrom, start) for chrom, start, _, _ in some_sites()}
    for window in windows:
        assert all(
            c != window.chrom or not window.start - 300 < p < window.end + 299 for c, p in sites
        )
    gaps = [
        abs(shares(genome, made.interval(i))[0] - shares(genome, made.interval(i - i % 4))[0])
        for i in rows
        if i % 4 > 1
    ]
    assert np.mean(gaps) > 0.08  # two independent windows; matched ones are within 0.01


def sum_left_out(made):
    return sum(value for key, value in made.counts.items() if key.startswith("left_out"))


@needs_bedtools
@pytest.mark.parametrize(("up", "down", "count"), [(250, 50, 1), (900, 100, 2)])
def test_no_start_site_is_near_as_bedtools_says(tmp_path, genome, up, down, count, monkeypatch):
    import pybedtools

    sites = some_sites(45)
    avoided = some_sites(15, seed=2)
    files = [str(write_bed(tmp_path / f"{i}.bed", avoided[i::count])) for i in range(count)]
    made = build(
        tmp_path,
        genome,
        sites,
        f"--avoid={files[0] if count == 1 else json.dumps(files)}",
        up=up,
        down=down,
    )
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    negatives = [(x.chrom, x.start, x.end) for x in windows(made)[1::2]]
    positives = [(x.chrom, x.start, x.end) for x in windows(made)[::2]]
    points = pybedtools.BedTool([(c, p, p + 1) for c, p, *_ in sites + avoided]).sort()
    rows = pybedtools.BedTool(negatives).sort()
    distances = [int(x[-1]) for x in rows.closest(points, d=True, t="first")]
    assert len(distances) == len(negatives) > 30
    assert min(distances) >= up + down
    assert len(rows.intersect(pybedtools.BedTool(positives), u=True)) == 0
    assert len(rows.merge(d=-1)) == len(negatives)  # no two share a base


def test_negatives_are_in_the_region_of_their_split(tmp_path, genome):
    made = build(tmp_path, genome, some_sites())
    assert (made.split[::2] == made.split[1::2]).all()
    assert set(made.split.tolist()) == {0, 1, 2}
    for split, window in zip(made.split.tolist(), windows(made), strict=True):
        inside = window.chrom == "chrA" and 200_000 <= window.start <= window.end <= 280_000
        outside = window.chrom == "chrA" and (window.end <= 200_000 or window.start >= 280_000)
        assert split == (2 if window.chrom == "chrB" else 1 if inside else 0 if outside else -1)


def test_composition_is_matched_and_told(tmp_path, genome):
    made = build(tmp_path, genome, some_sites())
    rows = windows(made)
    gaps = np.array(
        [
            np.subtract(shares(genome, p), shares(genome, n))
            for p, n in zip(rows[::2], rows[1::2], strict=True)
        ]
    )
    gc, repeat = np.abs(gaps).T
    outside = (gc > GC_TOLERANCE + 1e-6) | (repeat > REPEAT_TOLERANCE + 1e-6)
    assert made.counts["negatives_outside_tolerance"] == outside.sum()
    assert made.counts["negatives_mean_gc_difference"] == pytest.approx(gc.mean(), abs=6e-5)
    assert made.counts["negatives_mean_repeat_difference"] == pytest.approx(repeat.mean(), abs=6e-5)
    # Drawn blindly they differ by 0.13 and 0.3 on average.
    assert gc.mean() < 0.015
    assert repeat.mean() < 0.05


def test_the_nearest_one_where_none_is_near_enough(tmp_path):
    """A promoter all of G and C on a genome with one window half as rich, and the rest without."""
    rng = np.random.default_rng(0)
    poor = "".join(rng.choice(list("AT"), 9000))
    middle = "".join(rng.choice(list("ACGT"), 400))
    path = tmp_path / "g.fa"
    path.write_text(f">chr1\n{'GC' * 50}{poor[:3000]}{middle}{poor[3000:]}\n")
    made = build(
        tmp_path, Genome(path), [("chr1", 50, "+", "x")], split=("--split.test=[]",), up=50, down=50
    )
    assert Interval("chr1", 3050, 3450).overlap(made.interval(1)) > 50
    assert made.counts["negatives_outside_tolerance"] == 1


def test_one_case_is_matched_for_gc_alone(tmp_path, genome):
    """chrC says nothing of repeats: its promoters take any, the others none of its windows."""
    sites = [("chrC", 5000, "+", "c"), ("chrA", 50_000, "+", "a"), ("chrA", 80_000, "+", "b")]
    made = build(tmp_path, genome, sites, split=("--split.test=[chrB]",))
    assert made.counts["negatives_matched_for_gc_alone"] == 1
    assert [made.interval(i).chrom for i in (1, 3)] == ["chrA", "chrA"]
    gc = [shares(genome, made.interval(i))[0] for i in (4, 5)]
    assert abs(gc[0] - gc[1]) <= GC_TOLERANCE + 1e-6


def test_a_choice_depends_on_seed_and_place(tmp_path, genome):
    """Without a site elsewhere only the few negatives change that had to make way for its own."""
    sites = some_sites()
    first = build(tmp_path, genome, sites)
    again = build(tmp_path, genome, sites, output="again.h5")
    assert (tmp_path / "set.h5").read_bytes() == (tmp_path / "again.h5").read_bytes()
    fewer = build(tmp_path, genome, [*sites[:5], *sites[6:]], output="fewer.h5")

    def chosen(made):
        return {made.name(i): made.interval(i + 1) for i in range(0, len(made), 2)}

    every, some = chosen(again), chosen(fewer)
    same = [every[name] == window for name, window in some.items()]
    assert len(same) == len(every) - 1
    assert sum(same) >= len(same) - 3
    other = chosen(build(tmp_path, genome, sites, "--seed=1", output="other.h5"))
    assert [first.interval(i) for i in range(0, len(first), 2)] == [
        again.interval(i) for i in range(0, len(again), 2)
    ]
    assert sum(other[name] == window for name, window in every.items()) <= 2


def test_folds_share_their_negatives(tmp_path, genome):
    made = [
        build(
            tmp_path,
            genome,
            some_sites(),
            split=("--split.folds=3", f"--split.fold={fold}"),
            output=f"{fold}.h5",
        )
        for fold in range(3)
    ]
    assert windows(made[0]) == windows(made[1]) == windows(made[2])
    for one in made:
        assert (one.split[::2] == one.split[1::2]).all()
    is_tested = np.stack([one.split == 2 for one in made])
    assert (is_tested.sum(axis=0) == 1).all()


def test_held_out_negatives_are_where_pretraining_did_not_read(tmp_path, genome):
    folds, unread = ("--split.folds=3", "--split.fold=0"), ("chrA", 150_000, 250_000)
    made = build(tmp_path, genome, some_sites(), "--unread=[chrA:150001-250000]", split=folds)
    for i in range(1, len(made), 2):
        window = made.interval(i)
        inside = max(0, min(window.end, unread[2]) - max(window.start, unread[1]))
        is_there = window.chrom == unread[0] and inside
        assert (inside if is_there else 0) == (window.length if made.split[i] else 0)
    assert set(made.split.tolist()) == {0, 1, 2}


@pytest.mark.parametrize(
    ("split", "unread", "message"),
    [
        (REGIONS, "chrA:150001-250000", "--unread belongs to --split.folds"),
        (("--split.folds=3",), "chrZ", "region 'chrZ': chromosome 'chrZ' is not in toy.fa"),
        (
            ("--split.folds=3",),
            "chrA:150001-152000",
            r"--negatives genomic: 40 promoters in chrA:150001-152000 need as many windows",
        ),
    ],
)
def test_refused_regions(tmp_path, genome, capsys, split, unread, message):
    with pytest.raises(SystemExit, match="2"):
        build(tmp_path, genome, some_sites(), f"--unread=[{unread}]", split=split)
    assert message in capsys.readouterr().err
    assert not (tmp_path / "set.h5").exists()


def test_promoters_without_coordinates_take_them_from_the_genome(tmp_path, genome):
    """Contigs of one window each, 400 of them: all hold a site, so none of them can be a negative."""
    rng = np.random.default_rng(5)
    lines = ["".join(rng.choice(list("ACGT"), 300)) for _ in range(400)]
    (tmp_path / "p.txt").write_text("\n".join(lines))
    out = [f"--output={tmp_path / 'p.fa'}", f"--output_sites={tmp_path / 'p.bed'}"]
    main(["promoter-sequences", f"--input={tmp_path / 'p.txt'}", "--tss_offset=249", *out])
    joined = tmp_path / "joined.fa"
    joined.write_text((tmp_path / "p.fa").read_text() + genome.path.read_text())
    main(
        [
            "promoter-set",
            f"--genome={joined}",
            f"--sites={tmp_path / 'p.bed'}",
            f"--output={tmp_path / 'set.h5'}",
            "--assembly=toy",
            "--upstream=249",
            "--downstream=51",
            "--negatives=genomic",
            "--split.folds=5",
        ]
    )
    made = LabelledSet(tmp_path / "set.h5", Genome(joined))
    assert [made.sequence(i) for i in range(0, len(made), 2)] == lines
    assert {made.interval(i).chrom for i in range(1, len(made), 2)} <= {"chrA", "chrB", "chrC"}
    assert [made.counts[f"positives_{x}"] for x in ("train", "validation", "test")] == [240, 80, 80]


@pytest.mark.parametrize(("up", "down"), [(200, 100), (1500, 500), (5000, 3000), (10_000, 6000)])
@pytest.mark.parametrize("kind", ["random_base", "permuted", "genomic"])
def test_every_window_length(tmp_path, genome, up, down, kind):
    sites = [("chrA", 120_000, "+", "a"), ("chrA", 130_000, "-", "b"), ("chrB", 75_000, "-", "c")]
    made = build(tmp_path, genome, sites, f"--negatives={kind}", up=up, down=down)
    assert len(made) == 6
    for i, (chrom, place, strand, _) in enumerate(sites):
        window = made.interval(2 * i)
        assert window.length == len(made.sequence(2 * i + 1)) == up + down
        first = genome.fetch(Interval(chrom, place, place + 1, strand))
        assert made.sequence(2 * i)[up] == first


def test_real_promoters(real_data, tmp_path):
    """The figures of docs/results/sites-on-another-assembly.md; matches counted again from the FASTA."""
    with open(tmp_path / "pieces.fa", "w") as joined:
        for path in sorted((real_data / "genome").glob("*.fa.gz")):
            with gzip.open(path, "rt") as stream:
                joined.write(stream.read())
    pieces = Genome(tmp_path / "pieces.fa")
    bed = real_data / "promoters" / "epdnew_human_hg19_lifted_chr17_chr22.bed.gz"
    split = ("--split.test=[chr22:19500001-21000000]",)
    made = build(tmp_path, pieces, [], f"--sites={bed}", "--pieces=true", split=split)
    assert len(made) == 210
    assert made.counts["negatives_outside_tolerance"] == 9
    rows = windows(made)
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    gc = [abs(shares(pieces, p)[0] - shares(pieces, n)[0]) for p, n in pairs]
    on_22 = [(p, n) for p, n in pairs if p.chrom == n.chrom == "chr22"]  # chr17 is in one case
    repeat = [abs(shares(pieces, p)[1] - shares(pieces, n)[1]) for p, n in on_22]
    assert np.mean(gc) == pytest.approx(0.0065, abs=6e-5)
    assert np.mean(repeat) == pytest.approx(0.0129, abs=6e-5)


def test_too_few_windows(tmp_path, genome, capsys):
    sites = [("chrB", p, "+", f"g{p}") for p in range(20_000, 140_000, 15_000)]
    sites.append(("chrA", 50_000, "+", "a"))
    with pytest.raises(SystemExit, match="2"):
        build(tmp_path, genome, sites, up=5000, down=3000)
    error = capsys.readouterr().err
    assert "--negatives genomic: 8 promoters in the test split need as many windows of" in error
    assert "only 2 could be given one. Take a shorter window" in error
    assert not (tmp_path / "set.h5").exists()


def test_the_number_of_candidates_is_bounded(genome, monkeypatch):
    monkeypatch.setattr("dna_bigbird.labelled.promoter.genomic_negatives.MAX_CANDIDATES", 100)
    repeats = RepeatClasses.from_soft_mask(genome)
    found = candidate_windows(genome, repeats, {}, 20, max_n_fraction=1, seed=0)
    assert 95 <= len(found.start) <= 105
    assert (np.diff(found.start[found.chrom == 0]) == 4700).all()
