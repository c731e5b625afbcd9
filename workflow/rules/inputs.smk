# What goes in: the demo's data or downloaded and local files, and the reference made of them.

import os


wildcard_constraints:
    fetched=one_of(RUN.fetched),
    split="train|validation|test",
    task="promoter|chromatin",
    head=one_of(RUN.heads),
    member=one_of(RUN.members),


rule demo_data:
    output:
        genome=f"{INPUTS.demo}/demo.fa",
        promoters=f"{INPUTS.demo}/promoters.bed",
        peaks=f"{INPUTS.demo}/peaks.tsv",
        variants=f"{INPUTS.demo}/variants.vcf",
        truth=f"{INPUTS.demo}/truth.tsv",
    log:
        f"{LOGS}/demo_data.log",
    benchmark:
        f"{RES}/benchmarks/demo_data.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        run=command,
        version=VERSION,
        folder=lambda wildcards, output: os.path.dirname(output.genome),
        options=options(INPUTS.section.get("demo", {})),
    shell:
        "{params.run} demo-data --output {params.folder} {params.options} > {log} 2>&1"


rule fetch:
    output:
        f"{RES}/inputs/{{fetched}}",
    log:
        f"{LOGS}/fetch/{{fetched}}.log",
    priority: INPUTS_FIRST
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=500,
        runtime=1440,
    params:
        run=command,
        version=VERSION,
        spec=lambda wildcards: RUN.fetched[wildcards.fetched],
    shell:
        "{params.run} fetch --spec {params.spec:q} --output {output:q} > {log} 2>&1"


rule genome:
    input:
        INPUTS.genome,
    output:
        fasta=GENOME,
        index=f"{GENOME}.fai",
    log:
        f"{LOGS}/genome.log",
    benchmark:
        f"{RES}/benchmarks/genome.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        run=command,
        version=VERSION,
        inputs=option("inputs", INPUTS.genome),
        options=RUN.assembly_options,
    shell:
        "{params.run} genome {params.inputs} --output {output.fasta} {params.options} > {log} 2>&1"
