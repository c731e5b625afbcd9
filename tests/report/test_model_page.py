"""`dna-bigbird report --model`: sequence-set and finetune on tiny sets of every type, then the page."""

import csv
import json
import re
import shutil

import numpy as np
import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.metrics import verdicts
from dna_bigbird.models.label_types import HEADLINES, gain_key
from dna_bigbird.report import page as model_page
from dna_bigbird.report.report import report
from tests.tiny_bundle import draw_dna, write_pretrained_bundle

COLUMNS = {
    "binary": ["first"],
    "multi-label": ["first", "second"],
    "multi-class": ["class"],
    "regression": ["number", "other"],
}
SHORT = (
    "--training.max_steps", "2", "--training.validate_every", "2", "--training.batch_size", "8",
    "--training.precision", "32-true", "--training.measure_speed", "false", "--threads", "1",
)  # fmt: skip


def run(*words):
    main([str(word) for word in words])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """60 random sequences with a class, two labels and two numbers; next to it an encoder."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    with open(folder / "train.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["sequence", "class", "first", "second", "number", "other"])
        for row in range(60):
            numbers = [round(50 + 10 * x, 2) for x in rng.random(2)]
            labels = ["abc"[row % 3], int(row % 3 == 0), row % 2]
            writer.writerow([draw_dna(90, row), *labels, *numbers])
    write_pretrained_bundle(folder / "encoder")
    return folder / "train.csv"


@pytest.fixture(scope="module", params=COLUMNS)
def scored(request, table):
    """The type, and a scored bundle of it with its folder of detailed scores."""
    folder = table.parent / request.param
    folder.mkdir()
    run(
        *("sequence-set", "--input", table, "--output", folder / "set.h5", "--validation_fraction"),
        *(0.2, "--test_fraction", 0.3, "--label_columns", *COLUMNS[request.param]),
    )
    run(
        *("finetune", "--data", folder / "set.h5", "--pretrained", table.parent / "encoder"),
        *("--output", folder / "model", "--scored", folder / "scored", *SHORT),
    )
    return request.param, folder / "scored"


@pytest.fixture
def page(scored, tmp_path, read_page):
    """The page of the scored bundle, and its text."""
    run("report", "--model", scored[1], "--output", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    return read_page(text), text


def shown_score(metrics, name):
    """Every unrounded number of a score and its interval; none where it is not defined."""
    values = (metrics.get(f"{name}{end}") for end in ("", "_low", "_high"))
    return [repr(x) for x in values if x is not None]


def test_numbers_are_those_of_metrics_json(scored, page):
    label_type, bundle = scored
    page[0].check_stands_alone()
    metrics = json.loads((bundle / "metrics.json").read_text())
    numbers = set(page[0].numbers)
    for name in HEADLINES[label_type]:
        assert len(shown_score(metrics, name)) == 3
        assert numbers.issuperset(shown_score(metrics, name))
        for scores in metrics["baselines"].values():
            assert numbers.issuperset(shown_score(scores, name))
    trivial = {"multi-class": {"majority"}, "regression": {"mean"}}.get(label_type, set())
    fitted = ("kmer", "gc", "composition", "positional")
    named = set(metrics["baselines"]) - {"counts"}
    assert named == {*fitted} | trivial, "and counts, if they help the network"
    main_score = HEADLINES[label_type][0]
    for baseline in fitted:
        gain = shown_score(metrics, gain_key(main_score, baseline))
        assert len(gain) == 3
        assert numbers.issuperset(gain)


def test_the_glossary_explains_the_terms_of_this_page(page):
    text = page[1]
    explained = set(re.findall(r'<dt id="(term-[\w-]+)">', text))
    assert explained == set(re.findall(r'href="#(term-[\w-]+)"', text))
    assert explained
    assert not explained & {"term-nsp", "term-mlm", "term-bits-per-base", "term-ngram"}


@pytest.mark.parametrize("fewest", [18, 19])
def test_the_difference_has_its_interval_and_is_claimed_with_enough_rows(
    scored, monkeypatch, fewest
):
    """There are 18 test rows."""
    label_type, bundle = scored
    monkeypatch.setattr(verdicts, "FEWEST_ROWS", fewest)
    text = model_page.build_model_page(bundle, bundle.with_name("scored.report"))[0]
    metrics = json.loads((bundle / "metrics.json").read_text())
    key = gain_key(HEADLINES[label_type][0], "kmer")
    low, high = metrics[f"{key}_low"], metrics[f"{key}_high"]
    scores = r"[^.:;]* -?[\d.]+ for the model, -?[\d.]+ for the baseline k-mer"
    told = re.search(rf"([A-Z][^.<>:]*): {scores}", text)
    expected = "The model is better" if low > 0 else "Not clear"
    expected = "The baseline k-mer regression is better" if high < 0 else expected
    assert told[1].strip() == ("No claim on 18 rows" if fewest > 18 else expected)
    assert f"95 % interval of the difference [{low:+.3f}, {high:+.3f}]" in text


def test_rows_of_each_split_and_limits_are_said(scored, page):
    words = page[0].words
    assert "training 30 validation 12 test 18" in words
    assert "18 test rows are fewer than 200" in words
    assert "Test rows that the model has read in fine-tuning: 0 ." in words
    assert "Which test rows the model has read in pretraining is not known." in words


def test_every_label_class_or_target_has_its_row(scored, page):
    label_type, bundle = scored
    with open(bundle.with_name("scored.report") / "per_label.tsv") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert len(rows) == {"binary": 1, "multi-class": 3}.get(label_type, 2)
    columns = ["pearson", "kmer_pearson"] if label_type == "regression" else ["auroc", "auprc"]
    for row in rows:
        assert row["label"] in page[0].words
        for column in columns:
            assert repr(float(row[column])) in page[0].numbers


def test_pictures_are_those_of_the_type(scored, page):
    """ROC, PR and calibration; of several labels two averages and a picture of the labels."""
    pictures = [attributes for tag, attributes in page[0].tags if tag == "img"]
    expected = {"binary": 3, "multi-label": 6, "multi-class": 6, "regression": 0}
    assert len(pictures) == expected[scored[0]]
    assert ("have no" in page[0].words) == (scored[0] == "regression")
    ids = {attributes["id"] for _, attributes in page[0].tags if "id" in attributes}
    links = {x["href"][1:] for tag, x in page[0].tags if tag == "a"}
    assert links <= ids
    assert all(x["src"].startswith("data:image/") for x in pictures)


def test_read_rows_and_many_rows_are_said(scored, tmp_path, read_page):
    bundle = tmp_path / "scored"
    shutil.copytree(scored[1], bundle)
    metrics = json.loads((bundle / "metrics.json").read_text())
    metrics |= {"n": 200, "n_test_windows_read_in_pretraining": 7}
    (bundle / "metrics.json").write_text(json.dumps(metrics))
    detailed = scored[1].with_name("scored.report")
    report(model=bundle, report=detailed, output=tmp_path / "page.html")
    words = read_page((tmp_path / "page.html").read_text()).words
    assert "Few test rows" not in words
    assert "Test rows that the model has read in pretraining: 7 . Their scores do not" in words


def test_a_bundle_that_was_not_scored_is_an_error(scored, tmp_path):
    model, output = scored[1].with_name("model"), tmp_path / "page.html"
    message = r"model/metrics.json: split 'validation' without \w+ of test rows; expected a bundle"
    with pytest.raises(InputError, match=message):
        report(model=model, output=output)
    with pytest.raises(InputError, match=r"nowhere/per_label.tsv: no such file; name the folder"):
        report(model=scored[1], report=tmp_path / "nowhere", output=output)
    assert not output.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "results and model: neither given; expected one"),
        (["results", "model"], "results and model: both given; expected one"),
        (["results", "report"], "report does not go with results"),
        (["model", "config_file"], "config_file does not go with model"),
        (["model", "truth_peaks"], "truth_peaks does not go with model"),
        (["results"], "config_file is missing"),
    ],
)
def test_one_source_with_its_own_options(tmp_path, options, message):
    for name in options:
        (tmp_path / name).mkdir()
    paths = {name: tmp_path / name for name in options}
    with pytest.raises(InputError, match=message):
        report(output=tmp_path / "page.html", **paths)
