"""Entry point: find the subcommand, read its options from its signature, run it."""

import contextlib
import importlib
import keyword
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import NoReturn

import jsonargparse

from dna_bigbird import __version__, watchdog
from dna_bigbird.cli.allocator import keep_few_products, keep_freed_memory
from dna_bigbird.cli.config_files import config_first
from dna_bigbird.cli.failures import TRACEBACK, explain
from dna_bigbird.cli.help import HelpFormatter, arrange, sections
from dna_bigbird.cli.parser_errors import in_words
from dna_bigbird.cli.streams import (
    forget_standard_output,
    named_standard_output,
    open_closed_streams,
    protect_terminal,
)
from dna_bigbird.cli.text_commands import TEXT_COMMANDS
from dna_bigbird.cli.waiting import let_waiting_threads_sleep
from dna_bigbird.errors import InputError, Interrupted, OutputError, checked_settings
from dna_bigbird.messages import command_line, printable, with_arguments
from dna_bigbird.paths import Role, as_streams, check_paths, paths_of, roles_of
from dna_bigbird.writing import claimed

COMMANDS = {
    "demo-data": "write the semi-synthetic demo: real hg19 background, planted truth",
    "fetch": "download one input named in data_specs/, or take a local copy, and verify it",
    "genome": "check and join FASTA files into one indexed reference",
    "documents": "draw documents from a genome as coordinates",
    "train-tokenizer": "learn a DNA BPE vocabulary from documents",
    "tokenize": "turn documents into a token store",
    "token-statistics": "measure base pairs per token, per chromosome and repeat class",
    "pretrain": "pretrain BigBird with masked tokens and next-sentence prediction",
    "evaluate-lm": "score a pretrained model on held-out documents beside n-gram baselines",
    "compare-lm": "set pretrained models beside each other, as the paper's tables do",
    "lift-over": "move start sites to another assembly with a chain file",
    "promoter-sequences": "make small chromosomes of promoters that come without coordinates",
    "promoter-set": "build promoters and negatives with their splits",
    "chromatin-set": "build 200-bp bins with one label per peak file",
    "deepsea-set": "build windows of any length from the published DeepSEA bundle",
    "leakage": "list bases and near-identical sequences that the splits of a set share",
    "baseline": "fit a baseline (word counts, GC or a published network) on a labelled set",
    "finetune": "fine-tune a pretrained model on a labelled set",
    "ensemble": "join independently trained models into one that gives their mean",
    "evaluate": "score a fine-tuned model on the held-out rows beside its baselines",
    "compare-heads": "set promoter or chromatin models beside each other and published ones",
    "predict": "probabilities for every window of a FASTA file",
    "embed": "hidden states of a model for every window of a FASTA file",
    "score-variants": "what each allele of a VCF file changes in a model's predictions",
    "mutagenesis": "the effect of every substitution in a region, as a matrix and a picture",
    "rank-variants": "whether variants with a known (planted) effect rank above neutral ones",
    "info": "describe a model bundle, a token store or a labelled set",
    "plot-attention": "draw which blocks attend to which, as text or as a picture",
    "convert": "read and write models of the Hugging Face library; lengthen a model's context",
    "report": "write the HTML report of a workflow run",
    "clear-lock": "remove a stale Snakemake lock after proof that its process is dead",
    "completion": "let bash, zsh or tcsh complete commands, options and files",
    "doctor": "say what works on this machine and what is slow; build the native CPU kernel",
}

GROUPS = {"text": TEXT_COMMANDS}
"""Commands with commands of their own: `dna-bigbird text evaluate`."""
ABOUT_GROUPS = {"text": "the same for text: pretraining, classification, questions, summaries"}

POSITIONAL = {"completion", "info"}
"""Commands whose required arguments stand without an option: `dna-bigbird info BUNDLE`."""
OPTIONAL = {"info"}
"""Commands whose positional arguments may be left out: they are None then."""


class _Parser(jsonargparse.ArgumentParser):
    """Reports a wrong option in one line and exits with status 2."""

    def print_help(self, file=None) -> None:
        """Print the help; argparse would be silent if that fails."""
        (file or sys.stdout).write(self.format_help())

    def error(self, message: str, ex: Exception | None = None):
        lines = [line.strip(" -") for line in str(message).splitlines() if line.strip(" -")]
        words = in_words("; ".join(lines), options_of(self))
        end = "" if words.endswith("?") else "."
        _fail(f"{words}{end} See: {self.prog} --help")


def _fail(message: str, status: int = 2) -> NoReturn:
    one_line = printable(" ".join(str(message).split()))
    print(f"dna-bigbird: error: {one_line}", file=sys.stderr)
    raise SystemExit(status)


def overview() -> str:
    """Return the text of `dna-bigbird --help`."""
    return (
        "usage: dna-bigbird COMMAND [options]\n\n"
        "BigBird for genomes, from a reference genome to predictions.\n\n"
        f"commands, in the order the workflow runs them:\n{_table(COMMANDS | ABOUT_GROUPS)}\n\n"
        "dna-bigbird COMMAND --help lists the options of a command. Every option may also stand\n"
        "in a YAML file given with --config. Intervals are 0-based and half-open unless said.\n"
    )


