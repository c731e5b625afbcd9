# What the section `experiments` of the config says, for the rules of experiments.smk.

EXPERIMENTS = config.get("experiments", {})
VARIANTS = EXPERIMENTS.get("variants", {})
HEAD_VARIANTS = EXPERIMENTS.get("heads", {})
HOW_TO_COMPARE = "config/README.md says how to write one"
TABLES = [name for name in LANGUAGE_TABLES + HEAD_TABLES if EXPERIMENTS.get(name)]


def variant_options(section, group=""):
    """Return the params function for a section of the config with a variant's changes."""
    return lambda wildcards: options(variant_section(wildcards.variant, section), group)


def trainings_of(variant):
    """The folders of a variant in experiments/runs: its own, or one in it for each seed."""
    seeds = VARIANTS[variant].get("seeds")
    if seeds is None:
        return [variant]
    if not isinstance(seeds, list):
        seeds = range(config["seed"], config["seed"] + seeds)
    return [f"{variant}/seed{seed}" for seed in seeds]


def compared_trainings(wildcards):
    """The trainings of all variants of a table."""
    return sum(map(trainings_of, EXPERIMENTS[wildcards.table]), [])


def training_seed(wildcards):
    """The seed of one training of a variant; the seed of its evaluation is the run's."""
    return int(wildcards.seed.rpartition("seed")[2] or config["seed"])


def every_table(wildcards):
    """The tables that the config lists."""
    if not TABLES:
        refuse(("experiments",), f"no table in it; {HOW_TO_COMPARE}")
    return [f"{RES}/experiments/{name}" for name in TABLES]


def table(name):
    """Return the input function of a target, which a config without it has not."""

    def path(wildcards):
        if name not in TABLES:
            refuse(("experiments", name), f"missing; {HOW_TO_COMPARE}")
        return f"{RES}/experiments/{name}"

    return path
