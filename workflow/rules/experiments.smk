# The paper's comparisons (config section `experiments`). Of language models each variant is the
# pretraining of the run with some settings changed, on the same token stores. Of heads each goes
# through the rules of the run's own (finetuning.smk). No part of `all`.


wildcard_constraints:
    variant="[A-Za-z0-9_]+",
    seed="|/seed[0-9]+",


OBJECTIVES = {
    variant: variant_section(variant, "objective")
    for variant in EXPERIMENTS.get("variants", {})
}
for variant_objective in OBJECTIVES.values():
    objective_sites(variant_objective)  # notes what must be fetched


rule pretrain_variant:
    input:
        train=f"{RES}/corpus/train.h5",
        validation=f"{RES}/corpus/validation.h5",
        tokenizer=TOKENIZER,
        genome=lambda wildcards: objective_genome(OBJECTIVES[wildcards.variant]),
        sites=lambda wildcards: objective_sites(OBJECTIVES[wildcards.variant]),
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
        run=training_command,
        version=VERSION,
        seed=training_seed,
        checkpoints=f"{RES}/checkpoints/experiments/{{variant}}{{seed}}",
        model=variant_options("model", "model"),
        masking=variant_options("masking", "masking"),
        objective=lambda wildcards: objective_options(OBJECTIVES[wildcards.variant]),
        training=variant_options("pretraining", "training"),
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
        repeats=REPEATS,
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
        repeats=repeat_options(),
        options=variant_options("evaluation"),
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
            training=compared_trainings(wildcards),
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
            [f"{RES}/experiments/runs/{x}" for x in compared_trainings(wildcards)],
        ),
    shell:
        "{params.run} compare-lm --table {wildcards.table} {params.runs} --output {output}"
        " > {log} 2>&1"


rule compare_heads:
    input:
        models=compared_files,
        data=lambda wildcards: [
            f"{RES}/{set_of(head_named(name))}/set.h5"
            for name in EXPERIMENTS[wildcards.table]
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
        runs=compared_runs,
    shell:
        "{params.run} compare-heads --table {wildcards.table} {params.runs} --output {output}"
        " > {log} 2>&1"


rule table5:
    input:
        table("table5"),


rule figure8:
    input:
        table("figure8"),


rule table1:
    input:
        table("table1"),


rule table6:
    input:
        table("table6"),


rule table7:
    input:
        table("table7"),


rule context:
    input:
        table("context"),


rule experiments:
    input:
        every_table,
