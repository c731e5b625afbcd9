"""Values at the pointer are those of the files that the page is made of."""

import csv
import math

import pytest


@pytest.fixture(scope="module")
def marks(run, read_page):
    """Rows of values by picture, in the order of the page, and by name."""
    pictures = []
    for _, attributes in read_page(run.page).tags:
        if "data-marks" in attributes:
            rows: dict[str, list[list[str]]] = {}
            for line in attributes["data-marks"].split("\n"):
                if line.startswith("="):
                    here = rows.setdefault(line[1:].split("\t")[0], [])
                else:
                    here.append(line.split("\t")[2:])
            pictures.append(rows)
    return dict(zip(run.gallery.figures, pictures, strict=True))


def table(run, name: str) -> list[dict]:
    with (run.results / name).open() as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def rounded(number: str) -> str:
    return f"{float(number):.4g}"


def test_every_substitution(run, marks):
    for label, rows in marks["mutagenesis"].items():
        expected = {
            (f"{int(row['pos']):,}", row["ref"], base, rounded(row[f"{label}_{base}_log_odds"]))
            for row in table(run, "predictions/mutagenesis.tsv")
            for base in "ACGT"
            if base != row["ref"] != "N"
        }
        assert {tuple(row) for row in rows} == expected
        assert len(rows) == 72


def test_every_window_of_the_strip(run, marks):
    strip = marks["genome_strip"]
    assert len(strip) == 10  # eight labels, promoters and the truth
    for label in ("REST", "GATA1"):
        middles = {
            (int(row["start"]) + int(row["end"])) / 2: rounded(row[label])
            for row in table(run, "predictions/chromatin.tsv")
        }
        expected = {
            (value, f"{x / 1000:,.1f}") for x, value in middles.items() if 851_000 <= x <= 891_000
        }
        assert {tuple(row) for row in strip[label]} == expected


def test_curves_and_labels(run, marks):
    rows = table(run, "evaluation/promoter/curves.tsv")
    for source in ("model", "kmer"):
        expected = [
            [rounded(row["x"]), rounded(row["y"])]
            for row in rows
            if (row["source"], row["curve"], row["label"]) == (source, "roc", rows[0]["label"])
        ]
        assert (
            marks["promoter_roc"][{"model": "BigBird", "kmer": "k-mer baseline"}[source]]
            == expected
        )
    drawn = {tuple(row) for row in marks["chromatin_labels"][""]}
    labels = table(run, "evaluation/chromatin/per_label.tsv")
    scores = [(row["label"], row[key]) for row in labels for key in ("auroc", "kmer_auroc")]
    assert drawn == {(name, rounded(x)) for name, x in scores if not math.isnan(float(x))}
