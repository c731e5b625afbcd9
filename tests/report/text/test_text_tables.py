"""The page of text tasks: published cells as typed a second time, measured ones from metrics.json."""

import json
import re
from html.parser import HTMLParser

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.metrics.published_table import NONE
from dna_bigbird.text.report.text_results import published_tables
from dna_bigbird.text.text_tables import tables

TYPED_AGAIN = {
    # MLM, MNLI, SQuAD, and SQuAD 2.0, which the paper lacks
    (1, "BERT-base"): ["64.2", "83.4", "88.5", NONE],
    (1, "Random"): ["60.1", "80.2", "83.0", NONE],
    (1, "Window"): ["58.3", "73.1", "76.4", NONE],
    (1, "Random + Window"): ["62.7", "80.5", "85.1", NONE],
    (2, "BigBird-ITC"): ["75.7", "86.8", "67.7", "70.8", "53.3", "79.5", "75.9"],
    (2, "RoBERTa"): ["73.5", "83.4", "63.5", NONE, NONE, "74.3", "72.4"],
    (4, "BigBird-Pegasus (large)"): [
        "46.63 / 19.02 / 41.77",
        "46.32 / 20.65 / 42.33",
        "60.64 / 42.46 / 50.01",
    ],
    (3, "BigBird-ETC"): ["81.2", "89.1", "73.6", "77.8", "57.9", "84.5", "92.4", "82.3"],
    (3, "SpanBERT"): [*[NONE] * 5, "79.1", "86.6", NONE],
    (4, "Dancer"): ["42.70 / 16.54 / 38.44", "44.09 / 17.69 / 40.27", NONE],
    (10, "BigBird-ITC (4096)"): ["1.678", "1.456"],
    (10, "RoBERTa (512 tokens)"): ["1.846", "1.496"],
    (15, "BigBird"): ["95.2 ± 0.2", "72.16", "92.31", "69.30", "92.2 ± 1.7"],
    (15, "Best earlier"): ["97.4", "73.28", "87.96", "69.01", "90.6"],
    (16, "BigBird"): ["87.5/87.3", "88.6", "92.2", "94.6", "58.5", "87.8", "91.5", "75.0"],
    (16, "BERT"): ["84.6/83.4", "71.2", "90.5", "93.5", "52.1", "85.8", "88.9", "66.4"],
    (20, "Lead"): ["16.30 / 1.61 / 11.95", "39.60 / 17.70 / 36.20"],
    (20, "BigBird-RoBERTa"): ["39.52 / 17.22 / 32.30", "39.25 / 18.46 / 36.61"],
}
ROWS = {1: 4, 2: 4, 3: 10, 4: 17, 10: 4, 15: 3, 16: 4, 20: 16}


@pytest.mark.parametrize(("number", "system"), TYPED_AGAIN)
def test_published_cells(number, system):
    (table,) = (table for table in published_tables() if table.number == number)
    assert list(table.rows[system]) == TYPED_AGAIN[number, system]


def test_every_row_has_a_cell_for_every_column():
    assert {table.number: len(table.rows) for table in published_tables()} == ROWS
    for table in published_tables():
        assert {len(cells) for cells in table.rows.values()} == {len(table.columns)}


