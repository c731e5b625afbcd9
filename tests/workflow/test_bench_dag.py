"""Benchmark suites as the target `bench`: what is planned of a config, with commands that are understood."""

import shlex
from pathlib import Path

import pytest
import yaml

from dna_bigbird.cli.parser import build_parser
from dna_bigbird.cli.reading import read_arguments
from tests.pipeline.bench.label_runs import TASKS, write_suite

GUE = {f"GUE/{name}/train.csv": "sequence,label\nACGT,0\n" for name in ("EMP/H3", "EMP/H4")}
TRAINING = {"max_steps": 10, "validate_every": 5, "learning_rate": 0.001}


def write_config(workflow, bench, **more):
    """Write the files of two suites and a config of them; return its name."""
    for name, text in GUE.items():
        path = workflow.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    write_suite(workflow.folder)
    (workflow.folder / "a.chain").write_text("chain\n")
    (workflow.folder / "own").mkdir(exist_ok=True)
    text = yaml.safe_dump({"name": "suites", "bench": bench, **more})
    (workflow.folder / "suites.yaml").write_text(text)
    return "suites.yaml"


def plan(workflow, bench, *, check=True, target=("bench",)):
    config = write_config(workflow, bench)
    return workflow.snakemake("-n", *target, "--configfile", config, check=check)


def options_of(command: str) -> dict[str, str]:
    """Return the options of a command by name, and check that the program understands it."""
    first, second, *words = shlex.split(command)
    parser, _ = build_parser(f"{first} {second}", words)
    read_arguments(parser, words)
    return {
        name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2], strict=True)
    }


def commands(workflow, output, start):
    return [
        x
        for x in workflow.commands_of(output.replace(" >> logs", " > logs"))
        if x.startswith(start)
    ]


def test_a_job_per_task_and_a_page_per_suite(workflow):
    output = plan(
        workflow, {"gue": {"data": "./GUE"}, "genomic-benchmarks": {"data": "data", "genome": {"hg38": "made.fa"}}}
    )  # fmt: skip
    jobs = workflow.jobs_of(output)
    assert jobs == {"bench": 1, "bench_task": 4, "bench_page": 2, "total": 7}
    for name in ("gue", "genomic-benchmarks"):
        assert f"results/suites/bench/{name}/page" in output
    pages = commands(workflow, output, "bench page")
    assert sorted(len(x.split("--results ")[1].split(" --output")[0].split()) for x in pages) == [
        2,
        2,
    ]


def test_a_config_of_suites_alone_needs_no_genome_and_plans_them_as_all(workflow):
    output = plan(workflow, {"gue": {"data": "GUE", "tasks": ["*H4"]}}, target=())
    jobs = workflow.jobs_of(output)
    assert (jobs["bench_task"], jobs["bench_page"]) == (1, 1)
    assert not {"genome", "pretrain", "documents"} & set(jobs)
    (command,) = commands(workflow, output, "bench gue")
    (task,) = [word for word in shlex.split(command) if word.endswith("H4")]
    assert options_of(command) == {
        "tasks": task,
        "output": "results/suites/bench/gue",
        "page": "false",
        "threads": options_of(command)["threads"],
        "data": "GUE",
    }


def test_the_command_has_exactly_the_options_of_the_config(workflow):
    entry = {
        "data": "./data", "genome": {"GRCh37": "./made.fa"}, "chain": "./a.chain", "pieces": True,
        "model": "./own", "method": "probe", "seeds": 3, "seed": 5, "replicates": 50,
        "head": {"pooling": "mean"}, "training": TRAINING,
    }  # fmt: skip
    output = plan(workflow, {"genomic-benchmarks": entry})
    found = commands(workflow, output, "bench genomic-benchmarks")
    assert [options_of(x)["tasks"] for x in found] == list(TASKS)[
        :: 1 if TASKS[0] in found[0] else -1
    ]
    options = options_of(found[0])
    assert {key: options.pop(key) for key in ("tasks", "threads")}
    assert options == {
        "output": "results/suites/bench/genomic-benchmarks", "page": "false",
        "data": "data", "chain": "a.chain", "pieces": "true", "model": "own",
        "genome": '{"GRCh37": "made.fa"}', "method": "probe", "seeds": "3", "seed": "5",
        "replicates": "50", "head.pooling": "mean",
        "training.max_steps": "10", "training.validate_every": "5", "training.learning_rate": "0.001",
    }  # fmt: skip


