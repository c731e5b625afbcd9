"""docs/ is short enough to be read, and numbers that we measured are in docs/results/."""

import re
import statistics
from pathlib import Path

import pytest

from tools import words

ROOT = Path(__file__).parents[1]
PAGES = words.pages()
OUTSIDE = words.outside_results(PAGES)
ROOMS = ("tutorials", "how-to", "reference", "explanation", "results", "development")


def test_written_words_outside_results():
    counts = [words.count(page) for page in OUTSIDE]
    assert sum(counts) <= 45_000
    assert statistics.median(counts) <= 800


def test_deviations_from_the_paper_are_one_page_to_read():
    assert words.count(words.DOCS / "explanation/what-differs-from-the-paper.md") <= 1_500


def test_no_page_of_results_is_long():
    counts = {page.name: words.count(page) for page in PAGES if page not in OUTSIDE}
    assert counts
    assert {name: count for name, count in counts.items() if count > 1_500} == {}


def test_tables_have_at_most_seven_columns():
    tables = [(page.name, *table) for page in PAGES for table in words.columns(page)]
    assert tables
    assert [table for table in tables if table[2] > 7] == []


def test_cells_have_at_most_twelve_words():
    found = [(page.name, *row) for page in OUTSIDE for row in words.cells(page)]
    assert found
    assert [row for row in found if row[2] > 12] == []


def test_measured_numbers_are_in_results():
    """Also of the README, but for its table."""
    found = [f"{page.name}:{n}: {text}" for page in OUTSIDE for n, text in words.measured(page)]
    lines = (ROOT / "README.md").read_text().splitlines()
    found += [
        f"README.md:{n}: {text}"
        for n, text in words.measured(ROOT / "README.md")
        if not lines[n - 1].startswith("|")
    ]
    assert found == []


def test_every_page_of_a_room_is_named_in_an_index():
    """That of docs/, or that of its room."""
    files = {*PAGES, *words.DOCS.rglob("*.ipynb")}
    assert {
        page.relative_to(words.DOCS).parts[0] for page in files if page.parent != words.DOCS
    } == {*ROOMS}
    named = set()
    for index in (words.DOCS / "README.md", *(words.DOCS / room / "README.md" for room in ROOMS)):
        if index.is_file():
            targets = re.findall(r"\]\(([^)#\s]+)", index.read_text())
            named |= {(index.parent / target).resolve() for target in targets}
    assert files - named == {words.DOCS / "README.md"}


PAGE = """# Two words

A [link of](a/long/path.md#here) `code`, 4 | - + signs.

| a | b |
|---|---|
| AUROC | 0.91 [0.88, 0.94] |

Published: AUROC 0.930, 2.5 s.

```output
took 3.5 s, n = 30
```
n = 1,234 rows in 2.5 s; `0.999`, a limit of 60 s and 0.05.
"""


def test_what_is_counted_and_what_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    # heading 2, line 6 ("A", "link", "of", "code", "4", "signs"), table 2 + 4, published 5, last line 14
    assert words.count(page) == 2 + 6 + 6 + 5 + 14
    assert list(words.measured(page)) == [(7, "[0.88, 0.94]"), (14, "n = 1,234"), (14, "2.5 s")]
    assert list(words.columns(page)) == [(6, 2)]
    assert list(words.cells(page)) == [(5, 1), (6, 0), (7, 3)]
    assert words.pages(tmp_path) == words.pages(page) == [page]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("an AUROC of 0.95 on the test", True),
        ("0.861 to 0.892 of all", True),
        ("[−0.02, +0.01] better", True),
        ("1.43 bits per base", True),
        ("71 minutes of one core", True),
        ("a step takes 12 ms", True),
        ("windows of 300 bp, a rate of 0.001, 90 % of 8 GB", False),
        ("`--training.beta 0.999` and [0, 1]", False),
        ("wait 30 s, then 5 minutes at most", False),
    ],
)
def test_measured_numbers_are_found(tmp_path, text, expected):
    (tmp_path / "page.md").write_text(text)
    assert bool(list(words.measured(tmp_path / "page.md"))) is expected