class Cells(HTMLParser):
    """Rows of the tables by their first cell, as a reader sees them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: dict[str, list[str]] = {}
        self._row: list[str] | None = None
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self._row = []
        elif tag in ("td", "th") and self._row is not None:
            self._row.append("")
            self._inside = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._inside = False
        elif tag == "tr" and self._row:
            self.rows.setdefault(self._row[0], []).append(
                [" ".join(x.split()) for x in self._row[1:]]
            )

    def handle_data(self, data):
        if self._inside:
            self._row[-1] += data


HOTPOT = {
    "f1": 0.61234,
    "f1_low": 0.5,
    "f1_high": 0.7,
    "sp_f1": 0.5,
    "joint_f1": 0.25,
    "n": 60,
    "n_in_training": 60,
    "split": "validation",
    "seed": 3,
    "f1_gain_over_first": 0.41,
    "f1_gain_over_first_low": 0.3,
    "f1_gain_over_first_high": 0.5,
    "baselines": {"none": {"f1": 0.1}, "first": {"f1": 0.2, "sp_f1": 0.7}},
}


def write(folder, **metrics):
    for name, values in metrics.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "metrics.json").write_text(json.dumps(values))


@pytest.fixture
def page(tmp_path):
    rouge = {"rouge1": 40.123, "rouge2": 20.0, "rougeLsum": 30.0}
    base = {"n": 12, "split": "test", "seed": 0}
    runs = {"micro_f1": 0.953, "micro_f1_sd": 0.0021, "runs": 5, "n": 20, "split": "test"}
    mlm = {"bits_per_token": 5.5, "n_examples": 8, "split": "validation", "seed": 0}
    mlm["baselines"] = {"unigram": {"bits_per_token": 6.0}, "informed": {"bits_per_token": 5.9}}
    write(tmp_path / "runs", hotpotqa=HOTPOT, xsum=rouge | base, imdb=runs)
    write(tmp_path, pretrained=mlm)
    write(tmp_path / "short", imdb=runs | {"micro_f1": 0.9}, xsum=rouge | base | {"rouge1": 39.0})
    tables(
        tmp_path / "runs",
        tmp_path / "page.html",
        pretrained=tmp_path / "pretrained",
        synthetic=["xsum"],
        variant_results={"full-512": tmp_path / "short"},
        figure_folder=tmp_path / "figures",
    )
    assert (tmp_path / "figures" / "text_tasks.png").stat().st_size > 1000
    return (tmp_path / "page.html").read_text()


def test_the_page_parses_and_loads_nothing(page, read_page):
    read_page(page).check_stands_alone()
    assert len(page) < 1_000_000


def test_measured_cells_are_those_of_metrics_json(page):
    rows = Cells(page).rows["BigBird, this run"]
    assert ["61.23", "50.00", "25.00", *[NONE] * 4] in rows
    assert ["40.12 / 20.00 / 30.00", NONE] in rows
    assert ["5.50", NONE] in rows
    assert ["20.00", "70.00", *[NONE] * 5] in Cells(page).rows["baseline: first"]


def test_measured_scores_have_interval_baseline_and_data(page):
    rows = Cells(page).rows
    ((ours, baseline, n, split, seed, data),) = rows["HotpotQA Ans: f1"]
    assert (ours, baseline) == ("61.23 [50.00, 70.00]", "20.00 (first)")
    assert (n, split, seed, data) == (
        "60",
        "validation",
        "3",
        "real text, scored on its training examples",
    )
    assert rows["BBC XSum: rouge1"][0][-1] == "synthetic text"
    (bits,) = rows["base: bits per token"]
    assert bits[:3] == ["5.50", "5.90 (informed)", "8"]


def test_several_runs_have_a_mean_and_a_deviation(page):
    rows = Cells(page).rows
    assert ["95.30 ± 0.21", *[NONE] * 4] in rows["BigBird, this run"]
    assert rows["IMDb: micro f1"][0][-1] == "real text, 5 runs"


def test_a_variant_has_a_row_in_the_tables_that_it_has_scores_of(page):
    assert Cells(page).rows["full-512, this run"] == [
        ["90.00 ± 0.21", *[NONE] * 4],
        ["39.00 / 20.00 / 30.00", NONE],
    ]


def test_rows_of_table_10_are_variants_with_bundles_of_both_sizes(tmp_path):
    mlm = {"bits_per_token": 5.5, "n_examples": 8, "split": "validation", "seed": 0}
    warm = mlm | {"bits_per_token": 4.0, "initial_weights": "RoBERTa: 12 layers"}
    write(tmp_path / "itc", **{"pretrained": warm, "large-pretrained": mlm})
    write(tmp_path / "etc", **{"large-pretrained": mlm | {"bits_per_token": 3.0}})
    tables(tmp_path / "itc", tmp_path / "page.html", variant_results={"etc": tmp_path / "etc"})
    rows = Cells((tmp_path / "page.html").read_text()).rows
    assert ["4.00", "5.50"] in rows["BigBird, this run"]
    assert rows["etc, this run"] == [[NONE, "3.00"]]
    ((*_, data),) = rows["base: bits per token"]
    assert data == "real text, weights at the start: RoBERTa: 12 layers"


def test_who_is_ahead_is_said(page):
    text = re.sub(r"<[^>]+>", "", page)
    assert "No claim on 60 rows: f1 0.612 for the model, 0.200 for the baseline first" in text
    assert "bits per token 5.500 for the model, 5.900 for the baseline informed" in text


def test_the_page_says_what_is_synthetic_and_what_was_trained_on(page):
    text = re.sub(r"<[^>]+>", "", page)
    assert "Synthetic text. These scores are measured on text that a program generated" in text
    assert "Scored on its training examples. These scores are measured on the examples" in text
    assert "Not run: BBC XSum" not in text
    assert "Not run: CNN/DailyMail" in text


def test_without_such_scores_it_says_neither(tmp_path):
    write(tmp_path / "runs", hotpotqa=HOTPOT | {"n_in_training": 0})
    tables(tmp_path / "runs", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "Synthetic text" not in text
    assert "training examples" not in text


@pytest.mark.parametrize(
    ("metrics", "synthetic", "message"),
    [
        ({}, [], r"no <name>/metrics\.json in it for any of arxiv, arxiv-topics"),
        ({"imdb": {"micro_f1": 1.0, "n": 3}}, [], r"imdb.metrics\.json: no 'split'; expected what"),
        (
            {"imdb": {"n": 3, "split": "test"}},
            ["imbd"],
            "synthetic: no table has 'imbd'; expected some",
        ),
    ],
)
def test_what_cannot_be_shown_is_one_line(tmp_path, metrics, synthetic, message):
    (tmp_path / "runs").mkdir()
    write(tmp_path / "runs", **metrics)
    with pytest.raises(InputError, match=message):
        tables(tmp_path / "runs", tmp_path / "page.html", synthetic=synthetic)
    assert not (tmp_path / "page.html").exists()
