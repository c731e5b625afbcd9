# Labelled set -> k-mer baseline, fine-tuned model, scores on the held-out test rows.


rule baseline:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        data=f"{RES}/{{task}}/set.h5",
    output:
        f"{RES}/baselines/{{task}}/kmer.h5",
    log:
        f"{LOGS}/baseline_{{task}}.log",
    benchmark:
        f"{RES}/benchmarks/baseline_{{task}}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=32000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
        seed=config["seed"],
        options=task_options("kmer", "kmer"),
    shell:
        "{params.run} baseline --genome {input.genome} --data {input.data} --output {output}"
        " --seed {params.seed} {params.options} > {log} 2>&1"


rule finetune:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        data=f"{RES}/{{task}}/set.h5",
        pretrained=f"{RES}/trained/pretrained",
    output:
        directory(f"{RES}/trained/{{task}}"),
    log:
        f"{LOGS}/finetune_{{task}}.log",
    benchmark:
        f"{RES}/benchmarks/finetune_{{task}}.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=16000,
        runtime=1440,
    params:
        run=training_command,
        version=VERSION,
        seed=config["seed"],
        checkpoints=f"{RES}/checkpoints/{{task}}",
        head=task_options("head", "head"),
        training=task_options("training", "training"),
    shell:
        "keep_log {log}; {params.run} finetune --genome {input.genome} --data {input.data}"
        " --pretrained {input.pretrained} --output {output} --checkpoints {params.checkpoints}"
        " --seed {params.seed} --threads {threads} {params.head} {params.training} >> {log} 2>&1"


rule evaluate:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        model=f"{RES}/trained/{{task}}",
        data=f"{RES}/{{task}}/set.h5",
        kmer=f"{RES}/baselines/{{task}}/kmer.h5",
    output:
        model=directory(f"{RES}/models/{{task}}"),
        report=directory(f"{RES}/evaluation/{{task}}"),
    log:
        f"{LOGS}/evaluate_{{task}}.log",
    benchmark:
        f"{RES}/benchmarks/evaluate_{{task}}.tsv"
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
        baselines=lambda wildcards, input: option(
            "baselines", {"kmer": str(input.kmer)}
        ),
    shell:
        "{params.run} evaluate --genome {input.genome} --model {input.model} --data {input.data}"
        " {params.baselines} --output {output.model} --report {output.report}"
        " --seed {params.seed} --threads {threads} > {log} 2>&1"
