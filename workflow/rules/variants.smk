# What the section `experiments` of the config says, for the rules of experiments.smk.

EXPERIMENTS = config.get("experiments", {})
VARIANTS = EXPERIMENTS.get("variants", {})
HEAD_VARIANTS = EXPERIMENTS.get("heads", {})
LM_TABLES = ["table5", "figure8", "table1"]
HEAD_TABLES = ["table6", "table7", "context"]
TABLES = [name for name in LM_TABLES + HEAD_TABLES if EXPERIMENTS.get(name)]
for name in TABLES:
    known = VARIANTS if name in LM_TABLES else [*TASKS, *HEAD_VARIANTS]
    for variant in EXPERIMENTS[name]:
        if variant not in known:
            raise WorkflowError(
                f"config, experiments, {name}: {variant!r} is not among the variants "
                f"({', '.join(known) or 'none'})"
            )


def variant_options(section, group=""):
    """Return the params function for a section of the config with a variant's changes."""
    return lambda wildcards: options(variant_section(wildcards.variant, section), group)


def every_table(wildcards):
    """The tables that the config lists."""
    if not TABLES:
        raise WorkflowError(
            "config: no table in a section `experiments`; config/README.md says how to write one"
        )
    return [f"{RES}/experiments/{name}" for name in TABLES]


def table(name):
    """Return the input function of a target, which a config without it has not."""

    def path(wildcards):
        if name not in TABLES:
            raise WorkflowError(
                f"config: no list `{name}` in the section `experiments`; config/README.md says how "
                "to write one"
            )
        return f"{RES}/experiments/{name}"

    return path
