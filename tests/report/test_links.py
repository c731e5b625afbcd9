"""The report of a run leads to other pages of its results, if there are any."""

import shutil

import pytest

from dna_bigbird.report.page import build_report


@pytest.mark.parametrize("name", ["text/report.html", "browser.html"])
def test_a_report_leads_to_other_pages(run, tmp_path, read_page, name):
    results = tmp_path / "results"
    shutil.copytree(run.results, results)
    (results / name).parent.mkdir(exist_ok=True)
    (results / name).write_text("<p>page</p>")
    page, _ = build_report(results, run.folder / "config.yaml")
    link = f'href="{name}"'
    assert link in page
    assert link not in run.page
    read_page(page).check_stands_alone(others=(name,))
