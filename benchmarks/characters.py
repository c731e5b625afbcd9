"""The tiny character model on real text and on real bases: bits per character, phase by phase, and baselines.

    python benchmarks/characters.py --data text --folder results/characters       # 9 minutes of one thread
    python benchmarks/characters.py --data dna --folder results/characters \\
        --fasta ../shared/data/genome/hg19_chr17_1-1000000.fa.gz ../shared/data/genome/hg19_chr22_1-21000000.fa.gz

text: 10 MB of Python's standard library, its files in the order of the sha256 of their names, split as text8
(90, 5 and 5 %). dna: validation and test are regions of chr22, everything else is for training. The training is
that of config/text/characters-tiny.yaml with --seed; for dna with fewer steps. A training that is complete in
--folder is not repeated; its processor time is read from there.
"""

import argparse
import hashlib
import json
import platform
import sysconfig
import time
from dataclasses import replace
from pathlib import Path

import torch
import yaml

from dna_bigbird.datasets.characters import CharacterSplit
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.models.character_config import CharacterConfig
from dna_bigbird.pipeline.train_characters import train_characters
from dna_bigbird.tasks.character_config import StagedTraining

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "config/text/characters-tiny.yaml"
TEXT_BYTES = 10_000_000
DNA_STEPS = [500, 100, 50, 20, 10]
REGIONS = {"validation": ["chr22:20,000,001-20,500,000"], "test": ["chr22:19,500,001-20,000,000"]}


def write_text(path: Path) -> None:
    """Write the first 10 MB of the standard library, files in a fixed random order."""
    library = Path(sysconfig.get_path("stdlib"))
    names = [
        name
        for each in library.rglob("*.py")
        if not {"site-packages", "dist-packages"} & set((name := each.relative_to(library)).parts)
    ]
    names.sort(key=lambda name: hashlib.sha256(str(name).encode()).digest())
    content = b"".join((library / name).read_bytes() for name in names)
    path.write_bytes(content[:TEXT_BYTES])


def write_bases(path: Path, fasta: list[str]) -> None:
    """Join FASTA files to a plain one."""
    with path.open("w") as output:
        for genome in map(Genome, fasta):
            for chrom, length in genome.lengths.items():
                bases = genome.fetch(Interval(chrom, 0, length))
                output.write(f">{chrom}\n")
                output.writelines(f"{bases[i : i + 60]}\n" for i in range(0, length, 60))


def train(data: str, source: Path, folder: Path, seed: int) -> float:
    """Train unless the folder has the model; return the processor time in seconds."""
    seconds = folder / f"{data}-seconds.json"
    if seconds.exists():
        return json.loads(seconds.read_text())
    recipe = yaml.safe_load(RECIPE.read_text())
    training = StagedTraining(**recipe["training"])
    split, reads = CharacterSplit(), "bytes"
    if data == "dna":
        training, reads = replace(training, phase_steps=DNA_STEPS), "dna"
        split = CharacterSplit(**REGIONS)
    started_s = time.process_time()
    train_characters(
        source,
        folder / data,
        folder / f"{data}-checkpoints",
        source=reads,
        split=split,
        seed=seed,
        model=CharacterConfig(**recipe["model"]),
        training=training,
        threads=1,
    )
    passed_s = time.process_time() - started_s
    seconds.write_text(json.dumps(passed_s))
    return passed_s


def main() -> None:
    """Train, evaluate and print tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", choices=["text", "dna"], required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--fasta", nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    source = options.folder / ("text.bin" if options.data == "text" else "bases.fa")
    if not source.exists():
        write_text(source) if options.data == "text" else write_bases(source, options.fasta)
    seconds = train(options.data, source, options.folder, options.seed)
    print(
        f"{options.data}, seed {options.seed}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"one thread of {platform.processor() or platform.machine()}: training {seconds / 60:.1f} minutes of "
        "processor time"
    )


if __name__ == "__main__":
    main()
