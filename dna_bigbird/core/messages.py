"""Messages: they name options as the running command has them, and contain no control characters."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

PROGRAMS = (
    "dna-bigbird", "snakemake", "sbatch", "srun", "git", "pip", "conda", "make", "lmplz", "samtools",
    "bgzip", "bcftools",
)  # fmt: skip
"""Programs whose own options a message may name: `samtools faidx --fai-idx`."""
EVERY_COMMAND = frozenset({"help", "config", "version"})
LONGEST_WORD, LONGEST_MESSAGE = 300, 3000
"""Letters without a blank, and of a whole message: a path or a list of choices fits, a column of a file does not."""
_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")
LAYOUT = "\n\t"
"""Control characters that format a text; they stay."""

_ENDS = ("; ", ". ", ": ", " (")
_VALUE = r"(?:[ =](?P<value>'[^']*'|\"[^\"]*\"|[\w{}.+-]*[\w}]))?"
_OPTION = re.compile(rf"(?<![\w./=-])--(?P<name>[A-Za-z][\w-]*(?:\.\w+)*)(?P<rest>{_VALUE})")

_running: ContextVar[frozenset[str] | None] = ContextVar("running", default=None)
"""Options of the running command; None in Python."""


@contextmanager
def named_as_options(options: Collection[str]) -> Iterator[None]:
    """Let messages name the options of a command, see `with_options`."""
    token = _running.set(frozenset(options))
    try:
        yield
    finally:
        _running.reset(token)


def for_reader(text: str) -> str:
    """Return a short, printable message that names settings as the caller does: options or arguments."""
    options = _running.get()
    text = short_enough(text)
    return printable(with_arguments(text) if options is None else with_options(text, options))


def with_options(text: str, options: Collection[str]) -> str:
    """Name settings in a message by the options of a command.

    Example:
        >>> with_options("--schedule linear; see: dna-bigbird genome --help", {"training.schedule"})
        '--training.schedule linear; see: dna-bigbird genome --help'
        >>> with_options("give --options.domain web, or --pieces true", {"change"})
        'give --change domain=web, or pieces true'
    """
    # Shared code names an option as one command has it: here the group becomes that of this command, an
    # option of a text task `--change`; any other setting loses its dashes. Those of a program stay.

    def named(match: re.Match) -> str:
        if _belongs_to_a_program(text[: match.start()]):
            return match[0]
        name = match["name"].replace("-", "_")
        if name in options or name in EVERY_COMMAND:
            return match[0]
        last = name.rpartition(".")[2]
        if name.startswith("options.") and "change" in options:
            value = f"={match['value']}" if match["value"] else "=..."
            return f"--change {last}{value}"
        grouped = [last] if last in options else []
        grouped = grouped or [option for option in options if option.endswith(f".{name}")]
        shown = f"--{grouped[0]}" if len(grouped) == 1 else last
        return shown + match["rest"]

    return _OPTION.sub(named, text)


def with_arguments(text: str) -> str:
    """Name settings in a message as Python arguments, without dashes; those of a program keep them.

    Example:
        >>> with_arguments("--stride 0: expected at least 1; see: dna-bigbird predict --help")
        'stride 0: expected at least 1; see: dna-bigbird predict --help'
    """

    def named(match: re.Match) -> str:
        kept = _belongs_to_a_program(text[: match.start()])
        return match[0] if kept else match[0].removeprefix("--")

    return _OPTION.sub(named, text)


def _belongs_to_a_program(before: str) -> bool:
    sentence = before[max(before.rfind(end) for end in _ENDS) + 1 :]
    return any(re.search(rf"(?<![\w-]){program} ", sentence) for program in PROGRAMS)


def printable(text: str, kept: str = "") -> str:
    """Return a text whose control characters, which a terminal obeys, are escapes such as `\\x1b`.

    Example:
        >>> printable("chr1\\x1b[2J")
        'chr1\\\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in LAYOUT + kept else ascii(letter)[1:-1]
        for letter in text
    )


def short_enough(text: str) -> str:
    """Return a message in which a long value of the user is cut in the middle, and a long message too.

    Example:
        >>> len(short_enough("A" * 100_000 + " is not a label"))
        318
    """
    text = with_short_words(text)
    return text if len(text) <= LONGEST_MESSAGE else _cut(text, LONGEST_MESSAGE)


def with_short_words(text: str) -> str:
    """Return a text whose words of more than `LONGEST_WORD` letters are cut in the middle."""
    return _LONG_WORD.sub(lambda match: _cut(match[0], LONGEST_WORD), text)


def _cut(text: str, length: int) -> str:
    half = length // 2
    return f"{text[:half]}...{text[-half:]}"


def listed_words(words: Sequence[str], last: str = "or") -> str:
    """Return words as a list in a sentence.

    Example:
        >>> listed_words([".tsv", ".csv", ".npz"]), listed_words(["--fasta", "--bed"], last="and")
        ('.tsv, .csv or .npz', '--fasta and --bed')
    """
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
