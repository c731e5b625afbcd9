"""The benchmark of help texts runs and prints a line per command."""


def test_every_command_is_printed(script, capsys):
    script("help").main(["--commands", "overview,text runs", "--cpu_time"])
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split("\t") for line in lines if line[0] != "#"][1:]
    assert [row[0] for row in rows] == [
        "python -c pass",
        "import argparse",
        "overview",
        "text runs",
    ]
    assert rows[0][2] == rows[1][3] == "1.00 [1.00, 1.00]"
    assert lines[-1].startswith("# slower than 0.5 s: ")
