"""What the documents tell a user to type is what the program understands."""

import re
import shlex
from pathlib import Path

import pytest

from dna_bigbird.cli.commands import GROUPS
from dna_bigbird.cli.parser import build_parser, renamed

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "config" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


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
def test_dna_bigbird_commands_parse(page, line):
    words = shlex.split(line.split(" > ")[0].split(" | ")[0])[1:]
    if words[0].startswith("-") or words[-1] == "--help":
        return
    depth = 2 if words[0] in GROUPS else 1
    parser, _ = build_parser(" ".join(words[:depth]), words[depth:])
    parser.instantiate(parser.parse_args(renamed(words[depth:])))


@pytest.mark.parametrize(("page", "line"), of("make"))
def test_make_targets_exist(page, line):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert set(line.split()[1:]) <= set(targets)


@pytest.mark.parametrize(("page", "line"), of("snakemake"))
def test_named_files_of_snakemake_commands_exist(page, line):
    words = shlex.split(line)
    for option in ("--configfile", "--workflow-profile"):
        if option in words:
            assert (ROOT / words[words.index(option) + 1]).exists()


def test_relative_links_lead_somewhere():
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)?", page.read_text()):
            if not target.startswith("http") and not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_the_two_commands_stand_in_the_readme():
    lines = [line for page, line in commands() if page == "README.md"]
    assert "make demo" in lines
    assert "make test" in lines
