"""Background of a set from three real peak files, as benchmarks/background.py measures it."""


def test_only_background_teaches_what_a_peak_is(script, real_data, capsys):
    script("background").main(["--data", str(real_data)])
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["training rows", "test rows", "macro AUROC", "n"]
    area = {(trained, tested): float(value) for trained, tested, value, _ in rows[1:]}
    assert {(tested, int(n)) for _, tested, _, n in rows[1:]} == {
        ("peaks alone", 124),
        ("with background", 496),
    }
    assert 0.4 < area["peaks alone", "peaks alone"] < 0.6  # chance
    assert 0.4 < area["peaks alone", "with background"] < 0.6
    assert area["with background", "with background"] > 0.6
