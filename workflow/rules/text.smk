# Text tasks (config section `text`): made or real text -> vocabulary -> pretraining -> every task
# -> official scores -> report. Targets `text` and those below it; no part of `all` where there is a genome.
# Pretraining, training and scoring are also those of every pattern of `table1` (text_table1.smk).


wildcard_constraints:
    pattern="|table1/[a-z][a-z0-9_]*/seed[0-9]+/",


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
        options=options(MADE or {}),
    shell:
        "{params.run} text made-data --output {output} {params.options} > {log} 2>&1"


rule text_documents:
    input:
        lambda wildcards: corpus_set(wildcards.part)["data"],
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
        options=lambda wildcards: options(corpus_set(wildcards.part)),
    shell:
        "{params.run} text documents {params.options} --output {output} > {log} 2>&1"


rule text_vocabulary:
    input:
        lambda wildcards: corpus_input("train"),
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
        corpus=lambda wildcards: corpus_part("train"),
        options=options(VOCABULARY),
    shell:
        "{params.run} text vocabulary --input {params.corpus} --output {output} {params.options}"
        " > {log} 2>&1"


rule text_pretrain:
    input:
        train=lambda wildcards: corpus_input("train"),
        validation=lambda wildcards: corpus_input("validation"),
        start=INITIAL or TEXT_VOCABULARY,
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
        run=text_command,
        version=VERSION,
        seed=text_seed,
        train=lambda wildcards: corpus_part("train"),
        validation=lambda wildcards: corpus_part("validation"),
        checkpoints=f"{RES}/checkpoints/text/{{pattern}}pretrained",
        start=lambda wildcards, input: option(
            "initial" if INITIAL else "tokenizer", input.start
        ),
        model=lambda wildcards: options(pattern_model(wildcards), "model"),
        masking=options(SECTION.get("masking", {}), "masking"),
        cpc=options(SECTION.get("cpc", {}), "cpc"),
        training=options(SECTION.get("pretraining", {}), "training"),
    shell:
        "keep_log {log}; {params.run} text pretrain --train {params.train}"
        " --validation {params.validation} {params.start} --output {output}"
        " --checkpoints {params.checkpoints} --seed {params.seed} --threads {threads}"
        " {params.model} {params.masking} {params.cpc} {params.training} >> {log} 2>&1"


rule text_train:
    input:
        train=lambda wildcards: text_input(wildcards.task, "train"),
        validation=lambda wildcards: text_input(wildcards.task, "validation"),
        recipe=recipes,
        pretrained=start_of_text,
    output:
        directory(f"{TEXT}/{{pattern}}trained/{{task}}"),
    log:
        f"{LOGS}/text/{{pattern}}train_{{task}}.log",
    benchmark:
        f"{RES}/benchmarks/text_{{pattern}}train_{{task}}.tsv"
    wildcard_constraints:
        task="|".join(TRAININGS),
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=16000,
        runtime=1440,
    params:
        run=text_command,
        version=VERSION,
        seed=text_seed,
        task=lambda wildcards: text_task(wildcards.task),
        train=lambda wildcards: text_path(wildcards.task, "train"),
        validation=lambda wildcards: text_path(wildcards.task, "validation"),
        checkpoints=f"{RES}/checkpoints/text/{{pattern}}{{task}}",
        options=text_options,
    shell:
        "keep_log {log}; {params.run} text train {params.task} --train {params.train}"
        " --validation {params.validation} --pretrained {input.pretrained} --output {output}"
        " --checkpoints {params.checkpoints} --seed {params.seed} --threads {threads}"
        " {params.options} >> {log} 2>&1"


rule text_evaluate:
    input:
        data=lambda wildcards: text_input(wildcards.task, "scored"),
        train=lambda wildcards: text_input(wildcards.task, "train"),
        model=f"{TEXT}/{{pattern}}trained/{{task}}",
    output:
        directory(f"{TEXT}/{{pattern}}evaluation/{{task}}"),
    log:
        f"{LOGS}/text/{{pattern}}evaluate_{{task}}.log",
    benchmark:
        f"{RES}/benchmarks/text_{{pattern}}evaluate_{{task}}.tsv"
    wildcard_constraints:
        task="|".join(TRAININGS),
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
        data=lambda wildcards: text_path(wildcards.task, "scored"),
        train=lambda wildcards: text_path(wildcards.task, "train"),
        split=lambda wildcards: text_split(wildcards.task),
    shell:
        "{params.run} text evaluate --model {input.model} --data {params.data}"
        " --split {params.split} --train {params.train} --output {output} --seed {params.seed}"
        " --threads {threads} > {log} 2>&1"


rule text_runs:
    input:
        lambda wildcards: expand(
            "{text}/evaluation/{run}", text=TEXT, run=seeds_of_text(wildcards.task)
        ),
    output:
        directory(f"{TEXT}/evaluation/{{task}}"),
    log:
        f"{LOGS}/text/runs_{{task}}.log",
    wildcard_constraints:
        task="|".join(REPEATED) or "none",
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
        pretrained=PRETRAINED,
        evaluations=expand("{text}/evaluation/{run}", text=TEXT, run=RUNS),
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
        options=report_options(),
    shell:
        "{params.run} text tables --results {params.results} --output {output.report}"
        " --figure_folder {output.figures} {params.options} > {log} 2>&1"


rule text:
    input:
        rules.text_report.output,
