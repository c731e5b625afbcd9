# Peak files or the published bundle -> the labelled set of bins.


rule unpack_deepsea:
    input:
        BUNDLE_ARCHIVE,
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
        sheet=PEAKS,
        peaks=peak_files(PEAKS),
        blacklist=BLACKLIST,
    output:
        f"{RES}/{{head}}/set.h5",
    log:
        f"{LOGS}/set_{{head}}.log",
    benchmark:
        f"{RES}/benchmarks/set_{{head}}.tsv"
    wildcard_constraints:
        head=heads_with("chromatin") if PEAKS else "(?!)",
    priority: INPUTS_FIRST
    conda:
        "../../environment.yml"
    resources:
        mem_mb=16000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: content(PEAKS, peak_files(PEAKS), BLACKLIST),
        seed=head_seed,
        genome=assembly_options(),
        split=split_options,
        peaks=lambda wildcards: peak_arguments(),
        blacklist=option("blacklist", BLACKLIST) if BLACKLIST else "",
        options=set_options,
    shell:
        "{params.run} chromatin-set --genome {input.genome} --peaks {params.peaks}"
        " --output {output} --seed {params.seed} {params.genome} {params.split} {params.blacklist}"
        " {params.options} > {log} 2>&1"


rule deepsea_set:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        bundle=BUNDLE,
        coordinates=BUNDLE_COORDINATES,
        labels=BUNDLE_LABELS,
    output:
        f"{RES}/{{head}}/set.h5",
    log:
        f"{LOGS}/set_{{head}}.log",
    benchmark:
        f"{RES}/benchmarks/set_{{head}}.tsv"
    wildcard_constraints:
        head=heads_with("chromatin") if BUNDLE else "(?!)",
    priority: INPUTS_FIRST
    conda:
        "../../environment.yml"
    resources:
        mem_mb=16000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: content(BUNDLE_COORDINATES, BUNDLE_LABELS),
        assembly=option("assembly", config["assembly"]),
        options=bundle_options,
    shell:
        "{params.run} deepsea-set --bundle {input.bundle:q} --genome {input.genome}"
        " --label_names {input.labels:q} --row_coordinates {input.coordinates:q} --output {output}"
        " {params.assembly} {params.options}"
        " > {log} 2>&1"
