"""The benchmark of waiting threads runs and prints a line per policy."""

import pytest


def test_every_policy_is_printed(script, capsys):
    small = "--threads 2 --rounds 2 --repeats 1 --neighbours 1 --work score"
    script("waiting").main([*small.split(), "--policies", "spin,passive"])
    rows = [x.split("\t") for x in capsys.readouterr().out.splitlines() if x[0] != "#"][1:]
    assert [row[1:3] for row in rows] == [["score", "spin"], ["score", "passive"]] * 2
    assert [row[0] for row in rows] == ["alone"] * 2 + [
        "next to one busy process per processor"
    ] * 2
    assert all(float(row[3]) > 0 and float(row[5]) > 0 for row in rows)
    assert rows[0][4] == "1.00 [1.00, 1.00]"


def test_without_the_default_there_is_nothing_to_compare_with(script, capsys):
    with pytest.raises(SystemExit, match="2"):
        script("waiting").main(["--policies", "passive"])
    assert "spin is what the others are compared with" in capsys.readouterr().err


def test_rounds_next_to_other_programs_can_be_left_out(script, capsys, monkeypatch):
    waiting = script("waiting")
    clock = iter(
        [0.0, 50.0, 50.0, 50.0, 50.0, 50.0]
    )  # busy seconds: a crowded round, two quiet ones
    monkeypatch.setattr(waiting, "busy_s", lambda: next(clock))
    waiting.main(
        ["--threads", "1", "--rounds", "2", "--repeats", "1", "--work", "score", "--only_quiet"]
    )
    text = capsys.readouterr().out
    assert "1 rounds left out" in text
    assert "next to" not in text
