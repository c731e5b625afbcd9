# Files of signal -> the labelled set of tracks; its model -> bigWig files and a page next to what was measured.


rule track_set:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        tracks=INPUTS.tracks,
        files=INPUTS.track_files,
        blacklist=INPUTS.named("blacklist"),
    output:
        f"{RES}/tracks/set.h5",
    log:
        f"{LOGS}/set_tracks.log",
    benchmark:
        f"{RES}/benchmarks/set_tracks.tsv"
    priority: INPUTS_FIRST
    conda:
        "../../environment.yml"
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: INPUTS.content(
            INPUTS.tracks, INPUTS.track_files, INPUTS.named("blacklist")
        ),
        genome=RUN.assembly_options,
        split=RUN.heads["tracks"].split_options,
        tracks=lambda wildcards: INPUTS.track_words,
        blacklist=INPUTS.option("blacklist"),
        options=RUN.heads["tracks"].set_options,
    shell:
        "{params.run} track-set --genome {input.genome} --tracks {params.tracks}"
        " --output {output} {params.genome} {params.split} {params.blacklist}"
        " {params.options} > {log} 2>&1"


rule track_regions:
    output:
        f"{RES}/predictions/tracks.bed",
    log:
        f"{LOGS}/track_regions.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        rows=RUN.track_rows,
    shell:
        "(printf '%s\\n' {params.rows:q} > {output}.part && mv {output}.part {output}) 2> {log}"
        " || (rm -f {output}.part; exit 1)"


rule predict_tracks:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        bed=f"{RES}/predictions/tracks.bed",
        model=f"{RES}/models/tracks",
    output:
        directory(f"{RES}/predictions/tracks"),
    log:
        f"{LOGS}/predict_tracks.log",
    benchmark:
        f"{RES}/benchmarks/predict_tracks.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
    shell:
        "{params.run} predict --fasta {input.genome} --bed {input.bed} --model {input.model}"
        " --format bigwig --output {output} --threads {threads} > {log} 2>&1"


rule view_tracks:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        predicted=f"{RES}/predictions/tracks",
        observed=[*RUN.observed_tracks.values()],
    output:
        report(f"{RES}/tracks.html", category="Tracks"),
    log:
        f"{LOGS}/view_tracks.log",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        regions=option("region", RUN.track_regions),
        names=option("names", ["predicted", *RUN.observed_tracks]),
    shell:
        "{params.run} view --fasta {input.genome} {params.regions} --output {output}"
        " --tracks {input.predicted} {input.observed:q} {params.names} > {log} 2>&1"


rule report_tracks:
    input:
        model=f"{RES}/models/tracks",
        scores=f"{RES}/evaluation/tracks",
    output:
        report(f"{RES}/tracks_report.html", category="Tracks"),
    log:
        f"{LOGS}/report_tracks.log",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
    shell:
        "{params.run} report --model {input.model} --report {input.scores} --output {output} > {log} 2>&1"
