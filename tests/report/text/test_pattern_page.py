"""The page of Table 1 on text: published cells as typed a second time, means computed again."""

import json
import statistics

import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.evaluation.model_results import key_share
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.text import compare_patterns
from tests.report.example_run import ENCODER
from tests.report.text.test_text_tables import Cells

PATTERNS = {
    "window": {"num_random": 0, "global_blocks": "none"},
    "full": {"attention": "full"},
}
SCORES = {
    ("window", 0): (0.5, 0.61, 0.7),
    ("window", 1): (0.6, 0.63, 0.9),
    ("full", 0): (0.25, 0.5, 0.125),
    ("full", 1): (0.75, 0.5, 0.25),
}
"""MLM, MNLI and SQuAD."""


def write(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))


def scored(key, value, n, **rest):
    interval = {f"{key}_low": value - 0.01, f"{key}_high": value + 0.01}
    return {key: value, **interval, "n": n, "split": "validation", "seed": 0, **rest}


@pytest.fixture
def results(tmp_path):
    for (name, seed), (mlm, mnli, squad) in SCORES.items():
        folder = tmp_path / "results" / name / f"seed{seed}"
        metrics = scored("mlm_accuracy", mlm, 30)
        metrics["n_examples"] = metrics.pop("n")
        write(folder / "pretrained/metrics.json", metrics)
        config = {"format_version": 1, "task": "pretraining", "encoder": ENCODER | PATTERNS[name]}
        write(folder / "pretrained/config.json", config)
        baselines = {"shared_words": {"f1": 0.2}, "most_named": {"f1": 0.1}}
        evaluation = folder / "evaluation"
        write(evaluation / "squad/metrics.json", scored("f1", squad, 60, baselines=baselines))
        write(evaluation / "mnli/metrics.json", scored("accuracy_matched", mnli, 120))
    return tmp_path / "results"


def folders(results, seeds=(0, 1)):
    return [results / name / f"seed{seed}" for name in PATTERNS for seed in seeds]


@pytest.fixture
def page(results, tmp_path):
    path = tmp_path / "page.html"
    compare_patterns(folders(results), path, synthetic=["squad", "pretrained"])
    return path.read_text()


def test_the_page_stands_alone(page, read_page):
    read_page(page).check_stands_alone()


def test_published_rows_are_those_of_the_paper(page):
    rows = Cells(page).rows
    assert rows["BERT-base"] == [["64.2", "83.4", "88.5"]]
    assert rows["Random"] == [["60.1", "80.2", "83.0"]]
    assert rows["Window"] == [["58.3", "73.1", "76.4"]]
    assert rows["Random + Window"] == [["62.7", "80.5", "85.1"]]


def test_measured_rows_are_means_over_seeds_and_single_trainings(page):
    rows = Cells(page).rows
    for name in PATTERNS:
        columns = zip(*(SCORES[name, seed] for seed in (0, 1)), strict=True)
        expected = [
            f"{100 * statistics.mean(values):.1f} ± {100 * statistics.stdev(values):.1f}"
            for values in columns
        ]
        means, _, *single = rows[name]
        assert means == expected
        for seed, cells in enumerate(single):
            shown = [
                f"{100 * x:.1f} [{100 * (x - 0.01):.1f}, {100 * (x + 0.01):.1f}]"
                for x in SCORES[name, seed]
            ]
            assert cells == [str(seed), *shown]
    assert rows["best baseline without a model"] == [["–", "–", "20.0 (shared_words)"]]
    assert rows["SQuAD"][-1] == ["f1", "60", "validation", "synthetic"]
    assert rows["MNLI"][-1] == ["accuracy matched", "120", "validation", "real"]
    assert "Some measured scores are" in " ".join(page.split())


def test_each_pattern_has_its_blocks_and_how_much_it_reads(page):
    rows = Cells(page).rows
    # 16 blocks; each reads itself and its neighbours, of which the first and the last have one.
    share = (14 * 3 + 2 * 2) / 16**2
    assert rows["window"][1] == ["window", f"{share:.1%}", "0, 1"]
    assert rows["full"][1] == ["full attention", "100.0%", "0, 1"]
    assert key_share(EncoderConfig(**ENCODER, attention="full")) == 1


