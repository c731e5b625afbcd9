"""A run of the workflow as its rules see it, from settings written in a test."""

import yaml

from dna_bigbird.workflow.config.config_files import ConfigFiles
from dna_bigbird.workflow.config.run_config import check_config
from dna_bigbird.workflow.run import Run, make_run

DEMO = """
name: exp
seed: 5
assembly: toy
regions: [demo22]
inputs: {demo: {}}
splits: {validation: ["demo22:1-100"], test: ["demo22:101-200"]}
pretraining: {max_steps: 10}
"""


def run_of(text: str, base: str = DEMO) -> Run:
    """Return the run of a checked config."""
    config = yaml.safe_load(base) | yaml.safe_load(text)
    files = ConfigFiles([])
    check_config(config, files, is_job=True)  # small ones contradict defaults
    return make_run(config, files)
