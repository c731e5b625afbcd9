"""The benchmark of metrics measures what it says, on a set small enough to look at."""

import numpy as np


def test_every_step_is_timed(script, capsys):
    script("metrics").main(["--labels", "9", "--rows", "4000", "--draws", "5"])
    text = capsys.readouterr().out
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    assert rows[0] == ["what", "minutes", "cpu_minutes", "peak_gb_so_far"]
    names = ["point metrics and DeLong intervals", "calibration", "table", "the same and 5 draws"]
    assert [row[0] for row in rows[1:]] == ["simulating", *names]
    assert "# 9 of 9 labels have an AUROC inside a DeLong interval" in text


def test_simulated_labels_are_as_rare_as_real_ones(script):
    truth, scores = script("metrics").simulate(20_000, 200, seed=0)
    assert (truth.dtype, scores.dtype) == (np.uint8, np.float32)
    share = truth.mean(axis=0)
    assert 0.0005 < share.min() < 0.002
    assert 0.08 < share.max() < 0.11
    assert 0 < scores.min() < scores.max() < 1
    assert script("metrics").groups_of(919).count("TF") == 690