def test_rows_are_returned_in_the_order_of_the_folders(results, tmp_path, capsys):
    found = compare_patterns(folders(results)[::-1], tmp_path / "page.html")
    assert [(row["pattern"], row["seed"]) for row in found.rows[::3]] == [
        ("full", 1), ("full", 0), ("window", 1), ("window", 0)
    ]  # fmt: skip
    assert found.rows[3] == {
        "pattern": "full", "seed": 0, "column": "MLM", "score": "mlm_accuracy",
        "value": 25.0, "low": pytest.approx(24), "high": pytest.approx(26),
    }  # fmt: skip
    assert len(found.to_dataframe()) == 12
    runs = [str(folder) for folder in folders(results)[::-1]]
    main(["text", "compare-patterns", "--runs", *runs, "--output", str(tmp_path / "b.html")])
    assert "4 trainings of 2 patterns" in capsys.readouterr().out
    assert (tmp_path / "b.html").read_bytes() == (tmp_path / "page.html").read_bytes()


def test_one_seed_has_no_deviation(results, tmp_path):
    compare_patterns(folders(results, seeds=[0]), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert Cells(page).rows["window"][0] == ["50.0", "61.0", "70.0"]
    assert "measured here: one seed" in page


def test_what_cannot_be_compared_is_one_line(results, tmp_path):
    path, runs = tmp_path / "page.html", folders(results)
    with pytest.raises(InputError, match=r"results: expected a folder PATTERN/seedN"):
        compare_patterns([results], path)
    with pytest.raises(InputError, match="seed0: is there twice"):
        compare_patterns([*runs, runs[0]], path)
    with pytest.raises(InputError, match=r"runs \[\]: expected the folder of at least one"):
        compare_patterns([], path)
    squad = results / "full/seed1/evaluation/squad/metrics.json"
    write(squad, scored("f1", 0.5, 61))
    with pytest.raises(InputError, match=r"full/seed1: squad was scored on 61 examples.*on 60"):
        compare_patterns(runs, path)
    squad.unlink()
    with pytest.raises(
        InputError, match=r"full/seed1: no f1 of squad in it, and .*window/seed0 has"
    ):
        compare_patterns(runs, path)
    assert not path.exists()


@pytest.mark.slow
def test_trainings_in_this_process_end_in_the_table(tmp_path, monkeypatch):
    """Two patterns with two seeds, a few steps each, from made text to the page."""
    monkeypatch.chdir(tmp_path)
    main(["text", "made-data", "--output", "made", "--examples", "24"])
    steps = (
        "--training.max_steps 4 --training.validate_every 4 --training.batch_size 4 --threads 1 "
    )
    steps += "--training.precision 32-true --training.measure_speed false"
    corpus = "--train made/corpus/train.jsonl --validation made/corpus/validation.jsonl"
    size = "--model.hidden_size 16 --model.num_layers 1 --model.num_heads 2 --model.ffn_size 16 "
    size += "--model.max_tokens 128 --model.block_size 8"
    main(
        [
            "text",
            "vocabulary",
            "--input",
            "made/corpus/train.jsonl",
            "--output",
            "spiece.model",
            "--size",
            "400",
        ]
    )
    sets = {
        "squad": (
            "squad",
            "made/squad/train-v1.1.json",
            "made/squad/dev-v1.1.json",
            "--options.stride 32",
        ),
        "mnli": ("glue", "made/glue", "made/glue", ""),
    }
    for name, blocks in PATTERNS.items():
        model = " ".join(f"--model.{key} {value}" for key, value in blocks.items())
        for seed in (0, 1):
            folder = f"results/{name}/seed{seed}"
            start = f"text pretrain {corpus} --tokenizer spiece.model --output {folder}/pretrained"
            main(
                f"{start} --checkpoints runs/{name}{seed} {size} {model} --seed {seed} {steps}".split()
            )
            for each, (task, train, validation, more) in sets.items():
                main(
                    f"text train --task {task} --set {each} --train {train} --validation {validation} "
                    f"--pretrained {folder}/pretrained --output {folder}/trained/{each} --seed {seed} "
                    f"--checkpoints runs/{name}{seed}{each} --options.max_tokens 128 {more} {steps}".split()
                )
                main(
                    f"text evaluate --model {folder}/trained/{each} --data {validation} --threads 1 "
                    f"--output {folder}/evaluation/{each} --replicates 20".split()
                )
    found = compare_patterns(
        folders(tmp_path / "results"), "page.html", synthetic=["squad", "mnli", "pretrained"]
    )
    assert len(found.rows) == 2 * 2 * 3
    for row in found.rows:
        folder = tmp_path / "results" / row["pattern"] / f"seed{row['seed']}"
        where = {"MLM": "pretrained", "SQuAD": "evaluation/squad", "MNLI": "evaluation/mnli"}
        metrics = json.loads((folder / where[row["column"]] / "metrics.json").read_text())
        assert row["value"] == pytest.approx(100 * metrics[row["score"]])
    assert "All measured scores are" in " ".join((tmp_path / "page.html").read_text().split())
