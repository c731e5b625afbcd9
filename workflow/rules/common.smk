# Names, functions and settings that the rules share; there is no rule here.
import functools
import hashlib
import json
import os
import re
import shlex
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

from dna_bigbird import __version__
from dna_bigbird import watchdog
from dna_bigbird.bundles.bundled import bundled_encoder
from dna_bigbird.inputs.configs.module_config import check_prefix
from dna_bigbird.inputs.configs.run_config import end_with, results_folder
from dna_bigbird.inputs.configs.run_checks import HEAD_TABLES, LANGUAGE_TABLES
from dna_bigbird.inputs.configs.sources import is_path, plain_path
from dna_bigbird.datasets.deepsea_coordinates import find_coordinates
from dna_bigbird.datasets.peak_files import label_of, peak_rows
from dna_bigbird.datasets.peak_sheet import EVERY_NAME
from dna_bigbird.demo import grammar
from dna_bigbird.errors import InputError
from dna_bigbird.files import sha256_of
from dna_bigbird.genome.interval import parse_region
from dna_bigbird.inputs.specs import find_spec, read_spec
from dna_bigbird.resources import import_folder, resource_folder
from dna_bigbird.writing import atomic_path

# Who runs the workflow: for `dna-bigbird clear-lock`, and for jobs to end with it if it is killed.
watchdog.announce(is_job=workflow.subprocess_exec, is_cluster_job=workflow.remote_exec)

# Part of every rule's params: a new version of the package makes its results again.
VERSION = __version__
# Priority of the rules that read what a user gives: an input that does not fit is seen before the
# long trainings.
INPUTS_FIRST = 10

NAME = config["name"]
HAS_GENOME = "assembly" in config
# Documents, tokenizer and pretrained model are made, unless the config names a pretrained bundle.
HAS_PRETRAINING = HAS_GENOME and "pretrained" not in config
RES = str(results_folder(config))
LOGS = f"logs/{NAME}"
try:
    check_prefix(workflow, RES)
except InputError as error:
    end_with(error)
GENOME = f"{RES}/genome/genome.fa"
TOKENIZER = f"{RES}/tokenizer/dna_bpe.model"
TASKS = [task for task in ("promoter", "chromatin") if task in config]
MODELS = ["pretrained"] * HAS_PRETRAINING + TASKS
PREDICTIONS = config.get("predictions", {})
PREDICTED = TASKS if PREDICTIONS else []
SCORING_VARIANTS = PREDICTIONS.get("variants", [])
MUTAGENESIS = PREDICTIONS.get("mutagenesis", {})
BROWSER = PREDICTIONS.get("browser", {})
BROWSER_PAGE = f"{RES}/browser.html" if BROWSER else []

# The Python that runs Snakemake, or the one of a conda environment or container (--sdm).
if workflow.deployment_settings.deployment_method:
    PACKAGE = shlex.quote(str(import_folder(Path(".snakemake"))))
    DNA_BIGBIRD = f"env PYTHONPATH={PACKAGE} python -m dna_bigbird"
else:
    DNA_BIGBIRD = f"{shlex.quote(sys.executable)} -m dna_bigbird"


def option(name, value):
    """Write one option as the command line takes it: lists as JSON, booleans in lower case."""
    text = value if isinstance(value, str) else json.dumps(value)
    return f"--{name} {shlex.quote(text)}"


GROUPS = ("etc", "cpc")
"""Nested sections that are settings of the same command."""


def options(section, group="", keys=None):
    """Write a section of the config as options `--group.key value`; without group `--key value`.

    Nested sections that are settings of another command are left out, and so is what `keys` lacks.
    """
    prefix = f"{group}." if group else ""
    return " ".join(
        (
            options(value, prefix + key)
            if isinstance(value, dict)
            else option(prefix + key, value)
        )
        for key, value in section.items()
        if (key in GROUPS or not isinstance(value, dict))
        and (keys is None or key in keys)
    )


def assembly_options():
    """What the genome is, for the commands that check it or keep its name."""
    return (
        f"{option('assembly', config['assembly'])} {option('pieces', config['pieces'])}"
    )


def document_regions(wildcards):
    """Training documents come from everywhere but the held-out regions, the others from those."""
    if wildcards.split == "train":
        held_out = config["splits"]["validation"] + config["splits"]["test"]
        return f"{option('regions', config['regions'])} {option('exclude', held_out)}"
    return option("regions", config["splits"][wildcards.split])


def repeat_options():
    """Where the repeat classes come from, if not from lower case."""
    if not REPEATS:
        return ""
    return f"{option('repeats', REPEATS)} {option('pieces', config['pieces'])}"


def section(name):
    """A section of the config; without it the command's defaults."""
    return config.get(name, {})


