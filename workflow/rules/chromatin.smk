# Peak files or the published bundle -> the labelled set of bins.


rule unpack_deepsea:
    input:
        INPUTS.deepsea_archive,
    output:
        directory(f"{RES}/inputs/deepsea"),
    log:
        f"{LOGS}/unpack_deepsea.log",
    priority: INPUTS_FIRST
    conda:
        "../../environment.yml"
    resources:
        mem_mb=1000,
        runtime=120,
    shell:
        "(rm -rf {output}.part && mkdir -p {output}.part"
        " && tar -xzf {input:q} -C {output}.part --strip-components=1"
        " && rm -rf {output} && mv {output}.part {output}) > {log} 2>&1"
        " || (rm -rf {output}.part; exit 1)"


rule chromatin_set:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        sheet=INPUTS.peaks,
        peaks=INPUTS.peak_files,
        blacklist=INPUTS.named("blacklist"),
    output:
        f"{RES}/{{head}}/set.h5",
    log:
        f"{LOGS}/set_{{head}}.log",
    benchmark:
        f"{RES}/benchmarks/set_{{head}}.tsv"
    wildcard_constraints:
        head=one_of(RUN.set_heads("chromatin") if INPUTS.peaks else []),
    priority: INPUTS_FIRST
    conda:
        "../../environment.yml"
    resources:
        mem_mb=16000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: INPUTS.content(
            INPUTS.peaks, INPUTS.peak_files, INPUTS.named("blacklist")
        ),
        seed=lambda wildcards: RUN.heads[wildcards.head].seed,
        genome=RUN.assembly_options,
        split=lambda wildcards: RUN.heads[wildcards.head].split_options,
        peaks=lambda wildcards: INPUTS.peak_words,
        blacklist=INPUTS.option("blacklist"),
        options=lambda wildcards: RUN.heads[wildcards.head].set_options,
    shell:
        "{params.run} chromatin-set --genome {input.genome} --peaks {params.peaks}"
        " --output {output} --seed {params.seed} {params.genome} {params.split} {params.blacklist}"
        " {params.options} > {log} 2>&1"


rule deepsea_set:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        bundle=INPUTS.deepsea,
        coordinates=INPUTS.deepsea_coordinates,
        labels=INPUTS.deepsea_labels,
    output:
        f"{RES}/{{head}}/set.h5",
    log:
        f"{LOGS}/set_{{head}}.log",
    benchmark:
        f"{RES}/benchmarks/set_{{head}}.tsv"
    wildcard_constraints:
        head=one_of(RUN.set_heads("chromatin") if INPUTS.deepsea else []),
    priority: INPUTS_FIRST
    conda:
        "../../environment.yml"
    resources:
        mem_mb=16000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: INPUTS.content(
            INPUTS.deepsea_coordinates, INPUTS.deepsea_labels
        ),
        assembly=option("assembly", config["assembly"]),
        options=lambda wildcards: RUN.heads[wildcards.head].deepsea_options,
    shell:
        "{params.run} deepsea-set --bundle {input.bundle:q} --genome {input.genome}"
        " --label_names {input.labels:q} --row_coordinates {input.coordinates:q} --output {output}"
        " {params.assembly} {params.options}"
        " > {log} 2>&1"
