"""The script trains twice on each file, and measures the processes that train."""

import re
import sys
from pathlib import Path

import pytest

from dna_bigbird.text.data.summarization_files import read_papers
from tests.text_readers import read_classification, read_natural_questions

HOLD = """
import os, sys
held = bytearray(80_000_000)
while not os.path.exists(sys.argv[1]):
    pass
"""


def test_peaks_of_a_training_process_and_of_another(script, monkeypatch, tmp_path):
    """The other process holds its memory until it was measured."""
    training = script("text_store_training")
    measured, measure = tmp_path / "measured", training.memory_tree.proportional_bytes
    sizes = []

    def measure_and_release(process):
        sizes.append(measure(process))
        if min(sizes[-2:]) > 80e6:
            measured.touch()
        return sizes[-1]

    monkeypatch.setattr(training.memory_tree, "proportional_bytes", measure_and_release)
    other = [sys.executable, "-c", HOLD, str(measured)]
    parent = f"import subprocess; subprocess.run({other!r})"
    (peak, *_), highest, together, _ = training.watched(
        [sys.executable, "-c", parent, "--checkpoints", "x"]
    )
    assert peak < 80e6 <= highest < 200e6
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
    training.main(["--pretrained", "bundle", "--documents", "3", "--folder", str(tmp_path)])
    assert seen == [[], ["rows-train.h5"]]
    rows = re.findall(r"GB +(\w+): 2\.00, 1\.00 GB \| 0\.00 GB", capsys.readouterr().out)
    assert rows == ["written", "there"]
    assert list(tmp_path.iterdir()) == []


READERS = {
    "natural-questions": read_natural_questions,
    "arxiv": read_papers,
    "patents": lambda path, split: read_classification("patents", path, split, splits=None)[0],
}


@pytest.mark.parametrize("name", READERS)
def test_documents_are_read_as_those_of_the_set(script, monkeypatch, tmp_path, name):
    training = script("text_store_training")
    monkeypatch.setattr(training.text_store, "PARAGRAPHS", 2)
    monkeypatch.setattr(training.text_store, "DISTINCT", 2)
    monkeypatch.setattr(training, "DISTINCT", 2)
    path = tmp_path / training.SETS[name][0][0]
    training.write_documents(name, path, 3)
    first, second, third = READERS[name](path, "train")
    assert (first == third, first == second) == (False, False), "ids differ, or texts"
    if name != "natural-questions":
        assert len(path.read_text().splitlines()[0]) > 5000
