"""The comparison of attention as the target `attention`: one job per training, with commands that are understood."""

import shlex

import yaml

from dna_bigbird.cli.parser import build_parser
from dna_bigbird.cli.reading import read_arguments
from dna_bigbird.evaluation.long_attention.names import AttentionComparison, job_names
from dna_bigbird.evaluation.long_attention.plan import work_of
from tests.workflow.test_bench_dag import commands

SECTION = {
    "comparisons": ["cost", "dna", "text"],
    "cores": ["full", "etc"],
    "seeds": 2,
    "training_steps": 10,
}


def options_of(command):
    """Return the options of a command by name, and check that the program understands it."""
    name, *words = shlex.split(command)
    parser, _ = build_parser(name, words)
    read_arguments(parser, words)
    return {
        name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2], strict=True)
    }


def test_a_job_per_training_and_then_the_tables(workflow):
    (workflow.folder / "mine.yaml").write_text(
        yaml.safe_dump({"name": "mine", "attention": SECTION})
    )
    output = workflow.snakemake("-n", "attention", "--configfile", "mine.yaml")
    jobs = workflow.jobs_of(output)
    assert jobs == {
        "attention": 1, "attention_cost": 1, "attention_job": 1 + 2 * 2 * 2, "attention_tables": 1, "total": 12,
    }  # fmt: skip
    listed = [options_of(command) for command in commands(workflow, output, "compare-attention")]
    assert {options["output"] for options in listed} == {"results/mine/attention"}
    assert {options["cores"] for options in listed} == {'["full", "etc"]'}
    only = sorted(options["only"] for options in listed if "only" in options)
    assert only == sorted(job_names(SECTION["comparisons"], SECTION["cores"], 2))


def test_rules_and_command_name_the_same_jobs():
    parts, cores = SECTION["comparisons"], SECTION["cores"]
    compared = AttentionComparison(parts, cores, 2, [512], 3, 512, 10, 1.0, 2)
    assert list(work_of(compared)) == job_names(parts, cores, 2)
