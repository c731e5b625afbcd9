"""The report of a run leads to that of its text tasks, if there is one."""

import shutil

from dna_bigbird.report.page import build_report

LINK = 'href="text/report.html"'


def test_a_report_leads_to_the_one_of_text(run, tmp_path):
    results = tmp_path / "results"
    shutil.copytree(run.results, results)
    (results / "text").mkdir()
    (results / "text" / "report.html").write_text("<p>text</p>")
    page, _ = build_report(results, run.folder / "config.yaml")
    assert LINK in page
    assert LINK not in run.page
