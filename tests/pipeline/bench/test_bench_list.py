"""`bench list`, and that the command table says the same as the suites."""

import json

import pytest

from dna_bigbird.bench.bench_list import SHOWN, bench_list
from dna_bigbird.bench.suites.suite import MODULES, all_suites
from dna_bigbird.cli.commands import SUITES
from dna_bigbird.cli.main import main


def test_the_command_table_has_the_suites_of_the_registry():
    assert {suite.name: suite.about for suite in all_suites()} == SUITES
    assert list(SUITES) == list(MODULES)


def test_text_has_a_block_per_suite_with_all_it_says(capsys):
    main(["bench", "list"])
    blocks = capsys.readouterr().out.rstrip("\n").split("\n\n")
    assert [block.split("  (")[0] for block in blocks] == list(MODULES)
    for block, suite in zip(blocks, all_suites(), strict=True):
        for key in SHOWN:
            value = getattr(suite, key)
            line = f"  {key:<8} {value}"
            assert (line in block.splitlines()) == bool(value), (suite.name, key)


def test_json_has_the_same(capsys):
    main(["bench", "list", "--format", "json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(MODULES)
    for row, suite in zip(rows, all_suites(), strict=True):
        assert row == {key: getattr(suite, key) for key in ("name", "title", *SHOWN)}


def test_the_table_has_a_row_per_suite():
    pytest.importorskip("pandas")
    assert list(bench_list().to_dataframe()["name"]) == list(MODULES)
