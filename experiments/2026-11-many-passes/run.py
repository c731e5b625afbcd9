"""Each ingredient for many passes over little DNA, one at a time, at equal processor time.

    python experiments/2026-11-many-passes/run.py --folder results/many-passes [--jobs 2] [--only ours ema_0.999]

Trains the arms of arms.yaml with the machinery of experiments/2026-11-learning: --minutes processor minutes on one
thread for each training. The steps of the recipe are --steps (what another machine makes in that time), or follow from
the processor time of 30 steps, measured first and kept; arms of the same network and masking have as many, the others
as many fewer as their steps are dearer than those of the recipe, measured in turn with it: a busy machine slows both.
Arms under `text` read another training text; arms under `lessons` learn from trainings that are there, in as many
steps as without, or a share of them. What is finished is kept, and a killed training continues from its checkpoint: the same command goes
on. Another budget, config or table of arms needs another folder.

Then every training that is finished, and the mean of the probabilities of all seeds of an arm, is scored on the same
hidden tokens of contiguous stretches of the validation and test documents, 15 % hidden and shown as in the config, on
bases without a 32-mer of the training text. A model that reads fewer tokens gets them in windows of its length that
overlap by half, and answers for their middle.
Writes and prints table.md (differences to the recipe, paired by block of 10 kb) and writes table.tsv, results.json,
curves.tsv (training and validation) and curves.png.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import yaml
from scipy.special import logsumexp

HERE = Path(__file__).parent
for name in ("2026-11-learning", "2026-11-context-worth"):
    sys.path.append(str(HERE.parent / name))

import context_worth  # noqa: E402
import learning  # noqa: E402
import learning_arms  # noqa: E402
import learning_run  # noqa: E402
from paired import paired_rows, write_rows  # noqa: E402

from dna_bigbird.bundles.bundle import load_bundle  # noqa: E402
from dna_bigbird.core.figures import style  # noqa: E402
from dna_bigbird.core.limits import use_threads  # noqa: E402
from dna_bigbird.core.writing import atomic_path, json_text  # noqa: E402
from dna_bigbird.corpus.masking import PAPER, MaskingConfig  # noqa: E402
from dna_bigbird.corpus.piece_dropout import PieceDropout  # noqa: E402
from dna_bigbird.corpus.pretraining_examples import PretrainExamples  # noqa: E402
from dna_bigbird.corpus.token_store import TokenStore  # noqa: E402
from dna_bigbird.corpus.tokenize import tokenize  # noqa: E402
from dna_bigbird.corpus.tokenizer import DnaTokenizer  # noqa: E402
from dna_bigbird.evaluation.evaluate_lm_parts import HiddenTokens, ways_to_divide  # noqa: E402
from dna_bigbird.training.teachers import OnBothStrands  # noqa: E402
from dna_bigbird.workflow.config.run_config import read_config  # noqa: E402

CONFIG = HERE.parent / "2026-11-copies" / "tokens.yaml"
REGIONS = {
    "validation": ("chr22", 17_500_000, 17_750_000),
    "chr22:20-21 Mb": ("chr22", 20_000_000, 21_000_000),
    "chr22:19.5-20 Mb": ("chr22", 19_500_000, 20_000_000),
    "chr17:0.8-1 Mb": ("chr17", 800_000, 1_000_000),
}
BITS = "bits_per_base_masked"
ROUNDS = 3
"""How often the cost of an arm is measured."""
BLOCK_BP = 100_000
"""Of the training text; an arm that reads a share of it reads every so many-th of these."""


@dataclass(frozen=True)
class Text:
    """The training text of an arm: every so many-th block, and strands."""

    one_of: int = 1
    both_strands: bool = True
    equal_passes: bool = False
    """As many passes as the recipe makes, not as many steps."""
    bpe_dropout: float = 0.0
    """Probability that an occurrence of a piece is left out; each pass over the genome has its own draws."""

    @property
    def share(self) -> float:
        """Steps by those of the recipe."""
        return 1 / self.one_of if self.equal_passes else 1.0

    def files(self, corpus: Path) -> dict[str, str]:
        """Make documents and tokens, unless they are there; return what a training reads, with its checksum."""
        name = f"{self.one_of}_{self.both_strands}_{self.bpe_dropout:g}.h5"
        path = corpus.parent / "texts" / name
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            documents = path.with_suffix(".bed.gz")
            genome = corpus.parent / "genome" / "genome.fa"
            regions = every_block(TokenStore(corpus / "train.h5"), self.one_of)
            strands = ["--documents.both_strands", str(self.both_strands).lower()]
            made = ["--genome", genome, "--output", documents]
            run("dna_bigbird", "documents", *made, *strands, "--regions", *regions)
            tokenizer = corpus.parent / "tokenizer" / learning.TOKENIZER
            with drawn_pieces(self.bpe_dropout):
                tokenize(genome, documents, tokenizer, path)
        store = TokenStore(path)
        return {
            "train": str(path.resolve()),
            "train_checksum": str(store.attributes["checksum"]),
        }


@contextmanager
def drawn_pieces(share: float) -> Iterator[None]:
    """Let the tokenizers of the block draw their pieces (BPE-dropout); `tokenize` has no option for it."""
    usual = DnaTokenizer.encode_flat

    def drawn(tokenizer: DnaTokenizer, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        pieces = PieceDropout(tokenizer, share)
        ids = [pieces.encode(text, generator) for text in texts]
        return np.concatenate(ids), np.array([len(x) for x in ids])

    generator = np.random.default_rng(0)
    if share:
        DnaTokenizer.encode_flat = drawn
    try:
        yield
    finally:
        DnaTokenizer.encode_flat = usual


@dataclass(frozen=True)
class Lesson:
    """What an arm learns from in place of hidden tokens."""

    teachers: list[str]
    """Names of trainings that are there."""
    initial: str = ""
    """Arm whose training of the same seed it goes on from; empty: from random weights."""
    share: float = 1.0
    """Steps by those without teachers."""


def run(*arguments: object) -> None:
    """Run a Python module as a program."""
    command = [sys.executable, "-m", *map(str, arguments)]
    if status := subprocess.run(command).returncode:
        sys.exit(status)


def every_block(store: TokenStore, one_of: int) -> list[str]:
    """Return every so many-th block of the bases that a store covers, as regions."""
    blocks = [
        (chrom, start, min(start + BLOCK_BP, int(last)))
        for chrom, (firsts, lasts) in store.regions().items()
        for first, last in zip(firsts, lasts, strict=True)
        for start in range(int(first), int(last), BLOCK_BP)
    ]
    return [f"{chrom}:{start + 1}-{end}" for chrom, start, end in blocks[::one_of]]


@dataclass(frozen=True)
class Plan(learning.Plan):
    """What all trainings share, but for the text of some arms."""

    action: ClassVar[str] = "train"
    texts: dict[str, Text]
    text_files: dict[str, dict[str, str]]
    lessons: dict[str, Lesson]
    max_tokens: int
    steps: int | None
    """Of the recipe; None: as many as fit."""
    test_masking: MaskingConfig

    def settings(self, training: learning_arms.Training) -> dict:
        """Return the settings of a training; shorter examples of validation are as many more."""
        settings = super().settings(training)
        settings["corpus"] = self.corpus | self.text_files.get(training.arm, {})
        if lesson := self.lessons.get(training.arm):
            settings["teachers"] = [self.bundle(x) for x in lesson.teachers]
            if lesson.initial:
                settings["initial"] = self.bundle(f"{lesson.initial}-seed{training.seed}")
        times = self.max_tokens // training.settings["model"]["max_tokens"]
        return settings | {x: times * settings[x] for x in ("examples", "curve_examples")}

    def bundle(self, training: str) -> str:
        """Return the path of what a training made."""
        return str(self.folder.resolve() / "trainings" / training / "bundle")

    def share(self, training: learning_arms.Training) -> float:
        """Return the steps of a training by those that its time has room for."""
        lesson = self.lessons.get(training.arm, Lesson([]))
        return lesson.share * self.texts.get(training.arm, Text()).share


def corpus_of(config: Path, folder: Path, jobs: int) -> Path:
    """Make the token stores with the rules of the workflow, unless they are there; return their folder."""
    corpus = folder / "data" / "corpus"
    targets = [corpus / f"{name}.h5" for name in ("train", "validation", "test")]
    if not all(target.exists() for target in targets):
        config_options = ["--configfile", config, "--config", f"results={folder / 'data'}"]
        run("snakemake", "--cores", jobs, *config_options, "--", *targets)
    return corpus


def set_steps(plan: Plan, arms: Sequence[learning_arms.Arm]) -> None:
    """Write the steps of each arm that fit into its processor time, unless they are there."""
    first, *others = learning_arms.first_trainings(arms)
    if not is_measured(plan, first):
        if plan.steps:
            step_s = 60 * plan.minutes / plan.steps
        else:
            step_s = learning_run.measured_step(plan.settings(first))
        write_steps(plan, first, step_s)
    steps_s = json.loads((plan.speed_at(first) / "steps.json").read_text())["seconds_per_step"]
    for training in others:
        if is_measured(plan, training):
            continue
        cost = 1.0
        if any(training.settings[x] != first.settings[x] for x in ("model", "masking")):
            cost = float(np.median([cost_of(plan, training, first) for _ in range(ROUNDS)]))
        write_steps(plan, training, cost * steps_s)


def is_measured(plan: Plan, training: learning_arms.Training) -> bool:
    """Return True if the steps of a training are there."""
    settings = plan.settings(replace(training, seed=0))
    return learning.is_done(plan.speed_at(training), "steps.json", settings)


def cost_of(plan: Plan, *pair: learning_arms.Training) -> float:
    """Return the processor time of steps by that of another training, in turn; without teachers."""
    settings = [plan.settings(each) | {"teachers": [], "initial": None} for each in pair]
    measured, other = map(learning_run.measured_step, settings)
    return measured / other


def write_steps(plan: Plan, training: learning_arms.Training, step_s: float) -> None:
    """Write the steps of a training."""
    seconds = 60 * plan.minutes * plan.share(training)
    steps, every = learning_run.steps_within(seconds, step_s, plan.validations)
    values = {"seconds_per_step": round(step_s, 6), "steps": steps, "validate_every": every}
    with atomic_path(plan.speed_at(training) / "steps.json") as out:
        out.write_text(json_text(values))


def is_within(block: str, region: tuple[str, int, int]) -> bool:
    """Return True if a block such as "chr22:20000001-20010000" is in a 0-based, half-open region."""
    chrom, _, bounds = block.partition(":")
    first, last = map(int, bounds.split("-"))
    return chrom == region[0] and region[1] < first and last <= region[2]


def hidden_nats(
    folder: Path, hidden_in: PretrainExamples, count: int, *, both_strands: bool = False
) -> np.ndarray:
    """Return the nats of each hidden token of an arm; they are kept next to its weights."""
    path = folder / f"{hidden_in.store.path.stem}_nats{'_of_both' * both_strands}.npy"
    marker = [hidden_in.seed, count, hidden_in.store.attributes["checksum"], "contiguous"]
    facts = path.with_suffix(".json")
    if not (facts.exists() and json.loads(facts.read_text()) == marker):
        bundle = load_bundle(folder / "bundle")
        if both_strands:
            bundle.model = OnBothStrands(bundle.model, bundle.tokenizer)
        max_tokens = bundle.config.encoder.max_tokens
        if max_tokens < hidden_in.max_tokens:
            stride = (max_tokens - context_worth.SPECIAL) // 2
            nats = np.concatenate(context_worth.short_nats(bundle, hidden_in, count, stride))
        else:
            nats = np.concatenate(context_worth.nats_of(bundle, hidden_in, count))
        with atomic_path(path) as out, out.open("wb") as file:
            np.save(file, nats)
        with atomic_path(facts) as out:
            out.write_text(json.dumps(marker))
    return np.load(path)


def mixed(nats: Sequence[np.ndarray]) -> np.ndarray:
    """Return the cost of the mean of the probabilities."""
    return np.log(len(nats)) - logsumexp(-np.stack(nats), axis=0)


def rows_of(
    split: str,
    plan: Plan,
    trainings: dict[str, list[learning_arms.Training]],
    corpus: Path,
    count: int,
) -> list[dict]:
    """Return bits on unseen bases by region, seed and arm, and paired differences to the recipe of this seed.

    Models of single bases have a row of the mean probabilities of both strands. Rows of seed "mean" have the mean nats
    of the seeds of the recipe, "ensemble of" those of the mean of their probabilities; "teachers of" those of the
    trainings that an arm learns from.

    Args:
        count: Examples of the store of this split.
    """
    bundle = load_bundle(plan.at(trainings[learning_arms.OURS][0]) / "bundle")
    stores = {name: TokenStore(corpus / f"{name}.h5") for name in ("train", split)}
    examples = PretrainExamples(
        stores[split],
        bundle.tokenizer,
        plan.max_tokens,
        plan.test_masking,
        plan.examples_seed,
        random_second=False,
    )
    hidden = HiddenTokens(examples, count, bundle.tokenizer.piece_bp)
    way = ways_to_divide(bundle, stores["train"], stores[split], hidden, None)["by_class"]
    tables: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    known: dict[str, np.ndarray] = {}
    for arm, of_arm in trainings.items():
        nats = [hidden_nats(plan.at(x), examples, count) for x in of_arm]
        for training, values in zip(of_arm, nats, strict=True):
            tables[str(training.seed)][arm] = known[training.name] = values
            if bundle.tokenizer.piece_bp.max() == 1:
                both = hidden_nats(plan.at(training), examples, count, both_strands=True)
                tables[str(training.seed)][f"{arm}, both strands"] = both
        seeds = len(trainings[learning_arms.OURS])
        if len(nats) >= seeds > 1:
            tables["mean"][arm] = np.mean(nats[:seeds], axis=0)
            tables["0"][f"ensemble of {arm}"] = mixed(nats[:seeds])
    for arm, lesson in plan.lessons.items():
        if arm in trainings and known.keys() >= set(lesson.teachers):
            tables["0"][f"teachers of {arm}"] = mixed([known[x] for x in lesson.teachers])
    rows = []
    for seed, values in tables.items():
        if learning_arms.OURS not in values:
            continue
        sums = hidden.by_part(way, np.column_stack([*values.values(), hidden.bases]))[:, 0]
        for name, region in REGIONS.items():
            here = np.array([is_within(block, region) for block in hidden.blocks])
            if sums[here, -1].sum():
                rows += paired_rows(
                    list(values), sums[here], plan.examples_seed, region=name, training_seed=seed
                )
    return rows


def curves_of(folders: dict[str, Path]) -> pd.DataFrame:
    """Return the history of all trainings: training (as it hides) and validation (15 %) over the steps."""
    parts = [
        pd.read_csv(folder / "bundle" / "history.tsv", sep="\t").assign(training=name)
        for name, folder in folders.items()
    ]
    return pd.concat(parts)


def draw(curves: pd.DataFrame, path: Path) -> None:
    """Draw bits per masked base over the steps: validation as lines with points, training without."""
    with style.style():
        figure = style.new_figure(8.0, 4.4)
        axes = figure.subplots()
        for number, (name, rows) in enumerate(curves.groupby("training", sort=False)):
            for split, line in (("train", "-"), ("validation", ".--")):
                own = rows[(rows["split"] == split) & (rows["name"] == BITS)]
                label = name if split == "validation" else None
                axes.plot(
                    own["step"], own["value"], line, lw=1, color=f"C{number % 10}", label=label
                )
        axes.set(xlabel="step", ylabel="bits per masked base")
        axes.legend(fontsize=6, ncols=2)
    with atomic_path(path) as out:
        out.write_bytes(style.save(figure, "png"))


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True, help="results, kept between starts")
    parser.add_argument("--config", type=Path, default=CONFIG, help="data and recipe")
    parser.add_argument("--arms", type=Path, default=HERE / "arms.yaml")
    parser.add_argument("--only", nargs="+", default=(), metavar="ARM", help="default: all arms")
    parser.add_argument("--minutes", type=float, default=20.0, help="processor time of each arm")
    parser.add_argument("--steps", type=int, help="of the recipe; default: as many as fit")
    parser.add_argument("--seeds", type=int, default=3, help="of an arm, at most")
    parser.add_argument("--first_seed", type=int, default=0, help="of an arm, to add seeds later")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=1, help="trainings at once")
    parser.add_argument("--validations", type=int, default=20, help="of each training")
    parser.add_argument("--curve_examples", type=int, default=48, help="of each validation")
    parser.add_argument("--examples", type=int, default=500, help="of the test")
    parser.add_argument("--seed", type=int, default=0, help="of test examples and intervals")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Train and score the arms, then write and print the table."""
    options = parse(argv)
    corpus = corpus_of(options.config, options.folder, options.jobs)
    base = learning_arms.base_settings(read_config([options.config]))
    chosen = {learning_arms.OURS, *options.only} if options.only else ()
    arms = [
        replace(arm, seeds=min(arm.seeds, options.seeds), first_seed=options.first_seed)
        for arm in learning_arms.read_arms(options.arms, base, sorted(chosen), same=["vocab_size"])
    ]
    file = yaml.safe_load(options.arms.read_text())
    texts = {x.name: Text(**file["text"][x.name]) for x in arms if x.name in file["text"]}
    plan = Plan(
        options.folder,
        learning.corpus_in(corpus),
        options.minutes,
        options.validations,
        options.curve_examples,
        options.curve_examples,
        options.seed,
        texts,
        {arm: text.files(corpus) for arm, text in texts.items()},
        {arm: Lesson(**lesson) for arm, lesson in file["lessons"].items()},
        base["model"]["max_tokens"],
        options.steps,
        replace(PAPER, **{x: y for x, y in base["masking"].items() if x != "fraction"}),
    )
    use_threads(1)
    set_steps(plan, arms)
    trainings = learning.run_arms(plan, arms, learning.Cores(options.jobs))
    folders = {each.name: plan.at(each) for of_arm in trainings.values() for each in of_arm}
    rows = [
        row
        for split, count in (("validation", options.curve_examples), ("test", options.examples))
        for row in rows_of(split, plan, trainings, corpus, count)
    ]
    for row in rows:
        if path := folders.get(f"{row['predictor']}-seed{row['training_seed']}"):
            result = json.loads((path / "result.json").read_text())
            row |= {"steps": result["run"]["steps"], "best_step": result["best_step"]}
            row |= {"processor_s": result["processor_s"]}
    curves = curves_of(folders)
    with atomic_path(options.folder / "curves.tsv") as path:
        curves.to_csv(path, sep="\t", index=False)
    draw(curves, options.folder / "curves.png")
    note = (
        f"Unseen bases, {options.examples} test examples, 15 % hidden, seed {options.seed}; "
        f"{options.minutes:g} processor minutes of each training, one thread. Brackets: 95 % bootstrap intervals over "
        "blocks of 10 kb, paired for differences (arm minus recipe; below 0 the arm is better). Training hides another "
        "share of tokens than validation, so only differences of one curve over the steps can be compared."
    )
    print(write_rows(options.folder, rows, note), end="")


if __name__ == "__main__":
    main()
