"""What each ingredient of pretraining is worth at equal processor time: docs/explanation/training-recipe.md.

    python experiments/2026-11-learning/learning.py --config tests/real/fast.yaml --variant bigbird_512 \\
        --folder results/learning [--jobs 2] [--only ours paper] [--picture curves.png]

Every arm of learning_arms.yaml trains for the same processor time (--minutes) on one thread, with the
package's own `pretrain`. The learning rate must reach its end when the time is up, so the number of
steps of an arm follows from the processor time of 30 of its steps, measured first and kept in the
folder. All arms are scored on the same hidden tokens of validation, masked as in the paper. What is
finished is kept, and a training that was killed continues from its checkpoint: the same command goes
on. Writes table.tsv, table.md, curves.tsv, results.json and a picture; reads no test region.
"""

import argparse
import json
import os
import queue
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import learning_arms as arms_of
from learning_arms import Arm, Training

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.writing import atomic_path, json_text
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.workflow.config.run_config import read_config

HERE = Path(__file__).parent
ARMS = HERE / "learning_arms.yaml"
TOKENIZER = "dna_bpe.model"


@dataclass(frozen=True)
class Plan:
    """What all trainings share."""

    folder: Path
    corpus: dict[str, str]
    """Paths of train, validation and tokenizer, and the checksums of both stores."""
    minutes: float
    validations: int
    examples: int
    """Validation examples of the final score."""
    curve_examples: int
    """Those of the scores during training."""
    examples_seed: int
    action: ClassVar[str] = "follow"
    """Of learning_run.py."""

    def settings(self, training: Training) -> dict:
        """Return what settings.json of a training has, but for its steps."""
        return {
            "arm": training.arm,
            "seed": training.seed,
            "rate": training.rate,
            "settings": training.settings,
            "corpus": self.corpus,
            "minutes": self.minutes,
            "validations": self.validations,
            "examples": self.examples,
            "curve_examples": self.curve_examples,
            "examples_seed": self.examples_seed,
        }

    def at(self, training: Training) -> Path:
        """Return the folder of a training."""
        return self.folder / "trainings" / training.name

    def speed_at(self, training: Training) -> Path:
        """Return the folder of the speed of an arm, which its seeds share."""
        return self.folder / "speeds" / training.label


class Cores:
    """Processes at the same time, each on a core of its own as far as there are enough.

    Args:
        numbers: Processors to use; the ones this process may use by default.
    """

    def __init__(self, jobs: int, numbers: Sequence[int] | None = None) -> None:
        if not numbers and hasattr(os, "sched_getaffinity"):
            numbers = sorted(os.sched_getaffinity(0))
        self.jobs = jobs
        self.free: queue.SimpleQueue = queue.SimpleQueue()
        for job in range(jobs):
            self.free.put(numbers[job % len(numbers)] if numbers else None)

    def map(self, call: Callable, values: Sequence) -> list:
        """Return `call(value, core)` of each value."""

        def on_core(value):
            core = self.free.get()
            try:
                return call(value, core)
            finally:
                self.free.put(core)

        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(on_core, values))


def start(what: str, folder: Path, core: int | None) -> None:
    """Run learning_run.py on one core and one thread; its messages go to FOLDER/log.txt.

    Raises:
        InputError: If it fails.
    """
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "learning_run.py"), what, str(folder), str(os.getpid())]
    with (folder / "log.txt").open("a") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | one_thread)
        if core is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(process.pid, {core})
        try:
            status = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()  # writes a checkpoint
                process.wait()
    if status:
        last = (folder / "log.txt").read_text().strip().splitlines()[-1:]
        raise InputError(f"{folder}: {what} ended with status {status}: {' '.join(last)}")


def is_done(folder: Path, name: str, settings: dict) -> bool:
    """Return True if a result is there and belongs to these settings; write them otherwise."""
    settings = json.loads(json.dumps(settings))
    path = folder / "settings.json"
    if path.exists() and json.loads(path.read_text()) == settings:
        return (folder / name).exists()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).unlink(missing_ok=True)
    with atomic_path(path) as out:
        out.write_text(json_text(settings))
    return False


def run_all(plan: Plan, trainings: Sequence[Training], cores: Cores) -> None:
    """Measure the speed of the arms, then train them; what is done is left out."""

    def measure(training: Training, core: int | None) -> None:
        folder = plan.speed_at(training)
        if not is_done(folder, "steps.json", plan.settings(replace(training, seed=0))):
            start("measure", folder, core)

    def train(training: Training, core: int | None) -> None:
        folder = plan.at(training)
        steps = json.loads((plan.speed_at(training) / "steps.json").read_text())
        if not is_done(folder, "result.json", plan.settings(training) | steps):
            print(f"{training.name}: {steps['steps']} steps", flush=True)
            start(plan.action, folder, core)
        print(line_of(training, json.loads((folder / "result.json").read_text())), flush=True)

    cores.map(measure, list({training.label: training for training in trainings}.values()))
    cores.map(train, trainings)


