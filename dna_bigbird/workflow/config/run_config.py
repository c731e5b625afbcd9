"""Reads the config of a run, or checks the one that Snakemake has read."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import yaml

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.yaml_files import KeyPath
from dna_bigbird.workflow.config.checking import check_schema
from dna_bigbird.workflow.config.config_files import ConfigFiles, read_config_files
from dna_bigbird.workflow.config.head_checks import check_heads, check_suites, check_text
from dna_bigbird.workflow.config.run_checks import CHECKS, check_peaks
from dna_bigbird.workflow.config.run_settings import check_settings


def check_config(config: dict, files: ConfigFiles, *, is_job: bool = False) -> None:
    """Check a merged config, and change it: numbers become numbers, and defaults are added."""
    # A job leaves out the settings of the commands and the suites, which the run has checked before.
    if files.files and not files.section and "__use_yte__" not in files.values():  # no template
        _take_texts(config, files.values())
    _check_keys(config, files, ())
    if isinstance(config.get("tokenizer"), str):
        config["tokenizer"] = {"algorithm": config["tokenizer"]}
    check_schema(config, files)
    for check in (*CHECKS, check_heads, check_text):
        for path, text in check(config):
            raise files.error(path, text)
    check_peaks(config)
    if not is_job:
        check_settings(config, files)
        for path, text in check_suites(config):
            raise files.error(path, text)


def _take_texts(config: dict | list, read: dict | list) -> None:
    """Replace what Snakemake reads as another type and `read_yaml` as text: `1_0`, `010`, `2001-01-01`, the key `NO`."""
    if isinstance(read, dict):
        values = dict(config)
        other = {yaml.safe_load(key) for key in read if key not in values}  # such as False for NO
        config.clear()
        config.update({key: values.get(key, value) for key, value in read.items()})
        config.update({key: values[key] for key in values if key not in {*read, *other}})
    for key, text in read.items() if isinstance(read, dict) else enumerate(read):
        if isinstance(text, dict | list) and isinstance(config[key], type(text)):
            _take_texts(config[key], text)
        elif isinstance(text, str):
            config[key] = text


def _check_keys(values: object, files: ConfigFiles, path: KeyPath) -> None:
    """Raise InputError for a key of another type than text, which a workflow that uses this as a module may have."""
    for key, value in values.items() if isinstance(values, dict) else ():
        if not isinstance(key, str):
            raise files.error(path, f"the key {key!r} is not text; put it in quotes")
        _check_keys(value, files, (*path, key))


def read_config(paths: Sequence[Path]) -> dict:
    """Read, merge and check the config of a run."""
    files = read_config_files(paths)
    config = files.values()
    check_config(config, files)
    return config


def end_with(error: InputError) -> NoReturn:
    """End Snakemake with one line and exit status 2; an exception would add the Snakefile's lines."""
    print(f"dna-bigbird: error: {error}", file=sys.stderr)
    raise SystemExit(2)
