# Names that the rules share. What a config says is in dna_bigbird/workflow.
from dna_bigbird import __version__
from dna_bigbird.core import watchdog
from dna_bigbird.workflow.launch import Launcher, package_command
from dna_bigbird.workflow.options import one_of
from dna_bigbird.workflow.options import option, options

# Who runs the workflow: for `dna-bigbird clear-lock`, and for jobs to end with it if it is killed.
watchdog.announce(is_job=workflow.subprocess_exec, is_cluster_job=workflow.remote_exec)

# Part of every rule's params: a new version of the package makes its results again.
VERSION = __version__
# Priority of the rules that read what a user gives: an input that does not fit is seen before the
# long trainings.
INPUTS_FIRST = 10

RES = RUN.results
LOGS = f"logs/{config['name']}"
GENOME = RUN.genome
TOKENIZER = f"{RES}/tokenizer/dna_bpe.model"
INPUTS = RUN.inputs

# How a command starts: the params `run`.
LAUNCHER = Launcher(
    package_command(is_deployed=bool(workflow.deployment_settings.deployment_method))
)
command = LAUNCHER.command
launched = LAUNCHER.training

# For rules whose log keeps every attempt: `keep_log {log}; command >> {log}`. Snakemake deletes the
# log before each attempt, also when SLURM requeues the job, so it becomes a link to a file that
# Snakemake does not know, where a line begins each attempt.
# A prefix replaces Snakemake's strict mode, which is therefore part of it. One that another workflow
# set before it uses these rules as a module is kept.
STRICT = "set -euo pipefail; "
OTHER_PREFIX = getattr(shell, "_process_prefix", None) or STRICT
if "keep_log()" not in OTHER_PREFIX:
    shell.prefix(
        'keep_log() {{ ln -sfn "$(basename "$1" .log).attempts.log" "$1"; '
        'date "+=== %FT%T%z $(uname -n) SLURM job ${{SLURM_JOB_ID:-none}}" >> "$1"; }}; '
        + OTHER_PREFIX.replace("{", "{{").replace("}", "}}")
    )
