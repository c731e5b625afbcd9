"""Promoter sets: orientation, negatives, splits, refusals."""

import gzip
import itertools
from pathlib import Path

import numpy as np
import pytest
import yaml

from dna_bigbird.cli.main import main
from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.genome.sites.reading import read_sites
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.promoter.config import PromoterConfig
from dna_bigbird.labelled.promoter.negatives import make_negative, part_borders
from dna_bigbird.labelled.splits import SplitConfig

UP, DOWN = 300, 130  # 430 bp: parts of 21, the last of 31


def sites_file(tmp_path, sites):
    path = tmp_path / "sites.bed"
    rows = (f"{c}\t{s}\t{s + 1}\t{name}\t0\t{strand}\n" for c, s, strand, name in sites)
    path.write_text("".join(rows))
    return path


def build(tmp_path, toy, sites, output="set.h5", extra=()):
    main(
        [
            "promoter-set",
            f"--genome={toy.path}",
            f"--sites={sites_file(tmp_path, sites)}",
            f"--output={tmp_path / output}",
            "--assembly=toy",
            f"--upstream={UP}",
            f"--downstream={DOWN}",
            "--split.validation=[chr1:10001-14000]",
            "--split.test=[chr2]",
            *extra,
        ]
    )
    return LabelledSet(tmp_path / output, toy)


SITES = [
    ("chr2", 4000, "-", "T_1"),
    ("chr1", 1000, "+", "A_1"),
    ("chr1", 1000, "-", "A_2"),
    ("chr1", 12000, "+", "V_1"),
]


def test_windows_are_oriented_with_the_gene(tmp_path, toy):
    """On either strand the first transcribed base is base UP of the window, counted from 0."""
    made = build(tmp_path, toy, SITES)
    raw = toy.fetch(Interval("chr1", 0, 20_000))
    assert [made.name(i) for i in range(0, len(made), 2)] == ["A_1", "A_2", "V_1", "T_1"]
    plus, minus = made.sequence(0), made.sequence(2)
    assert made.interval(0) == Interval("chr1", 700, 1130, "+")
    assert made.interval(2) == Interval("chr1", 871, 1301, "-")
    assert plus == raw[700:1130]
    assert plus[UP] == raw[1000]
    assert minus[UP] == reverse_complement(raw[1000])
    assert minus == reverse_complement(raw[871:1301])


def test_each_positive_has_one_negative_in_its_split(tmp_path, toy):
    made = build(tmp_path, toy, SITES)
    assert made.labels[:, 0].tolist() == [1, 0] * 4
    assert made.split.tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
    assert [made.interval(i) for i in range(0, 8, 2)] == [made.interval(i) for i in range(1, 8, 2)]
    assert len(set(made.pairs.tolist())) == 4
    assert (made.pairs[::2] == made.pairs[1::2]).all()
    assert (made.task, made.negatives, made.window_bp) == ("promoter", "random_base", UP + DOWN)


