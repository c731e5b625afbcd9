# Table 1 of the paper on text (config section `text: table1`): the tasks of the table after pretraining with each
# attention pattern and seed, by the rules of text.smk. Target `text_table1`; no part of `text` or `all`.


rule text_table1_page:
    input:
        pretrained=expand("{training}/pretrained", training=RUN.text.table1_folders),
        evaluations=expand(
            "{training}/evaluation/{task}",
            training=RUN.text.table1_folders,
            task=RUN.text.table1_tasks,
        ),
    output:
        report(
            f"{TEXT}/table1.html",
            caption="../report/text_table1.rst",
            category="Text tasks",
        ),
    log:
        f"{LOGS}/text/table1.log",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        runs=option("runs", RUN.text.table1_folders),
        options=RUN.text.synthetic_option(RUN.text.table1_tasks),
    shell:
        "{params.run} text compare-patterns {params.runs} --output {output}"
        " {params.options} > {log} 2>&1"


rule text_table1:
    input:
        rules.text_table1_page.output,
