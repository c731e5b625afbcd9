# Character models (config section `characters`): every model is trained and scored on validation. Target `characters`.

from dna_bigbird.workflow.config.config_files import plain_path

CHARACTERS = config["characters"]


wildcard_constraints:
    character_model=one_of(CHARACTERS["models"]),


rule train_characters:
    input:
        plain_path(CHARACTERS["input"]),
    output:
        directory(f"{RES}/characters/{{character_model}}/model"),
    log:
        f"{LOGS}/characters/train_{{character_model}}.log",
    benchmark:
        f"{RES}/benchmarks/train_characters_{{character_model}}.tsv"
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=16000,
        runtime=1440,
    params:
        run=command,
        version=VERSION,
        seed=config["seed"],
        checkpoints=f"{RES}/checkpoints/characters/{{character_model}}",
        source=options(CHARACTERS, keys=["source"]),
        model=lambda wildcards: options(
            {
                **CHARACTERS.get("model", {}),
                **CHARACTERS["models"][wildcards.character_model],
            },
            "model",
        ),
        training=options(CHARACTERS.get("training", {}), "training"),
    shell:
        "keep_log {log}; {params.run} train-characters --input {input} --output {output}"
        " --checkpoints {params.checkpoints} --seed {params.seed} --threads {threads}"
        " {params.source} {params.model} {params.training} >> {log} 2>&1"


rule evaluate_characters:
    input:
        data=plain_path(CHARACTERS["input"]),
        model=f"{RES}/characters/{{character_model}}/model",
    output:
        f"{RES}/characters/{{character_model}}/scores.json",
    log:
        f"{LOGS}/characters/evaluate_{{character_model}}.log",
    conda:
        "../../environment.yml"
    threads: 8
    resources:
        mem_mb=16000,
        runtime=480,
    params:
        run=command,
        version=VERSION,
        seed=config["seed"],
        options=options(CHARACTERS.get("evaluation", {})),
    shell:
        "{params.run} evaluate-characters --model {input.model} --input {input.data} --output {output}"
        " --split validation --seed {params.seed} --threads {threads} {params.options} > {log} 2>&1"


rule characters:
    input:
        expand(
            "{res}/characters/{name}/scores.json", res=RES, name=CHARACTERS["models"]
        ),
