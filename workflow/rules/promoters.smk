# Start sites -> the labelled set of promoters, lifted to the genome's assembly where needed.


rule lift_over:
    input:
        sites=PROMOTERS or [],
        chain=CHAIN or [],
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
        content=lambda wildcards: content(PROMOTERS, CHAIN),
    shell:
        "{params.run} lift-over --input {input.sites:q} --chain {input.chain:q}"
        " --output {output.sites} --unlifted {output.unlifted} > {log} 2>&1"


rule promoter_sequences:
    input:
        SEQUENCE_SOURCE,
    output:
        fasta=f"{RES}/promoter/sequences.fa",
        sites=SEQUENCE_SITES,
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
        content=lambda wildcards: content(SEQUENCE_SOURCE),
        tss_offset=SEQUENCES.get("tss_offset", 0),
    shell:
        "{params.run} promoter-sequences --input {input:q} --tss_offset {params.tss_offset}"
        " --output {output.fasta} --output_sites {output.sites} > {log} 2>&1"


rule promoter_set:
    input:
        genome=GENOME,
        index=f"{GENOME}.fai",
        sites=lambda wildcards: files_of_sites(wildcards.head),
        avoid=avoided,
    output:
        f"{RES}/{{head}}/set.h5",
    log:
        f"{LOGS}/set_{{head}}.log",
    benchmark:
        f"{RES}/benchmarks/set_{{head}}.tsv"
    wildcard_constraints:
        head=heads_with("promoter"),
    priority: INPUTS_FIRST
    conda:
        "../../environment.yml"
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        run=command,
        version=VERSION,
        content=lambda wildcards: content(
            files_of_sites(wildcards.head), avoided(wildcards)
        ),
        seed=head_seed,
        genome=assembly_options(),
        split=split_options,
        format=sites_format,
        sites=lambda wildcards, input: sites_option(input.sites),
        avoid=lambda wildcards, input: option("avoid", list(map(str, input.avoid))),
        options=set_options,
    shell:
        "{params.run} promoter-set --genome {input.genome} {params.sites}"
        " --output {output} --seed {params.seed} {params.genome} {params.split} {params.format}"
        " {params.avoid} {params.options} > {log} 2>&1"