def test_a_suite_takes_genome_and_model_of_the_run(workflow):
    write_config(workflow, {})
    config = workflow.config(bench={"genomic-benchmarks": {"data": "data"}})
    output = workflow.snakemake("-n", "bench", "--configfile", config)
    jobs = workflow.jobs_of(output)
    assert (jobs["bench_task"], jobs["genome"], jobs["pretrain"]) == (2, 1, 1)
    options = options_of(commands(workflow, output, "bench genomic-benchmarks")[0])
    assert options["genome"].endswith('genome/genome.fa"}')
    assert options["model"].startswith("results/")
    assert "pieces" in options
    everything = workflow.jobs_of(workflow.snakemake("-n", "all", "--configfile", config))
    assert "bench_task" not in everything


def test_a_generated_suite_needs_no_data(workflow):
    output = plan(workflow, {"long-range": {"tasks": ["*"]}})
    found = commands(workflow, output, "bench long-range")
    assert len(found) == workflow.jobs_of(output)["bench_task"] > 1
    assert all("data" not in options_of(x) for x in found)


@pytest.mark.parametrize(
    ("bench", "message"),
    [
        ({"glue": {"data": "GUE"}}, "glue: no such suite; expected one of genomic-benchmarks, gue,"),
        ({"gue": {"data": "absent"}}, "absent: no task of GUE in it; expected"),
        ({"gue": {}}, "bench.gue.data: missing; expected the folder of its files"),
        ({"gue": {"data": "GUE", "tasks": ["H9"]}}, "tasks H9: no such task below"),
        ({"gue": {"data": "GUE", "sedes": 3}}, "bench.gue.sedes: no such option; did you mean 'seeds'"),
        ({"gue": {"data": "GUE", "seeds": 0}}, "bench.gue.seeds: "),
        ({"gue": {"data": "GUE", "method": "half"}}, "bench.gue.method: "),
        ({}, "bench: "),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(workflow, bench, message):
    output = plan(workflow, bench, check=False)
    (line,) = [x for x in output.splitlines() if x.startswith("dna-bigbird: error: ")]
    assert message in line
    assert "Traceback" not in output


def test_every_option_of_the_command_is_a_key_and_is_in_the_readme():
    """But for those that the workflow decides: where the output is, and how it is run."""
    import inspect

    from dna_bigbird.bench.bench import bench

    root = Path(__file__).parents[2]
    schema = yaml.safe_load((root / "workflow" / "schemas" / "config.schema.yaml").read_text())
    (entry,) = schema["properties"]["bench"]["patternProperties"].values()
    decided = {"suite", "output", "threads", "page", "dry_run", "progress"}
    assert set(entry["properties"]) == set(inspect.signature(bench).parameters) - decided
    section = (root / "config" / "README.md").read_text().split("## The section `bench`")[1]
    assert [key for key in entry["properties"] if f"`{key}`" not in section] == []


def test_the_config_on_real_pieces(workflow, real_data):
    """Five human tasks with the genome, chain and pieces of the run, and the bundled encoder."""
    text = (Path(__file__).parents[1] / "real" / "bench.yaml").read_text()
    (workflow.folder / "real.yaml").write_text(text.replace("../shared/data", str(real_data)))
    output = workflow.snakemake("-n", "bench", "--configfile", "real.yaml")
    found = commands(workflow, output, "bench genomic-benchmarks")
    options = [options_of(command) for command in found]
    assert len(options) == workflow.jobs_of(output)["bench_task"] == 5
    assert all(x["tasks"].startswith("human_") for x in options)
    assert {(x["pieces"], x["seeds"], x["training.max_steps"]) for x in options} == {
        ("true", "3", "60")
    }
    assert all(x["chain"].endswith("hg38ToHg19.over.chain.gz") for x in options)
    assert all(x["genome"].startswith('{"GRCh37": "results/') for x in options)
