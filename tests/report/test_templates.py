"""Templates escape data, know every name they use, and are part of the package."""

import ast
import fnmatch
import tomllib
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from dna_bigbird.evaluation.rendering import FOLDER, environment, render, sentence
from dna_bigbird.metrics.scores import Score
from dna_bigbird.metrics.verdicts import Verdict
from dna_bigbird.report.page import build_report

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.html"))
HOSTILE = "<script>alert('&')</script>"


def test_markup_in_names_and_files_is_escaped(tmp_path, write_example, read_page):
    results = write_example(tmp_path)
    replaced = 0
    for path in tmp_path.rglob("*"):
        if path.suffix in {".tsv", ".yaml", ".json"} and "H3K4me3 like" in path.read_text():
            path.write_text(path.read_text().replace("H3K4me3 like", HOSTILE))
            replaced += 1
    assert replaced > 2
    arguments = (tmp_path / "config.yaml", tmp_path / "promoters.bed", tmp_path / "peaks.tsv")
    page, _ = build_report(results, *arguments)
    assert page.count("<script") == 1
    assert HOSTILE in read_page(page).words
    assert "&amp;amp;" not in page, "escaped once"


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_compiles_and_marks_nothing_as_safe(name):
    environment().get_template(name)
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert "| safe" not in text
    assert "autoescape false" not in text


def test_a_missing_value_is_an_error():
    with pytest.raises(UndefinedError, match="'blocks' is undefined"):
        render("comparison.html", title="t", is_semi_synthetic=False, has_published=False)


def test_sentences_are_plain_text_for_markdown():
    verdict = Verdict(Score(0.9), Score(0.8), Score(0.1, 0.05, 0.15))
    text = sentence("sentences.verdict", verdict, "F1 & more", "the model's <own> baseline")
    assert text.startswith(
        "The model is better: F1 & more 0.900 for the model, 0.800 for the model's <own> baseline;"
    )


def test_python_of_the_report_holds_no_markup():
    tags = ("<p", "<div", "<table", "<td", "<tr", "<li", "<a ", "<span", "<section", "</")
    for path in FOLDER.parent.rglob("*.py"):
        texts = [
            node.value
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        assert not [text for text in texts if any(tag in text for tag in tags)], path


def test_package_data_has_every_template():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    patterns = settings["package-data"]["dna_bigbird"]
    for path in FOLDER.rglob("*"):
        name = path.relative_to(ROOT / "dna_bigbird").as_posix()
        same_depth = [x for x in patterns if x.count("/") == name.count("/")]
        assert path.is_dir() or any(fnmatch.fnmatch(name, x) for x in same_depth), name
