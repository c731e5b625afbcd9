"""`make docs`: every page, function and command is in the site, and nothing is loaded from elsewhere."""

import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dna_bigbird
from dna_bigbird import text
from dna_bigbird.cli.commands import every_command
from dna_bigbird.cli.help import help_of
from dna_bigbird.cli.parser import build_parser
from tests.core_packages import project
from tests.workflow.conftest import copy_of_the_workflow

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "site"


def run(script: str, *words: object) -> subprocess.CompletedProcess:
    command = [sys.executable, SITE / script, *words]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """The source folder of the site."""
    folder = tmp_path_factory.mktemp("site") / "source"
    result = run("stage.py", folder)
    assert result.returncode == 0, result.stderr
    return folder


def listed(page: str) -> list[str]:
    """Pages in the navigation of a page."""
    trees = re.findall(r"^```\{toctree\}\n(?::[^\n]*\n)*\n(.*?)^```", page, flags=re.M | re.S)
    entries = [entry for tree in trees for entry in tree.splitlines()]
    return [re.sub(r".*<(.*)>", r"\1", entry) for entry in entries]


def test_every_page_is_in_the_navigation_once(staged):
    indexes = ("index.md", "reference/api.md", "reference/commands.md")
    names = [
        str(Path(index).parent / name)
        for index in indexes
        for name in listed((staged / index).read_text())
    ]
    files = {*staged.rglob("*.md"), *staged.rglob("*.ipynb")} - {staged / "index.md"}
    assert sorted(names) == sorted(str(path.relative_to(staged).with_suffix("")) for path in files)
    sources = len([*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")])
    assert len(files) > sources


def test_links_of_all_pages_lead_to_files_of_the_site(staged):
    broken, count = [], 0
    for path in staged.rglob("*.md"):
        body = re.sub(r"^(`{3,})(?!\{).*?^\1$", "", path.read_text(), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#\s]+)[^)\s]*\)", body):
            if not re.match(r"[a-z]+:", target):
                count += 1
                broken += [] if (path.parent / target).is_file() else [f"{path.name}: {target}"]
    assert broken == []
    assert count > 400


@pytest.mark.parametrize("name", list(every_command()))
def test_every_option_of_a_command_is_in_its_section(staged, name):
    pages = [path.read_text() for path in (staged / "reference/commands").glob("*.md")]
    (section,) = re.findall(
        rf"^## {name}$(.*?)(?=^## |\Z)", "\n".join(pages), flags=re.MULTILINE | re.DOTALL
    )
    parser, _ = build_parser(name, [])
    shown = help_of(parser)
    options = re.findall(r"^  (?:-\w\b.*?, )?(--[\w.]+)", shown, flags=re.M)
    entries = re.findall(r"^````\{option\} (.*)$", section, flags=re.MULTILINE)
    names = {word for entry in entries for word in re.findall(r"(?<!\S)--[\w.]+", entry)}
    assert len(options) > 3
    assert set(options) <= names
    on_one_line = re.findall(r"^  (--[\w.]+(?:\[\S+| \S+)?)$", shown, flags=re.MULTILINE)
    assert set(on_one_line) <= set(entries)


def test_every_public_function_is_there_with_its_arguments(staged):
    body = "\n".join(path.read_text() for path in (staged / "reference/api").glob("*.md"))
    for module, prefix in ((dna_bigbird, "dna_bigbird"), (text, "dna_bigbird.text")):
        functions = {name: getattr(module, name) for name in module.__all__}
        functions = {name: each for name, each in functions.items() if inspect.isroutine(each)}
        assert len(functions) >= 10
        for name, function in functions.items():
            start = f"`````{{py:function}} {prefix}.{name}("
            assert body.count(start) == 1, name
            section = body.split(start)[1].split("\n`````\n")[0]
            own = inspect.signature(function).parameters.values()
            for argument in own:
                if argument.kind is not argument.VAR_KEYWORD:
                    assert f":param {argument.name}: `" in section, (name, argument.name)
    assert "object at 0x" not in body


def test_every_file_of_the_demo_is_on_the_page(staged, tmp_path):
    """Compared with what Snakemake plans."""
    page = (staged / "reference/run-files.md").read_text()
    lists = "\n".join(re.findall(r"^- (.+): .+ \(.+\)$", page, flags=re.MULTILINE))
    rows = re.findall(r"`(results/.+?)/?`", lists)
    assert len(rows) > 60
    patterns = [re.sub(r"\\{\w+\\}", "[^ ]*", re.escape(row)) for row in rows]
    output = copy_of_the_workflow(tmp_path).snakemake("-n")
    files = set(
        re.findall(
            r"results/[^\s,]+",
            " ".join(re.findall("^    output: (.+)$", output, flags=re.MULTILINE)),
        )
    )
    assert len(files) > 30
    assert [file for file in files if not any(re.fullmatch(x, file) for x in patterns)] == []
    assert "the same model with its test scores" in page


PAGE = '<html><head>{}</head><body><h1 id="top">A</h1>{}</body></html>'


@pytest.mark.parametrize(
    ("head", "body", "message"),
    [
        ('<script src="https://cdn.example/a.js"></script>', "", "loads https://cdn.example/a.js"),
        ('<link rel="stylesheet" href="//cdn.example/a.css">', "", "loads //cdn.example/a.css"),
        ("", '<img src="http://example/a.png">', "loads http://example/a.png"),
        ("", '<p style="background: url(https://example/b.png)">', "loads https://example/b.png"),
        ("", '<a href="other.html">x</a>', "no file other.html"),
        ("", '<a href="#middle">x</a>', "no anchor #middle"),
    ],
)
def test_what_a_page_may_not_have(tmp_path, head, body, message):
    (tmp_path / "a.html").write_text(PAGE.format(head, body))
    result = run("check_html.py", tmp_path)
    assert result.returncode == 1
    assert result.stderr == f"a.html: {message}\n"


def test_styles_and_scripts_may_not_load_from_elsewhere(tmp_path):
    (tmp_path / "a.css").write_text("@font-face { src: url('https://fonts.example/a.woff2') }")
    (tmp_path / "a.js").write_text('fetch("https://example/b.json")')
    lines = run("check_html.py", tmp_path).stderr.splitlines()
    assert lines == [
        "a.css: loads https://fonts.example/a.woff2",
        "a.js: loads https://example/b.json",
    ]


def test_a_link_to_another_host_and_an_anchor_are_allowed(tmp_path):
    body = '<a href="https://arxiv.org/abs/2007.14062">p</a> <a href="#top">t</a>'
    (tmp_path / "a.html").write_text(PAGE.format("", body))
    result = run("check_html.py", tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "1 pages, 1 links within the site, 0 mistakes\n"


def test_links_to_files_that_are_no_pages_become_text(monkeypatch):
    monkeypatch.syspath_prepend(SITE)
    links = importlib.import_module("links")
    pages = {"docs/a.md": "a.md", "docs/README.md": "index.md", "README.md": "overview.md"}
    body = (
        "[x](a.md#b) [y](../README.md) [z](README.md) [`s.py`](../s.py) [s](../s.py) [h](https://h)\n"
        "```text\n[x](../s.py)\n```\n[a.md](a.md)"
    )
    assert links.relinked(body, "docs/b.md", "sub/b.md", pages) == (
        "[x](../a.md#b) [y](../overview.md) [z](../index.md) `s.py` s (`s.py`) [h](https://h)\n"
        "```text\n[x](../s.py)\n```\n[](../a.md)"
    )


@pytest.fixture
def diagram(monkeypatch):
    monkeypatch.syspath_prepend(SITE)
    return importlib.import_module("diagram")


def test_the_graph_of_the_workflow_is_a_picture(staged, diagram):
    networkx = pytest.importorskip("networkx")
    (block,) = diagram.BLOCK.findall((ROOT / "docs/how-to/workflow.md").read_text())
    edges = diagram.edges_of(block)
    assert ("finetune", "evaluate") in edges
    generations = list(networkx.topological_generations(networkx.DiGraph(edges)))
    rows = diagram.rows_of(edges)
    assert rows == {name: row for row, names in enumerate(generations) for name in names}
    page = (staged / "how-to/workflow.md").read_text()
    boxes = re.findall(r'<text x="(-?\d+)" y="([\d.]+)">(\w+)</text>', page)
    assert {name for _, _, name in boxes} == set(rows)
    for x, y, name in boxes:
        others = [int(a) for a, b, other in boxes if b == y and other != name]
        assert all(abs(other - int(x)) > diagram.WIDTH for other in others)
    assert page.count('class="edge"') == len(edges)
    assert "mermaid" not in page


def test_a_graph_with_a_cycle_is_refused(diagram):
    with pytest.raises(ValueError, match="the graph has a cycle"):
        diagram.rows_of([("a", "b"), ("b", "c"), ("c", "a")])


def test_the_environment_of_the_site_is_the_extra_and_the_core_without_torch():
    lines = run("requirements.py").stdout.splitlines()
    expected = [*project()["dependencies"], *project()["optional-dependencies"]["docs"]]
    assert set(expected) - set(lines) == {"torch>=2.10"}
    assert set(lines) <= set(expected)


def test_staging_imports_no_torch(tmp_path):
    program = f"import sys; sys.path.insert(0, {str(SITE)!r}); import stage, pathlib; "
    program += (
        f"stage.stage(pathlib.Path({str(tmp_path / 'a')!r})); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("execute", [False, True])
def test_make_docs_runs_the_steps(execute):
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    command = ["make", "--dry-run", "docs", *(["EXECUTE=1"] if execute else [])]
    environment = {key: value for key, value in os.environ.items() if key != "MAKEFLAGS"}
    lines = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout
    steps = ["stage.py", "sphinx --quiet --fail-on-warning", "check_html.py"]
    assert [step in lines for step in steps] == [True] * 3
    assert ("EXECUTE=1 PYTHONPATH=" in lines) is execute
    assert (
        "docs/run_page.py --fresh $(grep -rl --include='*.md' '^```output' docs)" in lines
    ) is execute


@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="needs the extra docs")
@pytest.mark.slow
def test_the_site_is_built_without_a_warning(staged, tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-c", SITE, staged, tmp_path / "html"]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert run("check_html.py", tmp_path / "html").returncode == 0
