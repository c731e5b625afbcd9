"""Commands in the documentation are valid; its pages are short enough to read."""

import re
import shlex
from collections import defaultdict
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest

from dna_bigbird.cli.commands import GROUPS, every_command
from dna_bigbird.cli.parser import build_parser, parsers_of
from dna_bigbird.cli.reading import read_arguments

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "config" / "README.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))


def commands() -> list[tuple[str, str]]:
    """Every line of every shell block: (page, command)."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```(?:sh|bash)\n(.*?)```", page.read_text(), flags=re.DOTALL):
            joined = block.replace("\\\n", " ")
            lines = (line.split("  #")[0].strip() for line in joined.splitlines())
            found += [(page.name, line) for line in lines if line and not line.startswith("#")]
    return found


def of(program: str) -> list[tuple[str, str]]:
    return [(page, line) for page, line in commands() if line.split()[0] == program]


@pytest.mark.parametrize(("page", "line"), of("dna-bigbird"))
def test_dna_bigbird_commands_parse(page, line, tmp_path):
    """With the recipe that a YAML block of the page writes: its first line is the name."""
    words = shlex.split(line.split(" > ")[0].split(" | ")[0])[1:]
    texts = "\n".join(path.read_text() for path in PAGES if path.name == page)
    for name, recipe in re.findall(
        r"^```yaml\n# (\S+\.yaml)\n(.*?)```", texts, re.DOTALL | re.MULTILINE
    ):
        (tmp_path / name).write_text(recipe)
        words = [str(tmp_path / name) if word == name else word for word in words]
    if words[0].startswith("-") or words[-1] == "--help":
        return
    depth = 2 if words[0] in GROUPS else 1
    parser, _ = build_parser(" ".join(words[:depth]), words[depth:])
    read_arguments(parser, words[depth:])


def test_commands_within_sentences_exist():
    """In the text of pages: `dna-bigbird` and a word, but for the names of file formats, and a mistake that is told."""
    known = {name.split()[0] for name in every_command()}
    known |= {"labelled", "scores", "predictions", "vectors", "liftover"}
    named = {
        word
        for page in PAGES
        for word in re.findall(r"`dna-bigbird ([a-z][a-z-]+)[^`]*`", page.read_text())
    }
    assert len(named) > 20
    assert sorted(named - known) == []


def test_choices_within_sentences_exist():
    """In the text of pages, `--option value` where the option takes one of some words."""
    choices: dict[str, set] = defaultdict(set)
    for parser in (parser for name in every_command() for parser in parsers_of(name)):
        for option in parser.options:
            is_choice = get_origin(option.hint) is Literal
            choices[option.dest] |= set(get_args(option.hint) if is_choice else [None])
    named = {
        (page.name, option, value)
        for page in PAGES
        for span in re.findall(r"`([^`]+)`", page.read_text())
        for option, values in re.findall(r"(?:^|\s)--([\w.]+)\s+([a-z][\w|-]*)", span)
        if choices.get(option) and None not in choices[option]
        for value in values.split("|")
    }
    assert len(named) > 30
    assert [x for x in sorted(named) if x[2] not in choices[x[1]]] == []


@pytest.mark.parametrize(("page", "line"), of("make"))
def test_make_targets_exist(page, line):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    words = {word for word in line.split()[1:] if "=" not in word}
    assert words <= set(targets)


@pytest.mark.parametrize(("page", "line"), of("snakemake"))
def test_named_files_of_snakemake_commands_exist(page, line):
    """In the checkout, or written by a tutorial: its YAML block begins with the name."""
    pages = "\n".join(path.read_text() for path in PAGES)
    written = re.findall(r"^```yaml\n# (\S+\.yaml)$", pages, flags=re.MULTILINE)
    words = shlex.split(line)
    for option in ("--configfile", "--workflow-profile"):
        if option in words:
            name = words[words.index(option) + 1]
            assert name in written or (ROOT / name).exists()


def words_after_configfile(line: str) -> list[str]:
    """Return what Snakemake takes for configs and is none."""
    after = re.search(r"--configfiles? +(\S[^|;>#`]*)", line)
    words = re.split(r" -", after[1])[0].split() if after else []
    return [word for word in words if not word.endswith((".yaml", ".yml", ".json"))]


def test_targets_come_before_configfile():
    """In all pages, configs and rules, prose too; the page on configs shows the mistake itself."""
    files = [path for path in [*PAGES, *ROOT.glob("*.md"), ROOT / "Makefile"] if path.is_file()]
    for folder in ("config", "workflow", "tests/real", "data_specs", "containers"):
        files += [x for x in (ROOT / folder).rglob("*") if x.suffix in (".md", ".yaml", ".smk")]
    wrong = {
        f"{path.name}: {line.strip()}"
        for path in files
        for line in path.read_text().splitlines()
        if "snakemake" in line and words_after_configfile(line)
    }
    assert {x for x in wrong if "looks for a file `all`" not in x} == set()
    assert words_after_configfile("snakemake --configfile a.yaml b.yaml -n all") == []
    assert words_after_configfile("snakemake --configfile a.yaml all") == ["all"]
    assert words_after_configfile("snakemake all --configfile=a.yaml") == []


def test_relative_links_lead_somewhere():
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)?", page.read_text()):
            if not target.startswith("http") and not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_the_readme_has_the_two_commands():
    lines = [line for page, line in commands() if page == "README.md"]
    assert "make demo" in lines
    assert "make test" in lines


def prose(page: Path) -> list[tuple[int, str]]:
    """Numbered lines outside code blocks, tables and pictures."""
    lines, in_code = [], False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.lstrip().startswith(("|", "!")):
            lines.append((number, line))
    return lines


def cannot_be_broken(line: str) -> bool:
    """Return True if no blank of a line is outside code spans and links."""
    return " " not in re.sub(r"`[^`]*`|\]\([^)]*\)", "", line.strip())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_have_at_most_120_characters(page):
    long = [n for n, line in prose(page) if len(line) > 120 and not cannot_be_broken(line)]
    assert long == []


def test_the_readme_is_one_screen():
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 700
    assert [row for row in text.splitlines() if row.startswith("|") and len(row) > 160] == []
