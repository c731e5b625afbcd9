"""benchmarks/dna_positions.py and self_pretraining.py: what their arms train on, and their tables."""

import re
import sys

import numpy as np
import pytest


@pytest.fixture
def small(script, monkeypatch):
    """Import a script, with sequences and steps of a few."""

    def prepared(name: str, **numbers: int):
        module = script(name)
        for constant, number in numbers.items():
            monkeypatch.setattr(module, constant, number)
        return module

    return prepared


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of a Markdown table without its first two lines."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_core_and_its_positions_are_scored(small, monkeypatch, capsys):
    script = small("dna_positions", TOKENS=96, TEST_SEQUENCES=4)
    monkeypatch.setattr(sys, "argv", ["dna_positions.py", "--seeds", "0", "1", "--steps", "2"])
    script.main()
    rows = rows_of(capsys.readouterr().out)
    assert [(name, seed) for name, seed, _ in rows] == [
        (name, seed) for name in script.ARMS for seed in "01"
    ]
    for _, _, score in rows:
        middle, low, high = map(float, re.findall(r"[\d.]+", score))
        assert low < middle < high
        assert 1.5 < middle < 4  # after two steps: about the 2 bits of an even guess
    scores = {(name, seed): score for name, seed, score in rows}
    for seed in "01":  # so short that BigBird reads everything too
        assert scores["full, rotary", seed] == scores["bigbird, rotary", seed]
    assert len(set(scores.values())) == 3 * 2


def test_the_asked_values_are_words_of_the_vocabulary(script):
    module = script("self_pretraining")
    asked = module.AskedValues().draw(5, module.TOKENS, np.random.default_rng(3))
    task = module.source_of("partner", is_test=False)
    expected = task.draw(5, module.TOKENS, np.random.default_rng(3))
    assert asked.answers_P.tolist() == [task.choices[i] for i in expected.answers_P.tolist()]
    assert asked.positions_P.equal(expected.positions_P)


def test_every_arm_has_a_curve(small, monkeypatch, capsys):
    arms = {"none": (0, False), "1 step": (1, False), "1 step, asked": (1, True)}
    script = small("self_pretraining", STEPS=2, SHOWN_EVERY=1, SEQUENCES=10)
    monkeypatch.setattr(script, "ARMS", arms)
    monkeypatch.setattr(sys, "argv", ["self_pretraining.py", "--seeds", "4"])
    script.main()
    rows = rows_of(capsys.readouterr().out)
    assert [row[:2] for row in rows] == [[name, "4"] for name in arms]
    assert all(0 <= float(cell) <= 1 for row in rows for cell in row[2:])
