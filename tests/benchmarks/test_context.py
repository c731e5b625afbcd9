"""benchmarks/context.py: its table on scores whose areas are known."""

import numpy as np
import pytest

from dna_bigbird.cli.main import main as command
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import LabelScores, write_scores

WINDOWS = (1000, 4000)


def write_set(folder, window, bin_bp=200):
    command(
        f"chromatin-set --genome {folder}/demo/demo.fa --peaks {folder}/demo/peaks.tsv --output "
        f"{folder}/window_{window}/set.h5 --assembly demolong --window {window} --bin {bin_bp} "
        "--require_group Anchor --allow_empty_labels true "
        "--split.test ['demolong:60,001-400,000']".split()
    )


@pytest.fixture
def folder(tmp_path):
    """Sets at two windows; scores that know nothing at the short one and all at the long one."""
    command(["demo-data", "--output", str(tmp_path / "demo"), "--long_range", "40"])
    for window in WINDOWS:
        write_set(tmp_path, window)
        data = LabelledSet(tmp_path / f"window_{window}" / "set.h5")
        rows = data.rows("test")
        known = data.labels_of(rows).astype(np.float32)
        values = np.full_like(known, 0.5) if window == WINDOWS[0] else known
        at = tmp_path / f"window_{window}"
        for name, scores in (("report/scores.h5", values), ("kmer.h5", 1 - values)):
            write_scores(at / name, LabelScores("x", "", data.label_names, rows, scores, ""))
    return tmp_path


def test_table_has_areas_and_gains(script, folder, tmp_path):
    context = script("context")
    data = LabelledSet(folder / "window_1000" / "set.h5")
    rows = context.table(context.Steps({"seed": 0}, folder, threads=1), list(WINDOWS))
    assert [(row["window_bp"], row["label"]) for row in rows] == [
        (window, label) for window in WINDOWS for label in data.label_names
    ]
    for row in rows:
        long = row["window_bp"] == WINDOWS[1]
        assert [float(row[f"auroc{x}"]) for x in ("", "_low", "_high")] == [
            1.0 if long else 0.5
        ] * 3
        assert [float(row[f"gain{x}"]) for x in ("", "_low", "_high")] == [0.5 if long else 0.0] * 3
        assert [float(row[f"kmer{x}"]) for x in ("", "_low", "_high")] == [0.0 if long else 0.5] * 3
        assert row["n"] == 34
        assert 0 < row["n_positive"] < 34
    context.draw(rows, tmp_path / "context.png")
    assert (tmp_path / "context.png").read_bytes().startswith(b"\x89PNG")


def test_sets_of_other_bins_are_refused(script, folder):
    (folder / "window_4000" / "set.h5").unlink()
    write_set(folder, 4000, bin_bp=100)
    context = script("context")
    with pytest.raises(ValueError, match="the set at 4000 bp holds other bins than the first"):
        context.table(context.Steps({"seed": 0}, folder, threads=1), list(WINDOWS))
