"""Models beside each other, from hand-made scores; who is ahead is computed, never claimed."""

import csv
import json
import math
import shutil
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from scipy import stats

from dna_bigbird.cli.main import main
from dna_bigbird.evaluation.compare.lm_runs import ranking_notes, read_run
from dna_bigbird.evaluation.compare.lm_tables import steps_figure
from dna_bigbird.metrics.scores import Score

MASKED, CAUSAL = "token_unigram_masked", "token_ngram_causal"


def score(name: str, value: float, half: float) -> dict:
    return {name: value, f"{name}_low": value - half, f"{name}_high": value + half}


def bits(value: float, half: float = 0.01) -> dict:
    return score("bits_per_base_masked", value, half)


def write_run(
    folder, name: str, value: float, *, accuracy=0.2, half=0.01, batch=1, seed=0, **encoder
):
    """Write the files of one variant; `encoder` as in EncoderConfig."""
    settings = {
        "vocab_size": 32000,
        "hidden_size": 768,
        "num_layers": 12,
        "num_heads": 12,
        "ffn_size": 3072,
        "max_tokens": 512,
        "attention": "bigbird",
        "window_blocks": 3,
        "global_blocks": "first_last",
        "num_random": 3,
        "block_size": 64,
    }
    parts = {"by_chromosome": {"chr8": bits(value) | {"n_bp": 900}}}
    nothing = dict.fromkeys(bits(0)) | {"n_bp": 0}
    parts["by_repeat_class"] = {"unmasked": bits(value + 0.1) | {"n_bp": 900}, "unknown": nothing}
    metrics = bits(value, half) | score("mlm_accuracy", accuracy, 0.01) | parts
    metrics |= {"n_masked_tokens": 100, "n_masked_bp": 900, "split": "test"}
    metrics["baselines"] = {
        MASKED: bits(1.95) | parts | {"n_counted_bp": 2_500_000},
        CAUSAL: {"bits_per_base_causal": 1.91, "n_bp": 5000},  # as files of older versions
    }
    config = {
        "format_version": 1,
        "task": "pretraining",
        "encoder": settings | encoder,
        "training": {"max_steps": 1_000_000},
        "examples_per_step": batch,
        "assembly": "GRCh37",
        "seed": seed,
    }
    history = "step\tsplit\tname\tvalue\n" + "".join(
        f"{step}\tvalidation\t{key}\t{figure}\n"
        for step, figure in ((10, 0.1), (20, accuracy))
        for key in ("mlm_accuracy", "bits_per_base_masked")
    )
    for file, text in (
        ("model/metrics.json", json.dumps(metrics)),
        ("model/config.json", json.dumps(config)),
        ("trained/history.tsv", history),
    ):
        (folder / name / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / file).write_text(text)
    return str(folder / name)


def write_seed(folder, name: str, seed: int, bits_of: list, right: list, bp=(100, 300), **encoder):
    """Write one training of a variant with the bits and right tokens of its two examples."""
    value, accuracy = sum(bits_of) / sum(bp), sum(right) / 20
    run = write_run(folder, f"{name}/seed{seed}", value, accuracy=accuracy, seed=seed, **encoder)
    rows = [
        (i, 10, bp[i], bits_of[i] * math.log(2), right[i], 2 * bits_of[i] * math.log(2), 0)
        for i in range(2)
    ]
    header = "example\ttokens\tbp\tnats\tright\tnats_all_masked\tright_all_masked\n"
    lines = ["\t".join(map(str, row)) + "\n" for row in rows]
    (folder / name / f"seed{seed}" / "examples.tsv").write_text(header + "".join(lines))
    return run


def three_and_two_seeds(tmp_path) -> list[str]:
    return [
        write_seed(tmp_path, "a", 0, [160, 480], [2, 4]),  # 1.6 bits per base, accuracy 0.3
        write_seed(tmp_path, "a", 1, [164, 492], [3, 5]),  # 1.64, 0.4
        write_seed(tmp_path, "a", 2, [168, 504], [4, 6]),  # 1.68, 0.5
        write_seed(tmp_path, "b", 0, [180, 540], [2, 4], attention="full"),  # 1.8, 0.3
        write_seed(tmp_path, "b", 7, [188, 564], [2, 4], attention="full"),  # 1.88, 0.3
    ]


