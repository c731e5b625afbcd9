# Reference -> documents -> tokenizer -> token store.


rule documents:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
    output:
        f"{RES}/corpus/{{split}}.bed.gz",
    log:
        f"{LOGS}/documents_{{split}}.log",
    benchmark:
        f"{RES}/benchmarks/documents_{{split}}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
        seed=config["seed"],
        regions=lambda wildcards: RUN.document_regions(wildcards.split),
        options=options(config.get("documents", {}), "documents"),
    shell:
        "{params.run} documents --genome {input.genome} --output {output} --seed {params.seed}"
        " {params.regions} {params.options} > {log} 2>&1"


rule train_tokenizer:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        documents=f"{RES}/corpus/train.bed.gz",
    output:
        model=TOKENIZER,
        metrics=f"{RES}/tokenizer/metrics.json",
    log:
        f"{LOGS}/train_tokenizer.log",
    benchmark:
        f"{RES}/benchmarks/train_tokenizer.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
        seed=config["seed"],
        options=options(config.get("tokenizer", {}), "tokenizer"),
    shell:
        "{params.run} train-tokenizer --genome {input.genome} --documents {input.documents}"
        " --output {output.model} --metrics {output.metrics} --seed {params.seed}"
        " {params.options} > {log} 2>&1"


rule tokenize:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        documents=f"{RES}/corpus/{{split}}.bed.gz",
        tokenizer=TOKENIZER,
    output:
        f"{RES}/corpus/{{split}}.h5",
    log:
        f"{LOGS}/tokenize_{{split}}.log",
    benchmark:
        f"{RES}/benchmarks/tokenize_{{split}}.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
        assembly=option("assembly", config["assembly"]),
    shell:
        "{params.run} tokenize --genome {input.genome} --documents {input.documents}"
        " --tokenizer {input.tokenizer} --output {output} --workers {threads}"
        " {params.assembly} > {log} 2>&1"


rule token_statistics:
    input:
        store=f"{RES}/corpus/{{split}}.h5",
        genome=GENOME,
        index=f"{GENOME}.fai",
        tokenizer=TOKENIZER,
    output:
        f"{RES}/corpus/{{split}}.tokens.json",
    log:
        f"{LOGS}/token_statistics_{{split}}.log",
    benchmark:
        f"{RES}/benchmarks/token_statistics_{{split}}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        run=command,
        version=VERSION,
    shell:
        "{params.run} token-statistics --store {input.store} --genome {input.genome}"
        " --tokenizer {input.tokenizer} --output {output} > {log} 2>&1"
