"""The Turing machine construction against a plain simulator: levels (a) to (d)."""

import subprocess
import sys
from fractions import Fraction

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.theory.figures import MOST_STEPS, turing_figure
from dna_bigbird.theory.theory_turing import trace
from dna_bigbird.theory.turing import checks
from dna_bigbird.theory.turing.checks import random_machine
from dna_bigbird.theory.turing.decoder import (
    REPAIRED,
    edges_of,
    first_deviation,
    simulate,
    step_of,
    triangular,
)
from dna_bigbird.theory.turing.machine import (
    bundled_machine,
    machine_names,
    read_machine,
    run_machine,
)

CASES = checks.exhaustive_cases()


def final_tape(name, word, steps=1000):
    run = run_machine(bundled_machine(name), word, steps)
    assert run.is_halted
    cells = range(min(run.tape), max(run.tape) + 1)
    return "".join(run.tape.get(cell, "#") for cell in cells).strip("#"), run


@pytest.mark.parametrize("number", range(40))
def test_increment_adds_one(number):
    tape, _ = final_tape("increment", f"{number:b}")
    assert tape == f"{number + 1:b}"


def test_palindrome_accepts_palindromes_only():
    for _, word in CASES[31:62]:
        _, run = final_tape("palindrome", word)
        assert (run.configurations[-1].state == "accept") == (word == word[::-1]), word


@pytest.mark.parametrize("word", ["", "a", "ab", "bba"])
def test_copy_writes_the_word_again(word):
    tape, _ = final_tape("copy", word)
    assert tape == (f"{word.upper()}#{word}" if word else "")


@pytest.mark.parametrize(("m", "n"), [(0, 2), (1, 1), (2, 3), (3, 0)])
def test_multiply_multiplies(m, n):
    tape, _ = final_tape("multiply", f"{'1' * m}*{'1' * n}")
    assert tape == f"{'X' * m}*{'1' * n}={'1' * (m * n)}"


def test_busy_beaver_is_the_published_one():
    """107 steps and 13 ones, after two steps of the convention."""
    tape, run = final_tape("busy_beaver", "")
    assert len(run.configurations) - 1 == 107 + 2
    assert tape.count("1") == 13


def test_blocks_by_hand():
    """Block j has j + 1 nodes; the last is the compute node."""
    blocks = [step for step in range(30) for _ in range(step + 1)]
    assert [step_of(node) for node in range(1, len(blocks) + 1)] == blocks


def test_edges_are_few_and_backward():
    for node in range(1, triangular(40)):
        edges = edges_of(node)
        assert 1 <= len(set(edges)) <= 2
        assert all(1 <= edge <= node for edge in edges)


@pytest.mark.parametrize("scoring", ["product", "cell_test"])
@pytest.mark.parametrize("number", [Fraction, float])
def test_repaired_is_right_on_all_69_inputs(scoring, number):
    assert checks.count_right(CASES, checks.STEPS, scoring=scoring, number=number) == 69


@pytest.mark.parametrize("repairs", [REPAIRED, REPAIRED - {"first_edge"}])
def test_the_trace_names_the_record_that_a_compute_node_compares_with_its_own(repairs):
    """Of all steps before it: the last that wrote the next cell; the plain simulator says which."""
    machine = bundled_machine("bouncing")
    before = run_machine(machine, "10", 30).configurations
    lines = trace(machine, "10", list(simulate(machine, "10", 30, repairs=repairs)))
    assert [line.configuration for line in lines] == before
    known = 0
    for step in range(2, 30):
        wrote = [t for t in range(step) if before[t].cell == before[step + 1].cell]
        if wrote:
            assert lines[step].carried_step == wrote[-1]
            known += 1
    assert known > 15
    # Without its edge, node 1 gets no record, so node 2 has none to give to node 3.
    first = [line.carried_step for line in lines[:2]]
    assert first == ([0, 0] if "first_edge" in repairs else [None, None])


def test_the_title_of_a_picture_says_where_it_is_cut():
    machine = bundled_machine("bouncing")
    lines = trace(machine, "10", list(simulate(machine, "10", MOST_STEPS, number=float)))
    for count, title in ((MOST_STEPS, "bouncing"), (MOST_STEPS + 1, "bouncing, first 80 steps")):
        assert turing_figure("bouncing", "#", lines[:count]).axes[0].get_title("left") == title


