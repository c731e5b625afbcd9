"""Where the settings of a run come from when another workflow uses ours as a Snakemake module."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.yaml_files import KeyPath
from dna_bigbird.workflow.config.config_files import ConfigFiles, read_config_files

NOT_A_FILE = "config of the module dna-bigbird"


class Modifier(Protocol):
    """What a Snakefile is read with: `snakemake.modules.WorkflowModifier`."""

    globals: Mapping[str, object]

    def modify_path(self, path: str) -> str: ...


class Workflow(Protocol):
    """The global `workflow` of a Snakefile, as far as it is read here."""

    configfiles: Sequence[Path | str]
    overwrite_configfiles: Sequence[Path | str]
    modifier_stack: Sequence[Modifier]
    is_main_process: bool


def config_files(workflow: Workflow, config: Mapping, overrides: Mapping) -> ConfigFiles:
    """Return the files that a config was merged from, for a run of its own or as a module.

    Args:
        config: The global `config` of our Snakefile.
        overrides: Settings of `--config`.
    """
    section = section_of(config, workflow.modifier_stack[0].globals["config"])
    if section is None:
        return ConfigFiles([], name=NOT_A_FILE)
    return read_config_files(in_order(workflow), overrides, section)


def check_prefix(workflow: Workflow, results: str) -> None:
    """Check that the module statement leaves the paths of results as they are.

    Args:
        results: Folder of the results.

    Raises:
        InputError: If it does not: options that are not inputs or outputs of a rule, as folders of
            checkpoints, would keep their old path.
    """
    path = f"{results}/checkpoints/pretrained"
    if workflow.modifier_stack[-1].modify_path(path) != path:
        raise InputError(
            f"{NOT_A_FILE}: prefix and replace_prefix do not work with these rules; leave them out, and "
            "write `results: FOLDER` and another `name` into the config"
        )


def in_order(workflow: Workflow) -> list[Path]:
    """Return the files of a config, later ones over earlier ones; those of the command line are last."""
    last = [Path(path).absolute() for path in workflow.overwrite_configfiles]
    named = [Path(path).absolute() for path in workflow.configfiles]
    return [path for path in named if path not in last] + last


def section_of(config: object, whole: object) -> KeyPath | None:
    """Return the keys that lead from a config to the object that is a section of it.

    Example:
        >>> part = {"name": "x"}
        >>> section_of(part, {"other": 1, "dna-bigbird": part})
        ('dna-bigbird',)
        >>> section_of({"name": "x"}, {"dna-bigbird": part}) is None
        True
    """
    if config is whole:
        return ()
    if isinstance(whole, Mapping):
        for key, value in whole.items():
            if (below := section_of(config, value)) is not None:
                return (key, *below)
    return None
