"""The tiny character model on real text and on real bases: bits per character, phase by phase, and baselines.

    python experiments/2026-11-character-models/characters.py --data text --folder results/characters       # 5 minutes of one thread
    python experiments/2026-11-character-models/characters.py --data dna --folder results/characters \\
        --fasta ../shared/data/genome/hg19_chr17_1-1000000.fa.gz ../shared/data/genome/hg19_chr22_1-21000000.fa.gz

text: 10 MB of Python's standard library, its files in the order of the sha256 of their names, split as text8
(90, 5 and 5 %). dna: validation and test are regions of chr22, everything else is for training. The training is
that of config/text/characters-tiny.yaml with --seed. A training that is complete in
--folder is not repeated; its processor time is read from there. Two tables: the best weights of each phase on
the same validation characters, and the model with its baselines on the test part. Windows of 6,144 characters with a
stride of 3,072: every scored character has as many before it as the model can reach.
"""

import argparse
import hashlib
import json
import platform
import sysconfig
import time
from pathlib import Path

import torch
import yaml

from dna_bigbird.bundles.character_model import load_character_model
from dna_bigbird.corpus.characters import CharacterSplit
from dna_bigbird.evaluation.evaluate_characters import evaluate_characters
from dna_bigbird.evaluation.evaluate_characters_run import score_characters
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.models.character_config import CharacterConfig
from dna_bigbird.training.character_config import StagedTraining
from dna_bigbird.training.character_phases import predictor_rows, read_parts
from dna_bigbird.training.train_characters import train_characters

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "config/text/characters-tiny.yaml"
TEXT_BYTES = 10_000_000
WINDOW, STRIDE = 6144, 3072
COMPARED = 50_000
"""Validation characters on which the phases are compared."""
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
        split, reads = CharacterSplit(**REGIONS), "dna"
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


def print_phases(data: str, source: Path, folder: Path) -> None:
    """Print the bits per character of the best weights of each phase on the same characters."""
    model, description = load_character_model(folder / data)
    characters = read_parts(source, description.source, description.split)
    validation = characters.parts["validation"][:COMPARED]
    print(
        "| phase | windows | characters of an example | learning rate | steps | bits per character |"
    )
    print("|---|---|---|---|---|---|")
    training = StagedTraining(**description.training)
    first = [window // training.phases[-1].factor for window in description.model.causal_windows]
    for phase in training.phases:
        checkpoints = folder / f"{data}-checkpoints/phase-{phase.number + 1}"
        best = max(checkpoints.glob("best_*.ckpt"))
        state = torch.load(best, map_location="cpu", weights_only=True)["state_dict"]
        model.load_state_dict({name.removeprefix("model."): x for name, x in state.items()})
        model.use_windows([window * phase.factor for window in first])
        nats = {"model": score_characters(model, validation, window=WINDOW, stride=STRIDE)}
        (row,) = predictor_rows(nats, validation, characters.unscored, seed=0)
        config = training.train_config(phase.number)
        print(
            f"| {phase.number + 1} | {', '.join(map(str, model.config.causal_windows))} | {phase.max_tokens:,} | "
            f"{config.learning_rate:g} | {config.max_steps} | {cell(row)} |"
        )
    print(f"\nn = {row['n']:,} characters of the validation part")


def cell(row: dict) -> str:
    """Return a score with its interval."""
    return f"{row['bits']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


def print_test(data: str, source: Path, folder: Path) -> None:
    """Print the scores of the model and of its baselines on the test part."""
    started_s = time.process_time()
    result = evaluate_characters(
        folder / data, source, folder / f"{data}.json", max_tokens=WINDOW, stride=STRIDE, threads=1
    )
    print("\n| predictor | bits per character |\n|---|---|")
    for row in result.rows:
        print(f"| {row['predictor']} | {cell(row)} |")
    print(
        f"\nn = {row['n']:,} characters of the test part; "
        f"{time.process_time() - started_s:.0f} s of processor time"
    )


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
        f"processor time; {source.stat().st_size:,} bytes, sha256 "
        f"{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}\n"
    )
    print_phases(options.data, source, options.folder)
    print_test(options.data, source, options.folder)


if __name__ == "__main__":
    main()
