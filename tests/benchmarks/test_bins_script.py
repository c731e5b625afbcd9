"""benchmarks/bins.py without trainings: equal time gives unequal steps, finished arms are kept."""

import json
from types import SimpleNamespace

STEP_S = {"itc_centre": 0.5, "etc_centre": 1.0, "etc_bin": 1.5, "etc_bins_at_once": 2.0}


def test_steps_follow_from_the_faster_round_and_what_is_finished_stays(
    script, monkeypatch, tmp_path, capsys
):
    bins, timed = script("bins"), script("timed_heads")
    calls = []

    def train(self, arm, steps, output):
        calls.append((arm, steps))
        slower = 1 + (len(calls) <= len(STEP_S))  # the first round
        return SimpleNamespace(ends=[STEP_S[arm] * slower * (i + 1) for i in range(steps)])

    def evaluate(output, baselines, **more):
        output.mkdir(parents=True)
        figures = {}
        for name in ("macro_auroc", "macro_auprc"):
            figures |= {name: 0.6, f"{name}_low": 0.5, f"{name}_high": 0.7}
        of_model = dict(figures)
        if "first" in baselines:
            for name in ("auroc_gain_over_first", "auprc_gain_over_first"):
                of_model |= {name: 0.02, f"{name}_low": -0.01, f"{name}_high": 0.05}
        text = json.dumps(of_model | {"baselines": {"kmer": figures}})
        (output / "metrics.json").write_text(text)
        return SimpleNamespace(output=output)

    monkeypatch.setattr(timed.TimedHeads, "train", train)
    monkeypatch.setattr(timed, "evaluate", evaluate)
    monkeypatch.setattr(bins, "differences", lambda heads: [])
    paths = {n: tmp_path / n for n in ("itc", "etc", "genome", "data", "kmer", "folder")}
    line = [word for name, path in paths.items() for word in (f"--{name}", str(path))]
    bins.main([*line, "--minutes", "0.5"])
    text = capsys.readouterr().out
    rows = [row.split("\t") for row in text.splitlines()]
    assert {len(row) for row in rows} == {9}
    assert [row[1:5] for row in rows[1:5]] == [
        ["itc_centre", "60", "960", "30.0"],
        ["etc_centre", "30", "480", "30.0"],
        ["etc_bin", "20", "320", "30.0"],
        ["etc_bins_at_once", "15", "240", "30.0"],
    ]
    assert rows[1][5:] == ["0.600 [0.500, 0.700]"] * 2 + ["-", "-"]
    assert rows[2][7:] == ["0.020 [-0.010, 0.050]"] * 2
    assert rows[5][1] == "k-mers"
    assert len(calls) == 3 * len(STEP_S)
    bins.main([*line, "--minutes", "0.5"])
    assert capsys.readouterr().out == text
    assert len(calls) == 3 * len(STEP_S)
