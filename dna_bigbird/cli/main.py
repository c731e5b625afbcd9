"""Entry point: find the command, read its options, call its function."""

import contextlib
import ctypes
import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import NoReturn

from dna_bigbird import __version__
from dna_bigbird.cli.commands import ABOUT_GROUPS, COMMANDS, GROUPS, SECTIONS, find_command
from dna_bigbird.cli.failures import explain, fail
from dna_bigbird.cli.help import like_command
from dna_bigbird.cli.parser import build_parser, current_name
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.cli.streams import (
    forget_standard_output,
    named_standard_output,
    open_closed_streams,
    protect_terminal,
    write_utf8,
)
from dna_bigbird.cli.verbosity import applied, take_verbosity
from dna_bigbird.core import signals, watchdog
from dna_bigbird.core.errors import TRACEBACK, InputError, OutputError, command_line, note
from dna_bigbird.core.messages import printable, with_arguments, with_short_words
from dna_bigbird.core.paths import WRITTEN, Role, check_paths, paths_of, roles_of
from dna_bigbird.core.writing import claimed

# Memory settings of a command on the CPU; they take effect only before torch is imported.

# Numbers of <malloc.h>.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_KEPT_BYTES = 1 << 30
KEPT_PRODUCTS = "64"


def keep_freed_memory() -> bool:
    """Keep freed memory instead of returning it to the system; False if the C library cannot."""
    # By default glibc returns every large block when a tensor is freed, and the system clears the same pages
    # for the next one: 10 % of a training step of the base model on a CPU. Peak memory hardly grows.
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = ((M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES), (M_TRIM_THRESHOLD, 2**31 - 1))
    return all([mallopt(name, value) == 1 for name, value in settings])


def keep_few_products() -> None:
    """Limit how many matrix products oneDNN and PyTorch keep prepared."""
    # By default each keeps 1,024: 2 GB after 100 bfloat16 training steps on batches of different lengths.
    # A step needs about 20, the same in every layer.
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, KEPT_PRODUCTS)


# How threads of a command wait for each other; it takes effect only before torch is imported.

CHOICES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
"""Variables that a user can set: of the OpenMP standard, of GCC's and of LLVM's library."""
SETTINGS = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "10000"}
"""GCC's library spins 300,000 times by default, and not at all if passive. 10,000 times cost nothing
measurable on an idle machine and gain the most next to busy processes: benchmarks/speed/waiting.py."""


def let_waiting_threads_sleep() -> None:
    """Let OpenMP threads sleep after a short wait, unless the user chose how they wait."""
    # Threads wait for each other many times per layer, by default in a loop that keeps the processor busy.
    # If another program needs it, everything becomes many times slower (figures: docs/how-to/predict.md).
    if not any(name in os.environ for name in CHOICES):
        os.environ.update(SETTINGS)


def overview() -> str:
    """Return the text of `dna-bigbird --help`."""
    width = max(len(name) for names in SECTIONS.values() for name in names)
    lists = "\n\n".join(f"{title}\n{_table(names, width)}" for title, names in SECTIONS.items())
    return (
        "usage: dna-bigbird COMMAND [options]\n\n"
        "BigBird for genomes, from a reference genome to predictions.\n\n"
        f"{lists}\n\n"
        "dna-bigbird COMMAND --help shows the usual options of a command, --help_all all of them.\n"
        "Every option can also be set in a YAML file: --config FILE. Intervals are 0-based and\n"
        "half-open unless stated.\n"
    )


def group_overview(group: str) -> str:
    """Return the text of `dna-bigbird GROUP --help`."""
    table = _table([f"{group} {name}" for name in GROUPS[group]])
    return (
        f"usage: dna-bigbird {group} COMMAND [options]\n\n"
        f"{ABOUT_GROUPS[group]}\n\ncommands:\n{table}\n\n"
        f"dna-bigbird {group} COMMAND --help shows the usual options of a command, --help_all all.\n"
    )


def _table(names: Iterable[str], width: int = 0) -> str:
    """Return one line per command."""
    names = list(names)
    width = max([width, *map(len, names)])
    return "\n".join(f"  {name:<{width}}  {find_command(name).about}" for name in names)


HELP = ("-h", "--help", "help")


