# Peak files -> the labelled set of bins.


rule chromatin_set:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        sheet=PEAKS or [],
        peaks=peak_files(PEAKS),
    output:
        f"{RES}/chromatin/set.h5",
    log:
        f"{LOGS}/chromatin_set.log",
    benchmark:
        f"{RES}/benchmarks/chromatin_set.tsv"
    conda:
        "../../environment.yml"
    resources:
        mem_mb=16000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
        genome=assembly_options(),
        split=split_options(),
        options=options(config.get("chromatin", {})),
    shell:
        "{params.run} chromatin-set --genome {input.genome} --peaks {input.sheet:q}"
        " --output {output} {params.genome} {params.split} {params.options} > {log} 2>&1"
