"""The notebooks run from top to bottom on the embedded data, and are stored with small outputs."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas")

FOLDER = Path(__file__).parents[1] / "docs/tutorials/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MOST_BYTES = 200_000
"""Of both files together."""


def texts_of(notebook) -> str:
    """What the cells show as text."""
    outputs = [each for cell in notebook.cells for each in cell.get("outputs", ())]
    shown = [each.get("text", "") for each in outputs]
    return "\n".join([*shown, *(each.get("data", {}).get("text/plain", "") for each in outputs)])


def run(name: str, folder: Path, monkeypatch) -> object:
    """Execute a notebook; its temporary files are in a folder."""
    monkeypatch.setenv("TMPDIR", str(folder))
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", 4)
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", coalesce_streams=True, resources=resources
    ).execute()
    return notebook


def test_predict_and_variants(tmp_path, monkeypatch):
    shown = texts_of(run("predict_and_variants", tmp_path, monkeypatch))
    assert "40/40" in shown, "the progress bar"
    assert "promoter_log_odds" in shown
    assert "Predictions(sequence=<str 2>, " in shown


@pytest.mark.slow
def test_finetune_on_your_peaks(tmp_path, monkeypatch):
    shown = texts_of(run("finetune_on_your_peaks", tmp_path, monkeypatch))
    assert "24/24" in shown, "the progress bar"
    assert " of 24 is best on validation: macro AUROC 0." in shown
    assert "{'loss'" not in shown


def test_the_notebooks_are_stored_with_their_outputs_and_small():
    assert len(NOTEBOOKS) == 2
    assert sum(path.stat().st_size for path in NOTEBOOKS) < MOST_BYTES
    for path in NOTEBOOKS:
        text = path.read_text()
        notebook = nbformat.read(path, 4)
        nbformat.validate(notebook)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
        assert '"output_type": "error"' not in text
        assert "image/png" in text
        assert not any(word in text for word in ("/root", "/work", "/home/")), "a path of a machine"
        assert "semi-synthetic" in text
