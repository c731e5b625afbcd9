"""`dna-bigbird compare-attention`: its files, going on after a stop, and what it refuses."""

import json
import os
import subprocess
import sys

import pytest

from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.evaluation.long_attention.plan import read_result, result_path, run_jobs

LINE = "compare-attention --comparisons cost --lengths 256 --rounds 3 --cores full bigbird performer --output"


TINY = (
    "compare-attention --comparisons dna partner pretrained text --cores full bigbird --seeds 1 "
    "--longest_tokens 512 --training_steps 2 --seconds 0 --test_sequences 2 --output"
)


def test_every_comparison_ends_in_tables_and_a_picture(tmp_path, capsys):
    folder = tmp_path / "out"
    main([*TINY.split(), str(folder), "--only", "partner-full-seed0"])
    assert not (folder / "page.md").exists()
    first = result_path(folder, "partner-full-seed0")
    before = first.stat().st_mtime_ns
    main([*TINY.split(), str(folder)])
    assert first.stat().st_mtime_ns == before
    assert "1 of 9 jobs are complete" in capsys.readouterr().err
    header, *rows = (folder / "learning.tsv").read_text().splitlines()
    assert header.split("\t")[:3] == ["part", "core", "budget"]
    kinds = {tuple(row.split("\t")[:3]) for row in rows}
    for part in ("dna", "partner", "pretrained", "text"):
        for core in ("full", "bigbird"):
            assert {(part, core, "equal_steps"), (part, core, "equal_seconds")} <= kinds
    assert ("dna", "word frequencies", "baseline") in kinds
    assert {("text", "nearest value", "baseline"), ("partner", "k-mer counts", "baseline")} <= kinds
    page = (folder / "page.md").read_text()
    assert "| core | budget | seeds | processor s | 0.25 kb | 0.51 kb | 1 kb | 2 kb |" in page
    assert "256 tokens" in page
    assert (
        json.loads((folder / "results.json").read_text())["text-full-seed0"]["equal_steps"]["n"]
        == 8
    )
    assert len((folder / "curves.tsv").read_text().splitlines()) == 1 + 8 * 2
    assert (folder / "comparison.png").read_bytes().startswith(b"\x89PNG")


def test_cost_writes_table_page_and_picture(tmp_path, capsys):
    main([*LINE.split(), str(tmp_path / "out")])
    assert "page.md" in capsys.readouterr().out
    folder = tmp_path / "out"
    header, *rows = (folder / "cost.tsv").read_text().splitlines()
    assert header.startswith("core\ttokens\tforward_s\t")
    assert [row.split("\t")[:2] for row in rows] == [
        [x, "256"] for x in ("full", "bigbird", "performer", "identity")
    ]
    assert "| 256 | performer | 256 | 1.000 |" in (folder / "page.md").read_text()
    assert (folder / "comparison.png").read_bytes().startswith(b"\x89PNG")
    before = result_path(folder, "cost").stat().st_mtime_ns
    main([*LINE.split(), str(folder)])
    assert result_path(folder, "cost").stat().st_mtime_ns == before
    assert "1 of 1 jobs are complete" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_run_does_not_repeat_a_complete_training(tmp_path):
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "dna_bigbird", *TINY.split(), str(folder)]
    first = result_path(folder, "dna-full-seed0")
    process = subprocess.Popen(command)
    while not first.exists():
        assert process.poll() is None
        os.sched_yield()
    process.kill()
    process.wait()
    assert not (folder / "page.md").exists()
    before = first.stat().st_mtime_ns
    subprocess.run(command, check=True)
    assert first.stat().st_mtime_ns == before
    assert (folder / "page.md").exists()


def count(settings):
    """A job: it writes down that it ran, and fails if it is told to."""
    with open(settings["log"], "a") as log:
        log.write(settings["name"])
    if settings["name"] in settings.get("failing", ""):
        raise InputError("as the test asks")
    return {"score": 1}


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_stopped_run_goes_on_with_what_is_left(tmp_path, processes):
    log = tmp_path / "log"
    work = {x: (count, {"name": x, "log": str(log)}) for x in "abc"}
    failing = {x: (count, settings | {"failing": "b"}) for x, (_, settings) in work.items()}
    failing["a"] = work["a"]
    with pytest.raises(InputError, match=r"as the test asks|job b ended with status"):
        run_jobs(failing, tmp_path, processes)
    assert read_result(tmp_path, "b", failing["b"][1]) is None
    done_before = log.read_text()
    run_jobs(work, tmp_path, processes)
    assert log.read_text().count("a") == 1
    assert {"b", "c"} <= set(log.read_text()[len(done_before) :])
    assert read_result(tmp_path, "c", work["c"][1])["score"] == 1


def test_other_settings_are_another_result(tmp_path):
    log = str(tmp_path / "log")
    run_jobs({"a": (count, {"name": "a", "log": log})}, tmp_path, 1)
    assert read_result(tmp_path, "a", {"name": "a", "log": log, "rounds": 5}) is None


@pytest.mark.parametrize("content", ["[]", "{", json.dumps({"rows": []})])
def test_a_damaged_result_is_computed_again(tmp_path, capsys, content):
    path = result_path(tmp_path, "a")
    work = {"a": (count, {"name": "a", "log": str(tmp_path / "log")})}
    run_jobs(work, tmp_path, 1)
    path.write_text(content)
    run_jobs(work, tmp_path, 1)
    assert read_result(tmp_path, "a", work["a"][1])["score"] == 1
    assert f"note: {path}: damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--lengths 64", "--lengths 64"),
        ("--rounds 2", "--rounds 2"),
        ("--cores full full", "--cores full: is there twice; name it once"),
        ("--cores []", "--cores []: expected at least one"),
        ("--cores linformer", "--cores: found 'linformer', expected"),
        ("--only partner", "--only partner: no such job; expected some of cost"),
        ("--seeds 0", "--seeds 0"),
        ("--longest_tokens 100", "--longest_tokens 100"),
    ],
)
def test_wrong_options_leave_nothing(options, message, tmp_path, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["compare-attention", "--output", str(tmp_path / "out"), *options.split()])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