def test_seeds_of_a_variant_are_one_row(tmp_path):
    rows, notes, text = compare(tmp_path, "table1", three_and_two_seeds(tmp_path))
    assert [(r["variant"], r["seeds"]) for r in rows] == [("a", "3"), ("b", "2")]
    assert [r["bits_per_base"] for r in rows] == ["1.64", "1.84"]
    assert [r["bits_per_base_sd"] for r in rows] == ["0.04", "0.056569"]  # 0.08 / sqrt(2)
    assert [(r["mlm_accuracy"], r["mlm_accuracy_sd"]) for r in rows] == [
        ("0.4", "0.1"),
        ("0.3", "0.0"),
    ]
    # Bits are in proportion to the bases, so seeds alone scatter: t with 2 degrees of freedom.
    half = stats.t.ppf(0.975, 2) * 0.04 / 3**0.5
    ends = [float(rows[0][f"bits_per_base_{end}"]) for end in ("low", "high")]
    assert ends == pytest.approx([1.64 - half, 1.64 + half], abs=2e-6)
    assert "Not equal for all: seed (a 0, 1, 2, b 0, 7)." in notes
    assert "of means over several seeds t intervals over blocks and seeds" in text
    assert plt.imread(tmp_path / "table1/figure.png").size


def test_pairs_of_variants_have_differences(tmp_path):
    _, notes, text = compare(tmp_path, "table1", three_and_two_seeds(tmp_path))
    with open(tmp_path / "table1/pairs.tsv", newline="") as stream:
        pairs = {row["score"]: row for row in csv.DictReader(stream, delimiter="\t")}
    assert list(pairs) == ["bits per base", "bits per base, all [MASK]", "MLM accuracy"]
    welch = stats.ttest_ind([1.6, 1.64, 1.68], [1.8, 1.88], equal_var=False)
    low, high = welch.confidence_interval()
    bits = pairs["bits per base"]
    assert (bits["pair"], bits["same_tokens"], bits["difference"]) == ("a - b", "yes", "-0.2")
    assert float(bits["difference_low"]) == pytest.approx(low, abs=2e-6)
    assert float(bits["difference_high"]) == pytest.approx(high, abs=2e-6)
    assert float(bits["p"]) == float(bits["p_holm"]) == pytest.approx(welch.pvalue, rel=0.01)
    assert bits["clear"] == ("yes" if welch.pvalue < 0.05 else "no")
    assert pairs["bits per base, all [MASK]"]["difference"] == "-0.4"
    # Of a the mean by example is (3, 5), of b (2, 4): each (1, 1) apart, nothing over examples.
    accuracy = pairs["MLM accuracy"]
    assert (accuracy["difference"], accuracy["se_examples"]) == ("0.1", "0.0")
    assert float(accuracy["se_seeds"]) == pytest.approx(0.1 / 3**0.5, rel=0.01)
    assert accuracy["clear"] == "no"
    assert "MLM accuracy: none of 1 pair clearly different (p below 0.05)." in notes
    assert any("They cover test blocks and seeds" in note for note in notes)
    assert "Differences between models:" in text


def test_one_training_each_covers_examples_only(tmp_path):
    runs = [
        write_seed(tmp_path, "a", 0, [160, 481], [2, 4]),
        write_seed(tmp_path, "b", 0, [180, 540], [2, 4], attention="full"),
    ]
    rows, notes, _ = compare(tmp_path, "figure8", runs)
    assert "seeds" not in rows[0]
    assert rows[0]["bits_per_base_low"] == "1.5925"  # as evaluate-lm wrote it
    assert any("nothing is known of what another seed would change" in note for note in notes)
    with open(tmp_path / "figure8/pairs.tsv", newline="") as stream:
        assert {row["se_seeds"] for row in csv.DictReader(stream, delimiter="\t")} == {""}


