"""Variants and pairs on the page of benchmark results: words, chance, and what is explained."""

import pytest

from dna_bigbird.metrics.names import metric_name
from dna_bigbird.metrics.task_results import Published
from tests.report.bench.example_tasks import example_task, pairs_task, variants_task
from tests.report.bench.test_bench_page import Tables, read_text, tsv, written

EXPLAINED = {
    "labels": "Tasks of labelled sequences",
    "variants": "Tasks of variants",
    "pairs": "Tasks of pairs",
}
EXAMPLES = {"labels": example_task, "variants": variants_task, "pairs": pairs_task}


@pytest.mark.parametrize(
    "protocols", [["labels"], ["variants"], ["pairs"], ["labels", "pairs"], list(EXAMPLES)]
)
def test_every_protocol_that_occurs_is_explained_once(tmp_path, protocols):
    page = written(tmp_path, *(EXAMPLES[name](f"task_{name}") for name in protocols))
    words = read_text(page)
    for name, heading in EXPLAINED.items():
        assert words.count(heading) == (name in protocols), name
    assert ("Random weights: the same encoder" in words) == ("labels" in protocols)
    assert ("blocks of the genome" in words) == ("labels" in protocols)
    assert ("What guessing is expected to reach." in words) == (protocols != ["labels"])


def test_variants_have_names_in_words_and_chance(tmp_path):
    page = written(tmp_path, variants_task())
    rows = Tables(page).find("task-1: AUPRC by chromosome", "All test rows")
    assert list(rows)[1:] == [
        "model", "absolute log-likelihood ratio", "embedding distance", "embedding, cosine distance",
        "probe on embeddings", "GC content", "n-gram counts", "random order",
    ]  # fmt: skip
    words = read_text(page)
    assert "AUPRC by chromosome, 0.125 by chance; assembly GRCh38." in words
    assert "280 were read with labels in the training of the model" in words
    assert "seeds 0, 1, 2" not in words
    summary = Tables(page).find("summary: One row per task")["variants"]
    assert summary[0] == "AUPRC by chromosome"
    assert summary[4].split(" 0.")[0] in ("GC content", "n-gram counts", "random order")


def test_pairs_have_counts_and_what_was_read(tmp_path):
    page = written(tmp_path, pairs_task())
    rows = Tables(page).find("task-1: accuracy with 95 % intervals", "Leak-free")
    assert list(rows)[1:] == ["model", "n-gram counts", "GC content"]
    words = read_text(page)
    assert "accuracy, 0.500 by chance." in words
    assert "848 were read with labels in the training of the model before this benchmark." in words


def test_tasks_that_train_nothing_are_not_compared_by_method_and_seeds(tmp_path):
    words = read_text(written(tmp_path, example_task(seeds=2), variants_task(), pairs_task()))
    assert "Not equal for all tasks" not in words
    assert "Only one seed" not in words
    words = read_text(written(tmp_path / "one", variants_task(seeds=1)))
    assert "Only one seed" not in words


def test_few_rows_are_named_once(tmp_path):
    page = written(tmp_path, pairs_task(n=300, leak_free=1, leaks={}))
    words = read_text(page)
    assert words.count("No claim is made, because") == 1
    assert "No claim is made, because 1 leak-free test row is fewer than 200." in words


def test_a_score_in_another_metric_has_its_name(tmp_path):
    published = [
        Published("DeepSEA, TF", 0.958, "Table 7", "median_auroc_TF"),
        Published("A", 0.9, "Table 1"),
    ]
    page = written(tmp_path, example_task("a", "paper", metric="macro_auroc", published=published))
    cells = Tables(page).find("task-1", "Published scores")
    assert cells["DeepSEA, TF"] == ["0.958", "median AUROC of TF labels, another score. Table 7"]
    assert cells["A"] == ["0.900", "Table 1"]
    metrics = {row["source"]: row["metric"] for row in tsv(tmp_path)}
    assert (metrics["DeepSEA, TF"], metrics["A"]) == ("median_auroc_TF", "macro_auroc")
    text = (tmp_path / "page/table.md").read_text()
    assert "| DeepSEA, TF (median AUROC of TF labels) | – | 0.958 |" in text
    assert "| A | – | 0.900 |" in text


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("mean_difference", "mean difference in score"),
        ("mean_fall", "mean fall by the change"),
        ("mean_control_fall", "mean fall by the control"),
        ("macro_auprc", "macro AUPRC"),
    ],
)
def test_metrics_in_words(key, name):
    assert metric_name(key) == name