def _table(commands: dict[str, str]) -> str:
    width = max(map(len, commands), default=0)
    return "\n".join(f"  {name:<{width}}  {text}" for name, text in commands.items())


def group_overview(group: str) -> str:
    """Return the text of `dna-bigbird GROUP --help`."""
    return (
        f"usage: dna-bigbird {group} COMMAND [options]\n\n"
        f"{ABOUT_GROUPS[group]}\n\ncommands:\n{_table(GROUPS[group])}\n\n"
        f"dna-bigbird {group} COMMAND --help lists the options of a command.\n"
    )


def build_parser(command: str) -> tuple[jsonargparse.ArgumentParser, object]:
    """Return the parser of one subcommand and the function that it calls.

    The module `dna_bigbird.pipeline.<command>` has a function of the same name (dashes become
    underscores); its signature and docstring are the options and their help. A command of a group,
    "text evaluate", is the function `dna_bigbird.pipeline.text.evaluate`.
    """
    jsonargparse.set_parsing_settings(docstring_parse_attribute_docstrings=True)
    group, _, name = command.replace("-", "_").rpartition(" ")
    folder = "cli" if command == "completion" else "pipeline"
    module = importlib.import_module(f"dna_bigbird.{folder}.{group or name}")
    function = getattr(module, name)
    about, examples = sections(function)
    parser = _Parser(
        prog=f"dna-bigbird {command}",
        description=about,
        epilog=examples,
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--config", action="config", help="YAML file with options")
    parser.add_function_arguments(
        function, as_positional=command in POSITIONAL, fail_untyped=True, sub_configs=True
    )
    _free_keywords(parser)
    _let_switches_stand_alone(parser)
    for action in parser._get_positional_actions() if command in OPTIONAL else ():
        action.nargs, action.required = "?", False
    arrange(parser)
    return parser, function


def _free_keywords(parser: jsonargparse.ArgumentParser) -> None:
    """`from` is a word of Python, so the parameter is `from_`; the option and YAML key are not."""
    for action in parser._actions:
        name = action.dest.removesuffix("_")
        if keyword.iskeyword(name) and name != action.dest:
            del parser._option_string_actions[f"--{action.dest}"]
            action.dest, action.option_strings = name, [f"--{name}"]
            parser._option_string_actions[f"--{name}"] = action


def _let_switches_stand_alone(parser: jsonargparse.ArgumentParser) -> None:
    """`--pieces` is short for `--pieces true`."""
    for action in parser._actions:
        if getattr(action, "_typehint", None) is bool:
            action.nargs, action.const = "?", True


def _parameter(option: str) -> str:
    return f"{option}_" if keyword.iskeyword(option) else option


def _underscored(argument: str) -> str:
    """`--from-huggingface X` and `--from_huggingface X` are the same option."""
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument.partition("=")
    return "--" + name[2:].replace("-", "_") + equals + value


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
        _fail(str(error))
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
        _fail(with_arguments(message), status)  # it does not know the command's options


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
        if rest[0] not in GROUPS[command]:
            _fail(f"unknown command '{command} {rest[0]}'. See: dna-bigbird {command} --help")
        command, *rest = f"{command} {rest[0]}", *rest[1:]
    elif command not in COMMANDS:
        _fail(f"unknown command {command!r}. See: dna-bigbird --help")
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    watchdog.start()
    keep_freed_memory()
    keep_few_products()
    let_waiting_threads_sleep()
    parser, function = build_parser(command)
    with command_line(options_of(parser)):
        arguments = read_arguments(parser, function, rest)
        with protected(function, arguments):
            result = function(**arguments)
            if hasattr(result, "summary") and (summary := result.summary()):
                print(summary)


def options_of(parser: jsonargparse.ArgumentParser) -> set[str]:
    """Return the names of all options of a command, without dashes."""
    return {name.lstrip("-") for action in parser._actions for name in action.option_strings}


def read_arguments(
    parser: jsonargparse.ArgumentParser, function: Callable, argv: list[str]
) -> dict[str, object]:
    """Return what to call the function of a command with.

    Raises:
        InputError: If a file of --config cannot be read, or settings contradict each other.
    """
    argv = config_first([_underscored(argument) for argument in argv])
    options = parser.parse_args(argv)
    with checked_settings():
        settings = parser.instantiate(options)
    arguments = {_parameter(k): value for k, value in settings.items() if k != "config"}
    return as_streams(function, arguments)


@contextlib.contextmanager
def protected(function: Callable, arguments: dict[str, object]) -> Iterator[None]:
    """Check that no input is written over, and keep other processes from writing the same outputs.

    Raises:
        InputError: Naming the paths.
    """
    check_paths(function, arguments)
    with contextlib.ExitStack() as claims:
        # Of a training several processes write one output: their checkpoints folder has a lock.
        if "checkpoints" not in roles_of(function):
            for each in paths_of(function, arguments):
                if each.role in (Role.OUTPUT, Role.STREAM):
                    claims.enter_context(claimed(each.path))
        yield


if __name__ == "__main__":
    main()
