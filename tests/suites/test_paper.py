"""The paper's tasks: rows of labelled sets that the project's commands wrote, and published scores."""

import numpy as np
import pytest

from dna_bigbird.bench.suites import paper
from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import published_scores
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.labelled.labelled_set import LabelledData, LabelledSet, write_labelled_set

STEP_BP, SITES = 2000, 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory, random_dna):
    """Promoters with three types of negatives, by the command, one set per type."""
    path = tmp_path_factory.mktemp("paper")
    bases = random_dna(SITES * STEP_BP + 40_000, 1)
    (path / "g.fa").write_text(f">chr1\n{bases}\n")
    sites = [
        f"chr1\t{i * STEP_BP + 900}\t{i * STEP_BP + 901}\tP{i}\t0\t{'+-'[i % 2]}"
        for i in range(SITES)
    ]
    (path / "sites.bed").write_text("\n".join(sites) + "\n")
    for negatives in ("random_base", "permuted", "genomic"):
        main(
            [
                "promoter-set", f"--genome={path}/g.fa", f"--sites={path}/sites.bed",
                f"--output={path}/{negatives}.h5", "--assembly=toy1", f"--negatives={negatives}",
                "--upstream=200", "--downstream=100", "--split.test=['chr1:40,001-60,000']",
                "--split.validation=['chr1:30,001-40,000']",
            ]
        )  # fmt: skip
    return path


@pytest.fixture(scope="module")
def genomes(folder):
    return Genomes({"toy1": folder / "g.fa"})


def test_each_set_is_a_task_with_the_scores_published_for_its_negatives(folder):
    tasks = {task.name: task for task in paper.tasks(folder)}
    assert list(tasks) == ["genomic", "permuted", "random_base"]
    assert {task.metric for task in tasks.values()} == {"f1"}
    assert [(x.model, x.value) for x in tasks["random_base"].published] == [
        ("CNNProm", 0.697), ("DeePromoter", 0.956), ("BigBird", 0.999),
    ]  # fmt: skip
    assert tasks["permuted"].published == tasks["genomic"].published == ()
    assert tasks["permuted"].assembly == "toy1"


@pytest.mark.parametrize("name", ["random_base", "permuted", "genomic"])
def test_rows_are_those_of_the_set(name, folder, genomes):
    (task,) = (task for task in paper.tasks(folder) if task.name == name)
    rows = paper.read(folder, task, genomes)
    labelled = LabelledSet(folder / f"{name}.h5", Genome(folder / "g.fa"))
    text = (folder / "g.fa").read_text().split("\n")[1]
    assert len(rows.rows) == len(labelled) == rows.counts["rows_read"] > 50
    assert (rows.label_type, rows.label_names) == ("binary", ("promoter",))
    groups: dict[str, list[str]] = {}
    for i, row in enumerate(rows.rows):
        assert row.labels == (str(labelled.labels[i, 0]),)
        groups.setdefault(row.group, []).append(row.labels[0])
        piece = text[row.interval.start : row.interval.end]
        piece = piece if row.interval.strand == "+" else reverse_complement(piece)
        is_real = row.labels == ("1",) or name == "genomic"
        assert (row.sequence == piece) == is_real
    assert all(sorted(labels) == ["0", "1"] for labels in groups.values())
    assert rows.roles.tolist() == labelled.split.tolist()
    assert set(rows.roles.tolist()) == {0, 1, 2}


def write_chromatin(folder, count, genome, assembly="toy1"):
    rng = np.random.default_rng(0)
    data = LabelledData(
        task="chromatin", window_bp=100, bin_bp=0, label_names=[f"L{i}" for i in range(count)],
        label_groups=["TF"] * count, names=[""] * 20,
        intervals=[Interval("chr1", i * 200, i * 200 + 100, "+") for i in range(20)],
        labels=(rng.random((20, count)) < 0.3).astype(np.uint8),
        split=np.repeat([0, 1, 2], [10, 5, 5]).astype(np.uint8),
    )  # fmt: skip
    facts = {"assembly": assembly, "command": "", "inputs": {}}
    write_labelled_set(folder / "chromatin.h5", data, genome, **facts)
    return data


@pytest.mark.parametrize("count", [3, 919])
def test_chromatin_labels_are_several_of_0_and_1(count, folder, tmp_path, genomes):
    data = write_chromatin(tmp_path, count, Genome(folder / "g.fa"))
    (task,) = paper.tasks(tmp_path)
    rows = paper.read(tmp_path, task, genomes)
    assert (task.metric, rows.label_type, len(rows.label_names)) == (
        "macro_auroc",
        "multi-label",
        count,
    )
    table = np.array([[int(x) for x in row.labels] for row in rows.rows])
    assert (table == np.asarray(data.labels[:])).all()
    medians = {(x.model, x.metric): x.value for x in task.published}
    assert medians.get(("BigBird, HM", "median_auroc_HM")) == (0.887 if count == 919 else None)
    assert len(medians) == (7 if count == 919 else 0)


def test_semi_synthetic_sets_are_marked_and_have_no_published_score(folder, tmp_path):
    write_chromatin(tmp_path, 919, Genome(folder / "g.fa"), assembly="demo22")
    (task,) = paper.tasks(tmp_path)
    assert task.about.startswith("Semi-synthetic: which of 919 chromatin labels")
    assert task.published == ()


def test_published_scores_name_table_and_metric():
    scores = published_scores("paper", "chromatin_919")
    assert {score.metric for score in scores} == {f"median_auroc_{x}" for x in ("TF", "DHS", "HM")}
    assert all("Table 7" in score.source for score in scores)


def test_what_is_wrong(folder, tmp_path, genomes):
    with pytest.raises(InputError, match=r"no labelled set \.h5 in it; write some with"):
        paper.tasks(tmp_path)
    with pytest.raises(InputError, match=r"--genome: no FASTA for toy1; add toy1=FILE"):
        paper.read(folder, paper.tasks(folder)[0], Genomes({}))
    with pytest.raises(InputError, match=r"genomic\.h5: a labelled set belongs to its own genome"):
        paper.read(folder, paper.tasks(folder)[0], Genomes(genomes.fastas, chain=tmp_path / "x"))


def test_another_genome_and_too_many_rows(folder, tmp_path, random_dna, genomes, monkeypatch):
    length = SITES * STEP_BP + 40_000
    (tmp_path / "g.fa").write_text(f">chr1\n{random_dna(length, 2)}\n")
    task = paper.tasks(folder)[0]
    with pytest.raises(InputError, match=r"made on toy1, but g\.fa has other bases in its windows"):
        paper.read(folder, task, Genomes({"toy1": tmp_path / "g.fa"}))
    monkeypatch.setattr("dna_bigbird.bench.suites.suite.MOST_LABELS", 10)
    with pytest.raises(
        InputError,
        match=r"\.h5: more than 10 rows of 1 label, too many for bench; use dna-bigbird finetune",
    ):
        paper.read(folder, task, genomes)


def test_a_set_of_classes_has_its_own_commands(tmp_path, random_dna):
    lines = [f"{random_dna(60, i)},{'abc'[i % 3]}" for i in range(30)]
    (tmp_path / "t.csv").write_text("sequence,label\n" + "\n".join(lines) + "\n")
    main(["sequence-set", f"--input={tmp_path}/t.csv", f"--output={tmp_path}/s.h5"])
    with pytest.raises(
        InputError, match=r"s\.h5: its labels are multi-class; expected a set of promoters"
    ):
        paper.tasks(tmp_path)
