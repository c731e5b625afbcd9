# The paper's comparisons (config section `experiments`). Of language models each variant is the
# pretraining of the run with some settings changed, on the same token stores. Of heads each goes
# through the rules of the run's own (finetuning.smk). No part of `all`.

from dna_bigbird.workflow.config.run_checks import HEAD_TABLES, LANGUAGE_TABLES


wildcard_constraints:
    variant="[A-Za-z0-9_]+",
    seed="|/seed[0-9]+",


rule pretrain_variant:
    input:
        train=f"{RES}/corpus/train.h5",
        validation=f"{RES}/corpus/validation.h5",
        tokenizer=TOKENIZER,
        genome=lambda wildcards: RUN.variant_trainings[
            wildcards.variant + wildcards.seed
        ].genome_files,
        sites=lambda wildcards: RUN.variant_trainings[
            wildcards.variant + wildcards.seed
        ].sites,
        teachers=lambda wildcards: RUN.variant_trainings[
            wildcards.variant + wildcards.seed
        ].teachers,
    output:
        directory(f"{RES}/experiments/runs/{{variant}}{{seed}}/trained"),
    log:
        f"{LOGS}/experiments/pretrain_{{variant}}{{seed}}.log",
    benchmark:
        f"{RES}/benchmarks/pretrain_{{variant}}{{seed}}.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=16000,
        runtime=1440,
    params:
        run=lambda wildcards, resources, threads: launched(
            RUN.variant_trainings[wildcards.variant + wildcards.seed].training,
            resources,
            threads,
        ),
        version=VERSION,
        seed=lambda wildcards: RUN.variant_trainings[
            wildcards.variant + wildcards.seed
        ].seed,
        checkpoints=f"{RES}/checkpoints/experiments/{{variant}}{{seed}}",
        model=lambda wildcards: RUN.variant_trainings[
            wildcards.variant + wildcards.seed
        ].options("model", "model"),
        masking=lambda wildcards: RUN.variant_trainings[
            wildcards.variant + wildcards.seed
        ].options("masking", "masking"),
        objective=lambda wildcards: RUN.variant_trainings[
            wildcards.variant + wildcards.seed
        ].objective_options,
        training=lambda wildcards: RUN.variant_trainings[
            wildcards.variant + wildcards.seed
        ].options("pretraining", "training"),
    shell:
        "keep_log {log}; {params.run} pretrain --train {input.train}"
        " --validation {input.validation} --tokenizer {input.tokenizer} --output {output}"
        " --checkpoints {params.checkpoints} --seed {params.seed} --threads {threads}"
        " {params.model} {params.masking} {params.objective} {params.training} >> {log} 2>&1"


rule evaluate_lm_variant:
    input:
        model=f"{RES}/experiments/runs/{{variant}}{{seed}}/trained",
        train=f"{RES}/corpus/train.h5",
        test=f"{RES}/corpus/test.h5",
        genome=GENOME,
        index=f"{GENOME}.fai",
        repeats=INPUTS.named("repeats"),
    output:
        model=directory(f"{RES}/experiments/runs/{{variant}}{{seed}}/model"),
        report=f"{RES}/experiments/runs/{{variant}}{{seed}}/lm.json",
        examples=f"{RES}/experiments/runs/{{variant}}{{seed}}/examples.tsv",
    log:
        f"{LOGS}/experiments/evaluate_lm_{{variant}}{{seed}}.log",
    benchmark:
        f"{RES}/benchmarks/evaluate_lm_{{variant}}{{seed}}.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=24000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
        seed=config["seed"],
        repeats=RUN.repeat_options,
        options=lambda wildcards: RUN.variant_trainings[
            wildcards.variant + wildcards.seed
        ].options("evaluation"),
    shell:
        "{params.run} evaluate-lm --model {input.model} --train {input.train} --test {input.test}"
        " --output {output.model} --report {output.report} --example_scores {output.examples}"
        " --seed {params.seed}"
        " --threads {threads} --genome {input.genome} {params.repeats} {params.options} > {log} 2>&1"


rule compare_lm:
    input:
        lambda wildcards: expand(
            "{res}/experiments/runs/{training}/{part}",
            res=RES,
            training=RUN.compared_variants(wildcards.table),
            part=["trained", "model", "lm.json", "examples.tsv"],
        ),
    output:
        directory(f"{RES}/experiments/{{table}}"),
    log:
        f"{LOGS}/experiments/{{table}}.log",
    wildcard_constraints:
        table="|".join(LANGUAGE_TABLES),
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        runs=lambda wildcards: option(
            "runs",
            [
                f"{RES}/experiments/runs/{x}"
                for x in RUN.compared_variants(wildcards.table)
            ],
        ),
    shell:
        "{params.run} compare-lm --table {wildcards.table} {params.runs} --output {output}"
        " > {log} 2>&1"


rule compare_heads:
    input:
        models=lambda wildcards: RUN.compared_files(wildcards.table),
        data=lambda wildcards: [
            head.data for head in RUN.compared_heads(wildcards.table)
        ],
    output:
        directory(f"{RES}/experiments/{{table}}"),
    log:
        f"{LOGS}/experiments/{{table}}.log",
    wildcard_constraints:
        table="|".join(HEAD_TABLES),
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        run=command,
        version=VERSION,
        runs=lambda wildcards: RUN.comparison_options(wildcards.table),
    shell:
        "{params.run} compare-heads --table {wildcards.table} {params.runs} --output {output}"
        " > {log} 2>&1"


rule table5:
    input:
        lambda wildcards: RUN.table("table5"),


rule figure8:
    input:
        lambda wildcards: RUN.table("figure8"),


rule table1:
    input:
        lambda wildcards: RUN.table("table1"),


rule table6:
    input:
        lambda wildcards: RUN.table("table6"),


rule table7:
    input:
        lambda wildcards: RUN.table("table7"),


rule context:
    input:
        lambda wildcards: RUN.table("context"),


rule experiments:
    input:
        lambda wildcards: RUN.tables,
