"""benchmarks/promoter_heads.py without trainings: each head has its time, its interval and its difference to [CLS]."""

import json
from types import SimpleNamespace

STEP_S = {"cls": 0.5, "mean": 1.0, "bin": 1.5}


def test_every_head_has_a_row_for_every_seed(script, monkeypatch, tmp_path, capsys):
    heads, timed = script("promoter_heads"), script("timed_heads")
    assert set(STEP_S) == set(heads.ARMS)
    seen = []

    def train(self, arm, steps, output):
        seen.append(self.arms[arm]["head"].pooling)
        assert self.arms[arm]["model"].attention == "etc"
        return SimpleNamespace(ends=[STEP_S[arm] * (i + 1) for i in range(steps)])

    def evaluate(output, baselines, **more):
        output.mkdir(parents=True)
        figures = {"auroc": 0.7, "auroc_low": 0.6, "auroc_high": 0.8}
        own = figures | {"n": 40, "baselines": {"kmer": figures}}
        if "first" in baselines:
            assert baselines["first"].parts[-3].startswith("cls-seed")
            gain = "auroc_gain_over_first"
            own |= {gain: 0.1, f"{gain}_low": 0.0, f"{gain}_high": 0.2}
        (output / "metrics.json").write_text(json.dumps(own))
        return SimpleNamespace(output=output)

    monkeypatch.setattr(timed.TimedHeads, "train", train)
    monkeypatch.setattr(timed, "evaluate", evaluate)
    line = [x for n in ("genome", "data", "kmer", "folder") for x in (f"--{n}", str(tmp_path / n))]
    heads.main([*line, "--minutes", "0.5", "--seeds", "2"])
    header, *rows = (row.split("\t") for row in capsys.readouterr().out.splitlines())
    assert header == list(heads.HEADER)
    interval = "0.700 [0.600, 0.800]"
    assert rows[:3] == [
        ["0", "cls", "60", "30.0", interval, "-", interval, "40"],
        ["0", "mean", "30", "30.0", interval, "0.100 [0.000, 0.200]", interval, "40"],
        ["0", "bin", "20", "30.0", interval, "0.100 [0.000, 0.200]", interval, "40"],
    ]
    assert [row[:2] for row in rows[3:]] == [["1", arm] for arm in STEP_S]
    assert seen == list(STEP_S) * (timed.ROUNDS + 2)
