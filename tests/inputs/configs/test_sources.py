"""Paths of a config: what is one, how rules name it, and what is said if there is no file."""

import re

import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.workflow.config.config_files import check_source, is_path, plain_path
from dna_bigbird.workflow.config.run_config import read_config

DESCRIBED = "grch37_genome"


def test_a_path_has_a_slash_a_tilde_or_a_file(folder):
    for source in ("a/b", "./x", "../x", "/x", "~/x", "g.fa", "peaks.tsv"):
        assert is_path(source), source
    for source in ("x.fa", DESCRIBED):
        assert not is_path(source), source


def test_a_name_that_is_both_is_the_description(folder):
    """So a file that happens to lie there does not change what an older config means."""
    (folder / DESCRIBED).write_text("")
    assert not is_path(DESCRIBED)
    assert is_path(f"./{DESCRIBED}")


def test_rules_get_paths_without_leading_dot(monkeypatch):
    monkeypatch.setenv("HOME", "/home/reader")
    paths = {
        "./a//b": "a/b",
        "~/a": "/home/reader/a",
        "../a": "../a",
        ".//a": "a",
        "a/./b": "a/./b",
    }
    assert {path: plain_path(path) for path in paths} == paths


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x/g.fa", r"x/g\.fa: no such file \(looked for in {folder}, where the command runs\)$"),
        ("/x/g.fa", r"/x/g\.fa: no such file$"),
        (
            "grch37_genom",
            r"no file 'grch37_genom' in {folder}, and 'grch37_genom' is not a description in "
            r"data_specs/ \(there are: .*\); did you mean 'grch37_genome'\?$",
        ),
    ],
)
def test_a_source_without_a_file(folder, source, message):
    with pytest.raises(InputError, match="^" + message.format(folder=re.escape(str(folder)))):
        check_source(source)
    text = (folder / "c.yaml").read_text().replace("g.fa", source)
    (folder / "c.yaml").write_text(text)
    with pytest.raises(
        InputError, match=r"^c\.yaml:4: inputs\.genome\[0\]: .*" + re.escape(source)
    ):
        read_config(["c.yaml"])


@pytest.mark.parametrize(
    ("sheet", "message"),
    [
        ("label\tpath\nA\ta.bed\n", "peaks.tsv:1: the header lacks group, cell; expected"),
        ("label\tgroup\tcell\tpath\nA\tTF\t\tb.bed\n", "peaks.tsv:2: there is no file b.bed"),
        ("label\tgroup\tcell\tpath\n", "peaks.tsv: no row in it"),
    ],
)
def test_the_peak_sheet_is_read_before_any_job(folder, sheet, message):
    (folder / "peaks.tsv").write_text(sheet)
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        read_config(["c.yaml"])
