"""What wrong options, values and files report: exit status, the setting or file that is named, the line."""

import contextlib
import io
import re
import shlex
import tempfile
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from dna_bigbird.cli.commands import every_command, find_command
from dna_bigbird.cli.main import main
from dna_bigbird.cli.parser import Parser, build_parser, task_of
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.core.errors import InputError, command_line
from tools.texts import ROOT, cleaned, lines_of

LISTED = Path(__file__).with_name("wrong_inputs.yaml")
WHOLE = ("-1", "0", "1", "2", "1000000000000000")
"""Tried for options of settings classes that take a whole number; those within its range are taken."""
NUMBERS = ("-1", "0", "1", "1.5", "1000000", "nan")
"""The same for other numbers."""
WRONG = "~wrong~"
_NAMED = re.compile(
    r"(?P<file>\S+\.yaml(:\d+)?): (?P<key>[\w.\[\]-]+)(?=:| is also)|^(?!unknown)(?P<path>[^\s:]+)(:\d+)?:|(?P<option>--[\w.]*\w)"
)


def parsers(name: str) -> Iterator[tuple[str, typing.Any, Callable]]:
    """Yield (label, parser, function) of a command; of `text train` for every task."""
    yield (name, *build_parser(name))
    if find_command(name).function_for:
        from dna_bigbird.bundles.text_tasks import tasks

        for task in tasks():
            argv = ["--task", task]
            yield (f"{name} {' '.join(argv)}", *build_parser(name, argv))


def printed(words: str) -> list[str]:
    """Return what a command line prints, as lines."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        main(words.split())
    output.flush()
    return lines_of(output.buffer.getvalue().decode())  # type: ignore[attr-defined]


def reported(call: Callable[[], object]) -> str:
    """Return `0`, or the exit status with the setting or file that the line names, and the line."""
    error = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    try:
        with (
            contextlib.redirect_stderr(error),
            contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())),
        ):
            call()
    except (InputError, ValueError) as problem:
        status, line = 2, str(problem)
    except SystemExit as end:
        error.flush()
        text = error.buffer.getvalue().decode()  # type: ignore[attr-defined]
        status, line = end.code or 0, text.removeprefix("dna-bigbird: error: ").strip()
    except Exception as fault:
        status, line = 1, repr(fault)
    else:
        return "0"
    line = cleaned(line.replace(f"{Path.cwd()}/", "").replace(str(Path.cwd()), "."))
    named = _NAMED.search(line.partition(" See: ")[0])
    names = next(filter(None, named.group("key", "option", "path")), "") if named else ""
    return f"{status} {names} | {line}"


def result_of(call: Callable[[], object]) -> object:
    """Return what a call returns, or what is reported."""
    values: list = []
    line = reported(lambda: values.append(call()))
    return values[0] if values else line


def read_options(words: list[str], file: str) -> object:
    """Return the options that a file of --config sets, or what is reported."""
    depth = 2 if words[0] == "text" else 1
    argv = [*words[depth:], "--config", file]

    def read() -> dict[str, str]:
        parser, _ = build_parser(" ".join(words[:depth]), argv)
        needed = _needed(parser, argv)
        task = [] if "--task" in words or "--task" not in needed else [f"--task={task_of(argv)}"]
        before = _read(parser, [*words[depth:], *task, *needed])
        read = _read(parser, [*needed, *argv, *task])
        return {key: repr(value) for key, value in read.items() if repr(value) != repr(before[key])}

    return result_of(read)


def _read(parser: Parser, argv: list[str]) -> dict[str, object]:
    """Return the arguments as the command gets them; messages name options as on its command line."""
    with command_line(parser.option_names):
        return read_arguments(parser, argv)


def refusals() -> dict[str, object]:
    """Return what every listed wrong input, and a wrong value of every option, reports."""
    listed = yaml.safe_load(LISTED.read_text())
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return {
            "calls": {
                words: reported(lambda words=words: main(shlex.split(words)))
                for words in listed["commands"]
            },
            "option files": dict(_option_files(listed["option_files"])),
            "configs": dict(_configs(listed)),
            "situations": dict(_situations()),
            "options": dict(_of_all_options()),
        }


def _option_files(rows: list) -> Iterator[tuple[str, str]]:
    for command, text in rows:
        Path("o.yaml").write_text(text, encoding="utf-8")
        yield (
            f"{command} --config: {text}",
            reported(lambda command=command: main([*command.split(), "--config", "o.yaml"])),
        )


def _configs(listed: dict) -> Iterator[tuple[str, str]]:
    """Yield what a config with one mistake reports."""
    from dna_bigbird.workflow.config.config_files import read_config_files
    from dna_bigbird.workflow.config.run_config import check_config

    for name, text in listed["inputs"].items():
        Path(name).write_text(text)
    base, demo = listed["config"], yaml.safe_load((ROOT / "config/config.yaml").read_text())
    texts = {text: text for text in listed["config_files"]}
    texts |= {f"{old} -> {new}": base.replace(old, new) for old, new in listed["config_changes"]}
    for section in listed["config_without"]:
        texts[f"without {section}"] = yaml.safe_dump(
            {k: v for k, v in yaml.safe_load(base).items() if k != section}
        )
    for changes in listed["demo_changes"]:
        texts[f"demo with {changes}"] = yaml.safe_dump(_changed(demo, changes), sort_keys=False)

    def check() -> None:
        files = read_config_files([Path("c.yaml")])
        run = files.values()
        check_config(run, files)

    for label, text in texts.items():
        Path("c.yaml").write_text(text)
        yield label, reported(check)


def _changed(run: dict, changes: dict) -> dict:
    """Return a config with values at paths such as `model.hidden_size`."""
    run = yaml.safe_load(yaml.safe_dump(run))
    for path, value in changes.items():
        *above, last = path.split(".")
        section = run
        for name in above:
            section = section.setdefault(name, {})
        section[last] = value
    return run


def _situations() -> Iterator[tuple[str, list[str]]]:
    """Yield what every command reports about paths that cannot be: tests/cli/situations.py."""
    from tests.cli.situations import SITUATIONS, cases, command_of, put

    for situation in SITUATIONS:
        for name in every_command():
            lines = []
            for case in cases(situation, name):
                with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                    for source in command_of(name).inputs:
                        put(f"{source}.in")
                    case.prepare()
                    argv = command_of(name).argv(case.changed)
                    lines.append(reported(lambda argv=argv: main(argv)))
            if lines:
                yield f"{name}: {situation}", lines


def _of_all_options() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what `_options` yields; of commands that call one function for the first one."""
    functions: set[Callable] = set()
    for name in every_command():
        function = build_parser(name)[1]
        if function not in functions:
            functions.add(function)
            yield name, dict(_options(name))


