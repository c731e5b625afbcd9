# Text tasks (config section `text`): made or real text -> vocabulary -> pretraining -> every task
# -> official scores -> report. Targets `text` and those below it; no part of `all` where there is a genome.
# Pretraining, training and scoring are also those of every pattern of `table1` (text_table1.smk), pretraining that of
# every row of `table10` (text_table10.smk).


import os

TEXT = RUN.text.folder


wildcard_constraints:
    pattern="|table1/[a-z][a-z0-9_]*/seed[0-9]+/|table10/[a-z0-9-]+/(large-)?",


rule made_text:
    output:
        directory(f"{TEXT}/made"),
    log:
        f"{LOGS}/text/made.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        options=options(RUN.text.settings("made")),
    shell:
        "{params.run} text made-data --output {output} {params.options} > {log} 2>&1"


rule text_documents:
    input:
        lambda wildcards: RUN.text.corpus_set(wildcards.part)["data"],
    output:
        f"{TEXT}/corpus/{{part}}.jsonl",
    log:
        f"{LOGS}/text/documents_{{part}}.log",
    wildcard_constraints:
        part="train|validation",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
        options=lambda wildcards: options(RUN.text.corpus_set(wildcards.part)),
    shell:
        "{params.run} text documents {params.options} --output {output} > {log} 2>&1"


rule text_vocabulary:
    input:
        lambda wildcards: RUN.text.corpus_source("train"),
    output:
        f"{TEXT}/vocabulary/spiece.model",
    log:
        f"{LOGS}/text/vocabulary.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
        corpus=lambda wildcards: RUN.text.corpus("train"),
        options=options(RUN.text.settings("vocabulary")),
    shell:
        "{params.run} text vocabulary --input {params.corpus} --output {output} {params.options}"
        " > {log} 2>&1"


rule text_pretrain:
    input:
        train=lambda wildcards: RUN.text.corpus_source("train"),
        validation=lambda wildcards: RUN.text.corpus_source("validation"),
        start=lambda wildcards: (
            RUN.text.pretrainings[wildcards.pattern].initial or RUN.text.vocabulary
        ),
    output:
        directory(f"{TEXT}/{{pattern}}pretrained"),
    log:
        f"{LOGS}/text/{{pattern}}pretrain.log",
    benchmark:
        f"{RES}/benchmarks/text_{{pattern}}pretrain.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=16000,
        runtime=1440,
    params:
        run=lambda wildcards, resources, threads: launched(
            RUN.text.pretrainings[wildcards.pattern].section.get("pretraining", {}),
            resources,
            threads,
        ),
        version=VERSION,
        seed=lambda wildcards: RUN.text.pretrainings[wildcards.pattern].seed,
        train=lambda wildcards: RUN.text.corpus("train"),
        validation=lambda wildcards: RUN.text.corpus("validation"),
        checkpoints=f"{RES}/checkpoints/text/{{pattern}}pretrained",
        start=lambda wildcards, input: option(
            (
                "initial"
                if RUN.text.pretrainings[wildcards.pattern].initial
                else "tokenizer"
            ),
            input.start,
        ),
        model=lambda wildcards: RUN.text.pretrainings[wildcards.pattern].options(
            "model"
        ),
        masking=lambda wildcards: RUN.text.pretrainings[wildcards.pattern].options(
            "masking"
        ),
        cpc=lambda wildcards: RUN.text.pretrainings[wildcards.pattern].options("cpc"),
        training=lambda wildcards: RUN.text.pretrainings[wildcards.pattern].options(
            "pretraining", "training"
        ),
    shell:
        "keep_log {log}; {params.run} text pretrain --train {params.train}"
        " --validation {params.validation} {params.start} --output {output}"
        " --checkpoints {params.checkpoints} --seed {params.seed} --threads {threads}"
        " {params.model} {params.masking} {params.cpc} {params.training} >> {log} 2>&1"


