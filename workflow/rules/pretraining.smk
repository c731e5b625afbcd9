# Token store -> pretrained model, and its score on held-out documents next to n-grams.


rule pretrain:
    input:
        train=f"{RES}/corpus/train.h5",
        validation=f"{RES}/corpus/validation.h5",
        tokenizer=TOKENIZER,
        genome=RUN.pretraining.genome_files,
        sites=RUN.pretraining.sites,
        teachers=RUN.pretraining.teachers,
    output:
        directory(f"{RES}/trained/pretrained"),
    log:
        f"{LOGS}/pretrain.log",
    benchmark:
        f"{RES}/benchmarks/pretrain.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=16000,
        runtime=1440,
    params:
        run=lambda wildcards, resources, threads: launched(
            RUN.pretraining.training, resources, threads
        ),
        version=VERSION,
        seed=config["seed"],
        checkpoints=f"{RES}/checkpoints/pretrained",
        model=RUN.pretraining.options("model", "model"),
        masking=RUN.pretraining.options("masking", "masking"),
        objective=RUN.pretraining.objective_options,
        training=RUN.pretraining.options("pretraining", "training"),
    shell:
        "keep_log {log}; {params.run} pretrain --train {input.train}"
        " --validation {input.validation} --tokenizer {input.tokenizer} --output {output}"
        " --checkpoints {params.checkpoints} --seed {params.seed} --threads {threads}"
        " {params.model} {params.masking} {params.objective} {params.training} >> {log} 2>&1"


rule evaluate_lm:
    input:
        model=f"{RES}/trained/pretrained",
        train=f"{RES}/corpus/train.h5",
        test=f"{RES}/corpus/test.h5",
        genome=GENOME,
        index=f"{GENOME}.fai",
        repeats=INPUTS.named("repeats"),
    output:
        model=directory(f"{RES}/models/pretrained"),
        report=f"{RES}/evaluation/pretrained/lm.json",
    log:
        f"{LOGS}/evaluate_lm.log",
    benchmark:
        f"{RES}/benchmarks/evaluate_lm.tsv"
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
        options=RUN.pretraining.options("evaluation"),
    shell:
        "{params.run} evaluate-lm --model {input.model} --train {input.train} --test {input.test}"
        " --output {output.model} --report {output.report} --seed {params.seed}"
        " --threads {threads} --genome {input.genome} {params.repeats} {params.options} > {log} 2>&1"
