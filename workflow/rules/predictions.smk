# Models -> probabilities along held-out regions.


rule prediction_regions:
    output:
        f"{RES}/predictions/regions.bed",
    log:
        f"{LOGS}/prediction_regions.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        rows=prediction_rows(),
    shell:
        "printf '%s\\n' {params.rows:q} > {output} 2> {log}"


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
        stride=prediction_stride,
        precision=prediction_precision(),
    shell:
        "{params.run} predict --fasta {input.genome} --bed {input.bed} --model {input.model}"
        " --output {output} --threads {threads} {params.stride} {params.precision}"
        " > {log} 2>&1"
