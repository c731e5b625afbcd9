"""The readers of TraitGym and BEND variants: every format, the genome, and one line for each fault."""

import sys
from pathlib import Path

import pytest

from dna_bigbird.bench.suite_run import chosen
from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import find_suite
from dna_bigbird.core.errors import InputError, MissingExtraError, errors_for_reader
from tests.suites.variant_files import made_variants, write_bed, write_genome, write_table

DATASET = "mendelian_traits_matched_9"


@pytest.fixture
def genomes(tmp_path):
    return Genomes({"GRCh38": write_genome(tmp_path)})


def read(suite: str, folder: Path, genomes: Genomes, task: str | None = None):
    suite = find_suite(suite)
    tasks = {each.name: each for each in suite.tasks(folder)}
    return suite.read(folder, tasks[task] if task else next(iter(tasks.values())), genomes)


def as_tuples(rows):
    return [(row.chrom, row.pos, row.ref, row.alt, row.label, row.group) for row in rows]


def expected_tuples(rows, *, grouped=True):
    return [
        (f"chr{r['chrom']}", r["pos"], r["ref"], r["alt"], r["label"], r["match_group"] if grouped else "")
        for r in rows
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "delimiter"),
    [
        (f"{DATASET}/test.tsv", "\t"),
        (f"{DATASET}/test.csv", ","),
        ("mendelian_traits/test.tsv", "\t"),
        ("mendelian_traits.csv", ","),
    ],
)
def test_traitgym_is_read_from_text(tmp_path, genomes, name, delimiter):
    rows = made_variants(40)
    write_table(tmp_path / name, rows, delimiter)
    (task,) = find_suite("traitgym").tasks(tmp_path)
    assert (task.name, task.metric, task.protocol) == (
        "mendelian_traits", "auprc_by_chromosome", "variants",
    )  # fmt: skip
    assert {score.model.partition(",")[0] for score in task.published} >= {"CADD", "GPN-MSA"}
    data = read("traitgym", tmp_path, genomes)
    assert as_tuples(data.rows) == expected_tuples(rows)
    assert {row.chromosome for row in data.rows} == {"1", "2"}
    assert data.counts == {"rows_read": 40}
    assert (data.zero_shot, data.window_bp, data.both_strands) == ("likelihood", 0, True)


def test_traitgym_is_read_from_parquet(tmp_path, genomes):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = made_variants(40)
    path = tmp_path / "complex_traits_matched_9" / "test.parquet"
    path.parent.mkdir()
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    subset = path.parent / "subset" / "disease.parquet"
    subset.parent.mkdir()
    keys = [{key: row[key] for key in ("chrom", "pos", "ref", "alt")} for row in rows[8:20]]
    parquet.write_table(pyarrow.Table.from_pylist(keys), subset)
    names = [task.name for task in find_suite("traitgym").tasks(tmp_path)]
    assert names == ["complex_traits", "complex_traits.disease"]
    data = read("traitgym", tmp_path, genomes)
    assert as_tuples(data.rows) == expected_tuples(rows)
    assert data.rows[3].where == f"{path}:4"
    assert data.zero_shot == "absolute_likelihood"
    chosen = read("traitgym", tmp_path, genomes, "complex_traits.disease")
    assert as_tuples(chosen.rows) == expected_tuples(rows[8:20])
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(
        InputError, match=r"test.parquet: this is not a whole Parquet file: .*Copy it again"
    ):
        read("traitgym", tmp_path, genomes)


def test_parquet_without_its_package_is_one_line(tmp_path, genomes, monkeypatch):
    path = tmp_path / DATASET / "test.parquet"
    path.parent.mkdir()
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    line = r"^pyarrow is not installed; type: pip install '\S+\[bench\]'$"
    with pytest.raises(MissingExtraError, match=line), errors_for_reader():
        read("traitgym", tmp_path, genomes)


def test_a_subset_is_a_task(tmp_path, genomes):
    rows = made_variants(40)
    write_table(tmp_path / DATASET / "test.tsv", rows)
    keys = [{key: row[key] for key in ("chrom", "pos", "ref", "alt")} for row in rows]
    write_table(tmp_path / DATASET / "subset" / "all.tsv", keys)
    write_table(tmp_path / DATASET / "subset" / "disease.tsv", keys[4:12])
    tasks = find_suite("traitgym").tasks(tmp_path)
    assert [task.name for task in tasks] == ["mendelian_traits", "mendelian_traits.disease"]
    assert chosen(tasks, []) == tasks[:1]
    assert chosen(tasks, ["*.disease"]) == tasks[1:]
    assert chosen(tasks, ["mendelian_traits*"]) == tasks
    subset = read("traitgym", tmp_path, genomes, "mendelian_traits.disease")
    assert as_tuples(subset.rows) == expected_tuples(rows[4:12])
    write_table(tmp_path / DATASET / "subset" / "disease.tsv", [keys[4] | {"pos": 5}])
    with pytest.raises(InputError, match=r"disease.tsv:2: 2:5 .>. is not in .*test.tsv"):
        read("traitgym", tmp_path, genomes, "mendelian_traits.disease")


def test_the_full_sets_have_no_match_groups(tmp_path, genomes):
    rows = [{k: v for k, v in row.items() if k != "match_group"} for row in made_variants(12)]
    write_table(tmp_path / "mendelian_traits_all" / "test.tsv", rows)
    data = read("traitgym", tmp_path, genomes, "mendelian_traits_full")
    assert {row.group for row in data.rows} == {""}


