# Table 1 of the paper on text (config section `text: table1`): the tasks of the table after pretraining with each
# attention pattern and seed, by the rules of text.smk. Target `text_table1`; no part of `text` or `all`.

from dna_bigbird.datasets.text.registry import published_tables as text_published_tables

TABLE1 = SECTION["table1"]
TABLE1_TASKS = [
    column.run
    for published in text_published_tables()
    for column in published.columns
    if published.number == 1 and column.run in TEXT_TASKS
]
TABLE1_TRAININGS = expand(
    "{text}/table1/{name}/seed{seed}",
    text=TEXT,
    name=TABLE1["patterns"],
    seed=TABLE1.get("seeds", [0, 1, 2]),
)

if not TABLE1_TASKS:
    refuse(("text", "tasks"), "`table1` needs a set of Table 1 (docs/text.md)")
for name in TABLE1_TASKS:
    if name in REPEATED:
        refuse(("text", "tasks", name, "seeds"), "`table1` has its own `seeds`")
if "pretrained" in SECTION:
    refuse(("text", "pretrained"), "`table1` pretrains each pattern; leave one out")


rule text_table1_page:
    input:
        pretrained=expand("{training}/pretrained", training=TABLE1_TRAININGS),
        evaluations=expand(
            "{training}/evaluation/{task}",
            training=TABLE1_TRAININGS,
            task=TABLE1_TASKS,
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
        runs=option("runs", TABLE1_TRAININGS),
        options=synthetic_option(TABLE1_TASKS),
    shell:
        "{params.run} text compare-patterns {params.runs} --output {output}"
        " {params.options} > {log} 2>&1"


rule text_table1:
    input:
        rules.text_table1_page.output,
