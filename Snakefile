# The workflow is workflow/Snakefile; this file makes bare `snakemake` find it.
include: "workflow/Snakefile"


rule default:
    default_target: True
    input:
        rules.all.input,
