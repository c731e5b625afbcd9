"""Snakemake killed in every rule, alone or with its process group, and run again.

The jobs must end by themselves, the lock must go only after proof, and the results must be those of
a run that nobody disturbed.
"""

import os
import signal
import subprocess
import sys
import time

import pytest

from dna_bigbird.core import watchdog
from dna_bigbird.workflow.clear_lock import jobs_left_by

pytestmark = pytest.mark.slow

TINY = {
    "name": "tiny",
    "model": {
        "hidden_size": 32,
        "num_layers": 2,
        "num_heads": 2,
        "ffn_size": 64,
        "max_tokens": 512,
        "block_size": 32,
        "num_random": 1,
        # The newer settings; tests/cli/test_restart.py has the paper's too.
        "norm_first": True,
        "positions": "rotary",
        "stem_width": 3,
    },
    "pretraining": {
        "max_steps": 60,
        "batch_size": 8,
        "optimizer": "muon",
        "schedule": "stable_decay",
        "learning_rate": 0.001,
        "warmup_steps": 6,
        "validate_every": 20,
        "validation_examples": 32,
    },
    "evaluation": {"examples": 32, "baseline_scored_documents": 40},
    "predictions": {
        "regions": ["demo22:880,001-884,000"],
        "stride": {"promoter": 200, "chromatin": 200},
        "variants": ["chromatin"],
        "mutagenesis": {"model": "chromatin", "region": "demo22:880,001-880,020"},
        "browser": {
            "model": "chromatin",
            "regions": ["demo22:880,001-880,600"],
            "labels": ["CEBPB"],
        },
    },
}
FINETUNING = {
    "max_steps": 20,
    "batch_size": 8,
    "learning_rate": 0.0005,
    "warmup_steps": 2,
    "validate_every": 10,
    "validation_examples": 64,
}
WITH_MUON = FINETUNING | {"optimizer": "muon", "muon_learning_rate": 0.0005}
RULES = {
    "demo_data": "inputs/demo/demo.fa",
    "genome": "genome/genome.fa",
    "documents_train": "corpus/train.bed.gz",
    "train_tokenizer": "tokenizer/dna_bpe.model",
    "tokenize_train": "corpus/train.h5",
    "set_promoter": "promoter/set.h5",
    "set_chromatin": "chromatin/set.h5",
    "leakage_promoter": "promoter/leakage.tsv",
    "baseline_kmer_promoter": "baselines/promoter/kmer.h5",
    "pretrain": "trained/pretrained",
    "evaluate_lm": "models/pretrained",
    "finetune_promoter": "trained/promoter",
    "finetune_chromatin": "trained/chromatin",
    "evaluate_promoter": "models/promoter",
    "evaluate_chromatin": "models/chromatin",
    "predict_promoter": "predictions/promoter.tsv",
    "score_variants_chromatin": "predictions/variants/chromatin.tsv",
    "rank_variants_chromatin": "predictions/variants/ranking_chromatin",
    "mutagenesis": "predictions/mutagenesis.tsv",
    "browser_attributions": "predictions/browser/attributed",
    "browser": "browser.html",
    "report": "report.html",
}
"""Where to kill, named as the logs, with the output that is asked for again: a rule that runs beside
an earlier one may be done already. In the order in which they can be reached."""
TRAININGS = {"pretrain": "pretrained", "finetune_promoter": "promoter"}
"""Killed in the middle, after their first checkpoint; finetune_chromatin is killed as it starts."""
COMMAND = ["--cores", "2", "all", "--configfile", "changed.yaml"]
PATIENCE_S = 600


def tiny(workflow):
    workflow.config(
        **TINY,
        promoter__training=WITH_MUON,
        chromatin__training=FINETUNING,
        promoter__kmer={"max_k": 4},
    )
    return workflow


def started(workflow, extra=()) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "snakemake", *COMMAND, *extra],
        cwd=workflow.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)


def records(workflow) -> list[watchdog.Process]:
    folder = workflow.folder / watchdog.RUNS
    return [watchdog.Process.from_json(path.read_text()) for path in folder.glob("*.json")]


def clear_lock(workflow) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "dna_bigbird", "clear-lock"]
    return subprocess.run(command, cwd=workflow.folder, capture_output=True, text=True)


def results_of(workflow) -> dict[str, bytes]:
    """Every metrics.json, and the data files that must be equal byte by byte."""
    folder = workflow.folder / "results" / "tiny"
    names = ["corpus/*.bed.gz", "corpus/*.h5", "tokenizer/*", "*/set.h5", "baselines/*/kmer.h5"]
    names += ["models/*/metrics.json", "evaluation/*/*.tsv", "predictions/*.tsv"]
    names += ["predictions/variants/*.tsv", "predictions/variants/*.vcf.gz*"]
    names += ["predictions/variants/*/*", "predictions/browser/*/*", "browser.html"]
    found = sorted(path for name in names for path in folder.glob(name))
    assert sum(path.name == "metrics.json" for path in found) == 5
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def undisturbed(new_workflow) -> dict[str, bytes]:
    workflow = tiny(new_workflow("undisturbed"))
    workflow.snakemake(*COMMAND)
    assert "Nothing to be done" in workflow.snakemake(*COMMAND)
    assert records(workflow) == [], "a run that ends leaves no record"
    return results_of(workflow)


def kill_in(workflow, rule: str, with_group: bool) -> None:
    """Kill Snakemake while a rule runs; then nothing may be left that could write."""
    log = workflow.folder / "logs" / "tiny" / f"{rule}.log"
    log.unlink(missing_ok=True)
    main = started(workflow, ("--forcerun", f"results/tiny/{RULES[rule]}"))
    wait_for(lambda: log.exists() or main.poll() is not None, f"rule {rule}")
    assert main.poll() is None, f"Snakemake ended before it reached {rule}"
    if rule in TRAININGS:
        states = workflow.folder / "results/tiny/checkpoints" / TRAININGS[rule]
        wait_for(lambda: any(states.glob("step_*")) or main.poll() is not None, "a checkpoint")
    if with_group:
        os.killpg(main.pid, signal.SIGKILL)
    else:
        main.kill()
    main.wait()
    (record,) = records(workflow)
    wait_for(lambda: jobs_left_by([record]) == [], "the jobs to end")


@pytest.mark.parametrize("with_group", [False, True], ids=["alone", "with its group"])
def test_killed_in_every_rule(new_workflow, undisturbed, with_group):
    workflow = tiny(new_workflow("killed"))
    for rule in RULES:
        kill_in(workflow, rule, with_group)
        refused = workflow.snakemake(*COMMAND, check=False)
        assert "LockException" in refused, f"killed in {rule}: no lock was left"
        done = clear_lock(workflow)
        assert done.returncode == 0, done.stderr
        assert "stale lock removed" in done.stdout
        assert records(workflow) == []
    workflow.snakemake(*COMMAND)
    found = results_of(workflow)
    different = [name for name in undisturbed if found.get(name) != undisturbed[name]]
    assert different == []
    assert set(found) == set(undisturbed)


def test_a_living_run_keeps_its_lock(new_workflow):
    workflow = tiny(new_workflow("living"))
    main = started(workflow)
    log = workflow.folder / "logs" / "tiny" / "pretrain.log"
    wait_for(lambda: log.exists() or main.poll() is not None, "pretraining")
    refused = clear_lock(workflow)
    assert refused.returncode == 2
    assert f"(process {main.pid}); wait for it" in refused.stderr
    assert main.poll() is None
    main.kill()
    main.wait()
    assert clear_lock(workflow).returncode == 0, "waits for the jobs and clears"
