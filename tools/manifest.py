"""Writes what a change of the code must keep, as one sorted JSON file: a diff of two shows what changed.

    python -m tools.manifest --output before.json           minutes; FILE of another commit: after.json
    python -m tools.manifest --output before.json --demo results/      the bytes of the demo too

Light parts: help and settings of every command, what config files are read as, the jobs of every run,
errors of wrong inputs, the public Python names. Every part is without folders of the machine, versions and times.
"""

import argparse
import contextlib
import hashlib
import json
import os
import sys
import time
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

from tools import planned, public_names, refusals
from tools.texts import ROOT, cleaned

PARTS = ("commands", "configs", "plans", "refusals", "names")
NOT_COMPARED = (
    ".html",
    ".log",
    ".lock",
    ".snakemake_timestamp",
    "speed.tsv",
    "time_and_memory.png",
)
"""Ends of names of results that hold times, paths or sizes of memory, or are pages."""


def commands() -> dict[str, object]:
    """Return the help and the settings of every command; of `text train` those of every task."""
    from dna_bigbird.cli.commands import GROUPS, every_command

    labels = [
        *GROUPS,
        *(label for name in every_command() for label, _, _ in refusals.parsers(name)),
    ]
    entries: dict[str, typing.Any] = {"": refusals.printed("--help")}
    for label in labels:
        entries[label] = {"help": refusals.printed(f"{label} --help")}
        if label not in GROUPS:
            entries[label]["print_config"] = refusals.printed(f"{label} --print_config")
    return entries


def configs(names: list[str]) -> dict[str, object]:
    """Return what every config file is read as, or the line that refuses it."""
    from dna_bigbird.core.yaml_files import read_yaml
    from dna_bigbird.workflow.config.run_config import read_config

    entries: dict[str, typing.Any] = {}
    with planned.working_folder():
        for name in names:
            if files := planned.call_of(name).files:
                entries[name] = refusals.result_of(
                    lambda files=files: read_config([Path(x) for x in files])
                )
                continue
            entries[name] = {
                "values": refusals.result_of(lambda name=name: read_yaml(Path(name)).values())
            }
            for words in planned.COMMANDS_OF_OPTIONS:
                entries[name][" ".join(words)] = refusals.read_options(words, name)
    return entries


def demo_files(results: Path) -> dict[str, str]:
    """Return the sha256 of every file of the demo's results but times, logs, pages and benchmarks."""
    return {
        str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(results.rglob("*"))
        if path.is_file()
        and not path.name.endswith(NOT_COMPARED)
        and not {"benchmarks", "logs"} & set(path.relative_to(results).parts)
    }


def manifest(parts: list[str], names: list[str], jobs: int) -> Iterator[tuple[str, object]]:
    """Yield each part with its name."""
    writers: dict[str, Callable[[], object]] = {
        "commands": commands,
        "configs": lambda: configs(names),
        "plans": lambda: planned.plans(names, jobs),
        "refusals": refusals.refusals,
        "names": public_names.public_names,
    }
    for part in parts:
        started_at = time.monotonic()
        yield part, writers[part]()
        print(f"{part}: {time.monotonic() - started_at:.0f} s", file=sys.stderr)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.manifest", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--demo", type=Path, help="folder of the demo's results")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--configs",
        nargs="*",
        help="config files to read and plan; by default all of config/ and tests/",
    )
    parser.add_argument("--jobs", type=int, default=2, help="plans that run at once")
    options = parser.parse_args()
    output = options.output.resolve()
    os.environ |= {"COLUMNS": "100", "SLURM_CONF": "/dev/null"}
    os.environ.pop("DNA_BIGBIRD_TRACEBACK", None)
    with contextlib.chdir(ROOT):
        names = options.configs if options.configs is not None else planned.config_files()
        entries = dict(manifest(options.parts, names, options.jobs))
        if options.demo:
            entries["demo"] = demo_files(options.demo)
    output.write_text(cleaned(json.dumps(entries, indent=1, sort_keys=True, default=str)) + "\n")
    print(f"{output}: compare with that of another commit: diff -u before.json {output.name}")


if __name__ == "__main__":
    main()
