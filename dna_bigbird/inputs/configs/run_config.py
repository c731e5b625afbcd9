"""Reads the config of a run, or checks the one that Snakemake has read."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from dna_bigbird.errors import InputError
from dna_bigbird.inputs.configs.checking import check_schema
from dna_bigbird.inputs.configs.config_files import ConfigFiles, read_config_files
from dna_bigbird.inputs.configs.run_checks import check_run


def check_config(config: dict, files: ConfigFiles) -> None:
    """Check a merged config, write its numbers as numbers, and add the defaults of the schema.

    `tokenizer: bases` becomes `tokenizer: {algorithm: bases}`, and so on.

    Args:
        config: The merged settings; they are changed.
        files: What it was merged from.

    Raises:
        InputError: For the first mistake: `FILE:LINE: setting: found ...; expected ...`.
    """
    if files.files and not files.section:
        _take_texts(config, files.values())
    if isinstance(config.get("tokenizer"), str):
        config["tokenizer"] = {"algorithm": config["tokenizer"]}
    check_schema(config, files)
    check_run(config, files)


def _take_texts(config: dict | list, read: dict | list) -> None:
    """Replace what Snakemake reads as a number or date and `read_yaml` as text: `1_0`, `010`, `2001-01-01`."""
    for key, text in read.items() if isinstance(read, dict) else enumerate(read):
        if isinstance(text, dict | list) and isinstance(config[key], type(text)):
            _take_texts(config[key], text)
        elif isinstance(text, str):
            config[key] = text


def read_config(paths: Sequence[Path]) -> dict:
    """Read, merge and check the config of a run.

    Raises:
        InputError: As `check_config`.
    """
    files = read_config_files(paths)
    config = files.values()
    check_config(config, files)
    return config


def end_with(error: InputError) -> NoReturn:
    """End Snakemake with one line and exit status 2; an exception would add the Snakefile's lines."""
    print(f"dna-bigbird: error: {error}", file=sys.stderr)
    raise SystemExit(2)
