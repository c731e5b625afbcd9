"""Result files are read as written; damaged ones are named with their line."""

import gzip

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.tables import Table
from dna_bigbird.evaluation.model_results import (
    count_parameters,
    read_curves,
    read_history,
    read_labels,
)
from dna_bigbird.metrics.curves import CurvePoint, write_curves
from dna_bigbird.report.run_results import LiftCount, count_documents, read_results


def test_documents_count_overlaps_once(tmp_path):
    path = tmp_path / "train.bed.gz"
    rows = [
        "c\t0\t100\td\t0\t+\t0\t100\t0\t2\t50,50\t0,50",
        "c\t60\t160\td\t0\t+\t60\t160\t0\t4\t25,25,25,25\t0,25,50,75",
        "d\t0\t10\td\t0\t+\t0\t10\t0\t1\t10\t0",
    ]
    path.write_bytes(gzip.compress("".join(r + "\n" for r in rows).encode()))
    counts = count_documents("train", path)
    assert (counts.documents, counts.sentences, counts.total_bp, counts.covered_bp) == (
        3,
        7,
        210,
        170,
    )
    path.write_bytes(gzip.compress(b"c\t0\t100\n"))
    with pytest.raises(InputError, match=r"train\.bed\.gz:1: expected BED12"):
        count_documents("train", path)


def test_parameters_are_counted_from_the_header_of_the_weights(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(3, 5), "b": torch.zeros(7)}, tmp_path / "model.safetensors")
    assert count_parameters(tmp_path / "model.safetensors") == 22
    assert count_parameters(tmp_path / "none") is None


def test_history(tmp_path):
    path = tmp_path / "history.tsv"
    path.write_text(
        "step\tsplit\tname\tvalue\n100\ttrain\tloss\t5.2\n200\tvalidation\tauroc\tnan\n"
    )
    rows = read_history(path)
    assert (rows[0].step, rows[0].split, rows[0].name, rows[0].value) == (100, "train", "loss", 5.2)
    assert rows[1].value != rows[1].value
    assert read_history(tmp_path / "none.tsv") == ()
    for text, message in (
        ("step\tname\tvalue\n", r"history\.tsv:1: no column 'split'"),
        (
            "step\tsplit\tname\tvalue\n1\ttrain\tloss\thigh\n",
            r"history\.tsv:2: 'high' is not a number",
        ),
        ("step\tsplit\tname\tvalue\n1\ttrain\n", r"history\.tsv:2: the line is cut off"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_history(path)


def test_labels_without_a_baseline(tmp_path):
    path = tmp_path / "per_label.tsv"
    path.write_text("label\tgroup\tn_positive\tauroc\tauprc\nCTCF\tTF\t0\tnan\t\n")
    (row,) = read_labels(path, "the rule evaluate")
    assert row.auroc != row.auroc
    assert row.kmer_auprc != row.kmer_auprc


def test_quotes_are_part_of_the_name_of_a_label(tmp_path):
    """As `core.dataframes.read_table` reads them."""
    name = '"CTCF" in HeLa'
    path = tmp_path / "per_label.tsv"
    row = {"label": name, "group": "TF", "n_positive": 3, "auroc": 0.5, "auprc": 0.25}
    path.write_text(Table([row]).to_tsv())
    assert [x.label for x in read_labels(path, "a rule")] == [name]
    path.write_text(write_curves([CurvePoint(name, "model", "roc", 0.0, 1.0)]))
    assert [x.label for x in read_curves(path, "a rule")] == [name]


def test_curves_keep_their_order(tmp_path):
    path = tmp_path / "curves.tsv"
    path.write_text(
        "label\tsource\tcurve\tx\ty\np\tmodel\troc\t0\t0\np\tmodel\troc\t1\t1\np\tkmer\troc\t0\t0.5\n"
    )
    first, second = read_curves(path, "the rule evaluate")
    assert (first.source, first.x, first.y) == ("model", (0, 1), (0, 1))
    assert (second.source, second.y) == ("kmer", (0.5,))


def test_stages_and_lifted_sites(tmp_path, write_example):
    results = write_example(tmp_path)
    (results / "promoter").mkdir(exist_ok=True)
    (results / "promoter" / "sites.bed").write_text("c\t1\t2\ta\t0\t+\nc\t5\t6\tb\t0\t-\n")
    (results / "promoter" / "unlifted.tsv").write_text(
        "# lifted: 2\n# lost: 1\nname\tchrom\tstart\tend\tstrand\treason\nx\tc\t1\t2\t+\tgone\n"
    )
    header = "s\th:m:s\tmax_rss\tcpu_time\n"
    row = "{}\t0:00:01\t{}\t1\n"
    repeated = results / "benchmarks" / "sub" / "twice.tsv"
    repeated.parent.mkdir()
    repeated.write_text(header + row.format(1, 100) + row.format(3, 50))
    read = read_results(results, tmp_path / "config.yaml")
    assert read.lift == LiftCount(lifted=2, lost=1)
    stage = {s.rule: s for s in read.stages}
    assert (stage["sub/twice"].seconds, stage["sub/twice"].max_rss_mb) == (2, 100)
    assert stage["genome"].max_rss_mb != stage["genome"].max_rss_mb


def test_damaged_json(tmp_path, write_example):
    results = write_example(tmp_path)
    (results / "models" / "promoter" / "metrics.json").write_text('{"auroc": ')
    with pytest.raises(InputError, match=r"metrics\.json: not valid JSON.*Run the rule evaluate"):
        read_results(results, tmp_path / "config.yaml")
