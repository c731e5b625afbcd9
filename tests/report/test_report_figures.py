"""The pictures show their rows; nothing global is changed; the command writes the files."""

import matplotlib
import numpy as np
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.figures.style import save
from dna_bigbird.evaluation.compare.head_pages import calibration_figure
from dna_bigbird.evaluation.model_results import CalibrationBin, Curve, HistoryRow, LabelScore
from dna_bigbird.report.sections.head_section import curve_figure, label_figure
from dna_bigbird.report.sections.pretraining_section import history_figure


def test_sources_are_drawn_in_the_same_axes():
    curves = [
        Curve("p", source, "roc", (0, 0.5, 1), (0, height, 1))
        for source, height in (("model", 0.9), ("kmer", 0.7), ("chance", 0.5))
    ]
    (ax,) = curve_figure(curves, "roc", title="ROC").axes
    drawn = {line.get_label(): line.get_ydata()[1] for line in ax.get_lines()}
    assert drawn == {"BigBird": 0.9, "k-mer baseline": 0.7, "chance": 0.5}
    assert len({line.get_linestyle() for line in ax.get_lines()}) > 1


def test_history_marks_the_chosen_step_and_draws_baselines():
    rows = [HistoryRow(s, "validation", "bits", 2 - s / 100) for s in (30, 10, 20)]
    fig = history_figure(
        rows, "bits", title="t", ylabel="y", chosen_step=20, lines=[("unigram", 1.95)]
    )
    lines = {line.get_label(): line for line in fig.axes[0].get_lines()}
    assert lines["validation"].get_xdata().tolist() == [10, 20, 30]
    assert lines["chosen step (20)"].get_ydata().tolist() == [1.8]
    assert list(lines["unigram: 1.950"].get_ydata()) == [1.95, 1.95]


def test_no_two_baselines_look_the_same():
    rows = [HistoryRow(10, "validation", "bits", 1.9)]
    baselines = [(f"b{i}", 1 + i / 10) for i in range(9)]
    fig = history_figure(rows, "bits", title="t", ylabel="y", lines=baselines)
    lines = [x for x in fig.axes[0].get_lines() if str(x.get_label()).startswith("b")]
    looks = {(x.get_color(), str(x._unscaled_dash_pattern)) for x in lines}
    assert len(looks) == len(lines) == 9


@pytest.mark.parametrize("count", [3, 60])
def test_labels_without_a_score_are_not_drawn(count):
    labels = [
        LabelScore(f"l{i} $x_", "TF" if i % 2 else "HM", 3, 0.6 + i / 1000, 0.1, 0.5, 0.1)
        for i in range(count)
    ]
    labels.append(LabelScore("empty", "TF", 0, np.nan, np.nan, np.nan, np.nan))
    fig = label_figure(labels)
    drawn = sum(
        len(line.get_xdata())
        for ax in fig.axes
        for line in ax.get_lines()
        if line.get_linestyle() == "None"
    )
    assert drawn == (2 * count if count < 40 else count)
    assert save(fig, "svg") == save(fig, "svg")
    names = [text for ax in fig.axes for text in ax.get_yticklabels() if "$" in text.get_text()]
    assert len(names) == (count if count < 40 else 0)
    assert not any(text.get_parse_math() for text in names)


def test_the_settings_of_matplotlib_stay_as_they_were():
    before = dict(matplotlib.rcParams)
    save(label_figure([LabelScore("a", "g", 1, 0.6, 0.5, 0.5, 0.5)]), "png")
    assert dict(matplotlib.rcParams) == before


def test_command_writes_page_and_pictures(run, tmp_path, capsys):
    arguments = ["--results", str(run.results), "--config_file", str(run.folder / "config.yaml")]
    truth = ["--truth-promoters", str(run.folder / "promoters.bed")]
    truth += ["--truth-peaks", str(run.folder / "peaks.tsv")]
    output, figures = tmp_path / "report.html", tmp_path / "figures"
    main(["report", *arguments, *truth, "--output", str(output), "--figure-folder", str(figures)])
    assert output.read_text(encoding="utf-8") == run.page
    names = sorted(path.stem for path in figures.iterdir())
    assert names == sorted(run.gallery.figures)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in figures.iterdir())
    assert f"{len(names)} pictures" in capsys.readouterr().out


def test_command_without_results_leaves_no_file(tmp_path, capsys):
    (tmp_path / "config.yaml").write_text("seed: 1\n")
    arguments = ["--results", str(tmp_path / "none"), "--output", str(tmp_path / "report.html")]
    with pytest.raises(SystemExit, match="2"):
        main(["report", *arguments, "--config_file", str(tmp_path / "config.yaml")])
    assert "no such results folder" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


def test_stages_are_in_the_order_of_the_workflow(run):
    labels = [
        t.get_text() for t in run.gallery.figures["time_and_memory"].axes[0].get_yticklabels()
    ]
    expected = ["demo_data", "genome", "documents", "train_tokenizer", "tokenize", "pretrain"]
    assert labels[:6] == expected
    assert labels[6] == "evaluate_lm"
    assert labels.index("baseline_promoter") < labels.index("finetune_promoter")
    assert labels[-1] == "predict_promoter"


@pytest.mark.parametrize("share", [0.5, 0.01])
def test_calibration_is_drawn_up_to_the_largest_value(share):
    bins = [
        CalibrationBin("all", probabilities, 100, share * i * over, share * i)
        for probabilities, over in (("raw", 1.5), ("calibrated", 1.0))
        for i in (0.5, 1.0, 1.2)
    ]
    figure = calibration_figure(bins, "Calibration")
    figure.draw_without_rendering()
    (ax,) = figure.axes
    largest = max(max(x.mean_probability, x.share_positive) for x in bins)
    for low, high in (ax.get_xlim(), ax.get_ylim()):
        assert low <= 0 < 0.8 * high <= largest < high
    raw, corrected, ideal = ax.lines
    assert list(raw.get_xdata()) == [x.mean_probability for x in bins[:3]]
    assert list(corrected.get_ydata()) == [x.share_positive for x in bins[3:]]
    assert list(ideal.get_xdata()) == list(ideal.get_ydata())
    assert not any("$" in label.get_text() for label in ax.get_xticklabels())
