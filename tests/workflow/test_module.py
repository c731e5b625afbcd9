"""Another workflow uses ours by a `module` statement, with a section of its own config."""

from types import SimpleNamespace

import pytest
import yaml

from dna_bigbird.workflow.run import in_order
from tests.workflow.conftest import ROOT, Workflow
from tests.workflow.test_dag import DEMO_JOBS

OTHER = """\
from dna_bigbird.core.resources import resource_folder

configfile: "config/ours.yaml"
shell.prefix("export OURS=1; set -euo pipefail; ")

module dna_bigbird:
    snakefile: str(resource_folder("workflow") / "Snakefile")
    config: config["dna-bigbird"]

use rule * from dna_bigbird as dna_bigbird_*

rule ours:
    default_target: True
    input:
        rules.dna_bigbird_all.input,
        rules.dna_bigbird_genome.output,
    output: "ours.txt"
    shell: "wc -c {input} > {output}"

rule failing:
    output: "failing.txt"
    shell: "keep_log x.log; false | tee {output}"

rule prefixed:
    output: "prefixed.txt"
    shell: "echo $OURS > {output}"
"""
PREFIX = '\n    config: config["dna-bigbird"]\n'
AGAIN = """
use rule predict from dna_bigbird as dna_bigbird_predict with:
    resources: mem_mb=1234

module second:
    snakefile: str(resource_folder("workflow") / "Snakefile")
    config: config["second"]

use rule * from second as second_*
"""


@pytest.fixture
def other(tmp_path) -> Workflow:
    """A folder with another workflow; nothing of ours is in it."""
    demo = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    config = {"samples": ["a"], "dna-bigbird": demo, "second": demo | {"name": "second"}}
    (tmp_path / "config").mkdir()
    (tmp_path / "config/ours.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    (tmp_path / "Snakefile").write_text(OTHER)
    return Workflow(tmp_path)


def renamed(prefix: str) -> dict[str, int]:
    return {f"{prefix}_{name}": count for name, count in DEMO_JOBS.items()}


def test_the_jobs_of_the_demo_get_the_names_of_the_module(other):
    jobs = other.jobs_of(other.snakemake("-n"))
    assert jobs.pop("total") == sum(jobs.values())
    assert jobs == renamed("dna_bigbird") | {"ours": 1}


def test_a_rule_is_changed_and_a_second_module_has_results_of_its_own(other):
    (other.folder / "Snakefile").write_text(OTHER + AGAIN)
    output = other.snakemake("-n", "ours", "second_all")
    jobs = other.jobs_of(output)
    assert jobs.pop("total") == sum(jobs.values())
    expected = renamed("dna_bigbird") | renamed("second") | {"second_all": 1, "ours": 1}
    assert jobs == expected
    predicted = output.split("rule dna_bigbird_predict:")[1].split("rule ")[0]
    assert "mem_mb=1234" in predicted
    assert "results/second/report.html" in output
    assert "logs/second/pretrain.log" in output


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ([], r"config/ours.yaml:{line}: dna-bigbird.seed: found 'x'; expected a whole number"),
        (
            ["--config", "dna-bigbird={seed: y}"],
            r"--config: dna-bigbird.seed: found 'y'; expected a whole number",
        ),
    ],
)
def test_a_mistake_is_named_with_file_line_and_section(other, call, message):
    path = other.folder / "config/ours.yaml"
    path.write_text(path.read_text().replace("seed: 0", "seed: x", 1))
    line = 1 + path.read_text().split("\n").index("  seed: x")
    done = other.run("-n", *call)
    assert done.returncode == 2
    assert f"dna-bigbird: error: {message.format(line=line)}" in done.stdout


def test_a_prefix_is_refused(other):
    for statement in ('prefix: "deep"', 'replace_prefix: {"results/": "deep/"}'):
        text = OTHER.replace(PREFIX, f"{PREFIX}    {statement}\n")
        (other.folder / "Snakefile").write_text(text)
        done = other.run("-n")
        assert done.returncode == 2
        assert "prefix and replace_prefix do not work with these rules" in done.stdout


def test_jobs_run_and_other_rules_keep_their_strict_mode_and_prefix(other):
    other.snakemake("--cores", "2", "dna_bigbird_genome", "prefixed.txt")
    assert (other.folder / "results/genome/genome.fa").stat().st_size > 1_000_000
    assert (other.folder / "prefixed.txt").read_text() == "1\n"
    other.snakemake("--cores", "1", "failing.txt", check=False)


def test_results_of_the_module_outlive_a_job_that_fails_and_others_do_not(other):
    genome, failing = (other.folder / x for x in ("results/genome/genome.fa", "failing.txt"))
    other.snakemake("--cores", "1", "dna_bigbird_genome")
    before = genome.read_bytes()
    (other.folder / "results/inputs/demo/demo.fa").write_text(">demo22\nA!C\n")
    failing.write_text("of an earlier run\n")
    forced = ("--keep-going", "--forcerun", "dna_bigbird_genome", "failing.txt")
    targets = ("results/genome/genome.fa", "failing.txt")
    said = other.snakemake("--cores", "1", *forced, "--", *targets, check=False)
    assert "Error in rule dna_bigbird_genome" in said
    assert genome.read_bytes() == before
    assert not failing.exists()


def test_files_of_the_command_line_come_last():
    """Snakemake lists them first, and lets them win."""
    workflow = SimpleNamespace(configfiles=["/cli", "/own"], overwrite_configfiles=["/cli"])
    assert [str(path) for path in in_order(workflow)] == ["/own", "/cli"]
