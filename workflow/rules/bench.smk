# Published benchmark suites (config section `bench`): one job per task, then a table and a page per suite.

from dna_bigbird.pipeline.bench.suite_run import chosen
from dna_bigbird.suites.registry import find_suite

BENCH = f"{RES}/bench"


def suite_tasks(name):
    """The names of the tasks of a suite that the config asks for."""
    entry = config["bench"][name]
    try:
        suite = find_suite(name)
        if suite.needs_data and "data" not in entry:
            raise InputError(
                f"bench.{name}.data: missing; expected the folder of its files"
            )
        tasks = suite.tasks(Path(plain_path(entry.get("data", "."))))
        return [task.name for task in chosen(tasks, entry.get("tasks", []))]
    except InputError as error:
        end_with(error)


SUITE_TASKS = {name: suite_tasks(name) for name in config["bench"]}


def suite_genomes(wildcards):
    """The FASTA files of a suite by assembly; that of the run if it names none."""
    own = {config["assembly"]: GENOME} if HAS_GENOME else {}
    genomes = config["bench"][wildcards.suite].get("genome", own)
    return {assembly: plain_path(path) for assembly, path in genomes.items()}


def suite_files(wildcards):
    """Data, FASTA files and chain file of a suite."""
    entry = config["bench"][wildcards.suite]
    own = [plain_path(entry[key]) for key in ("data", "chain") if key in entry]
    return [*own, *suite_genomes(wildcards).values()]


def suite_model(wildcards):
    """The model of a suite; that of the run if it names none, else the bundled encoder."""
    own = config["bench"][wildcards.suite].get("model")
    if own:
        return plain_path(own)
    return ENCODER if HAS_GENOME else []


def suite_options(wildcards, input):
    """What the config says about a suite, as options."""
    entry = config["bench"][wildcards.suite]
    keys = [
        *("data", "chain", "method", "seeds", "seed", "replicates"),
        *(["pieces"] if suite_genomes(wildcards) else []),
    ]
    of_run = HAS_GENOME and "genome" not in entry
    pieces = {"pieces": config["pieces"]} if of_run else {}
    plain = {
        key: plain_path(value) if key in ("data", "chain") else value
        for key, value in {**pieces, **entry}.items()
    }
    genomes = suite_genomes(wildcards)
    return " ".join(
        [
            options(plain, keys=keys),
            option("model", str(input.model)) if input.model else "",
            option("genome", genomes) if genomes else "",
            options(entry.get("head", {}), "head"),
            options(entry.get("training", {}), "training"),
        ]
    )


rule bench_task:
    input:
        files=suite_files,
        model=suite_model,
    output:
        f"{BENCH}/{{suite}}/{{task}}/task.json",
    log:
        f"{LOGS}/bench/{{suite}}/{{task}}.log",
    benchmark:
        f"{RES}/benchmarks/bench_{{suite}}_{{task}}.tsv"
    wildcard_constraints:
        suite="|".join(SUITE_TASKS),
        task="[^/]+",
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=16000,
        runtime=1440,
    params:
        run=command,
        version=VERSION,
        folder=f"{BENCH}/{{suite}}",
        options=suite_options,
    shell:
        "keep_log {log}; {params.run} bench {wildcards.suite} --tasks {wildcards.task:q} --output {params.folder}"
        " --page false --threads {threads} {params.options} >> {log} 2>&1"


rule bench_page:
    input:
        lambda wildcards: expand(
            "{folder}/{suite}/{task}/task.json",
            folder=BENCH,
            suite=wildcards.suite,
            task=SUITE_TASKS[wildcards.suite],
        ),
    output:
        directory(f"{BENCH}/{{suite}}/page"),
    log:
        f"{LOGS}/bench/{{suite}}.page.log",
    wildcard_constraints:
        suite="|".join(SUITE_TASKS),
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
    shell:
        "{params.run} bench page --results {input} --output {output} > {log} 2>&1"


rule bench:
    input:
        expand("{folder}/{suite}/page", folder=BENCH, suite=SUITE_TASKS),