def main(argv: list[str] | None = None) -> None:
    """Run `dna-bigbird`: exit status 0, 2 for what the user can change, 1 for a fault of this program."""
    signals.interrupt()
    open_closed_streams()
    write_utf8()
    protect_terminal()
    try:
        with named_standard_output():
            _run(sys.argv[1:] if argv is None else argv)
    except InputError as error:
        if os.environ.get(TRACEBACK):
            raise
        if isinstance(error, OutputError):
            forget_standard_output()
        fail(str(error))
    except BrokenPipeError:  # the reader (head, less) has gone
        forget_standard_output()
        raise SystemExit(141) from None
    except KeyboardInterrupt as stop:
        signals.ignore()
        _end_interrupted(str(stop), signals.status_of(stop))
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        message, status = explain(error)
        fail(with_arguments(message), status)  # outside `command_line`


def _end_interrupted(message: str, status: int) -> NoReturn:
    """Print one line; of the processes that a training has started only the first one does."""
    if message and os.environ.get("LOCAL_RANK", "0") == "0":
        after = "\n" if sys.stderr.isatty() else ""  # of the ^C that a terminal shows
        print(f"{after}dna-bigbird: {printable(message)}", file=sys.stderr)
    raise SystemExit(status)


def _run(argv: list[str]) -> None:
    """Find the command and call its function."""
    verbosity, argv = take_verbosity(argv)
    argv = help_last(argv)
    if not argv or argv[0] in HELP:
        print(overview(), end="")
        return
    if argv[0] in ("-V", "--version"):
        print(f"dna-bigbird {__version__}")
        return
    command, *rest = argv
    if command in GROUPS and (not rest or rest[0] in HELP):
        print(group_overview(command), end="")
        return
    with applied(verbosity):
        name, rest = named_command(command, rest)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        watchdog.start()
        keep_freed_memory()
        keep_few_products()
        let_waiting_threads_sleep()
        _call(name, rest, is_quiet=verbosity.quiet)


def help_last(argv: list[str]) -> list[str]:
    """Return `predict --help` for `help predict`; other arguments stay.

    Example:
        >>> help_last(["help", "text", "evaluate"]), help_last(["help", "finetune", "lora"]), help_last(["help"])
        (['text', 'evaluate', '--help'], ['finetune', '--help', 'lora'], ['help'])
    """
    if argv[:1] != ["help"] or not argv[1:]:
        return argv
    end = 3 if argv[1] in GROUPS else 2
    return [*argv[1:end], "--help", *argv[end:]]


def named_command(word: str, rest: list[str]) -> tuple[str, list[str]]:
    """Return the name of a command, with its group, and its arguments."""
    if word.startswith("-"):
        raise InputError(
            f"found the option {word}, expected a command before it, such as: dna-bigbird predict. "
            "See: dna-bigbird --help"
        )
    name, group = word, ""
    if word in GROUPS:
        name, rest = current_name(f"{word} {rest[0]}", rest[1:])
        group = f"{word} "
    known = GROUPS[word] if group else COMMANDS
    if name.removeprefix(group) not in known:
        near = like_command(name)
        raise InputError(f"unknown command {name!r}{near or '.'} See: dna-bigbird {group}--help")
    return name, rest


def _call(name: str, argv: list[str], is_quiet: bool = False) -> None:
    """Call the function of a command, and print the summary of its result."""
    command = find_command(name)
    parser, function = build_parser(name, argv)
    with command_line(parser.option_names):
        arguments = read_arguments(parser, argv)
        with protected(function, arguments):
            result = function(**arguments, **command.values)
            for line in getattr(result, "notes", ()):
                note(line)
            if is_quiet and _writes_files(function, arguments):
                return
            if hasattr(result, "summary") and (summary := with_short_words(result.summary())):
                print(summary, end="" if summary.endswith("\n") else "\n")


def _writes_files(function: Callable, arguments: dict[str, object]) -> bool:
    """Return True if the result is in files, so that a summary of it is only a message."""
    return any(each.role in WRITTEN for each in paths_of(function, arguments))


@contextlib.contextmanager
def protected(function: Callable, arguments: dict[str, object]) -> Iterator[None]:
    """Check that no input is overwritten, and lock the outputs against other processes."""
    check_paths(function, arguments)
    with contextlib.ExitStack() as claims:
        # Several processes of one training write the same output: the checkpoints folder is locked.
        if "checkpoints" not in roles_of(function):
            for each in paths_of(function, arguments):
                if each.role in (Role.OUTPUT, Role.STREAM, Role.RESULT):
                    claims.enter_context(claimed(each.path))
        yield


if __name__ == "__main__":
    main()
