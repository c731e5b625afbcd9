"""The whole target `text` of the demo's config, from made text to the report."""

import json

import pytest

from dna_bigbird.text.report.text_results import published_tables

FIRST = {
    c.run: c.keys[0]
    for t in published_tables()
    for c in t.columns
    if c.run not in ("", "pretrained", "large-pretrained")
}


@pytest.mark.slow
def test_every_task_beats_the_baseline_that_learns_nothing(workflow):
    """The planted rules are learnt, so every score is above that of the baselines that count no words."""
    workflow.snakemake("--cores", "2", "text")
    results = workflow.folder / "results" / "text"
    for name, key in FIRST.items():
        metrics = json.loads((results / "evaluation" / name / "metrics.json").read_text())
        others = {n: b.get(key) for n, b in metrics["baselines"].items() if n != "tfidf"}
        assert others, name
        assert all(metrics[key] > (other or 0) for other in others.values()), (
            name,
            metrics[key],
            others,
        )
        assert metrics["n_in_training"] == 0
        assert any(
            path.name != "metrics.json" for path in (results / "evaluation" / name).iterdir()
        )
    page = (results / "report.html").read_text()
    assert "Not run" not in page
    assert "Synthetic text." in page
    again = workflow.snakemake("-n", "text")
    assert "Nothing to be done" in again