def objective_genome(objective):
    """The genome and its index, if pretraining reads the lower case."""
    return [GENOME, f"{GENOME}.fai"] if objective.get("repeat_weight", 1) != 1 else []


def objective_sites(objective):
    """The sites that pretraining reads more often, if there are any."""
    return source(objective["sites"]) if "sites" in objective else []


def objective_options(objective):
    """Options of the loss of pretraining and of what it reads in addition to the token stores."""
    files = {"sites": objective_sites(objective)} if "sites" in objective else {}
    if objective_genome(objective):
        files["genome"] = GENOME
    return options(objective | files)


def variant_section(variant, name):
    """A section of the config with the changes of one variant of `experiments`."""
    return section(name) | config["experiments"]["variants"][variant].get(name, {})


def bed_rows(regions):
    """BED rows of intervals."""
    return [f"{each.chrom}\t{each.start}\t{each.end}" for each in regions]


def stride_of(task):
    """The step between windows of a model as an option, if the config gives one."""
    stride = PREDICTIONS.get("stride", {}).get(task)
    return option("stride", stride) if stride else ""


def prediction_precision():
    """The arithmetic of predictions as an option, if the config gives one."""
    return options(PREDICTIONS, keys=["precision"])


# --- how a command starts: params that depend on resources, so that another Python or another
# --- profile is not a reason to make a result again


def command(wildcards, resources):
    """The dna-bigbird command.

    Every rule of a cluster calls it, so a profile that nobody has filled in is refused here.
    """
    for name in ("slurm_account", "slurm_partition"):
        if resources.get(name) == "CHANGE":
            raise WorkflowError(
                f"the profile says `{name}: CHANGE`: write your cluster's there, or delete the "
                "line if it has none"
            )
    return DNA_BIGBIRD


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


def launched(training, wildcards, resources, threads):
    """The dna-bigbird command, once for each GPU where a profile asks for it.

    `training` holds the settings of the training: how many nodes and devices it is for.

    The SLURM profile gives the resources mpi, nodes and tasks_per_node; without them there is no
    launcher, and Lightning starts the processes of one machine. Snakemake strips the job's SLURM
    variables: every option must be written out. Without --kill-on-bad-exit the processes left by
    one that died would wait for it.
    """
    run = command(wildcards, resources)
    trained_on = training.get("nodes", 1), training.get("devices", 1)
    if not resources.get("mpi"):
        if trained_on[0] > 1:
            raise WorkflowError(
                f"the config trains on {trained_on[0]} nodes, and there is no launcher: give the rule "
                "`mpi: srun`, `nodes` and `tasks_per_node` in the profile (docs/slurm.md)"
            )
        return run
    granted = resources.get("nodes", 1), resources.get("tasks_per_node", 1)
    if granted != trained_on:
        raise WorkflowError(
            f"the config trains on {trained_on[0]} node(s) x {trained_on[1]} device(s), the profile asks "
            f"for {granted[0]} x {granted[1]}: make `nodes` and `devices` of the config and `nodes` "
            "and `tasks_per_node` of the profile equal (docs/slurm.md)"
        )
    return (
        f"{resources.mpi} --nodes={granted[0]} --ntasks-per-node={granted[1]} "
        f"--cpus-per-task={threads} --kill-on-bad-exit=1 {run}"
    )


def training_command(wildcards, resources, threads):
    """The dna-bigbird command of a training."""
    return launched(training_section(wildcards), wildcards, resources, threads)


# --- inputs: paths, or names of files in data_specs/ (dna_bigbird/inputs/configs/sources.py)


def refuse(path, text):
    """End Snakemake with what is wrong with a setting of the config."""
    end_with(CONFIG_FILES.error(path, str(text)))


FETCHED = {}


def source(name):
    """Return the file of a source named in the config, and note what must be fetched."""
    if is_path(name):
        return plain_path(name)
    path = find_spec(name)
    try:
        spec = read_spec(path)
    except InputError as error:
        end_with(error)
    FETCHED[spec.output_name] = str(path)
    return f"{RES}/inputs/{spec.output_name}"


def bundle_coordinates():
    """Return the coordinates of the DeepSEA bundle; missing ones are reported before any job."""
    if "deepsea" not in INPUTS or "deepsea_coordinates" in INPUTS:
        return named_input("deepsea_coordinates")
    if not is_path(INPUTS["deepsea"]):
        refuse(
            ("inputs", "deepsea"),
            f"the archive {INPUTS['deepsea']!r} has no coordinates in it; add "
            "`deepsea_coordinates: deepsea_train_coordinates`, or the path of allTFs.pos.bed",
        )
    if not os.path.isdir(BUNDLE):
        refuse(("inputs", "deepsea"), f"{BUNDLE}: not a folder")
    try:
        return str(find_coordinates(Path(BUNDLE)))
    except InputError as error:
        refuse(("inputs", "deepsea"), error)


