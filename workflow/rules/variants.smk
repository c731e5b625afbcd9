# What the section `experiments` of the config says, for the rules of experiments.smk.

EXPERIMENTS = config.get("experiments", {})
VARIANTS = EXPERIMENTS.get("variants", {})
HEAD_VARIANTS = EXPERIMENTS.get("heads", {})
HOW_TO_COMPARE = "config/README.md says how to write one"
TABLES = [name for name in LANGUAGE_TABLES + HEAD_TABLES if EXPERIMENTS.get(name)]


def variant_options(section, group=""):
    """Return the params function for a section of the config with a variant's changes."""
    return lambda wildcards: options(variant_section(wildcards.variant, section), group)


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