def test_table5_with_seeds_has_means_of_parts_without_intervals(tmp_path):
    rows, _, text = compare(tmp_path, "table5", three_and_two_seeds(tmp_path))
    assert [(r["predictor"], r["seeds"]) for r in rows] == [
        ("token unigram", ""),
        ("token n-gram", ""),
        ("a", "3"),
        ("b", "2"),
    ]
    with open(tmp_path / "table5/parts.tsv", newline="") as stream:
        parts = [r for r in csv.DictReader(stream, delimiter="\t") if r["part"] == "chr8"]
    means = [
        (r["bits_per_base"], r["bits_per_base_low"]) for r in parts if r["predictor"] == "model"
    ]
    assert means == [("1.64", ""), ("1.84", "")]
    assert "| chr8 | 1.640 |" in text


def test_parts_that_only_some_seeds_have_are_left_out(tmp_path):
    runs = three_and_two_seeds(tmp_path)
    path = tmp_path / "a/seed1/model/metrics.json"
    metrics = json.loads(path.read_text())
    del metrics["by_repeat_class"]
    path.write_text(json.dumps(metrics))
    compare(tmp_path, "table5", runs)
    with open(tmp_path / "table5/parts.tsv", newline="") as stream:
        rows = [r for r in csv.DictReader(stream, delimiter="\t") if r["predictor"] == "model"]
    assert {r["part"] for r in rows if r["positions_of"] == "a"} == {"chr8"}
    assert {r["part"] for r in rows if r["positions_of"] == "b"} == {"chr8", "unmasked"}


def test_rows_are_paired_by_block(tmp_path):
    """Files have blocks; those of version 0.1, as in the other tests, have numbers of examples."""
    runs = three_and_two_seeds(tmp_path)

    def same_tokens(second_of_b: str) -> set[str]:
        for path in tmp_path.glob("*/seed*/examples.tsv"):
            second = second_of_b if path.parts[-3] == "b" else "chr8:10001-20000"
            header, *lines = path.read_text().splitlines()
            cells = [line.split("\t")[1:] for line in lines]
            blocks = ("chr8:1-10000", second)
            rows = ["\t".join([x, *rest]) for x, rest in zip(blocks, cells, strict=True)]
            path.write_text("\n".join([header.replace("example", "block"), *rows]) + "\n")
        compare(tmp_path, "figure8", runs)
        with open(tmp_path / "figure8/pairs.tsv", newline="") as stream:
            return {row["same_tokens"] for row in csv.DictReader(stream, delimiter="\t")}

    assert same_tokens("chr8:10001-20000") == {"yes"}
    shutil.rmtree(tmp_path / "figure8")
    assert same_tokens("chr9:1-10000") == {"no"}


def test_other_lengths_are_compared_without_pairing(tmp_path):
    runs = [write_seed(tmp_path, "a", seed, [160 + seed, 480], [2, 4]) for seed in range(2)] + [
        write_seed(tmp_path, "b", seed, [160 + seed, 480], [2, 4], bp=(101, 300), max_tokens=1024)
        for seed in range(2)
    ]
    compare(tmp_path, "figure8", runs)
    with open(tmp_path / "figure8/pairs.tsv", newline="") as stream:
        assert {row["same_tokens"] for row in csv.DictReader(stream, delimiter="\t")} == {"no"}


def test_trainings_that_are_not_seeds_of_one_variant_are_refused(tmp_path, capsys):
    def error(*runs: str) -> str:
        line = ["compare-lm", "--table", "table1", "--output", str(tmp_path / "never"), "--runs"]
        return refused([*line, json.dumps(runs)], capsys)

    first = write_seed(tmp_path, "a", 0, [160, 480], [2, 4])
    assert "seed0: seed 0, as" in error(first, first)
    other = write_seed(tmp_path, "a", 1, [160, 480], [2, 4], bp=(101, 300))
    assert "seed1/examples.tsv: other test examples than" in error(first, other)
    other = write_seed(tmp_path, "a", 1, [160, 480], [2, 4], hidden_size=96)
    assert "seed1: other settings of the encoder or the training than" in error(first, other)
    (tmp_path / "a/seed1/examples.tsv").write_text("example\tnats\n0\t1\n")
    assert "seed1/examples.tsv:1: no column 'tokens'" in error(first, other)
    (tmp_path / "a/seed1/examples.tsv").unlink()
    message = error(first, other)
    assert "seed1/examples.tsv: no such file; expected the scores of each block" in message
    assert not (tmp_path / "never").exists()


