# Labelled set -> leakage report, baselines, fine-tuned model, scores on the held-out test rows.

from dna_bigbird.workflow.heads import COUNTED, NETWORKS


# A table that is not empty ends with an error; being a log, it outlives that.
rule leakage:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        data=f"{RES}/{{head}}/set.h5",
    output:
        f"{RES}/{{head}}/leakage.tsv",
    log:
        text=f"{LOGS}/leakage_{{head}}.log",
        leaks=f"{LOGS}/leakage_{{head}}.tsv",
    benchmark:
        f"{RES}/benchmarks/leakage_{{head}}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
    shell:
        "{params.run} leakage --genome {input.genome} --data {input.data} --output {log.leaks}"
        " > {log.text} 2>&1 && (cp {log.leaks} {output}.part && mv {output}.part {output}"
        " || (rm -f {output}.part; exit 1))"


rule baseline:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        data=f"{RES}/{{head}}/set.h5",
        replicates=lambda wildcards: INPUTS.of_baseline(wildcards.baseline),
    output:
        f"{RES}/baselines/{{head}}/{{baseline}}.h5",
    log:
        f"{LOGS}/baseline_{{baseline}}_{{head}}.log",
    benchmark:
        f"{RES}/benchmarks/baseline_{{baseline}}_{{head}}.tsv"
    wildcard_constraints:
        baseline="|".join(COUNTED),
    conda:
        "../../environment.yml"
    resources:
        mem_mb=32000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: INPUTS.content(INPUTS.of_baseline(wildcards.baseline)),
        seed=lambda wildcards: RUN.heads[wildcards.head].seed,
        options=lambda wildcards: RUN.heads[wildcards.head].word_options(
            wildcards.baseline
        ),
        checkpoints=lambda wildcards: (
            f"{RES}/checkpoints/baselines/{wildcards.head}/{wildcards.baseline}"
        ),
    shell:
        "{params.run} baseline --method {wildcards.baseline} --genome {input.genome} --data {input.data}"
        " --output {output} --checkpoints {params.checkpoints} --seed {params.seed} {params.options}"
        " > {log} 2>&1"


rule baseline_network:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        data=f"{RES}/{{head}}/set.h5",
    output:
        f"{RES}/baselines/{{head}}/{{baseline}}{{seed}}.h5",
    log:
        f"{LOGS}/baseline_{{baseline}}_{{head}}{{seed}}.log",
    benchmark:
        f"{RES}/benchmarks/baseline_{{baseline}}_{{head}}{{seed}}.tsv"
    wildcard_constraints:
        baseline="|".join(NETWORKS),
        seed="|/seed[0-9]+",
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=16000,
        runtime=1440,
    params:
        run=lambda wildcards, resources, threads: launched(
            RUN.heads[wildcards.head].section.get("baseline_training", {}),
            resources,
            threads,
        ),
        version=VERSION,
        seed=lambda wildcards: RUN.network_seed(wildcards.head, wildcards.seed),
        checkpoints=lambda wildcards: (
            f"{RES}/checkpoints/baselines/{wildcards.head}/{wildcards.baseline}{wildcards.seed}"
        ),
        options=lambda wildcards: RUN.heads[wildcards.head].network_options(
            wildcards.baseline
        ),
    shell:
        "keep_log {log}; {params.run} baseline --method {wildcards.baseline} --genome {input.genome}"
        " --data {input.data} --output {output} --checkpoints {params.checkpoints}"
        " --seed {params.seed} --threads {threads} {params.options} >> {log} 2>&1"