def given_encoder():
    """Return the bundle that the config names instead of a pretraining."""
    name = config["pretrained"]
    return str(bundled_encoder()) if name == "bundled" else plain_path(name)


def given_peaks():
    """The sample sheet, or a list of the peak files that the config names one by one."""
    peaks = INPUTS.get("peaks", [])
    if isinstance(peaks, str):
        return source(peaks)
    return [source(x) for x in (peaks.values() if isinstance(peaks, dict) else peaks)]


def peak_arguments():
    """The values of --peaks: the sheet, or peak files, which may have the names of their labels."""
    labels = INPUTS["peaks"] if isinstance(INPUTS.get("peaks"), dict) else None
    files = [PEAKS] if isinstance(PEAKS, str) else PEAKS
    named = [f"{x}={path}" for x, path in zip(labels, files)] if labels else files
    return " ".join(map(shlex.quote, named))


def peak_files(sheet):
    """The files named in a local sample sheet, so that a changed one is noticed."""
    if "demo" in INPUTS or not isinstance(sheet, str) or not is_path(INPUTS["peaks"]):
        return []
    return sorted({os.path.normpath(row.path) for row in peak_rows(Path(sheet))})


sha256_once = functools.cache(sha256_of)


def content(*sources):
    """What is in files that the user gives, for params: Snakemake compares only times, and a copy may keep an old one.

    Call it in a function of the wildcards alone: Snakemake does not compare params that are made of the input.
    """
    files = [x for each in sources for x in ([each] if isinstance(each, str) else each)]
    own = [x for x in files if not x.startswith(f"{RES}/") and os.path.isfile(x)]
    return hashlib.sha256("".join(map(sha256_once, own)).encode()).hexdigest()


INPUTS = config.get("inputs", {})


def named_input(key):
    """Return the file of an entry of `inputs`; [] if there is none."""
    return source(INPUTS[key]) if key in INPUTS else []


DEMO = f"{RES}/inputs/demo"
if "demo" in INPUTS:
    GENOME_SOURCES = [f"{DEMO}/demo.fa"]
    PROMOTERS, PEAKS = f"{DEMO}/promoters.bed", f"{DEMO}/peaks.tsv"
    VARIANT_FILE = f"{DEMO}/variants.vcf"
else:
    GENOME_SOURCES = [source(name) for name in INPUTS.get("genome", [])]
    PROMOTERS, PEAKS = named_input("promoters"), given_peaks()
    VARIANT_FILE = named_input("variants")
SEQUENCES = INPUTS.get("promoter_sequences", {})
SEQUENCE_SOURCE = source(SEQUENCES["source"]) if SEQUENCES else []
SEQUENCE_SITES = f"{RES}/promoter/sequences.bed"
if SEQUENCES:
    GENOME_SOURCES.append(f"{RES}/promoter/sequences.fa")
CHAIN, REPEATS = named_input("chain"), named_input("repeats")
AVOID, BLACKLIST = named_input("avoid"), named_input("blacklist")
BUNDLE = named_input("deepsea")
if BUNDLE and not is_path(INPUTS["deepsea"]):  # an archive was fetched
    BUNDLE_ARCHIVE, BUNDLE = BUNDLE, f"{RES}/inputs/deepsea"
else:
    BUNDLE_ARCHIVE = []
BUNDLE_COORDINATES = bundle_coordinates()
BUNDLE_LABELS = (
    named_input("deepsea_labels")
    or f"{resource_folder('data_specs')}/deepsea_919_peaks.tsv"
)
SITES = f"{RES}/promoter/sites.bed" if CHAIN else PROMOTERS
ENCODER = given_encoder() if "pretrained" in config else f"{RES}/trained/pretrained"
# What is made of variants; the demo's have a known effect on chromatin labels.
VARIANT_SCORES = expand(
    "{res}/predictions/variants/{task}.tsv", res=RES, task=SCORING_VARIANTS
)
VARIANT_RANKING = expand(
    "{res}/predictions/variants/ranking_{task}",
    res=RES,
    task={"chromatin"} & set(SCORING_VARIANTS) if "demo" in INPUTS else [],
)
ZERO_SHOT = PREDICTIONS.get("zero_shot", {})
ZERO_SHOT_SCORES = {
    name: f"{RES}/predictions/zero_shot/{name}.tsv"
    for name in ZERO_SHOT.get("scores", [])
    if VARIANT_FILE
}
MUTAGENESIS_MATRIX = [f"{RES}/predictions/mutagenesis.tsv"] if MUTAGENESIS else []