rule text_train:
    input:
        train=lambda wildcards: RUN.text.trainings[wildcards.task].source("train"),
        validation=lambda wildcards: RUN.text.trainings[wildcards.task].source(
            "validation"
        ),
        recipe=lambda wildcards: RUN.text.trainings[wildcards.task].recipes,
        pretrained=lambda wildcards: RUN.text.start(wildcards.pattern, wildcards.task),
    output:
        directory(f"{TEXT}/{{pattern}}trained/{{task}}"),
    log:
        f"{LOGS}/text/{{pattern}}train_{{task}}.log",
    benchmark:
        f"{RES}/benchmarks/text_{{pattern}}train_{{task}}.tsv"
    wildcard_constraints:
        task="|".join(RUN.text.trainings),
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=16000,
        runtime=1440,
    params:
        run=lambda wildcards, resources, threads: launched(
            RUN.text.trainings[wildcards.task].training, resources, threads
        ),
        version=VERSION,
        seed=lambda wildcards: RUN.text.seed_of(wildcards.pattern, wildcards.task),
        task=lambda wildcards: RUN.text.trainings[wildcards.task].task_options,
        train=lambda wildcards: RUN.text.trainings[wildcards.task].path("train"),
        validation=lambda wildcards: RUN.text.trainings[wildcards.task].path(
            "validation"
        ),
        checkpoints=f"{RES}/checkpoints/text/{{pattern}}{{task}}",
        options=lambda wildcards: RUN.text.trainings[wildcards.task].options,
    shell:
        "keep_log {log}; {params.run} text train {params.task} --train {params.train}"
        " --validation {params.validation} --pretrained {input.pretrained} --output {output}"
        " --checkpoints {params.checkpoints} --seed {params.seed} --threads {threads}"
        " {params.options} >> {log} 2>&1"


rule text_evaluate:
    input:
        data=lambda wildcards: RUN.text.trainings[wildcards.task].source("scored"),
        train=lambda wildcards: RUN.text.trainings[wildcards.task].source("train"),
        model=f"{TEXT}/{{pattern}}trained/{{task}}",
    output:
        directory(f"{TEXT}/{{pattern}}evaluation/{{task}}"),
    log:
        f"{LOGS}/text/{{pattern}}evaluate_{{task}}.log",
    benchmark:
        f"{RES}/benchmarks/text_{{pattern}}evaluate_{{task}}.tsv"
    wildcard_constraints:
        task="|".join(RUN.text.trainings),
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=32000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
        seed=config["seed"],
        data=lambda wildcards: RUN.text.trainings[wildcards.task].path("scored"),
        train=lambda wildcards: RUN.text.trainings[wildcards.task].path("train"),
        split=lambda wildcards: RUN.text.trainings[wildcards.task].split,
    shell:
        "{params.run} text evaluate --model {input.model} --data {params.data}"
        " --split {params.split} --train {params.train} --output {output} --seed {params.seed}"
        " --threads {threads} > {log} 2>&1"


rule text_predict:
    input:
        data=lambda wildcards: RUN.text.trainings[wildcards.task].path("submitted"),
        model=f"{TEXT}/trained/{{task}}",
    output:
        directory(f"{TEXT}/predictions/{{task}}"),
    log:
        f"{LOGS}/text/predict_{{task}}.log",
    wildcard_constraints:
        task=one_of(RUN.text.submitted),
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=32000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
    shell:
        "{params.run} text predict --model {input.model} --data {input.data} --split test"
        " --output {output} --threads {threads} > {log} 2>&1"


rule text_runs:
    input:
        lambda wildcards: expand(
            "{text}/evaluation/{run}",
            text=TEXT,
            run=RUN.text.trainings_of(wildcards.task),
        ),
    output:
        directory(f"{TEXT}/evaluation/{{task}}"),
    log:
        f"{LOGS}/text/runs_{{task}}.log",
    wildcard_constraints:
        task="|".join(RUN.text.repeated) or "none",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        scores=lambda wildcards, input: option(
            "scores", [f"{folder}/metrics.json" for folder in input]
        ),
    shell:
        "{params.run} text runs {params.scores} --output {output} > {log} 2>&1"


rule text_report:
    input:
        pretrained=RUN.text.pretrained,
        evaluations=expand("{text}/evaluation/{run}", text=TEXT, run=RUN.text.runs),
    output:
        report=report(
            f"{TEXT}/report.html", caption="../report/text.rst", category="Text tasks"
        ),
        figures=directory(f"{TEXT}/figures"),
    log:
        f"{LOGS}/text/report.log",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        results=lambda wildcards, input: os.path.dirname(input.evaluations[0]),
        options=RUN.text.report_options,
    shell:
        "{params.run} text tables --results {params.results} --output {output.report}"
        " --figure_folder {output.figures} {params.options} > {log} 2>&1"


rule text:
    input:
        rules.text_report.output,
        expand("{text}/predictions/{run}", text=TEXT, run=RUN.text.submitted),
