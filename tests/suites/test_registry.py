"""Every suite can be listed, and lists the tasks of a folder in its format."""

from pathlib import Path

import pytest
import yaml

from dna_bigbird.bench import suites
from dna_bigbird.bench.suites import suite as suite_module
from dna_bigbird.bench.suites.suite import MODULES, all_suites, find_suite
from dna_bigbird.core.errors import InputError

FILES = {
    "genomic-benchmarks": {
        f"datasets/human_enhancers_cohn/{part}/{name}.csv.gz": "id,region,start,end,strand\n"
        for part in ("train", "test")
        for name in ("negative", "positive")
    },
    "gue": {"GUE/EMP/H3/train.csv": "sequence,label\nACGT,0\n"},
    "nt": {"H3/train.fna": ">a|0\nACGT\n"},
    "nt-revised": {"H2AFZ/train.fna": ">a|0\nACGT\n"},
    "bend": {"data/cpg_methylation/cpg_methylation.bed": "chromosome\tstart\tend\tsplit\tlabel\n"},
    "traitgym": {"mendelian_traits_matched_9/test.tsv": "chrom\tpos\tref\talt\tlabel\n"},
    "bend-variants": {"variant_effects/variant_effects_disease.bed": "chromosome\tstart\n"},
    "dart-eval": {"regulatory.bed": "chr1\t0\t350\n"},
    "tata-displacement": {"promoters.fa": ">a\nACGT\n"},
}
"""Files of one task of each suite, but for `OWN`."""
OWN = {"paper", "long-range"}
"""Suites of labelled sets, and of generated rows: tests of their own."""
PROTOCOLS = {
    "traitgym": "variants", "bend-variants": "variants", "dart-eval": "pairs",
    "tata-displacement": "pairs",
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_every_suite_says_what_it_is(name):
    suite = find_suite(name)
    assert suite.name == name
    for field in ("title", "about", "where", "licence", "layout", "source"):
        assert getattr(suite, field).strip(), field
    assert callable(suite.tasks)
    assert callable(suite.read)


def test_suites_are_listed_in_order_and_an_unknown_name_is_refused():
    assert [suite.name for suite in all_suites()] == list(MODULES)
    assert len({suite.title for suite in all_suites()}) == len(MODULES)
    with pytest.raises(
        InputError, match=r"glue: no such suite; expected one of genomic-benchmarks, "
    ):
        find_suite("glue")


def test_every_suite_has_files_here_or_a_test_of_its_own():
    assert FILES.keys() | OWN == MODULES.keys()


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_the_format_has_a_task(name, write, tmp_path):
    suite = find_suite(name)
    with pytest.raises(InputError, match=r"^\S+: no .* in it; expected ") as caught:
        suite.tasks(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}: ")
    for path, text in FILES[name].items():
        write(path, text)
    (task,) = suite.tasks(tmp_path)
    assert task.about.endswith((".", "?"))
    assert task.protocol == PROTOCOLS.get(name, "labels")
    assert suite.needs_data


def test_published_scores_are_shares_with_a_source():
    text = Path(suites.__file__).with_name("data").joinpath("published.yaml").read_text()
    table = yaml.safe_load(text)
    assert set(table) <= set(MODULES)
    for suite, models in table.items():
        for model, row in models.items():
            assert row["source"], (suite, model)
            assert all(-1 <= value <= 1 for value in row["scores"].values()), (suite, model)


@pytest.mark.parametrize(("name", "tasks"), [("gue", 28), ("nt", 12)])
def test_every_model_has_a_score_for_the_same_tasks(name, tasks):
    rows = suite_module._table()[name].values()
    assert {frozenset(row["scores"]) for row in rows} == {frozenset(next(iter(rows))["scores"])}
    assert len(next(iter(rows))["scores"]) == tasks