rule finetune:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        data=lambda wildcards: RUN.members[wildcards.member].head.data,
        pretrained=lambda wildcards: RUN.members[wildcards.member].head.pretrained,
    output:
        directory(f"{RES}/trained/{{member}}"),
    log:
        f"{LOGS}/finetune_{{member}}.log",
    benchmark:
        f"{RES}/benchmarks/finetune_{{member}}.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=16000,
        runtime=1440,
    params:
        run=lambda wildcards, resources, threads: launched(
            RUN.members[wildcards.member].training, resources, threads
        ),
        version=VERSION,
        seed=lambda wildcards: RUN.members[wildcards.member].seed,
        checkpoints=f"{RES}/checkpoints/{{member}}",
        start=lambda wildcards, input: RUN.members[
            wildcards.member
        ].head.start_options(input.pretrained),
        dropout=lambda wildcards: RUN.members[wildcards.member].head.options(
            "dropout", "freeze", "search"
        ),
        lora=lambda wildcards: RUN.members[wildcards.member].head.group_options("lora"),
        head=lambda wildcards: RUN.members[wildcards.member].head.group_options("head"),
        words=lambda wildcards: RUN.members[wildcards.member].head.group_options(
            "words"
        ),
        training=lambda wildcards: RUN.members[wildcards.member].head.group_options(
            "training"
        ),
    shell:
        "keep_log {log}; {params.run} finetune --genome {input.genome} --data {input.data}"
        " {params.start} --output {output} --checkpoints {params.checkpoints}"
        " --seed {params.seed} --threads {threads} {params.dropout} {params.lora}"
        " {params.head} {params.words} {params.training}"
        " >> {log} 2>&1"


rule ensemble:
    input:
        lambda wildcards: [
            f"{RES}/trained/{member.name}"
            for member in RUN.heads[wildcards.head].members
        ],
    output:
        directory(f"{RES}/trained/{{head}}"),
    log:
        f"{LOGS}/ensemble_{{head}}.log",
    wildcard_constraints:
        head=one_of(RUN.ensembles),
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=8000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        models=lambda wildcards, input: option("models", list(input)),
    shell:
        "{params.run} ensemble {params.models} --output {output} > {log} 2>&1"


rule evaluate:
    input:
        unpack(
            lambda wildcards: {
                f"baseline_{name}": path
                for name, path in RUN.heads[wildcards.head].baselines.items()
            }
        ),
        genome=GENOME,
        index=f"{GENOME}.fai",
        model=f"{RES}/trained/{{head}}",
        data=lambda wildcards: RUN.heads[wildcards.head].data,
        leakage=lambda wildcards: RUN.heads[wildcards.head].leakage,
    output:
        model=directory(f"{RES}/models/{{head}}"),
        report=directory(f"{RES}/evaluation/{{head}}"),
    log:
        f"{LOGS}/evaluate_{{head}}.log",
    benchmark:
        f"{RES}/benchmarks/evaluate_{{head}}.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=32000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
        seed=lambda wildcards: RUN.heads[wildcards.head].scored_seed,
        baselines=lambda wildcards: option(
            "baselines", RUN.heads[wildcards.head].baselines
        ),
        strand=lambda wildcards: RUN.heads[wildcards.head].options("strand"),
    shell:
        "{params.run} evaluate --genome {input.genome} --model {input.model} --data {input.data}"
        " {params.baselines} --output {output.model} --report {output.report}"
        " --seed {params.seed} --threads {threads} {params.strand} > {log} 2>&1"


rule compare_seeds:
    input:
        unpack(lambda wildcards: RUN.seed_files(wildcards.head)),
    output:
        f"{RES}/evaluation/{{head}}/seeds.json",
    log:
        f"{LOGS}/compare_seeds_{{head}}.log",
    wildcard_constraints:
        head=one_of(RUN.repeated_heads),
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        run=command,
        version=VERSION,
        seed=lambda wildcards: RUN.heads[wildcards.head].seed,
        scores=lambda wildcards, input: option(
            "scores", [f"{report}/scores.h5" for report in input.reports]
        ),
        baselines=lambda wildcards: option(
            "baselines", RUN.seed_baselines(wildcards.head)
        ),
    shell:
        "{params.run} compare-seeds --data {input.data} {params.scores} {params.baselines}"
        " --output {output} --seed {params.seed} > {log} 2>&1"
