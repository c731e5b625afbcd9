"""Turing machines as YAML files, and a plain simulator of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.yaml_files import YamlFile, read_yaml

FOLDER = Path(__file__).parent / "machines"
MOVES = {"L": -1, "S": 0, "R": 1}
KEYS = ("about", "start", "final", "rules")


class Rule(NamedTuple):
    """What the machine does: the state after it, the symbol it writes, and its move."""

    state: str
    symbol: str
    move: int
    """-1 left, 0 stay, 1 right."""


class Configuration(NamedTuple):
    """The machine before a step."""

    state: str
    symbol: str
    """The symbol that the head reads."""
    cell: int
    """The cell of the head; the input is in cells 1 to n."""


@dataclass(frozen=True)
class Machine:
    """A machine with one head on one tape that is infinite on both sides.

    It starts in cell 0, which is blank, and the input is in cells 1 to n. The construction of the
    paper (as that of Pérez et al., which it cites) needs that it first moves right over the whole
    input: the first step moves right into a reading state, which moves right over every symbol but
    the blank.
    """

    name: str
    about: str
    start: str
    final: frozenset[str]
    rules: Mapping[tuple[str, str], Rule]
    """By state and symbol read; a pair without a rule must not occur."""
    blank: ClassVar[str] = "#"

    def __post_init__(self) -> None:
        first = self.rules.get((self.start, self.blank))
        if first is None or first.move != 1:
            raise ValueError(f"state {self.start!r} must move right from the blank {self.blank!r}")
        for (state, symbol), rule in self.rules.items():
            if state in self.final:
                raise ValueError(f"the final state {state!r} has a rule")
            is_input = state == first.state and symbol != self.blank
            if is_input and (rule.state != state or rule.move != 1):
                raise ValueError(
                    f"state {state!r} reads the input: on {symbol!r} it must move right and stay "
                    f"{state!r}"
                )

    @property
    def states(self) -> tuple[str, ...]:
        """Every state, the initial one first."""
        named = [
            state for (before, _), rule in self.rules.items() for state in (before, rule.state)
        ]
        return tuple(dict.fromkeys([self.start, *named, *sorted(self.final)]))

    @property
    def symbols(self) -> tuple[str, ...]:
        """Every symbol, the blank first."""
        named = [symbol for (_, read), rule in self.rules.items() for symbol in (read, rule.symbol)]
        return tuple(dict.fromkeys([self.blank, *named]))

    @property
    def input_symbols(self) -> tuple[str, ...]:
        """Symbols that an input may have: those that the reading state moves over."""
        reading = self.rules[self.start, self.blank].state
        return tuple(
            symbol for state, symbol in self.rules if state == reading and symbol != self.blank
        )

    @property
    def can_stay(self) -> bool:
        """True if a rule does not move the head."""
        return any(rule.move == 0 for rule in self.rules.values())


class Run(NamedTuple):
    """What the plain simulator saw."""

    configurations: list[Configuration]
    """Before step 0, 1, 2, …; the last one is final, or the limit was reached."""
    tape: dict[int, str]
    """Cells that were written or contain input, after the last step."""
    is_halted: bool


def run_machine(machine: Machine, word: str, most_steps: int) -> Run:
    """Run a machine step by step, as a textbook does.

    Example:
        >>> run = run_machine(bundled_machine("increment"), "1011", 100)
        >>> "".join(run.tape[cell] for cell in range(1, 5)), len(run.configurations) - 1
        ('1100', 9)
    """
    check_word(machine, word)
    tape = dict(enumerate(word, start=1))
    state, cell = machine.start, 0
    configurations = [Configuration(state, machine.blank, cell)]
    while state not in machine.final and len(configurations) <= most_steps:
        symbol = tape.get(cell, machine.blank)
        rule = machine.rules.get((state, symbol))
        if rule is None:
            raise InputError(f"{machine.name}: no rule for state {state!r} reading {symbol!r}")
        tape[cell] = rule.symbol
        state, cell = rule.state, cell + rule.move
        configurations.append(Configuration(state, tape.get(cell, machine.blank), cell))
    return Run(configurations, tape, state in machine.final)


def check_word(machine: Machine, word: str) -> None:
    """Raise InputError if a word has a symbol that no input of the machine has."""
    for symbol in word:
        if symbol not in machine.input_symbols:
            raise InputError(
                f"--word {word!r}: {machine.name} reads {' '.join(machine.input_symbols) or 'no input'}"
                f", not {symbol!r}"
            )


def machine_names() -> tuple[str, ...]:
    """Return the names of the bundled machines."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def bundled_machine(name: str) -> Machine:
    """Return a machine of the package."""
    if name not in machine_names():
        raise InputError(f"--machine {name}: expected one of {', '.join(machine_names())}")
    return read_machine(FOLDER / f"{name}.yaml")


def read_machine(path: Path) -> Machine:
    """Read a machine from a YAML file; docs/explanation/theory.md has the form."""
    file = read_yaml(path)
    values = file.values()
    for key in values.keys() - set(KEYS):
        raise _error(file, [key], f"expected one of {', '.join(KEYS)}, found {key}")
    if missing := [key for key in ("start", "final", "rules") if not values.get(key)]:
        raise InputError(f"{path}: a machine has {missing[0]}; see docs/explanation/theory.md")
    if not isinstance(values["final"], list):
        raise _error(file, ["final"], f"expected a list of states, found {values['final']!r}")
    try:
        return Machine(
            path.stem,
            str(values.get("about", "")),
            str(values["start"]),
            frozenset(map(str, values["final"])),
            _rules(file, values["rules"]),
        )
    except ValueError as error:
        raise _error(file, ["rules"], str(error)) from None


def _rules(file: YamlFile, sections: object) -> dict[tuple[str, str], Rule]:
    """Return the rules by state and symbol."""
    rules = {}
    if not isinstance(sections, dict):
        raise _error(file, ["rules"], "expected a section per state")
    for state, section in sections.items():
        if not isinstance(section, dict):
            raise _error(file, ["rules", str(state)], "expected {symbol: [state, symbol, move]}")
        for symbol, action in section.items():
            keys = ["rules", str(state), str(symbol)]
            is_triple = isinstance(action, list) and len(action) == 3
            if not is_triple or str(action[2]) not in MOVES:
                raise _error(file, keys, f"expected [state, symbol, L, S or R], found {action}")
            if len(str(symbol)) != 1 or len(str(action[1])) != 1:
                raise _error(
                    file, keys, f"a symbol is one character, found {symbol} and {action[1]}"
                )
            rules[str(state), str(symbol)] = Rule(str(action[0]), str(action[1]), MOVES[action[2]])
    return rules


def _error(file: YamlFile, path: list[str], message: str) -> InputError:
    return InputError(f"{file.name}:{file.line(path) or 1}: {message}")
