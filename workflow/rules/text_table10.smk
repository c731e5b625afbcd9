# Table 10 of the paper (config section `text: table10`): pretraining of each row and size, by the rule of text.smk.
# Target `text_table10`; no part of `text` or `all`.


rule text_table10_page:
    input:
        RUN.text.table10_bundles,
    output:
        report(
            f"{TEXT}/table10.html",
            caption="../report/text_table10.rst",
            category="Text tasks",
        ),
    log:
        f"{LOGS}/text/table10.log",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        results=f"{TEXT}/table10/bigbird-itc",
        options=RUN.text.table10_options,
    shell:
        "{params.run} text tables --results {params.results} --output {output}"
        " {params.options} > {log} 2>&1"


rule text_table10:
    input:
        rules.text_table10_page.output,
