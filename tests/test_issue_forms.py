"""Forms for issues and the settings of Snakemake's catalogue have the keys that their readers expect."""

import re
from pathlib import Path

import pytest
import yaml

from dna_bigbird.core.errors import TRACEBACK

ROOT = Path(__file__).parents[1]
TEMPLATES = ROOT / ".github" / "ISSUE_TEMPLATE"
FORMS = sorted(path for path in TEMPLATES.glob("*.yml") if path.name != "config.yml")
ATTRIBUTES = {
    "markdown": {"value"},
    "input": {"label", "description", "placeholder", "value"},
    "textarea": {"label", "description", "placeholder", "value", "render"},
    "dropdown": {"label", "description", "multiple", "options", "default"},
    "checkboxes": {"label", "description", "options"},
}


def test_the_forms():
    names = {"bug", "wrong-result", "feature", "data-spec"}
    assert {path.stem for path in FORMS} == names


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_the_keys_of_an_issue_form(path):
    form = yaml.safe_load(path.read_text())
    assert form.keys() == {"name", "description", "labels", "body"}
    assert set(form["labels"]) <= {"bug", "enhancement"}  # a new repository has these labels
    questions = [item for item in form["body"] if item["type"] != "markdown"]
    ids = [item["id"] for item in questions]
    assert len(set(ids)) == len(ids) > 0
    assert all(re.fullmatch(r"[\w-]+", name) for name in ids)
    for item in form["body"]:
        assert item.keys() <= {"type", "id", "attributes", "validations"}
        assert item["attributes"].keys() <= ATTRIBUTES[item["type"]]
        assert item.get("validations", {"required": True}) == {"required": True}
    assert all(item["attributes"]["label"] for item in questions)
    options = [o for item in questions for o in item["attributes"].get("options", [])]
    assert all(isinstance(option, str) for option in options)  # yes without quotes is a boolean


def test_a_bug_report_asks_for_the_traceback_and_for_doctor():
    form = (TEMPLATES / "bug.yml").read_text()
    assert f"{TRACEBACK}=1 dna-bigbird" in form
    assert "`dna-bigbird doctor`" in form


def test_the_form_for_a_data_set_asks_for_the_keys_of_a_description():
    form = yaml.safe_load((TEMPLATES / "data-spec.yml").read_text())
    ids = {item["id"] for item in form["body"] if "id" in item}
    keys = {"title", "url", "licence", "citation"}
    assert keys <= ids
    page = (ROOT / "data_specs" / "README.md").read_text()
    assert all(f"`{key}`" in page for key in keys)


def test_the_catalogue_of_snakemake_workflows():
    text = (ROOT / ".snakemake-workflow-catalog.yml").read_text()
    settings = yaml.safe_load(text)
    assert settings.keys() == {"usage"}
    usage = settings["usage"]
    assert usage.keys() == {"mandatory-flags", "software-stack-deployment", "report"}
    assert usage["mandatory-flags"].keys() == {"desc", "flags"}
    deployment = usage["software-stack-deployment"]
    assert deployment.keys() == {"conda", "apptainer", "apptainer+conda"}
    rules = "".join(path.read_text() for path in (ROOT / "workflow").rglob("*.smk"))
    assert deployment["conda"] is ("conda:\n" in rules)
    assert deployment["apptainer"] is ("container:\n" in rules)
    assert usage["report"] is ("report(" in rules)


def test_the_catalogue_finds_the_workflow():
    """Its conditions for standardized usage."""
    for name in ("workflow/Snakefile", "config/README.md", "workflow/rules/common.smk"):
        assert (ROOT / name).is_file()
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme
    assert "workflow" in readme


def test_the_security_policy():
    """At the top, where GitHub looks for it; what it asks for exists."""
    text = (ROOT / "SECURITY.md").read_text()
    assert f"{TRACEBACK}=1" in text
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []
    assert "SECURITY.md" in (ROOT / "CONTRIBUTING.md").read_text()
