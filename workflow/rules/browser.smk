# A few regions -> one HTML file with a genome browser: predictions, attributions, known labels, variants.

import shlex

from dna_bigbird.workflow.browser import browser_tracks, write_regions

BROWSER = RUN.predictions.browser
BROWSER_FOLDER = f"{RUN.predictions.folder}/browser"
BROWSER_MODEL = f"{RES}/models/{BROWSER['model']}"
BROWSER_TITLE = f"{config['name']}: predicted and observed" + (
    " (semi-synthetic)" if INPUTS.is_demo else ""
)
TRACKS = browser_tracks(RUN)
TRACK_NAMES = [name for name, _ in TRACKS]
TRACK_FILES = [path for _, path in TRACKS]


rule browser_regions:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        model=BROWSER_MODEL,
    output:
        f"{BROWSER_FOLDER}/regions.bed",
    log:
        f"{LOGS}/browser_regions.log",
    localrule: True
    params:
        regions=BROWSER["regions"],
    run:
        write_regions(output[0], params.regions, input.genome, input.model)


rule browser_predictions:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        bed=f"{BROWSER_FOLDER}/regions.bed",
        model=BROWSER_MODEL,
    output:
        directory(f"{BROWSER_FOLDER}/predicted"),
    log:
        f"{LOGS}/browser_predictions.log",
    benchmark:
        f"{RES}/benchmarks/browser_predictions.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
        labels=lambda wildcards: option("labels", BROWSER["labels"]),
        span="--span bin" if BROWSER["model"] == "chromatin" else "",
        stride=RUN.predictions.stride(BROWSER["model"]),
        precision=RUN.predictions.precision,
    shell:
        "{params.run} predict --fasta {input.genome} --bed {input.bed} --model {input.model}"
        " --output {output} --format bigwig --strand both --threads {threads} {params.labels}"
        " {params.span} {params.stride} {params.precision} > {log} 2>&1"


rule browser_attributions:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        bed=f"{BROWSER_FOLDER}/regions.bed",
        model=BROWSER_MODEL,
    output:
        directory(f"{BROWSER_FOLDER}/attributed"),
    log:
        f"{LOGS}/browser_attributions.log",
    benchmark:
        f"{RES}/benchmarks/browser_attributions.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        run=command,
        version=VERSION,
        labels=lambda wildcards: option("labels", BROWSER["labels"]),
        stride=RUN.predictions.stride(BROWSER["model"]),
    shell:
        "{params.run} attribute --fasta {input.genome} --bed {input.bed} --model {input.model}"
        " --output {output} --format bigwig --threads {threads} {params.labels} {params.stride}"
        " > {log} 2>&1"


rule browser:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        computed=[f"{BROWSER_FOLDER}/attributed", f"{BROWSER_FOLDER}/predicted"],
        labels=INPUTS.peaks if INPUTS.is_demo else [],
        tracks=[
            path
            for path in TRACK_FILES
            if not path.startswith(f"{INPUTS.demo}/peaks/")
        ],
    output:
        report(
            RUN.predictions.browser_page,
            caption="../report/browser.rst",
            category="Report",
        ),
    log:
        f"{LOGS}/browser.log",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: INPUTS.content(TRACK_FILES),
        title=option("title", BROWSER_TITLE),
        regions=option("region", BROWSER["regions"]),
        tracks=lambda wildcards: shlex.join(TRACK_FILES),
        names=lambda wildcards: shlex.join(TRACK_NAMES),
    shell:
        "{params.run} view --fasta {input.genome} {params.regions} --output {output} {params.title}"
        " --tracks {input.computed} {params.tracks} --names attribution predicted {params.names}"
        " > {log} 2>&1"
