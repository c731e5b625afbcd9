"""The script that prints the figures of docs/baselines.md runs, and counts no base of the test."""

import random


def test_counts_prints_a_line_per_predictor(script, tmp_path, capsys):
    draw = random.Random(0)
    text = "".join(draw.choices("ACGT", k=4000))
    (tmp_path / "g.fa").write_text(f">chr22\n{text}{text}NN{text[:2000]}\n")
    options = "--test chr22:8,001-10,000 --not_counted chr22:1-1,000"
    script("counts").main(["--fasta", str(tmp_path / "g.fa"), *options.split()])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("7,002 bases counted")  # two N are not
    rows = {line.split("\t")[0]: line.split("\t")[1:] for line in lines[2:]}
    every_seventh = len(range(25, 2000, 7))
    assert [int(row[3]) for row in rows.values()] == [1998, 1998, 1998, every_seventh]
    bits = [float(row[0]) for row in rows.values()]
    assert bits[1] > 1.9  # alone: a random sequence
    assert max(bits[2:]) < 1  # it is in the training sequence
