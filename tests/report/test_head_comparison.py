"""Tables 6 and 7 from hand-made scores: which rows share a table, and who is ahead."""

import csv
import json
import re

import numpy as np
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.result_folders import RECORD
from dna_bigbird.evaluation.compare.head_runs import HeadRun, SetFacts, by_set
from dna_bigbird.evaluation.compare.head_tables import table6
from dna_bigbird.evaluation.compare_heads_run import context_table
from dna_bigbird.evaluation.model_results import read_model
from dna_bigbird.metrics.bootstrap import draw_units
from dna_bigbird.metrics.label_areas import LabelAreas
from tests.report import example_heads
from tests.report.conftest import Page


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Both tables of made-up results, by name."""
    folder = tmp_path_factory.mktemp("heads")
    for table in ("table6", "table7"):
        write = getattr(example_heads, f"write_{table}")
        options = write(folder / table / "results", folder / "genome.fa")
        main(["compare-heads", "--table", table, *options, "--output", str(folder / table / "x")])
    return {table: folder / table / "x" for table in ("table6", "table7")}


def rows_of(folder) -> list[dict]:
    with open(folder / "table.tsv", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def test_published_promoters_are_only_with_their_negatives(compared):
    published = {
        (row["block"], row["predictor"], row["f1"])
        for row in rows_of(compared["table6"])
        if row["source"] == "published"
    }
    assert published == {
        ("Negatives: random_base", "CNNProm", "0.697"),
        ("Negatives: random_base", "DeePromoter", "0.956"),
        ("Negatives: random_base", "BigBird", "0.999"),
        ("Negatives: permuted", "GENA-LM", "0.7644"),
        ("Negatives: permuted", "GENA-LM", "0.937"),
    }


def test_every_row_of_ours_says_what_it_was_scored_on(compared):
    own = [row for row in rows_of(compared["table6"]) if row["source"] != "published"]
    assert [row["predictor"] for row in own if row["source"] == "this run"] == [
        "random",
        "random_scratch",
        "permuted",
    ]
    assert [row["predictor"] for row in own if row["source"] == "baseline"] == [
        "k-mer regression",
        "GC content",
    ] * 2, "each baseline once per set"
    for row in own:
        for column in ("n", "n_positive", "split", "seed", "window_bp", "f1_low", "f1_high"):
            assert row[column] != "", (row["predictor"], column)
    trivial = {row["predictor"]: row["kmer_there"] for row in own if row["source"] == "this run"}
    assert trivial == {"random": "0.920", "random_scratch": "0.920", "permuted": "0.560"}
    assert {row["split"] for row in own} == {"fold 0 of 5", "fold 1 of 5"}


def test_ranks_are_only_among_rows_of_one_set(compared):
    text = (compared["table6"] / "table.md").read_text()
    random, permuted = text.split("## Negatives: permuted")
    ranked = [line for line in random.splitlines() if line.startswith("- ")]
    assert not any("permuted" in line or "DeePromoter" in line for line in ranked)
    assert "By F1, best first: random 0.930 [0." in random
    order = [random.index(x, random.index("By F1")) for x in ("random_scratch", "the GC content")]
    assert order == sorted(order)
    assert "rows. The model is better: AUROC" in random, "by the paired gain"
    assert "difference [+0.020, +0.040]" in random
    assert "0.930" not in permuted


def test_runs_of_one_window_on_other_rows_are_not_ranked(tmp_path):
    example_heads.write_table6(tmp_path / "results", tmp_path / "g.fa")
    runs = []
    for i, name in enumerate(("random", "random_scratch")):
        facts = SetFacts(f"set{i}", "promoter", "random_base", 300, "x --split.test '[chr8]'", {})
        runs.append(HeadRun(read_model(tmp_path / "results", f"heads/{name}"), facts))
    (block,) = table6(runs).blocks
    assert len(block.groups) == 3
    assert not any(
        "random_scratch" in n and "random " in n for x in block.notes.values() for n in x
    )
    assert len(by_set(runs)) == 2


def test_the_page_is_whole_and_names_negatives_and_leakage(compared):
    text = (compared["table6"] / "index.html").read_text()
    page = Page(text)
    page.check_stands_alone()
    assert sum("data-marks" in attributes for _, attributes in page.tags) == 2
    assert sum(tag == "img" for tag, _ in page.tags) == 2
    words = " ".join(page.text)
    for part in (
        "Negatives: random_base",
        "easy to recognise",
        "published, on other data: not ranked",
        "Leakage report: no pairs of rows share sequence",
        "Small test: 200 rows",
    ):
        assert part in words
    assert {p.name for p in compared["table6"].iterdir()} == {
        RECORD,
        "index.html", "table.md", "table.tsv", "scores_0.png", "scores_1.png",
    }  # fmt: skip


def test_medians_of_other_labels_are_not_with_the_published_ones(compared):
    rows = rows_of(compared["table7"])
    blocks = {row["block"] for row in rows if row["source"] == "published"}
    assert blocks == {"Published, on the 919 labels"}
    two = next(row for row in rows if row["predictor"] == "two")
    assert float(two["median_auroc_DHS"]) == pytest.approx(0.84), "the group is called DNase there"
    assert two["labels_undefined"] == "TF 1 of 3, DNase 0 of 1, HM 0 of 2"
    bigbird = next(row for row in rows if row["predictor"] == "BigBird")
    assert [bigbird[f"median_auroc_{g}"] for g in ("TF", "DHS", "HM")] == [
        "0.961",
        "0.921",
        "0.887",
    ]
    text = (compared["table7"] / "table.md").read_text()
    assert "By median AUROC of TF, best first: two 0.860 [" in text


def test_published_medians_are_with_the_published_bundle(tmp_path):
    options = example_heads.write_table7(tmp_path / "results", tmp_path / "g.fa")
    path = tmp_path / "results" / "chromatin" / "set.h5"
    example_heads.write_set(
        path, tmp_path / "g.fa", task="chromatin", command="deepsea-set --window 1000"
    )
    main(["compare-heads", "--table", "table7", *options, "--output", str(tmp_path / "x")])
    rows = rows_of(tmp_path / "x")
    assert len({row["block"] for row in rows}) == 1
    assert {row["split"] for row in rows if row["source"] != "published"} == {"chr8, chr9"}


def areas(values: list[float], spread: float) -> LabelAreas:
    point = np.array([values, values])
    drawn = point[:, :, None] + np.linspace(-spread, spread, 41)
    measured, positives = np.full((2, len(values)), [[60], [20]])
    draws = draw_units(60, replicates=41, seed=0)
    return LabelAreas(60, measured, positives, point, np.full(len(values), 0.01), drawn, draws)


@pytest.mark.parametrize(
    ("gained", "spread", "told"),
    [
        (0.2, 0.01, "wide over narrow, chosen labels (1): better, gain in AUROC +0.200 [+0."),
        (-0.2, 0.01, "wide over narrow, chosen labels (1): worse, gain in AUROC -0.200 [-0."),
        (
            0.001,
            0.1,
            "wide over narrow, chosen labels (1): not clear, gain in AUROC +0.001",
        ),
    ],
)
def test_context_gains_are_paired(tmp_path, gained, spread, told):
    runs = []
    for name, window in (("narrow", 1000), ("wide", 8000)):
        example_heads.write_model(tmp_path, f"heads/{name}", {"seed": 0}, window_bp=window)
        facts = SetFacts(name, "chromatin", "", window, "x --split.test '[chr8]'", {})
        runs.append(HeadRun(read_model(tmp_path, f"heads/{name}"), facts))
    wide = areas([0.7 + gained, 0.8], 0)
    wide.drawn[:] += np.linspace(-spread, spread, 41)
    comparison = context_table(runs, [areas([0.7, 0.8], 0), wide], {"chosen": [0], "others": [1]})
    (block,) = comparison.blocks
    (notes,) = block.notes.values()
    assert any(note.startswith(told) for note in notes), notes
    assert block.rows[0]["gain_chosen"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--data": "[]"}, "names 3 models and --data 0 sets"),
        ({"--table": "table7"}, "a promoter model; table7 is of chromatin models"),
        ({"--runs": json.dumps(["heads/nobody"] * 3)}, r"nobody.*no such file; the rule evaluate"),
    ],
)
def test_what_cannot_be_compared(tmp_path, capsys, change, message):
    options = example_heads.write_table6(tmp_path / "results", tmp_path / "g.fa")
    values = dict(zip(options[::2], options[1::2], strict=True)) | {"--table": "table6"} | change
    words = [word for pair in values.items() for word in pair]
    with pytest.raises(SystemExit, match="2"):
        main(["compare-heads", *words, "--output", str(tmp_path / "x")])
    assert re.search(message, capsys.readouterr().err)
    assert not (tmp_path / "x").exists()


def test_a_variant_with_seeds_has_one_row_with_their_mean_and_spread(tmp_path):
    results = tmp_path / "results"
    options = example_heads.write_table6(results, tmp_path / "genome.fa")
    for seed, value in ((3, 0.94), (4, 0.96)):
        metrics = example_heads.promoter_scores(value)
        name = f"heads/random/seed{seed}"
        example_heads.write_model(results, name, metrics, negatives="random_base", seed=seed)
    mean = example_heads.promoter_scores(0.95) | {"n_seeds": 2, "f1_sd": 0.01, "auroc_sd": 0.014142}
    mean |= example_heads.score("auroc_gain_over_net", 0.05, 0.02)
    net = example_heads.promoter_scores(0.90) | {"n_seeds": 2, "auroc_sd": 0.02}
    mean["baselines"] = {"net": net, "kmer": example_heads.promoter_scores(0.92) | {"n_seeds": 1}}
    (results / "evaluation/heads/random/seeds.json").write_text(json.dumps(mean))
    main(["compare-heads", "--table", "table6", *options, "--output", str(tmp_path / "out")])
    rows = {
        (row["set"], row["predictor"]): row
        for row in rows_of(tmp_path / "out")
        if row["source"] != "published" and "fold 0" in row["set"]
    }
    cells = {predictor: row for (_, predictor), row in rows.items()}
    assert cells["random"]["auroc"] == "0.95"
    assert (cells["random"]["seeds"], cells["random"]["auroc_sd"]) == ("2", "0.014142")
    assert cells["random"]["seed"] == "3, 4"
    assert cells["random"]["protocol"].startswith("mean over 2 seeds: 4 layers of 128")
    assert (cells["net"]["seeds"], cells["net"]["auroc_sd"]) == ("2", "0.02")
    assert (cells["k-mer regression"]["seeds"], cells["k-mer regression"]["auroc_sd"]) == ("1", "")
    assert (cells["random_scratch"]["seeds"], cells["random_scratch"]["auroc_sd"]) == ("1", "")
    text = (tmp_path / "out/table.md").read_text()
    assert "random, on the same draws of rows" in text
    assert "difference [+0.030, +0.070]" in text
    options[options.index("--runs") + 1] = '["heads/random"]'
    options[options.index("--data") + 1] = json.dumps([str(results / "heads/random/set.h5")])
    with pytest.raises(SystemExit, match="2"):
        main(["compare-heads", "--table", "context", *options, "--output", str(tmp_path / "no")])
