"""benchmarks/long_text.py: what is planted, and that only long input finds it."""

import json

import numpy as np
import pytest
import torch


@pytest.fixture
def long_text(script):
    threads = torch.get_num_threads()
    yield script("long_text")
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(False)


def test_the_clue_alone_tells_the_answer_and_stands_where_it_should(long_text, tmp_path):
    long_text.make_sets(tmp_path, seed=0, train=50, test=40, longest=1100)
    for name, first, last in (("near", 0, 330), ("far", 580, 1100)):
        items = json.loads((tmp_path / f"{name}.json").read_text())
        assert len(items) == 40
        for item in items:
            words = item["supports"][0].replace(".", "").split()
            clues = long_text.CLUES[item["answer"]]
            places = [i for i, word in enumerate(words) if word in clues]
            assert len(places) == long_text.REPEATS
            assert first <= places[0] <= last
            others = set(words) - {words[places[0]], "Then"}
            assert others <= set(long_text.FILLER)  # no colour, no other clue
            assert item["candidates"] == list(long_text.CLUES)
        answers = np.array([item["answer"] for item in items])
        assert np.unique(answers).size == 4


@pytest.mark.slow
def test_only_the_long_model_answers_from_far_away(long_text, tmp_path):
    """Half as long as the script's documents; both models see the same training file."""
    options = ["--longest", "1900", "--train", "800", "--test", "40", "--steps", "140"]
    long_text.main(["--output", str(tmp_path / "run"), *options])
    lines = (tmp_path / "run" / "long_text.tsv").read_text().splitlines()
    rows = [dict(zip(lines[0].split("\t"), line.split("\t"), strict=True)) for line in lines[1:]]
    accuracy = {(row["model"], row["test"]): float(row["accuracy"]) for row in rows}
    assert accuracy["bigbird-4096", "near"] > 0.9
    assert accuracy["bigbird-4096", "far"] > 0.9
    assert accuracy["full-512", "near"] > 0.7  # it has learnt the clues
    assert accuracy["full-512", "far"] < 0.5  # of 40 guesses at 1/4, 20 are right once in 10,000
