"""The jobs of every run, as a dry run of Snakemake plans them with placeholders for its inputs."""

import contextlib
import functools
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import yaml

from tools.texts import ROOT, cleaned, lines_of

TARGETS = {"config/config.yaml": ("all", "text"), "config/grch37.yaml": ("all", "experiments")}
"""Of configs whose first lines have no call of Snakemake, or not every target."""
COMMANDS_OF_OPTIONS = [
    ["text", "pretrain"],
    ["train-characters"],
    *(
        ["text", "train", "--task", task]
        for task in ("text-classification", "summarization", "glue")
    ),
    ["text", "train"],
]
"""Commands that read the files of options in config/text/; each says which of them it takes."""
_INPUT = re.compile(r"(?<![\w.])\.\.?/(?:shared|results|text)/[\w./-]*\w")
_SUITE = "../shared/data/benchmarks/genomic_benchmarks/human_nontata_promoters/train"
NO_CONFIGS = ("option_meanings.yaml", "plain_english.yaml")


class Call(NamedTuple):
    """How a config is run."""

    targets: tuple[str, ...]
    files: tuple[str, ...]
    """What is merged; none if the file is not one of the workflow."""


def config_files() -> list[str]:
    """Return every config file of config/ and tests/."""
    return sorted(
        str(path)
        for folder in ("config", "tests")
        for path in Path(folder).rglob("*.yaml")
        if path.name not in NO_CONFIGS
    )


def call_of(name: str) -> Call:
    """Return the targets and files of a config, from the call of Snakemake in its first lines."""
    text = (ROOT / name).read_text()
    comment = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    comment = re.sub(r"\\\n#", " ", comment)
    call = re.search(r"snakemake (.+)", comment)
    if not call:
        is_run = "name" in (yaml.safe_load(text) or {})
        return Call(TARGETS.get(name, ("all",)), (name,) if is_run else ())
    words = re.split(r"[ =]", call[1])
    files = [word for word in words if word.endswith(".yaml")]
    named = re.sub(r"--(cores|workflow-profile) \S+|--\S+(=\S+| [\w=]+=\S+)*", " ", call[1])
    targets = [word for word in named.split() if re.fullmatch(r"[a-z]\w*", word)]
    return Call(TARGETS.get(name, tuple(targets) or ("all",)), tuple(files))


@contextlib.contextmanager
def working_folder() -> Iterator[Path]:
    """Change to a folder with the workflow and the configs; their inputs are placeholders."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve() / "checkout"
        for name in ("config", "workflow", "data_specs", "tests/real"):
            shutil.copytree(ROOT / name, folder / name)
        for name in ("Snakefile", "environment.yml"):
            shutil.copy(ROOT / name, folder)
        texts = [path.read_text() for path in folder.rglob("*") if path.suffix in (".yaml", ".tsv")]
        for name in {word for text in texts for word in _INPUT.findall(text)}:
            _put_placeholder(folder / name)
        (folder / _SUITE).mkdir(parents=True)
        with contextlib.chdir(folder):
            yield folder


def _put_placeholder(path: Path) -> None:
    """Write a file with one row of BED, or a folder, that checks of a config accept in place of the input."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return
    if not path.suffix:
        path.mkdir()
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(b"chr1\t1\t2\n", mtime=0))
    else:
        path.write_text("chr1\t1\t2\n" if "bed" in path.name or "Peak" in path.name else "")


def plans(names: list[str], jobs: int) -> dict[str, object]:
    """Return the jobs of every run, or the line that refuses it."""
    runs = [name for name in names if call_of(name).files]
    with working_folder() as folder, ThreadPoolExecutor(jobs) as pool:
        return dict(zip(runs, pool.map(functools.partial(_plan, folder), runs), strict=True))


def _plan(folder: Path, name: str) -> object:
    targets, files = call_of(name)
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--dry-run", "--forceall", "--printshellcmds", "--nolock",
             "--cores", "2", *targets, "--configfile", *files],
            cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=os.environ | {"XDG_CACHE_HOME": cache, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    text = cleaned(done.stdout.replace(f"{folder}/", "").replace(str(folder), "."))
    if done.returncode:
        return {"status": done.returncode, "lines": lines_of(text)[-3:]}
    head, *blocks = text.split("[TIME]\n")
    blocks = [
        re.sub(r"    jobid: \d+\n", "", block.partition("\nJob stats:\n")[0]) for block in blocks
    ]
    return {
        "targets": list(targets),
        "count": sorted(re.findall(r"^\w+ +\d+$", head, flags=re.MULTILINE)),
        "jobs": sorted(lines_of(block.strip()) for block in blocks),
    }