def line_of(training: Training, result: dict) -> str:
    """Return one line about a finished training."""
    metrics = result["metrics"]
    bits, low, high = (metrics[f"bits_per_base_masked{end}"] for end in ("", "_low", "_high"))
    return (
        f"{training.name}: {result['run']['steps']} steps, {result['tokens']:,} tokens, "
        f"{result['processor_s']:.0f} processor seconds: {bits:.4f} [{low:.4f}, {high:.4f}] bits per "
        f"masked base of validation (best step {result['best_step']})"
    )


def run_arms(plan: Plan, arms: Sequence[Arm], cores: Cores) -> dict[str, list[Training]]:
    """Train all arms; return the trainings that make the row of each."""
    run_all(plan, arms_of.first_trainings(arms), cores)
    chosen: dict[str, list[Training]] = {}
    for arm in arms:
        if arm.rates:
            rate = min(
                arm.rates, key=lambda rate: _bits(plan, arms_of.trainings_at_best(arm, rate))
            )
            chosen[arm.name] = arms_of.trainings_at_best(arm, rate)
        else:
            chosen[arm.name] = arms_of.first_trainings([arm])
    run_all(plan, [t for arm in arms if arm.rates for t in chosen[arm.name]], cores)
    return chosen


def _bits(plan: Plan, trainings: Sequence[Training]) -> float:
    """Return the figure of seed 0."""
    result = json.loads((plan.at(trainings[0]) / "result.json").read_text())
    return result["metrics"]["bits_per_base_masked"]


def corpus_in(folder: Path) -> dict[str, str]:
    """Return the files of a corpus that was already made.

    Raises:
        InputError: If one of them is missing.
    """
    tokenizers = [folder / "tokenizer.model", folder / TOKENIZER, *sorted(folder.glob("*.model"))]
    tokenizers.append(folder.parent / "tokenizer" / TOKENIZER)  # of the workflow
    paths = {name: folder / f"{name}.h5" for name in ("train", "validation")}
    paths["tokenizer"] = next((path for path in tokenizers if path.exists()), tokenizers[0])
    for path in paths.values():
        if not path.is_file():
            raise InputError(
                f"{path}: no such file; --corpus expects train.h5, validation.h5 and a tokenizer "
                "(*.model)"
            )
    sums = {
        f"{name}_checksum": str(TokenStore(paths[name]).attributes["checksum"])
        for name in ("train", "validation")
    }
    genome = folder.parent / "genome" / "genome.fa"  # for arms that weigh repeats
    if genome.is_file():
        paths["genome"] = genome
    return {name: str(path.resolve()) for name, path in paths.items()} | sums


def make_corpus(config: Path, folder: Path, jobs: int) -> Path:
    """Make the corpus with the rules of the workflow, unless it is there; return its folder."""
    corpus = folder / "corpus"
    targets = [str(corpus / f"{name}.h5") for name in ("train", "validation")]
    if not all(Path(target).exists() for target in targets):
        command = [sys.executable, "-m", "snakemake", "--cores", str(jobs), "--configfile"]
        command += [str(config), "--config", f"results={folder}", "--", *targets]
        subprocess.run(command, check=True)
    return corpus


def parser_of(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that benchmarks of trainings share."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, required=True, help="of a run: data and sizes")
    parser.add_argument("--variant", help="of the config's experiments: other sizes")
    parser.add_argument("--folder", type=Path, required=True, help="results, kept between starts")
    parser.add_argument("--corpus", type=Path, help="train.h5, validation.h5 and a tokenizer")
    parser.add_argument("--arms", type=Path, default=ARMS, help="default: learning_arms.yaml")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at the same time")
    parser.add_argument("--cores", type=int, nargs="+", help="default: those of this process")
    parser.add_argument("--examples", type=int, default=128, help="of the final score")
    parser.add_argument("--seed", type=int, default=1, help="of the examples and the intervals")
    return parser


def corpus_of(options: argparse.Namespace) -> dict[str, str]:
    """Make the folder of the results, and the corpus unless there is one; return its files."""
    options.folder.mkdir(parents=True, exist_ok=True)
    return corpus_in(
        options.corpus or make_corpus(options.config, options.folder / "data", options.jobs)
    )


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the options."""
    parser = parser_of(__doc__)
    parser.add_argument("--only", nargs="+", default=(), metavar="ARM", help="default: all arms")
    parser.add_argument("--minutes", type=float, default=20.0, help="processor time of each arm")
    parser.add_argument("--validations", type=int, default=20, help="of each training")
    parser.add_argument("--curve_examples", type=int, default=96, help="of each validation")
    parser.add_argument("--picture", type=Path, help="default: curves.png in the folder")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Train all arms, then write and print the table."""
    options = parse(argv)
    config = read_config([options.config])
    base = arms_of.base_settings(config, options.variant)
    arms = arms_of.read_arms(options.arms, base, options.only)
    plan = Plan(
        options.folder,
        corpus_of(options),
        options.minutes,
        options.validations,
        options.examples,
        min(options.curve_examples, options.examples),
        options.seed,
    )
    chosen = run_arms(plan, arms, Cores(options.jobs, options.cores))

    from learning_tables import write_results

    for line in write_results(plan, arms, chosen, options.picture):
        print(line)


if __name__ == "__main__":
    main()
