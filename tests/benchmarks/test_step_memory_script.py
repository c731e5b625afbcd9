"""The script prints ratios of measured and estimated memory, and the estimate for the paper's model."""

import re
from dataclasses import replace


def test_measured_and_estimated_memory(script, capsys, monkeypatch):
    step_memory, memory = script("step_memory"), script("memory")
    tiny = replace(step_memory.STEPS["small"], batch_size=1)
    monkeypatch.setattr(step_memory, "STEPS", {"tiny": tiny})
    monkeypatch.setattr(memory, "peaks", lambda make, cases, device: {tiny: 60_000_000})
    step_memory.make(tiny)()
    step_memory.main(["--steps", "tiny"])
    text = capsys.readouterr().out
    measured, estimate, ratio = re.search(r"^tiny +(\S+) GB +(\S+) GB +(\S+)$", text, re.M).groups()
    assert measured == "0.06"
    assert abs(float(ratio) - 0.06 / float(estimate)) < 0.2
    assert len(re.findall(r"^(?:gather|flex) +(?:32|16|8) ", text, re.M)) == 12


def test_the_estimate_alone(script, capsys):
    script("step_memory").main(["--estimate"])
    text = capsys.readouterr().out
    assert "measured" not in text
    assert re.search(r"^gather +32 +False .* 98\.\d$", text, re.M)