@pytest.mark.parametrize(("scoring", "can_stay"), [("product", False), ("cell_test", True)])
def test_random_machines(scoring, can_stay):
    cases = checks.random_cases(12, can_stay=can_stay)
    assert any(machine.can_stay for machine, _ in cases) == can_stay
    assert checks.count_right(cases, 20, scoring=scoring) == 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scoring", "can_stay"), [("product", False), ("cell_test", False), ("cell_test", True)]
)
def test_60_random_machines_over_45_steps(scoring, can_stay):
    cases = checks.random_cases(60, can_stay=can_stay)
    assert checks.count_right(cases, checks.RANDOM_STEPS, scoring=scoring) == 60


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["product", "cell_test"])
def test_400_steps_in_float64(scoring):
    machine = bundled_machine("bouncing")
    expected = run_machine(machine, "10", 400).configurations
    nodes = list(simulate(machine, "10", 400, scoring=scoring, number=float))
    assert len(nodes) == 80_201
    assert first_deviation(nodes, expected) is None


@pytest.mark.parametrize(("scoring", "compared"), [("product", 66_792), ("cell_test", 66_877)])
def test_different_records_never_tie(scoring, compared):
    """`gap` is None if all edges lead to one record; 0 would be a tie between two."""
    cases = [(checks.STEPS, CASES), (checks.RANDOM_STEPS, checks.random_cases())]
    gaps = [
        node.gap
        for most, pairs in cases
        for machine, word in pairs
        for steps in [len(run_machine(machine, word, most).configurations) - 1]
        for node in simulate(machine, word, steps, scoring=scoring)
        if node.gap is not None
    ]
    assert len(gaps) == compared
    assert min(gaps) > 0


def test_moves_that_stay_need_the_cell_test():
    machine = random_machine(1, can_stay=True)
    with pytest.raises(ValueError, match="has moves S: use the scoring 'cell_test'"):
        next(simulate(machine, "", 3))


MACHINE = 'start: s\nfinal: [f]\nrules:\n  s: {"#": [r, "#", R]}\n  r: {"1": [r, "1", R], "#": [f, "#", L]}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MACHINE.replace('"#", R]}', '"#", L]}'), "m.yaml:3: state 's' must move right from"),
        (MACHINE.replace('[r, "1", R]', '[r, "1", L]'), "m.yaml:3: state 'r' reads the input"),
        (MACHINE.replace('[f, "#", L]', '[f, "#", X]'), r"m.yaml:5: expected \[state, symbol, L"),
        (MACHINE.replace('"1": [r, "1"', '"12": [r, "1"'), "m.yaml:5: a symbol is one character"),
        (MACHINE.replace('[f, "#", L]', '[f, "#", [L]]'), r"m.yaml:5: expected \[state, symbol, L"),
        (MACHINE.replace("[f]", "done"), "m.yaml:2: expected a list of states, found 'done'"),
        (MACHINE.replace("[f]", "5"), "m.yaml:2: expected a list of states, found 5"),
        (MACHINE + "  q: [f, '#']\n", r"m.yaml:6: expected \{symbol: \[state, symbol, move\]\}"),
        (MACHINE + "blank: _\n", "m.yaml:6: expected one of about, start, final, rules, found b"),
        (MACHINE + "colour: red\n", "m.yaml:6: expected one of about, start"),
        ("start: s\n", "m.yaml: a machine has final"),
        (MACHINE + "  f: {'1': [f, '1', R]}\n", "m.yaml:3: the final state 'f' has a rule"),
    ],
)
def test_a_machine_that_is_none_is_refused(text, message, tmp_path):
    (tmp_path / "m.yaml").write_text(MACHINE)
    assert read_machine(tmp_path / "m.yaml").input_symbols == ("1",)
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_machine(tmp_path / "m.yaml")


def test_a_word_of_other_symbols_is_refused():
    with pytest.raises(InputError, match="increment reads 0 1, not '2'"):
        run_machine(bundled_machine("increment"), "12", 10)
    with pytest.raises(InputError, match="--machine nothing: expected one of bouncing, busy_"):
        bundled_machine("nothing")
    assert len(machine_names()) == 7


def test_the_exact_parts_load_no_torch():
    code = (
        "import sys; from dna_bigbird.theory import theory_furthest as furthest, theory_mapping as mapping; "
        "from dna_bigbird.theory.turing import checks, layered; "
        "furthest.furthest_by_attention(furthest.whole_unit_vectors(8, 9, 0)[0]); "
        "checks.count_right(checks.witness_cases(), 5); "
        "list(layered.run_layers(layered.layers_of(checks.bundled_machine('increment')), '1', 3)); "
        "mapping.check_mapping(mapping.Grid(2, 1, 2)); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
