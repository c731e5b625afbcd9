"""The page of the files of a run: paths of the workflow's rules, each with the text of the option that writes it."""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from command_pages import titles
from prose import escaped

from dna_bigbird.cli.commands import find_command
from dna_bigbird.cli.help import text_of
from dna_bigbird.cli.parser import build_parser
from dna_bigbird.core import result_folders
from dna_bigbird.core.result_folders import ResultFolder
from dna_bigbird.workflow.config.config_files import ConfigFiles
from dna_bigbird.workflow.run import make_run

ROOT = Path(__file__).parents[2]
CONSTANT = re.compile(r"^[A-Z_]+ = (?:RUN\.|f\").*[^(\n]$", flags=re.MULTILINE)
RULE = re.compile(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", flags=re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^    output:\n(.*?)^    \w+:", flags=re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"\{params\.run\} ((?:text |bench )?[a-z][a-z-]*)")


def rules() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield name, text and outputs of each rule, as those of the run of config/config.yaml."""
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    known = {
        "RUN": make_run(config, ConfigFiles([])),
        "config": config,
        "directory": "{}/".format,
        "report": lambda path, **_: path,
        "outputs": lambda *one, **several: several or {"output": one[0]},
    }
    for file in sorted((ROOT / "workflow/rules").glob("*.smk"), key=lambda x: x.stem != "common"):
        text = file.read_text()
        for line in CONSTANT.findall(text):
            exec(line, known)
        for name, body in RULE.findall(text):
            if block := OUTPUT.search(body):
                yield name, body, eval(f"outputs({block[1]})", known)


def rows() -> Iterator[str]:
    """Yield a row for each output."""
    pages = {name: page for page, _, names in titles() for name in names}
    for rule, body, outputs in rules():
        command = COMMAND.search(body)
        name = command[1] if command else ""
        options, about, made_by = [], rule.replace("_", " "), f"rule `{rule}`"
        if name in pages:
            options, about = build_parser(name, [])[0].options, find_command(name).about
            made_by = f"[`{name}`]({pages[name]}#{name.replace(' ', '-')})"
        for key, path in outputs.items():
            given = re.search(rf"--(\w+) \{{(?:output\.)?{key}(?::q)?\}}", body)
            text = next(
                (text_of(each) for each in options if given and each.dest == given[1]), about
            )
            text = re.sub(
                r"^Result to write: | '-' is standard.*| \((?:required|default: [^)]*)\)$", "", text
            )
            yield f"| `{path}` | {escaped(' '.join(text.split()))} | {made_by} |"


def run_pages() -> dict[str, str]:
    """Return the page."""
    listed = "\n".join(sorted(set(rows())))
    folders = "\n".join(
        f"| {kind.what} | {escaped(', '.join(kind.required))} | {escaped(', '.join(kind.others))} |"
        for kind in vars(result_folders).values()
        if isinstance(kind, ResultFolder) and kind.required
    )
    return {
        "run-files.md": "# Files of a run\n\nEvery output of the workflow, with the command that writes it. Names in "
        "braces vary. What to read first: [output files](output-files.md).\n\n"
        f"| file or folder | what | made by |\n|---|---|---|\n{listed}\n\n## Files of a folder\n\n"
        f"| folder | always | perhaps |\n|---|---|---|\n{folders}\n"
    }
