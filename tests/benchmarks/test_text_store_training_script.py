"""The script trains twice on each file, and measures the processes that train."""

import re
import sys
from pathlib import Path

HOLD = "held = bytearray(80_000_000); sum(range(5_000_000))"


def test_peaks_of_a_training_process_and_of_another(script):
    training = script("text_store_training")
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r}])"
    (peak,), other, together, _ = training.watched(
        [sys.executable, "-c", parent, "--checkpoints", "x"]
    )
    assert peak < 80e6 <= other < 200e6
    assert 80e6 < together < 300e6


def test_the_second_training_finds_the_rows_of_the_first(script, monkeypatch, tmp_path, capsys):
    training = script("text_store_training")
    monkeypatch.setattr(training.text_store, "PARAGRAPHS", 2)
    seen = []

    def train(command):
        state, model = (Path(command[command.index(x) + 1]) for x in ("--checkpoints", "--output"))
        seen.append(sorted(path.name for path in state.glob("*")))
        assert not model.exists()
        model.mkdir()
        state.mkdir(exist_ok=True)
        for name in ("rows-train.h5", "step_1.ckpt"):
            (state / name).touch()
        (state / "logs").mkdir()
        return [2_000_000_000, 1_000_000_000], 0, 3_000_000_000, 7.0

    monkeypatch.setattr(training, "watched", train)
    training.main(["--pretrained", "bundle", "--pages", "3", "--folder", str(tmp_path)])
    assert seen == [[], ["rows-train.h5"]]
    rows = re.findall(r"GB +(\w+): 2\.00, 1\.00 GB \| 0\.00 GB", capsys.readouterr().out)
    assert rows == ["written", "there"]
    assert list(tmp_path.iterdir()) == []
