"""`dna-bigbird theory`: text, pictures, and what is refused."""

import re

import pytest

from dna_bigbird.cli.main import main


def theory(line, capsys):
    capsys.readouterr()
    main(["theory", *line.split()])
    return capsys.readouterr().out


def test_trace_by_hand(capsys):
    text = theory("turing --machine increment --input 1 --trace", capsys)
    assert "decoder: 16 positions" in text
    assert "state, symbol and cell agree with the simulator at every position" in text
    assert text.split("\n\n")[1].splitlines() == [
        "step   node  state  tape, cells -1 to 2  next symbol from",
        "   0      1  start   # [#] 1  #   input",
        "   1      3  read    #  # [1] #   blank, a new cell",
        "   2      6  read    #  #  1 [#]  step 1",
        "   3     10  carry   #  # [1] #   step 0",
        "   4     15  carry   # [#] 0  #   blank, a new cell",
        "   5     16  done   [#] 1  0  #",
    ]


def test_printed_fails(capsys):
    text = theory("turing --machine increment --word 1 --printed", capsys)
    assert "position 2 has ('start', '#', 0), the simulator ('read', '1', 1)" in text


@pytest.mark.parametrize("level", ["matrices", "package"])
def test_levels(level, capsys):
    text = theory(f"turing --machine palindrome --word a --level {level}", capsys)
    assert "positions agree with the simulator" in text.splitlines()[-1]
    assert ("scale" in text) == (level == "package")


def test_a_fixed_bound_fails_on_a_long_run(capsys):
    line = "turing --machine bouncing --word 10 --level matrices --without position_bound"
    text = theory(f"{line} --machine_steps 15", capsys)
    assert text.endswith("all 121 positions agree with the simulator\n")
    text = theory(f"{line} --machine_steps 25", capsys)
    assert text.endswith("position 191 differs from the simulator\n")


def test_own_machine(capsys, tmp_path):
    (tmp_path / "m.yaml").write_text(
        'about: goes right\nstart: s\nfinal: [f]\nrules:\n  s: {"#": [r, "#", R]}\n'
        '  r: {"x": [r, "y", R], "#": [f, "z", R]}\n'
    )
    text = theory(f"turing --machine_file {tmp_path / 'm.yaml'} --word xx", capsys)
    assert "input 'xx': 4 steps, halts in state 'f'; tape 'yyz'" in text


@pytest.mark.parametrize(
    "line",
    [
        "turing --machine bouncing --word 1 --machine_steps 12",
        "turing --machine increment --word 1 --without first_edge",
        "furthest --vectors 16",
        "mapping --grid 2 1 2",
        "graph --tokens 1024 --num_random 1",
        "graph --reference",
    ],
)
def test_pictures(line, tmp_path, capsys):
    theory(f"{line} --output {tmp_path / 'a.png'}", capsys)
    first = (tmp_path / "a.png").read_bytes()
    assert first.startswith(b"\x89PNG")
    theory(f"{line} --output {tmp_path / 'b.png'}", capsys)
    assert (tmp_path / "b.png").read_bytes() == first


def test_furthest(capsys):
    text = theory("furthest --vectors 64", capsys)
    assert "one layer, exact: 64 of 64 right" in text
    assert "100%   100.0%" in text


@pytest.mark.parametrize(("seed", "exists"), [(0, True), (1, False)])
def test_an_orthogonal_pair_is_shown_if_there_is_one(seed, exists, capsys):
    last = theory(f"furthest --vectors 64 --seed {seed}", capsys).splitlines()[-1]
    start = "vectors of 0 and 1: orthogonal pair by one layer: "
    assert last.startswith(start)
    pair, by_pairs = last.removeprefix(start).split("; by all pairs: ")
    assert bool(re.fullmatch(r"\(\d+, \d+\)", pair)) == exists
    assert (pair == "none") == (not exists)
    assert by_pairs == ("one exists" if exists else "none exists")


def test_mapping_of_one_grid(capsys):
    text = theory("mapping --grid 3 1 2 --steps false", capsys)
    assert text.splitlines()[1].split() == ["3,", "1,", "2", "8", "yes", "yes", "10", "1", "25"]


