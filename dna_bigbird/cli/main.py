"""Entry point: find the command, read its options, call its function."""

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator

from dna_bigbird import __version__, watchdog
from dna_bigbird.cli.allocator import keep_few_products, keep_freed_memory
from dna_bigbird.cli.commands import COMMANDS, GROUPS, find_command
from dna_bigbird.cli.failures import TRACEBACK, explain, fail
from dna_bigbird.cli.overview import group_overview, overview
from dna_bigbird.cli.parser import build_parser, read_arguments
from dna_bigbird.cli.parser_internals import option_names
from dna_bigbird.cli.streams import (
    forget_standard_output,
    named_standard_output,
    open_closed_streams,
    protect_terminal,
)
from dna_bigbird.cli.text_train import current_name
from dna_bigbird.cli.waiting import let_waiting_threads_sleep
from dna_bigbird.errors import InputError, Interrupted, OutputError, command_line, note
from dna_bigbird.messages import printable, with_arguments
from dna_bigbird.paths import Role, check_paths, paths_of, roles_of
from dna_bigbird.writing import claimed


def main(argv: list[str] | None = None) -> None:
    """Run `dna-bigbird`.

    Exits with 0; with 2 and one line on standard error for input, files and memory that the user
    can change; with 1 and one line for a fault of this program.
    """
    open_closed_streams()
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
    except Interrupted as stop:
        after = "\n" if sys.stderr.isatty() else ""  # of the ^C that a terminal shows
        print(f"{after}dna-bigbird: {printable(str(stop))}", file=sys.stderr)
        raise SystemExit(stop.status) from None
    except KeyboardInterrupt:
        print("dna-bigbird: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        message, status = explain(error)
        fail(with_arguments(message), status)  # outside `command_line`


def _run(argv: list[str]) -> None:
    """Find the command and call its function."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(overview(), end="")
        return
    if argv[0] in ("-V", "--version"):
        print(f"dna-bigbird {__version__}")
        return
    command, *rest = argv
    if command in GROUPS:
        if not rest or rest[0] in ("-h", "--help", "help"):
            print(group_overview(command), end="")
            return
        group = command
        command, rest = current_name(f"{group} {rest[0]}", rest[1:])
        if command.removeprefix(f"{group} ") not in GROUPS[group]:
            fail(f"unknown command '{command}'. See: dna-bigbird {group} --help")
    elif command not in COMMANDS:
        fail(f"unknown command {command!r}. See: dna-bigbird --help")
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    watchdog.start()
    keep_freed_memory()
    keep_few_products()
    let_waiting_threads_sleep()
    _call(command, rest)


def _call(name: str, argv: list[str]) -> None:
    """Call the function of a command, and print the summary of its result."""
    command = find_command(name)
    parser, function = build_parser(name, argv)
    with command_line(option_names(parser)):
        arguments = read_arguments(parser, function, argv, command.aliases)
        with protected(function, arguments):
            result = function(**arguments, **command.values)
            for line in getattr(result, "notes", ()):
                note(line)
            if hasattr(result, "summary") and (summary := result.summary()):
                print(summary, end="" if summary.endswith("\n") else "\n")


@contextlib.contextmanager
def protected(function: Callable, arguments: dict[str, object]) -> Iterator[None]:
    """Check that no input is overwritten, and lock the outputs against other processes.

    Raises:
        InputError: Naming the paths.
    """
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
