# The comparison of attention cores (config section `attention`): one job per training, then table, page and picture.

from dna_bigbird.evaluation.long_attention.names import CORES, PARTS, job_names

ATTENTION = f"{RES}/attention"
ATTENTION_JOBS = job_names(
    config["attention"].get("comparisons", PARTS),
    config["attention"].get("cores", CORES),
    config["attention"].get("seeds", 3),
)


rule attention_cost:
    output:
        f"{ATTENTION}/jobs/cost/result.json",
    log:
        f"{LOGS}/attention/cost.log",
    benchmark:
        f"{RES}/benchmarks/attention_cost.tsv"
    conda:
        "../../environment.yml"
    # All of a small machine, so that no other job disturbs the measurement; it computes on one.
    threads: 8
    resources:
        mem_mb=8000,
        runtime=120,
    params:
        run=command,
        version=VERSION,
        folder=ATTENTION,
        options=options(config["attention"]),
    shell:
        "{params.run} compare-attention --output {params.folder} {params.options} --only cost > {log} 2>&1"


rule attention_job:
    output:
        f"{ATTENTION}/jobs/{{job}}/result.json",
    log:
        f"{LOGS}/attention/{{job}}.log",
    benchmark:
        f"{RES}/benchmarks/attention_{{job}}.tsv"
    wildcard_constraints:
        job="baselines|[a-z]+-[a-z]+-seed[0-9]+",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        run=command,
        version=VERSION,
        folder=ATTENTION,
        options=options(config["attention"]),
    shell:
        "OMP_NUM_THREADS=1 {params.run} compare-attention --output {params.folder} {params.options}"
        " --only {wildcards.job} > {log} 2>&1"


rule attention_tables:
    input:
        expand("{folder}/jobs/{job}/result.json", folder=ATTENTION, job=ATTENTION_JOBS),
    output:
        page=f"{ATTENTION}/page.md",
        picture=report(
            f"{ATTENTION}/comparison.png",
            caption="../report/attention.rst",
            category="Attention",
        ),
        results=f"{ATTENTION}/results.json",
    log:
        f"{LOGS}/attention/tables.log",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        folder=ATTENTION,
        options=options(config["attention"]),
    shell:
        "{params.run} compare-attention --output {params.folder} {params.options} > {log} 2>&1"


rule attention:
    input:
        rules.attention_tables.output,