def compare(tmp_path, table: str, runs: list[str]):
    """Return the rows of table.tsv, the notes and the readable table."""
    output = tmp_path / table
    main(["compare-lm", "--runs", json.dumps(runs), "--table", table, "--output", str(output)])
    with open(output / "table.tsv", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    written = json.loads((output / "table.json").read_text())
    assert [list(row) for row in written["rows"]] == [list(row) for row in rows]
    return rows, written["notes"], (output / "table.md").read_text()


def test_table5_has_baselines_models_and_the_papers_figures(tmp_path):
    runs = [
        write_run(tmp_path, "full_512", 1.9, attention="full", batch=8),
        write_run(tmp_path, "bigbird_4096", 1.7, max_tokens=4096, vocab_size=2048),
    ]
    rows, notes, text = compare(tmp_path, "table5", runs)
    short = [(r["predictor"], r["seen"], r["bits_per_base"], r["paper"]) for r in rows]
    assert short == [
        ("token unigram", "masked", "1.95", ""),
        ("token n-gram", "causal", "1.91", "1.57"),
        ("full_512", "masked", "1.9", "1.23"),
        ("bigbird_4096", "masked", "1.7", "1.12"),
    ]
    assert [r["n_bp"] for r in rows] == ["900", "5000", "900", "900"]
    assert [r["counted_bp"] for r in rows] == ["2500000", "", "", ""]
    assert rows[1]["differs"] == "Witten-Bell; paper: order, unit and discounting not stated"
    assert rows[3]["differs"] == "vocabulary 2,048 for 32,000"
    assert notes[0] == (
        "By bits per base, best first: bigbird_4096 1.700 [1.690, 1.710]; full_512 1.900 "
        "[1.890, 1.910]. Without a paired difference none is called better."
    )
    assert "| full_512 | masked | 1.900 [1.890, 1.910] | 900 | – | 1.23 |" in text
    assert "| token unigram | masked | 1.950 [1.940, 1.960] | 900 | 2,500,000 | – |" in text
    assert notes[-1].startswith("counted bp: bases of the training documents")
    with open(tmp_path / "table5/parts.tsv", newline="") as stream:
        parts = list(csv.DictReader(stream, delimiter="\t"))
    assert {(p["way"], p["part"]) for p in parts} == {
        ("by_chromosome", "chr8"),
        ("by_repeat_class", "unmasked"),
    }
    assert len(parts) == 2 * 2 * 2  # runs x (model, baseline) x parts that have a base
    same = "1.900 [1.890, 1.910] | 900 | 1.900 [1.890, 1.910]"  # the unigram's parts are the run's
    assert f"| chr8 | {same} | {same.replace('1.9', '1.7').replace('1.890', '1.690')} |" in text
    assert plt.imread(tmp_path / "table5/figure.png").size


def test_figure8_takes_the_last_validation_and_tells_unequal_training(tmp_path):
    runs = [
        write_run(tmp_path, "a512", 1.9, accuracy=0.21, batch=8),
        write_run(tmp_path, "b1024", 1.895, accuracy=0.22, max_tokens=1024, batch=2),
    ]
    rows, notes, _ = compare(tmp_path, "figure8", runs)
    assert [r["validation_mlm_accuracy"] for r in rows] == ["0.21", "0.22"]
    assert [(r["tokens_per_step"], r["paper_mlm_percent"]) for r in rows] == [
        ("4096", "22"),
        ("2048", "24"),
    ]
    assert notes[1].startswith("By bits per base, best first: b1024 1.895 [")
    assert notes[-1] == "Not equal for all: tokens per step (a512 4096, b1024 2048)."


def test_real_tokens_are_in_table_and_figure(tmp_path):
    """Lengths of whole sentences as in the paper's setting: 453 of 512, 4,004 of 4,096."""
    runs = [
        write_run(tmp_path, "full_512", 1.9, attention="full", batch=8),
        write_run(tmp_path, "bigbird_4096", 1.7, max_tokens=4096, batch=1),
    ]
    for run, tokens in zip(runs, (453.0, 4004.0), strict=True):
        path = Path(run) / "model" / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"tokens_per_example": tokens}))
    note = "Not equal for all: real tokens per step (full_512 3624, bigbird_4096 4004)."
    for table in ("table5", "figure8"):
        rows, notes, _ = compare(tmp_path, table, runs)
        assert [r["real_tokens_per_step"] for r in rows][-2:] == ["3624", "4004"]
        assert note in notes
        assert not [x for x in notes if x.startswith("Not equal for all: tokens per step")]
    read = [read_run(Path(run)) for run in runs]
    panels = steps_figure(read).axes
    assert [x.get_ylabel()[:13] for x in panels] == ["masked tokens", "bits per base"]
    texts = [x.get_text() for x in panels[0].get_legend().get_texts()]
    assert texts == ["full_512, 3,624 tokens per step", "bigbird_4096, 4,004 tokens per step"]


