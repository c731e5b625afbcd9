# Everything -> one HTML file.

import json
import os

import yaml


rule write_config:
    output:
        f"{RES}/config.yaml",
    log:
        f"{LOGS}/write_config.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        # A function: Snakemake would replace `{name}` in a text.
        text=lambda wildcards: yaml.safe_dump(
            json.loads(json.dumps(config)), sort_keys=False
        ),
    shell:
        "(printf '%s' {params.text:q} > {output}.part && mv {output}.part {output}) 2> {log}"
        " || (rm -f {output}.part; exit 1)"


rule report:
    input:
        config=f"{RES}/config.yaml",
        documents=expand(
            "{res}/corpus/{split}.bed.gz",
            res=RES,
            split=RUN.splits,
        ),
        tokenizer=f"{RES}/tokenizer/metrics.json" if RUN.has_pretraining else [],
        language=f"{RES}/evaluation/pretrained/lm.json" if RUN.has_pretraining else [],
        models=expand("{res}/models/{name}", res=RES, name=RUN.models),
        scores=expand("{res}/evaluation/{task}", res=RES, task=RUN.tasks),
        predictions=RUN.predictions.tables,
        variants=RUN.predictions.variant_files,
        mutagenesis=RUN.predictions.mutagenesis_files,
        browser=RUN.predictions.browser_page,
        promoters=INPUTS.sites if "promoter" in RUN.tasks else [],
        peaks=INPUTS.peak_sheet if "chromatin" in RUN.tasks else [],
    output:
        report=report(
            f"{RES}/report.html", caption="../report/run.rst", category="Report"
        ),
        figures=directory(f"{RES}/figures"),
    log:
        f"{LOGS}/report.log",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        results=lambda wildcards, output: os.path.dirname(output.report),
        truth=lambda wildcards, input: " ".join(
            option(name, str(path))
            for name, path in (
                ("truth_promoters", input.promoters),
                ("truth_peaks", input.peaks),
            )
            if path
        ),
    shell:
        "{params.run} report --results {params.results} --config_file {input.config}"
        " --output {output.report} --figure_folder {output.figures} {params.truth} > {log} 2>&1"


# What a run would make and cost: printed, and nothing but the config is written. A target of its own.
rule plan:
    input:
        f"{RES}/config.yaml",
    log:
        f"{LOGS}/plan.log",
    localrule: True
    conda:
        "../../environment.yml"
    threads: 8
    params:
        run=command,
    shell:
        "{params.run} plan --configfile {input} --threads {threads} | tee {log}"
