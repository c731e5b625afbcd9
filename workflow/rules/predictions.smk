# Models -> probabilities along held-out regions, effects of variants and of every substitution.


rule prediction_regions:
    output:
        f"{RES}/predictions/regions.bed",
    log:
        f"{LOGS}/prediction_regions.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        rows=RUN.predictions.rows,
    shell:
        "(printf '%s\\n' {params.rows:q} > {output}.part && mv {output}.part {output}) 2> {log}"
        " || (rm -f {output}.part; exit 1)"


rule predict:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        bed=f"{RES}/predictions/regions.bed",
        model=f"{RES}/models/{{task}}",
    output:
        f"{RES}/predictions/{{task}}.tsv",
    log:
        f"{LOGS}/predict_{{task}}.log",
    benchmark:
        f"{RES}/benchmarks/predict_{{task}}.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
        stride=lambda wildcards: RUN.predictions.stride(wildcards.task),
        precision=RUN.predictions.precision,
    shell:
        "{params.run} predict --fasta {input.genome} --bed {input.bed} --model {input.model}"
        " --output {output} --strand both --threads {threads} {params.stride}"
        " {params.precision} > {log} 2>&1"


rule score_variants:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        vcf=INPUTS.variants,
        model=f"{RES}/models/{{task}}",
    output:
        table=f"{RES}/predictions/variants/{{task}}.tsv",
        vcf=f"{RES}/predictions/variants/{{task}}.vcf.gz",
        index=f"{RES}/predictions/variants/{{task}}.vcf.gz.tbi",
    log:
        f"{LOGS}/score_variants_{{task}}.log",
    benchmark:
        f"{RES}/benchmarks/score_variants_{{task}}.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: INPUTS.content(INPUTS.variants),
        options=RUN.predictions.variant_options,
        precision=RUN.predictions.precision,
    shell:
        "{params.run} score-variants --vcf {input.vcf:q} --fasta {input.genome}"
        " --model {input.model} --output {output.vcf} --tsv {output.table}"
        " --threads {threads} {params.options} {params.precision} > {log} 2>&1"


rule zero_shot:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        vcf=INPUTS.variants,
        model=RUN.encoder,
    output:
        f"{RES}/predictions/zero_shot/{{score}}.tsv",
    log:
        f"{LOGS}/zero_shot_{{score}}.log",
    benchmark:
        f"{RES}/benchmarks/zero_shot_{{score}}.tsv"
    wildcard_constraints:
        score="likelihood|embedding",
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: INPUTS.content(INPUTS.variants),
        options=RUN.predictions.zero_shot_options,
        precision=RUN.predictions.precision,
    shell:
        "{params.run} score-variants --vcf {input.vcf:q} --fasta {input.genome}"
        " --model {input.model} --output {output} --score {wildcards.score}"
        " --threads {threads} {params.options} {params.precision} > {log} 2>&1"


rule rank_variants:
    input:
        **RUN.predictions.zero_shot,
        genome=GENOME,
        index=f"{GENOME}.fai",
        truth=f"{INPUTS.demo}/variants.vcf",
        model=f"{RES}/predictions/variants/{{task}}.tsv",
        bundle=f"{RES}/models/{{task}}",
        data=f"{RES}/{{task}}/set.h5",
    output:
        directory(f"{RES}/predictions/variants/ranking_{{task}}"),
    log:
        f"{LOGS}/rank_variants_{{task}}.log",
    benchmark:
        f"{RES}/benchmarks/rank_variants_{{task}}.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        seed=config["seed"],
        regions=option("regions", config["splits"]["test"]),
        scores=lambda wildcards, input: option(
            "scores",
            {name: input[name] for name in ["model", *RUN.predictions.zero_shot]},
        ),
    shell:
        "{params.run} rank-variants {params.scores} --truth {input.truth}"
        " --output {output} --genome {input.genome} --data {input.data} --model {input.bundle}"
        " {params.regions} --split test --seed {params.seed} > {log} 2>&1"


rule mutagenesis:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        model=f"{RES}/models/{RUN.predictions.mutagenesis.get('model')}",
    output:
        f"{RES}/predictions/mutagenesis.tsv",
    log:
        f"{LOGS}/mutagenesis.log",
    benchmark:
        f"{RES}/benchmarks/mutagenesis.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
        options=lambda wildcards: RUN.predictions.mutagenesis_options,
        precision=RUN.predictions.precision,
    shell:
        "{params.run} mutagenesis --fasta {input.genome} --model {input.model}"
        " --output {output} --threads {threads} {params.options} {params.precision}"
        " > {log} 2>&1"
