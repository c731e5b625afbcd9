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
NOT_SHOWN = re.compile(
    r"^Result to write: | '-' (?:is standard|writes).*| \((?:required|default: .*)\)$"
)
COMMAND = re.compile(r"\{params\.run\} ((?:text |bench )?[a-z][a-z-]*)")

TOP = """# Files of a run

Every output of the workflow, with the command that writes it. Names in braces vary.
What to read first: [output files](output-files.md).
"""
FOLDERS = "\n## Files of a folder\n\n| folder | always | perhaps |\n|---|---|---|"


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


def files() -> Iterator[tuple[str, str]]:
    """Yield each output with what it is."""
    pages = {name: page for page, _, names in titles() for name in names}
    for rule, body, outputs in rules():
        command = COMMAND.search(body)
        name = command[1] if command else ""
        texts, about, made_by = {}, rule.replace("_", " "), f"rule `{rule}`"
        if name in pages:
            texts = {each.dest: text_of(each) for each in build_parser(name, [])[0].options}
            about = find_command(name).about
            made_by = f"[`{name}`]({pages[name]}#{name.replace(' ', '-')})"
        for key, path in outputs.items():
            given = re.search(rf"--(\w+) \{{(?:output\.)?{key}(?::q)?\}}", body)
            text = texts.get(given[1], about) if given else about
            text = NOT_SHOWN.sub("", " ".join(text.split()))
            yield f"`{path}`", f"{escaped(text).rstrip('.')} ({made_by})"


def run_pages() -> dict[str, str]:
    """Return the page."""
    paths: dict[str, set[str]] = {}
    for path, what in files():
        paths.setdefault(what, set()).add(path)
    kinds = [x for x in vars(result_folders).values() if isinstance(x, ResultFolder) and x.required]
    cells = [(x.what, ", ".join(x.required), ", ".join(x.others)) for x in kinds]
    lines = [
        TOP,
        *sorted(f"- {', '.join(sorted(names))}: {what}" for what, names in paths.items()),
        FOLDERS,
        *(f"| {' | '.join(map(escaped, row))} |" for row in cells),
    ]
    return {"run-files.md": "\n".join(lines) + "\n"}
