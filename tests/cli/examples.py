"""The examples in the help texts, as words of a shell."""

import re
import shlex
from dataclasses import dataclass

from dna_bigbird.cli.commands import GROUPS, every_command
from dna_bigbird.cli.parser import parsers_of

PROGRAM = "dna-bigbird"


@dataclass(frozen=True)
class Example:
    """One example of a help text."""

    command: str
    """The command whose help shows it."""
    line: str

    @property
    def words(self) -> list[str]:
        """What the shell passes to the program: no comment, no redirection, no `source <( )`."""
        line = re.sub(r"^source <\((.*?)\)", r"\1", self.line)
        words = shlex.split(line, comments=True)
        return words[1 : words.index(">")] if ">" in words else words[1:]

    @property
    def called(self) -> str:
        """The command that the line calls."""
        return " ".join(self.words[: 2 if self.words[0] in GROUPS else 1])

    def __str__(self) -> str:
        return self.line


def lines_of(epilog: str | None) -> list[str]:
    """The examples below a help text; lines that end in a backslash are joined with the next."""
    text = re.sub(r"^examples:\n", "", epilog or "")
    joined = re.sub(r"\\\n\s*", "", text)
    return [line.strip() for line in joined.splitlines() if line.strip()]


def all_examples() -> list[Example]:
    """Every example of every command, once."""
    found = {
        Example(name, line): None
        for name in every_command()
        for parser in parsers_of(name)
        for line in lines_of(parser.epilog)
    }
    return [example for example in found if PROGRAM in example.line.split("#")[0]]
