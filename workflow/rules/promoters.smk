# Start sites -> the labelled set of promoters, lifted to the genome's assembly where needed.

from dna_bigbird.workflow.heads import sites_option


rule lift_over:
    input:
        sites=INPUTS.promoters,
        chain=INPUTS.named("chain"),
    output:
        sites=f"{RES}/promoter/sites.bed",
        unlifted=f"{RES}/promoter/unlifted.tsv",
    log:
        f"{LOGS}/lift_over.log",
    benchmark:
        f"{RES}/benchmarks/lift_over.tsv"
    priority: INPUTS_FIRST
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: INPUTS.content(
            INPUTS.promoters, INPUTS.named("chain")
        ),
    shell:
        "{params.run} lift-over --input {input.sites:q} --chain {input.chain:q}"
        " --output {output.sites} --unlifted {output.unlifted} > {log} 2>&1"


rule promoter_sequences:
    input:
        INPUTS.sequences,
    output:
        fasta=f"{RES}/promoter/sequences.fa",
        sites=INPUTS.sequence_sites,
    log:
        f"{LOGS}/promoter_sequences.log",
    localrule: True
    conda:
        "../../environment.yml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: INPUTS.content(INPUTS.sequences),
        tss_offset=INPUTS.section.get("promoter_sequences", {}).get("tss_offset", 0),
    shell:
        "{params.run} promoter-sequences --input {input:q} --tss_offset {params.tss_offset}"
        " --output {output.fasta} --output_sites {output.sites} > {log} 2>&1"


rule promoter_set:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        sites=lambda wildcards: RUN.heads[wildcards.head].sites,
        avoid=lambda wildcards: RUN.heads[wildcards.head].avoided,
    output:
        f"{RES}/{{head}}/set.h5",
    log:
        f"{LOGS}/set_{{head}}.log",
    benchmark:
        f"{RES}/benchmarks/set_{{head}}.tsv"
    wildcard_constraints:
        head=one_of(RUN.set_heads("promoter")),
    priority: INPUTS_FIRST
    conda:
        "../../environment.yml"
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: INPUTS.content(
            RUN.heads[wildcards.head].sites, RUN.heads[wildcards.head].avoided
        ),
        seed=lambda wildcards: RUN.heads[wildcards.head].seed,
        genome=RUN.assembly_options,
        split=lambda wildcards: RUN.heads[wildcards.head].split_options,
        format=lambda wildcards: RUN.heads[wildcards.head].site_format,
        sites=lambda wildcards, input: sites_option(input.sites),
        avoid=lambda wildcards, input: option("avoid", list(map(str, input.avoid))),
        options=lambda wildcards: RUN.heads[wildcards.head].set_options,
    shell:
        "{params.run} promoter-set --genome {input.genome} {params.sites}"
        " --output {output} --seed {params.seed} {params.genome} {params.split} {params.format}"
        " {params.avoid} {params.options} > {log} 2>&1"