def test_table1_names_the_building_blocks_and_counts_what_is_read(tmp_path):
    """8 blocks of 64: 22 of 64 pairs lie within one of the diagonal; 3 random ones are 3/8."""
    shapes = {
        "r": {"window_blocks": 0, "global_blocks": "none"},
        "w": {"num_random": 0, "global_blocks": "none"},
        "g": {},
        "full": {"attention": "full"},
    }
    runs = [write_run(tmp_path, name, 1.9, **shape) for name, shape in shapes.items()]
    rows, notes, _ = compare(tmp_path, "table1", runs)
    assert [(r["building_blocks"], r["paper_mlm_percent"]) for r in rows] == [
        ("random", "60.1"),
        ("window", "58.3"),
        ("random + window + global", ""),
        ("full attention", "64.2"),
    ]
    shares = [float(r["key_blocks_read"]) for r in rows]
    assert shares[0] == pytest.approx(3 / 8, abs=1e-4)
    assert shares[1] == pytest.approx(22 / 64, abs=1e-4)
    assert shares[1] < shares[2] < shares[3] == 1
    assert sum("best first" in note for note in notes) == 2


def test_table1_of_attention_without_blocks(tmp_path):
    """512 tokens, a window of 64 on either side, the first token global; the Performer has no pairs."""
    shapes = {
        "l": {"attention": "longformer", "longformer": {"window_tokens": 64}},
        "p": {"attention": "performer"},
    }
    runs = [write_run(tmp_path, name, 1.9, **shape) for name, shape in shapes.items()]
    rows, _, _ = compare(tmp_path, "table1", runs)
    assert [r["building_blocks"] for r in rows] == ["window + global tokens", "random features"]
    pairs = sum(abs(i - j) <= 64 or not i * j for i in range(512) for j in range(512))
    shares = [float(r["key_blocks_read"]) for r in rows]
    assert shares == [pytest.approx(pairs / 512**2, abs=1e-4), 1.0]


def test_intervals_of_two_scores_decide_nothing():
    far = [("a", Score(0.21, 0.20, 0.22)), ("c", Score(0.3, 0.29, 0.31)), ("n", Score(None))]
    [said] = ranking_notes(far, "accuracy", higher_is_better=True)
    assert said.startswith(
        "By accuracy, best first: c 0.300 [0.290, 0.310]; a 0.210 [0.200, 0.220]."
    )
    assert ranking_notes(far[:1], "accuracy", higher_is_better=True) == []


def refused(line: list[str], capsys) -> str:
    with pytest.raises(SystemExit, match="2"):
        main(line)
    return capsys.readouterr().err


def test_what_is_not_a_scored_variant_is_refused(tmp_path, capsys):
    line = ["compare-lm", "--table", "table5", "--output", str(tmp_path / "never"), "--runs"]
    assert "expected the folder of at least one" in refused([*line, "[]"], capsys)
    error = refused([*line, json.dumps([str(tmp_path / "no")])], capsys)
    assert "config.json: no such file; the rule evaluate_lm_variant makes it" in error
    run = write_run(tmp_path, "early", 1.9)
    (tmp_path / "early/model/metrics.json").write_text('{"split": "validation"}')
    error = refused([*line, json.dumps([run])], capsys)
    assert "scores of the split 'validation'; expected bits per base on the test split" in error
    assert not (tmp_path / "never").exists()
