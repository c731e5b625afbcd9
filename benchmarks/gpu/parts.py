"""Measure everything that needs a GPU, in several calls if they must be short.

    python benchmarks/gpu.py --minutes 9 --output results/gpu    # until the table has no 'not run'
    python benchmarks/gpu.py --parts bc --output results/gpu     # parts b and c, again if complete
    python benchmarks/gpu.py --device cpu --sizes tiny --output DIR

Each row is saved as it ends (DIR/part_a.json …), important rows of all parts first; a call goes on where
the last one ended. A row that fails is reported with its reason and does not end the others. DIR/gpu.md
has a table of every part and the aims. Needs torch, NumPy, SciPy, safetensors, PyTorch Lightning,
SentencePiece, h5py, tqdm and PyYAML; transformers for the library's rows.
"""

import argparse
import functools
import importlib
import os
import time
from pathlib import Path

# As Lightning sets it for deterministic algorithms; it must be there before the first product.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch

from benchmarks.gpu.machine import machine
from benchmarks.gpu.rows import Part, Row, run_rows
from benchmarks.gpu.settings import SIZES, Settings
from benchmarks.gpu.table import page
from dna_bigbird.core.writing import atomic_path

PARTS = {
    "a": ("Exactness: error over the allowed error, at most 1 is good", "exactness"),
    "b": (
        "Attention alone, bfloat16, in turn with full attention (flash on a GPU)",
        "attention",
    ),
    "c": ("Training step of the base model, bfloat16", "training"),
    "d": ("The step of config/grch37.yaml", "own_step"),
    "e": ("Determinism: two trainings from one seed in one process", "determinism"),
    "f": ("Predicting, from bases to probabilities of both strands", "predicting"),
    "g": ("Exchange between processes", "processes"),
}


def rows_of(letter: str, settings: Settings) -> list[Row]:
    """Return the rows of a part; if it cannot begin, one row with the reason."""
    try:
        return importlib.import_module(f"benchmarks.gpu.{PARTS[letter][1]}").rows(settings)
    except Exception as error:
        failure = error  # the name of an exception ends with its block

        def fail() -> dict:
            raise failure

        return [Row({"part": letter}, fail)]


def open_parts(options: argparse.Namespace, settings: Settings, where: dict) -> list[Part]:
    """Return all parts with what is saved; complete ones that are named begin again."""
    parts = []
    for letter in PARTS:
        part = Part.open(letter, options.output, settings.stored(), where)
        if letter in (options.parts or PARTS):
            part.rows = rows_of(letter, settings)
            if options.retry:
                part.done = [entry for entry in part.done if "values" in entry]
            elif options.parts and part.is_complete:
                part.done = []
        elif part.done:
            part.rows = rows_of(letter, settings)
        parts.append(part)
    return parts


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=9.0, help="after which no row begins")
    parser.add_argument("--output", type=Path, required=True, help="folder; one per machine")
    parser.add_argument("--parts", help=f"some of {''.join(PARTS)}; default: all")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--sizes", choices=tuple(SIZES), default="full")
    parser.add_argument("--retry", action="store_true", help="run rows again that failed")
    parser.add_argument("--list", action="store_true", help="print the rows and run nothing")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts or "") - set(PARTS):
        parser.error(
            f"--parts {options.parts}: no part {sorted(unknown)[0]!r}; of {''.join(PARTS)}"
        )
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU here; to try the script: --device cpu --sizes tiny")
    return options


def main(arguments: list[str] | None = None, started_at: float | None = None) -> None:
    """Run what is left and there is time for, and print the page."""
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    settings, where = Settings(options.device, options.sizes), machine(options.device)
    parts = open_parts(options, settings, where)
    chosen = [part for part in parts if part.letter in (options.parts or PARTS)]
    if options.list:
        for part in chosen:
            print(
                *(f"({part.letter}) {row.key} {row.expected_s:.0f} s" for row in part.rows),
                sep="\n",
            )
        return
    began_at = time.monotonic() if started_at is None else started_at
    run_rows(chosen, began_at + 60 * options.minutes, functools.partial(print, flush=True))
    shown = [part for part in parts if part in chosen or part.done]
    text = page({letter: title for letter, (title, _) in PARTS.items()}, shown, where)
    with atomic_path(options.output / "gpu.md") as path:
        path.write_text(text)
    print(text)