@pytest.mark.parametrize("length", [20, 47, 300, 430, 8000])
@pytest.mark.parametrize("kind", ["random_base", "permuted"])
def test_eight_parts_are_kept_in_place(length, kind):
    rng = np.random.default_rng(length)
    # Every base of the positive is different, so a moved one is recognised.
    positive = np.arange(length, dtype=np.int64)
    negative = make_negative(positive, kind, rng)
    assert len(negative) == length
    borders = part_borders(length)
    assert (np.diff(borders)[:-1] == length // 20).all()
    parts = [slice(a, b) for a, b in itertools.pairwise(borders)]
    same = [bool((negative[p] == positive[p]).all()) for p in parts]
    if kind == "random_base":  # ASCII letters, so a redrawn part is never the same as numbers
        redrawn = ~np.isin(negative, positive) | np.isin(negative, list(b"ACGT"))
        kept = [not redrawn[p].all() for p in parts]
        assert sum(kept) == 8
        assert all(same[i] for i in range(20) if kept[i])
    else:
        assert 8 <= sum(same) <= 19
        assert sorted(negative) == sorted(positive)
        tail = length - 20 * (length // 20)
        assert tail == 0 or (negative[-tail:] == positive[-tail:]).all()


def test_redrawn_bases_are_uniform_and_permuted_ones_keep_composition():
    rng = np.random.default_rng(1)
    positive = np.full(40_000, ord("N"), dtype=np.uint8)
    negative = make_negative(positive, "random_base", rng)
    counts = [(negative == base).sum() for base in b"ACGT"]
    assert sum(counts) == 24_000
    assert max(counts) - min(counts) < 600  # about 9 standard deviations of one count


def test_a_negative_does_not_depend_on_the_other_sites(tmp_path, toy):
    all_sites = build(tmp_path, toy, SITES)
    fewer = build(tmp_path, toy, SITES[1:2], "fewer.h5")
    assert fewer.sequence(1) == all_sites.sequence(1) != all_sites.sequence(0)
    other_seed = build(tmp_path, toy, SITES, "other.h5", ["--seed=1"])
    assert other_seed.sequence(0) == all_sites.sequence(0)
    assert other_seed.sequence(1) != all_sites.sequence(1)


def test_several_kinds_are_those_of_the_sets_with_one_kind(tmp_path, toy):
    """Rows come as promoter, then its negatives in the order asked for; the whole group is one pair."""
    kinds = ["random_base", "permuted"]
    alone = [build(tmp_path, toy, SITES, f"{kind}.h5", [f"--negatives={kind}"]) for kind in kinds]
    asked = "--negatives=permuted,random_base,permuted"
    made = build(tmp_path, toy, SITES, "several.h5", [asked])
    assert made.negatives == "permuted,random_base,permuted"
    assert made.labels[:, 0].tolist() == [1, 0, 0, 0] * 4
    assert made.pairs.tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    assert made.split.tolist() == [0] * 8 + [1] * 4 + [2] * 4
    for number in range(4):
        promoter, permuted, random_base, again = range(4 * number, 4 * number + 4)
        assert made.sequence(promoter) == alone[0].sequence(2 * number)
        assert made.sequence(random_base) == alone[0].sequence(2 * number + 1)
        assert made.sequence(permuted) == alone[1].sequence(2 * number + 1)
        assert made.sequence(again) not in (made.sequence(permuted), made.sequence(promoter))
        assert sorted(made.sequence(again)) == sorted(made.sequence(promoter))


def test_more_negatives_in_training_leave_validation_and_test_as_they_are(tmp_path, toy):
    one = build(tmp_path, toy, SITES, extra=["--negatives=permuted"])
    asked = ["--negatives=permuted", "--training_negatives=permuted,random_base,permuted"]
    more = build(tmp_path, toy, SITES, "more.h5", asked)
    assert more.split.tolist() == [0] * 8 + [1] * 2 + [2] * 2
    assert more.labels[:, 0].tolist() == [1, 0, 0, 0] * 2 + [1, 0] * 2
    assert [more.sequence(i) for i in (0, 1, 4, 5, 8, 9, 10, 11)] == [
        one.sequence(i) for i in range(8)
    ]
    assert len({more.sequence(i) for i in range(8)}) == 8
    assert sorted(more.sequence(3)) == sorted(more.sequence(0)) != sorted(more.sequence(2))


def test_sites_of_several_files_are_one_set(tmp_path, toy, capsys):
    one = build(tmp_path, toy, SITES)
    first = sites_file(tmp_path, SITES[:2]).rename(tmp_path / "first.bed")
    again = [f"--sites={first}"]
    two = build(tmp_path, toy, SITES[1:], "two.h5", again)
    assert [two.sequence(i) for i in range(len(two))] == [one.sequence(i) for i in range(len(one))]
    assert two.counts["sites_read"] == 5
    assert two.counts["left_out_same_site_again"] == 1
    assert set(two.inputs) == {"genome", "sites", "sites 2"}
    first.write_text("chr1\t999999\t1000000\tx\t0\t+\n")
    with pytest.raises(SystemExit, match="2"):
        build(tmp_path, toy, SITES[1:], "three.h5", again)
    assert "first.bed:1: " in capsys.readouterr().err


def test_what_is_left_out_is_counted(tmp_path, toy):
    made = build(
        tmp_path,
        toy,
        [
            *SITES,
            ("chr1", 1000, "+", "A_again"),
            ("chrUn", 5, "+", "absent"),
            ("chr1", 100, "+", "past_the_start"),
            ("chr1", 129, "-", "fits"),
            ("chr1", 19_990, "+", "past_the_end"),
            ("chrS", 50, "+", "short_chromosome"),
            ("chr1", 9050, "+", "in_the_gap"),
            ("chr1", 10_000, "+", "across"),
        ],
    )
    assert {k: v for k, v in made.counts.items() if v} == {
        "sites_read": 12,
        "left_out_chromosome_absent": 1,
        "left_out_same_site_again": 1,
        "left_out_window_past_the_end": 3,
        "left_out_window_with_n": 1,
        "left_out_window_across_splits": 1,
        "positives_train": 3,
        "positives_validation": 1,
        "positives_test": 1,
    }


def test_no_window_of_one_split_overlaps_another(tmp_path, toy):
    rng = np.random.default_rng(3)
    sites = [
        ("chr1", int(s), "+-"[i % 2], f"g{i}") for i, s in enumerate(rng.integers(0, 20_000, 200))
    ]
    made = build(tmp_path, toy, sites)
    train, validation = made.rows("train"), made.rows("validation")
    assert len(train) > 50
    assert len(validation) > 20
    for i in train:
        assert all(made.interval(i).overlap(made.interval(j)) == 0 for j in validation)


@pytest.mark.parametrize("kind", ["random_base", "permuted"])
def test_equal_inputs_give_equal_bytes(tmp_path, toy, kind):
    for name in ("a.h5", "b.h5"):
        build(tmp_path, toy, SITES, name, [f"--negatives={kind}"])
    first = (tmp_path / "a.h5").read_bytes()
    assert first == (tmp_path / "b.h5").read_bytes()
    assert str(tmp_path).encode() not in first


def test_promoters_of_one_gene_are_in_one_split(tmp_path, toy):
    """With regions the test keeps its promoters of a gene; with folds genes are dealt whole."""
    sites = [*SITES, ("chr1", 3000, "+", "T_2"), ("chr1", 13_000, "-", "A_3")]
    made = build(tmp_path, toy, [*sites, ("chr1", 5000, "+", "B_1")])
    kept = [made.name(i) for i in range(0, len(made), 2)]
    assert kept == ["B_1", "V_1", "A_3", "T_1"]
    assert made.counts["left_out_gene_in_another_split"] == 3


def test_folds_keep_genes_and_overlapping_windows_together(tmp_path, toy):
    rng = np.random.default_rng(4)
    places = np.sort(rng.choice(np.arange(400, 8000), 30, replace=False))
    sites = [("chr1", int(p), "+", f"G{i % 12}_{i // 12 + 1}") for i, p in enumerate(places)]
    sites += [("chr2", 400 + 500 * i, "-", f"H{i}_1") for i in range(22)]
    tested: list[str] = []
    for fold in range(3):
        made = build_folds(tmp_path, toy, sites, fold)
        rows = range(0, len(made), 2)
        split_of = {}
        for i in rows:
            gene = made.name(i).rpartition("_")[0]
            assert split_of.setdefault(gene, made.split[i]) == made.split[i] == made.split[i + 1]
            for j in rows:
                if made.interval(i).overlap(made.interval(j)):
                    assert made.split[i] == made.split[j]
        tested += [made.name(i) for i in made.rows("test") if i % 2 == 0]
    assert sorted(tested) == sorted(site[3] for site in sites)


def build_folds(tmp_path, toy, sites, fold):
    main(
        [
            "promoter-set",
            f"--genome={toy.path}",
            f"--sites={sites_file(tmp_path, sites)}",
            f"--output={tmp_path / 'folds.h5'}",
            "--assembly=toy",
            f"--upstream={UP}",
            f"--downstream={DOWN}",
            "--split.folds=3",
            f"--split.fold={fold}",
        ]
    )
    return LabelledSet(tmp_path / "folds.h5", toy)


def test_gtf_and_bed_give_the_same_rows(tmp_path, toy):
    """Base 1001 of a file that counts from 1 is base 1000 here."""
    bed = build(tmp_path, toy, SITES)
    gtf = tmp_path / "genes.gtf"
    rows = [
        f"{c}\tx\ttranscript\t{p + 1 if s == '+' else 1}\t{p + 1 if s == '-' else p + 50}\t.\t{s}"
        f'\t.\tgene_id "{name[0]}"; transcript_id "x";\n'
        for c, p, s, name in SITES
    ]
    gtf.write_text("".join(rows))
    made = build(tmp_path, toy, SITES, "gtf.h5", [f"--sites={gtf}"])
    assert [made.interval(i) for i in range(8)] == [bed.interval(i) for i in range(8)]
    assert [made.sequence(i) for i in range(8)] == [bed.sequence(i) for i in range(8)]
    assert made.name(2) == "A_2"


def refused(capsys, call):
    with pytest.raises(SystemExit, match="2") as stop:
        call()
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_refusals(tmp_path, toy, capsys):
    beyond = [*SITES, ("chr2", 12_000, "+", "off")]
    message = refused(capsys, lambda: build(tmp_path, toy, beyond))
    assert "sites.bed:5: end 12,001 is beyond the end of chr2 (12,000 bp in toy.fa)" in message
    assert not (tmp_path / "set.h5").exists()
    assert (
        build(tmp_path, toy, beyond, extra=["--pieces=true"]).counts["left_out_beyond_the_piece"]
        == 1
    )

    capsys.readouterr()
    message = refused(capsys, lambda: build(tmp_path, toy, [("chr9", 5, "+", "x")]))
    assert "none of its chromosomes (chr9) is in toy.fa (it has chr1, chr2, chrS)" in message
    message = refused(capsys, lambda: build(tmp_path, toy, SITES[:1]))
    assert "no promoter window of 430 bp is left for training" in message
    far = ["--upstream=20000"]
    message = refused(capsys, lambda: build(tmp_path, toy, SITES[:1], extra=far))
    assert "no promoter window of 20130 bp is left (1 site read" in message
    message = refused(capsys, lambda: build(tmp_path, toy, SITES, extra=["--negatives=shuffled"]))
    assert "'shuffled' does not exist; choose one of: random_base, permuted, genomic" in message
    short = ["--upstream=9", "--downstream=10"]
    message = refused(capsys, lambda: build(tmp_path, toy, SITES, extra=short))
    assert "error: a window of 19 bp cannot be cut into 20 parts" in message
    with pytest.raises(
        ValueError, match="'shuffled' does not exist; choose one of: random_base, perm"
    ):
        PromoterConfig(negatives="shuffled")
    with pytest.raises(ValueError, match="a window of 19 bp cannot be cut into 20 parts"):
        PromoterConfig(upstream=9, downstream=10)


@pytest.mark.parametrize(("count", "is_noted"), [(199, True), (200, False)])
def test_few_validation_positives_are_noted(tmp_path, toy, capsys, count, is_noted):
    inside = [("chr1", 10_500 + i, "+", f"V{i}") for i in range(count)]
    options = ["--near_identical=keep", "--upstream=20", "--downstream=20"]
    build(tmp_path, toy, [*SITES[:3], *inside], extra=options)
    error = capsys.readouterr().err
    note = f"note: {tmp_path / 'set.h5'}: {count} positives for validation, expected at least 200:"
    assert (note in error) == is_noted


def test_the_papers_config_validates_on_enough_real_promoters(real_data, tmp_path):
    """The list lacks chr1 and chr2; sites are counted before windows with N are left out."""
    config = yaml.safe_load((Path(__file__).parents[2] / "config" / "grch37.yaml").read_text())
    splits = config["promoter"]["splits"]
    promoters = real_data / "promoters" / "epdnew_human_hg38_without_chr1_chr2.bed.gz"
    chain = real_data / "chain" / "hg38ToHg19.over.chain.gz"
    main(
        f"lift-over --input {promoters} --chain {chain} --output {tmp_path / 'sites.bed'} "
        f"--unlifted {tmp_path / 'unlifted.tsv'}".split()
    )
    sites = read_sites(tmp_path / "sites.bed", "auto")
    windows = [site.interval for site in sites]
    found = SplitConfig(**splits).split_of_rows(windows)
    assert [np.sum(found == number) for number in range(3)] == [21_427, 1_130, 2_176]
    run = SplitConfig(**config["splits"])
    assert np.sum(run.split_of_rows(windows) == 1) == 40, "of DeepSEA's region"
    assert splits["test"] == config["splits"]["test"], "pretraining has read no test promoter"


def test_real_promoters_with_whole_windows(real_data, tmp_path, capsys):
    """The data's description counts 88 sites on chr22 and 16 on chr17."""
    with open(tmp_path / "pieces.fa", "w") as joined:
        for path in sorted((real_data / "genome").glob("*.fa.gz")):
            with gzip.open(path, "rt") as stream:
                joined.write(stream.read())
    main(
        [
            "promoter-set",
            f"--genome={tmp_path / 'pieces.fa'}",
            f"--sites={real_data / 'promoters' / 'epdnew_human_hg19_lifted_chr17_chr22.bed.gz'}",
            f"--output={tmp_path / 'set.h5'}",
            "--assembly=GRCh37",
            "--pieces=true",
            "--split.test=[chr22:19500001-21000000]",
        ]
    )
    assert "104 promoters of 2537 sites" in capsys.readouterr().err
    made = LabelledSet(tmp_path / "set.h5", Genome(tmp_path / "pieces.fa"))
    chroms = [made.interval(i).chrom for i in range(0, len(made), 2)]
    assert (chroms.count("chr22"), chroms.count("chr17")) == (88, 16)
    assert all("N" not in made.sequence(i) for i in range(len(made)))
