# Published benchmark suites (config section `bench`): one job per task, then a table and a page per suite.

BENCH = f"{RES}/bench"


rule bench_task:
    input:
        files=lambda wildcards: RUN.suites[wildcards.suite].files,
        model=lambda wildcards: RUN.suites[wildcards.suite].model,
    output:
        f"{BENCH}/{{suite}}/{{task}}/task.json",
    log:
        f"{LOGS}/bench/{{suite}}/{{task}}.log",
    benchmark:
        f"{RES}/benchmarks/bench_{{suite}}_{{task}}.tsv"
    wildcard_constraints:
        suite="|".join(RUN.suites),
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
        options=lambda wildcards, input: RUN.suites[wildcards.suite].options(
            str(input.model)
        ),
    shell:
        "keep_log {log}; {params.run} bench {wildcards.suite} --tasks {wildcards.task:q} --output {params.folder}"
        " --page false --threads {threads} {params.options} >> {log} 2>&1"


rule bench_page:
    input:
        lambda wildcards: expand(
            "{folder}/{suite}/{task}/task.json",
            folder=BENCH,
            suite=wildcards.suite,
            task=RUN.suites[wildcards.suite].tasks,
        ),
    output:
        directory(f"{BENCH}/{{suite}}/page"),
    log:
        f"{LOGS}/bench/{{suite}}.page.log",
    wildcard_constraints:
        suite="|".join(RUN.suites),
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
        expand("{folder}/{suite}/page", folder=BENCH, suite=RUN.suites),