@pytest.mark.parametrize("span", [0, 1])
def test_bend_variants_are_read(tmp_path, genomes, span):
    rows = made_variants(30)
    write_bed(tmp_path / "variant_effects" / "variant_effects_disease.bed", rows, span=span)
    (task,) = find_suite("bend-variants").tasks(tmp_path)
    assert (task.name, task.metric) == ("variant_effects_disease", "auroc")
    data = read("bend-variants", tmp_path, genomes)
    assert as_tuples(data.rows) == expected_tuples(rows, grouped=False)
    assert (data.zero_shot, data.window_bp, data.both_strands) == ("embedding_cosine", 512, False)


TRAPS = [
    ({"pos": "12.5"}, r"test.tsv:4: pos is '12.5'; expected a whole number, counted from 1"),
    ({"pos": 0}, r"test.tsv:4: pos is '0'; expected a whole number"),
    ({"label": "causal"}, r"test.tsv:4: label is 'causal'; expected True or False"),
    ({"label": ""}, r"test.tsv:4: label is ''; expected True or False"),
    ({"ref": "N"}, r"test.tsv:4: ref is 'N'; expected bases, A C G T"),
    ({"alt": "<DEL>"}, r"test.tsv:4: alt is '<DEL>'; expected bases"),
    ({"chrom": "7"}, r"test.tsv:4: 7:\d.* is not in toy.fa, which has no such chromosome"),
    (
        {"pos": 30001, "chrom": "1"},
        r"test.tsv:4: 1:30,001-30,001 is not in toy.fa, which ends before",
    ),
    ({"extra": "x"}, r"test.tsv:4: 8 cells; the header has 7 columns"),
]


@pytest.mark.parametrize(("change", "line"), TRAPS)
def test_a_faulty_row_is_one_line_with_file_and_row(tmp_path, genomes, change, line):
    rows = made_variants(12)
    rows[2] = rows[2] | change
    write_table(tmp_path / DATASET / "test.tsv", rows)
    with pytest.raises(InputError, match=line):
        read("traitgym", tmp_path, genomes)


def test_a_missing_column_and_a_missing_class_are_one_line(tmp_path, genomes):
    rows = made_variants(12)
    path = tmp_path / DATASET / "test.tsv"
    write_table(path, [{k: v for k, v in row.items() if k != "match_group"} for row in rows])
    with pytest.raises(
        InputError, match=r"test.tsv:1: no column is called match_group; the header is chrom,pos"
    ):
        read("traitgym", tmp_path, genomes)
    write_table(path, [row | {"label": False} for row in rows])
    with pytest.raises(InputError, match=r"test.tsv: 0 of 12 variants have the label True"):
        read("traitgym", tmp_path, genomes)
    with pytest.raises(InputError, match=r"no data set of TraitGym in it; expected files such as"):
        find_suite("traitgym").tasks(tmp_path / DATASET / "elsewhere")
    with pytest.raises(
        InputError, match=r"no variants of BEND in it; expected variant_effects_exp"
    ):
        find_suite("bend-variants").tasks(tmp_path)


def test_positions_counted_from_zero_are_recognised(tmp_path, genomes):
    rows = [row | {"pos": row["pos"] - 1} for row in made_variants(24)]
    write_table(tmp_path / DATASET / "test.tsv", rows)
    line = r"test.tsv:\d+: ref is '.' at pos of .* with 1 added to pos, 24 of 24 rows agree: is pos counted from 0\? Expected from 1"
    with pytest.raises(InputError, match=line):
        read("traitgym", tmp_path, genomes)


def test_bed_starts_counted_from_one_are_recognised(tmp_path, genomes):
    write_bed(tmp_path / "variant_effects_expression.bed", made_variants(24), first=1)
    line = r"expression.bed:\d+: .* with 1 subtracted from start, 24 of 24 rows agree: is start counted from 1\? Expected from 0"
    with pytest.raises(InputError, match=line):
        read("bend-variants", tmp_path, genomes)


def test_another_assembly_is_suggested(tmp_path, genomes):
    rows = [row | {"pos": row["pos"] + 57} for row in made_variants(24)]
    write_table(tmp_path / DATASET / "test.tsv", rows)
    line = r"test.tsv:\d+: .*; \d+ of 24 rows agree. Is toy.fa GRCh38, and is the table's assembly"
    with pytest.raises(InputError, match=line):
        read("traitgym", tmp_path, genomes)


def test_a_bed_row_longer_than_its_allele_is_one_line(tmp_path, genomes):
    write_bed(tmp_path / "variant_effects_expression.bed", made_variants(8), span=3)
    with pytest.raises(InputError, match=r"expression.bed:2: start \d+ and end \d+, and ref is"):
        read("bend-variants", tmp_path, genomes)


def test_longer_alleles_and_absent_pieces_are_counted(tmp_path, genomes):
    rows = made_variants(16)
    rows[1] |= {"alt": rows[1]["alt"] + "A"}
    rows[2] |= {"chrom": "9"}
    write_table(tmp_path / DATASET / "test.tsv", rows)
    pieces = Genomes(genomes.fastas, pieces=True)
    data = read("traitgym", tmp_path, pieces)
    assert data.counts == {
        "rows_read": 16, "left_out_not_a_substitution": 1, "left_out_not_in_genome": 1,
    }  # fmt: skip
    assert as_tuples(data.rows) == expected_tuples([rows[0], *rows[3:]])
    write_table(tmp_path / DATASET / "test.tsv", [row | {"chrom": "9"} for row in rows])
    with pytest.raises(InputError, match=r"none of 16 variants is on toy.fa: .* left_out_not_in"):
        read("traitgym", tmp_path, pieces)
