"""The manifest of behaviour: what it reads from configs and lines, and that a change shows in it."""

from pathlib import Path

import pytest

from dna_bigbird.core.errors import InputError
from tools import manifest, planned, refusals
from tools.texts import ROOT, cleaned

HEADERS = {
    "config/config.yaml": (("all", "text"), ("config/config.yaml",)),
    "config/grch37-8gpu.yaml": (("all",), ("config/grch37.yaml", "config/grch37-8gpu.yaml")),
    "config/text-table1-made.yaml": (("text_table1",), ("config/text-table1-made.yaml",)),
    "tests/real/fast.yaml": (("table5", "figure8"), ("tests/real/fast.yaml",)),
    "tests/real/bench.yaml": (("bench",), ("tests/real/bench.yaml",)),
    "tests/real/symmetric.yaml": (("table1",), ("tests/real/table1.yaml", "tests/real/symmetric.yaml")),
    "config/text/hotpotqa.yaml": (("all",), ()),
    "config/long-range.yaml": (("all",), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_a_config_is_planned_as_its_first_lines_say(name):
    assert tuple(planned.call_of(name)) == HEADERS[name]


def test_every_config_that_is_merged_exists(monkeypatch):
    monkeypatch.chdir(ROOT)
    calls = [planned.call_of(name) for name in planned.config_files()]
    assert len([call for call in calls if call.files]) > 20
    assert [name for call in calls for name in call.files if not Path(name).is_file()] == []


def raise_(error: BaseException):
    raise error


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("c.yaml:3: model.dropout: found 2"), "2 model.dropout | c.yaml:3: model.dropout: found 2"),
        (InputError("--stride 3 is not even"), "2 --stride | --stride 3 is not even"),
        (InputError("a.fa:3: no sequence"), "2 a.fa | a.fa:3: no sequence"),
        (KeyError("x"), "1  | KeyError('x')"),
        (SystemExit(0), "0  | "),
    ],
)  # fmt: skip
def test_what_is_reported_names_the_setting_or_the_file(error, line):
    assert refusals.reported(lambda: raise_(error)) == line


def test_a_wrong_value_and_a_value_within_its_range_differ():
    found = dict(refusals._options("text pretrain"))
    assert found["--training.max_steps=-1"].startswith("2 --training.max_steps | ")
    assert found["--training.max_steps=2"] != found["--training.max_steps=-1"]
    assert found["--cpc.weight=0"] == "0"


def test_texts_have_no_folder_and_no_time():
    text = f"{ROOT}/a {ROOT}-other [Thu Nov 26 18:04:58 2026] <x at 0x7f>"
    assert cleaned(text) == f"CHECKOUT/a {ROOT}-other [TIME] <x>"


def test_files_of_the_demo_leave_out_times_and_pages(tmp_path):
    for name in ("a.tsv", "report.html", "checkpoints/speed.tsv", "benchmarks/b.tsv", "m/.lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [*manifest.demo_files(tmp_path)] == ["a.tsv"]