def test_graphs_of_two_lengths(capsys):
    text = theory("graph --tokens 512 1024", capsys)
    for name in ("uniform", "original, no global", "Erdos-Renyi", "complete"):
        assert sum(line.startswith(f"{name} ") for line in text.splitlines()) >= 1
    assert "1,024 tokens: uniform" in text


@pytest.mark.parametrize(("scoring", "gate"), [("product", 35), ("cell_test", 32)])
def test_every_version_is_counted(scoring, gate, capsys):
    """As docs/explanation/theory.md says: each repair alone is necessary."""
    rows = theory(f"turing --check --scoring {scoring}", capsys).splitlines()[1:]
    assert [tuple(re.split("  +", row)) for row in rows] == [
        ("repaired", "69", "69"),
        ("as printed", "0", "69"),
        ("as printed, numbering repaired", "0", "69"),
        ("edges as printed, the rest repaired", "2", "69"),
        ("all repairs but numbering", "0", "69"),
        ("all repairs but compute_edge", "2", "69"),
        ("all repairs but first_edge", "69", "69"),
        ("all repairs but key_sign", "2", "69"),
        ("all repairs but gate", str(gate), "69"),
        ("all repairs but next_state", "0", "69"),
        ("all repairs but next_cell", "6", "69"),
        ("all repairs but first_edge, machine mark_start", "0", "1"),
        ("repaired, random machines", "60", "60"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("turing --machine nothing", "--machine nothing: expected one of bouncing, busy_beaver"),
        ("turing --word 12", "--word '12': increment reads 0 1, not '2'"),
        ("turing --machine_steps 0", "--machine_steps 0: expected at least 1"),
        ("turing --output a.jpg", "--output a.jpg: the name of a picture ends in .png, .svg"),
        ("turing --level matrices --printed", "--level matrices: expected no --printed, and of"),
        (
            "turing --level package --without gate",
            "expected no --printed, and of --without only pos",
        ),
        ("turing --without position_bound", "--without position_bound is for --level matrices or"),
        ("turing --check --output a.png", "--output does not go with --check; leave it out"),
        ("turing --check --machine_steps 50", "--machine_steps does not go with --check"),
        ("turing --check --without gate", "--without does not go with --check"),
        ("turing --check --exact false", "--exact does not go with --check"),
        ("turing --printed --trace", "the decoder fails, so there is no trace: position 2 has"),
        ("furthest --vectors 3", "--vectors 3: expected at least 4"),
        ("furthest --vectors 1000000000", "--vectors 1000000000 --dims 894: this takes about"),
        ("furthest --dims 100000000000", "--dims 100000000000: this takes about"),
        ("furthest --seed -1", "--seed -1: expected a whole number"),
        ("graph --tokens []", "--tokens []: expected at least one length"),
        ("graph --reference --seed -1", "--seed -1: expected a whole number"),
        ("graph --reference --tokens 512", "--tokens 512: --reference measures 512 vertices"),
        ("graph --reference --num_random 2", "--num_random 2: --reference measures 512 vertices"),
        (
            "graph --num_global 64",
            "--num_global 64: ETC and Longformer are measured with --vertices",
        ),
        (
            "graph --vertices tokens --num_global 2000 --tokens 1024",
            "--num_global 2000",
        ),
        ("graph --vertices tokens --num_global -1", "--num_global -1"),
        ("mapping --grid 2 1", "expected three numbers n, d and m"),
        ("mapping --steps false --output a.png", "--output draws what --steps false leaves out"),
        ("mapping --output a.jpg", "--output a.jpg: the name of a picture ends in .png, .svg"),
        ("mapping --grid 9 9 9", "expected at most 1,000,000"),
        ("graph --tokens 100", "--tokens 100: expected a multiple of --block_size 64"),
        ("graph --tokens 4096 --num_random 14", "13 blocks to choose from in block row 1"),
    ],
)
def test_what_is_refused(line, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["theory", *line.split()])
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
