"""A setting that is refused, a kill and a full disk leave every earlier result in place, byte for byte."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from dna_bigbird.core.watchdog import descendants
from tests.workflow.test_kill import (
    COMMAND,
    FINETUNING,
    RULES,
    TINY,
    clear_lock,
    started,
    wait_for,
)

TRAINED = "results/tiny/trained/promoter"
NOT_RESULTS = {"checkpoints", "benchmarks", "ballast"}
"""In the folder of results, with what a job may add to."""
ROOM = 96 * 2**20
SMALL = TINY | {
    "evaluation": {
        "examples": 8,
        "baseline_scored_documents": 4,
        "baseline_counted_documents": 50,
        "unmasked_baselines": False,
    },
    "text": None,
    "chromatin": None,
    "predictions": {"regions": ["demo22:880,001-881,000"], "stride": {"promoter": 500}},
}
WITHOUT = {"chromatin", "variants", "mutagenesis", "browser"}
KEPT = {rule: path for rule, path in RULES.items() if WITHOUT.isdisjoint(re.split("[_/.]", path))}
"""The rules of a run with a promoter model only."""


def results_in(folder: Path) -> dict[str, bytes]:
    """Every file of the results that a job may not touch unless it succeeds, hidden ones included."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    names = {path: path.relative_to(folder).parts for path in paths}
    return {str(x): x.read_bytes() for x in paths if NOT_RESULTS.isdisjoint(names[x])}


def test_a_command_that_refuses_leaves_the_earlier_file(workflow):
    """And the next run makes it again: a job that fails is not taken for one that succeeded."""
    genome, results = "results/genome/genome.fa", workflow.folder / "results/genome"
    workflow.snakemake("--cores", "1", genome)
    before = results_in(results)
    source = workflow.folder / "results/inputs/demo/demo.fa"
    good, times = source.read_text(), source.stat()
    source.write_text(">demo22\nA!C\n")
    assert "Error in rule genome" in workflow.snakemake("--cores", "1", genome, check=False)
    assert results_in(results) == before
    source.write_text(good)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert workflow.jobs_of(workflow.snakemake("-n", genome))["genome"] == 1
    workflow.snakemake("--cores", "1", genome)
    assert results_in(results) == before
    assert "Nothing to be done" in workflow.snakemake("-n", genome)


def test_a_refused_setting_ends_before_the_first_job(workflow):
    results = workflow.folder / TRAINED
    results.mkdir(parents=True)
    (results / "model.safetensors").write_text("days of work")
    tuned = FINETUNING | {"max_steps": 25}
    config = workflow.config(**TINY, promoter__training=tuned)
    done = workflow.run("--cores", "1", TRAINED, "--configfile", config)
    assert done.returncode == 2
    (line,) = [x for x in done.stdout.splitlines() if "error" in x]
    assert "promoter.training.max_steps" in line
    assert (results / "model.safetensors").read_text() == "days of work"


@pytest.fixture(scope="module")
def finished(new_workflow):
    """A finished run whose results are on a small disk."""
    workflow = new_workflow("kept")
    workflow.config(**SMALL, promoter__training=FINETUNING)
    folder = workflow.folder / "results"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        workflow.snakemake(*COMMAND)
        yield workflow
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.slow
def test_a_full_disk_leaves_every_result(finished):
    workflow, folder = finished, finished.folder / "results"
    before = results_in(folder)
    # From the end: a job that failed is repeated before those that read its result.
    for rule, output in reversed(KEPT.items()):
        with open(folder / "ballast", "wb") as ballast, pytest.raises(OSError, match="No space"):
            while True:
                os.write(ballast.fileno(), bytes(2**12))
        target = f"results/tiny/{output}"
        forced = ("--cores", "1", "--configfile=changed.yaml", "--forcerun", target, "--", target)
        output_of_run = workflow.snakemake(*forced, check=False)
        after = results_in(folder)
        assert before.items() <= after.items(), rule
        # Hidden: parts of a store from which the same command continues.
        assert all("/." in name for name in set(after) - set(before)), rule
        assert "dna_bigbird" in output_of_run
        (folder / "ballast").unlink()
    workflow.snakemake(*COMMAND)
    assert "Nothing to be done" in workflow.snakemake(*COMMAND)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["finetune_promoter", "evaluate_promoter", "report"])
@pytest.mark.parametrize("victim", ["job", "Snakemake"])
def test_a_kill_leaves_every_result(finished, rule, victim):
    workflow, before = finished, results_in(finished.folder / "results")
    log = workflow.folder / "logs" / "tiny" / f"{rule}.log"
    log.unlink(missing_ok=True)
    main = started(workflow, ("--forcerun", f"results/tiny/{RULES[rule]}"))
    wait_for(lambda: log.exists() or main.poll() is not None, rule)
    wait_for(lambda: jobs_of(main.pid) or main.poll() is not None, "the job")
    assert main.poll() is None
    for process in jobs_of(main.pid) if victim == "job" else [main.pid]:
        os.kill(process, signal.SIGKILL)
    assert main.wait() != 0
    if victim == "Snakemake":
        wait_for(lambda: clear_lock(workflow).returncode == 0, "the jobs to end")
    assert results_in(workflow.folder / "results") == before
    workflow.snakemake(*COMMAND)
    assert "Nothing to be done" in workflow.snakemake(*COMMAND)


def jobs_of(pid: int) -> list[int]:
    """The commands that a Snakemake runs."""
    found = []
    for child in descendants(pid):
        try:
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"dna_bigbird" in words:
            found.append(child)
    return found


@pytest.mark.slow
def test_a_changed_setting_does_not_give_up_an_unfinished_training(finished):
    workflow, before = finished, results_in(finished.folder / "results")
    config = workflow.folder / "changed.yaml"
    first = config.read_text()
    saving = {"checkpoint_every_steps": 2, "learning_rate": 0.001}
    workflow.config(**SMALL, promoter__training=FINETUNING | saving | {"max_steps": 2000})
    main = started(workflow)
    states = workflow.folder / "results/tiny/checkpoints/promoter"
    wait_for(
        lambda: any(states.glob("superseded-*/step_*")) and any(states.glob("step_*")), "a state"
    )
    main.kill()
    main.wait()
    wait_for(lambda: clear_lock(workflow).returncode == 0, "the jobs to end")
    trained = {name: text for name, text in before.items() if "/trained/promoter" in name}
    for changed in ({"max_steps": 1000}, {"devices": 2}):
        workflow.config(
            **SMALL, promoter__training=FINETUNING | saving | {"max_steps": 2000} | changed
        )
        said = workflow.snakemake(
            "--cores", "1", "--configfile=changed.yaml", "--", TRAINED, check=False
        )
        assert "checkpoints/promoter: settings changed" in said
        assert any(states.glob("step_*"))
        assert trained.items() <= results_in(workflow.folder / "results").items()
    states.rename(states.with_name("put_away"))
    config.write_text(first)
    workflow.snakemake(*COMMAND)