def _options(name: str) -> Iterator[tuple[str, str]]:
    """Yield what wrong values of every number, switch and choice of a command report."""
    tried = set()
    for label, parser, _ in parsers(name):
        task = label.removeprefix(name).split()
        for action in parser.options:
            values = _values(action)
            if action.dest in tried or not values or not action.names:
                continue
            tried.add(action.dest)
            for value in values:
                argv = [*task, *_needed(parser, task), f"--{action.dest}={value}"]
                line = reported(lambda parser=parser, argv=argv: _read(parser, argv))
                yield f"--{action.dest}={value}", line


def _values(action: typing.Any) -> tuple[str, ...]:
    """Return what is tried for an option."""
    hint = "int" if action.hint is int else "float" if action.hint is float else str(action.hint)
    is_number = re.search(r"\b(int|float)\b", hint)
    if is_number and "." in action.dest:
        return (*(NUMBERS if "float" in hint else WHOLE), WRONG)
    return (WRONG,) if is_number or "bool" in hint or "Literal" in hint else ()


def _needed(parser: typing.Any, argv: list[str]) -> list[str]:
    """Return values for the options that must be given and are not."""
    words = []
    for action in parser.options:
        if action.is_required and f"--{action.dest}" not in argv:
            words += [f"--{action.dest}"] * bool(action.names)
            words.append(_example(action.hint))
    return words


def _example(hint: object) -> str:
    text = str(hint)
    if typing.get_origin(hint) is typing.Literal:
        return str(typing.get_args(hint)[0])
    if hint in (int, float):
        return "1"
    return "{x: y}" if text.startswith("dict") else "[x]" if text.startswith("list") else "x"
