"""A model of single bases and two-sided counts on the same hidden bases.

    python experiments/2026-11-context-worth/single_base.py --model BUNDLE --genome genome.fa --corpus FOLDER \\
        --regions chr22:19,500,001-20,000,000 --split test --output results/single_base

Windows of the trained length tile the regions. In each, bases that are --apart (50) or more from each
other are hidden, all shown as [MASK]; no base closer than --margin to the end of a window is hidden.
So the model and the counts see the same neighbours. The windows are drawn --passes times, each time
with other hidden bases. Scored apart: 15 % of the bases of a window hidden as in the paper. Printed are
bits per base and differences to the model (paired, 95 % bootstrap intervals over blocks of the genome),
also by repeat class.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from context_worth import SPECIAL, example_of
from paired import parser_of, report, stratified_rows

from dna_bigbird.baselines.base_two_sided import BaseMixtureTwoSided
from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.masking import PAPER, mask_tokens
from dna_bigbird.corpus.regions import select
from dna_bigbird.corpus.token_store import TokenStore, covering_documents
from dna_bigbird.evaluation import evaluate_lm_run
from dna_bigbird.evaluation.evaluate_lm_baselines import MaskedBaselines
from dna_bigbird.evaluation.evaluate_lm_run import score_examples
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.genome.repeats import RepeatClasses, repeat_classes
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.pretraining_task import PretrainingTask

BATCH_BASES = 16384
FORWARD, BOTH = "model, forward strand", "model, both strands"
TWO_SIDED = "two-sided mixture of counts"


@dataclass(frozen=True)
class Window:
    """A stretch of the genome and the offsets of its hidden bases."""

    interval: Interval
    sequence: str
    hidden: np.ndarray

    @property
    def bounds(self) -> np.ndarray:
        """Start and end of the hidden bases on the chromosome, (M, 2)."""
        starts = self.interval.start + self.hidden
        return np.stack([starts, starts + 1], axis=1)

    def reversed(self) -> "Window":
        """Return the other strand; hidden bases ascend there, so their order is reversed."""
        hidden = len(self.sequence) - 1 - self.hidden[::-1]
        return Window(self.interval, reverse_complement(self.sequence), hidden)


def draw_windows(
    genome: Genome,
    regions: Sequence[Interval],
    *,
    length: int,
    margin: int,
    apart: int,
    passes: int,
    seed: int,
) -> Iterator[Window]:
    """Yield windows that tile the regions, pass after pass, each with its hidden bases.

    A window hides each known base that is its number of a grid of `apart` bases, whose start is drawn
    for each window. Neighbouring windows overlap by two margins, so a base is hidden in one of them.
    """
    for number in range(passes):
        rng = np.random.default_rng([seed, number])
        for region in regions:
            inner = length - 2 * margin
            for start in range(region.start, region.end - 2 * margin, inner):
                interval = Interval(region.chrom, start, min(start + length, region.end))
                sequence = genome.fetch(interval)
                first = margin + int(rng.integers(apart))
                hidden = np.arange(first, len(sequence) - margin, apart)
                known = np.frombuffer(sequence.encode(), dtype=np.uint8) != ord("N")
                hidden = hidden[known[hidden]]
                if len(hidden):
                    yield Window(interval, sequence, hidden)


class Model:
    """A pretrained model of single bases.

    Raises:
        InputError: If its tokens have more than one base.
    """

    def __init__(self, folder: Path) -> None:
        self.bundle: Bundle = evaluate_lm_run.load_masked_model(folder)
        self.tokenizer = self.bundle.tokenizer
        if self.tokenizer.piece_bp.max() != 1:
            longest = int(self.tokenizer.piece_bp.max())
            raise InputError(
                f"{folder}: its tokens have up to {longest} bases; expected single bases"
            )
        self.length = self.bundle.config.encoder.max_tokens - SPECIAL

    def check_unread(self, regions: Sequence[Interval], folder: Path) -> None:
        """Raise InputError if training has read a base of the regions."""
        for record in self.bundle.config.regions_read or ():
            for chrom, first, last in record.bounds():
                for region in regions:
                    if region.overlap(Interval(chrom, first - 1, last)) > 0:
                        raise InputError(
                            f"{folder}: has read {chrom}:{first:,}-{last:,} in training; --regions "
                            "must be held out"
                        )

    def nats(self, examples: Sequence[dict]) -> list[np.ndarray]:
        """Return the cost of each hidden base, one array per example, in float32."""
        task = PretrainingTask(self.bundle.model, TrainConfig(), self.tokenizer.piece_bp)
        batch_size = max(1, BATCH_BASES // self.length)
        return score_examples(task, examples, len(examples), batch_size=batch_size).token_nats

    def hidden_alone(self, windows: Sequence[Window]) -> list[np.ndarray]:
        """Return the cost of each hidden base of windows that show [MASK] there."""
        examples = []
        for window in windows:
            seen = self.tokenizer.encode(window.sequence)
            labels = seen[window.hidden]
            seen[window.hidden] = self.tokenizer.mask_id
            examples.append(example_of(seen, window.hidden, labels, self.tokenizer))
        return self.nats(examples)

    def both_strands(self, windows: Sequence[Window], forward: list[np.ndarray]) -> list:
        """Return the costs under the mean of the probabilities of both strands."""
        reverse = self.hidden_alone([window.reversed() for window in windows])
        return [
            -np.logaddexp(-nats, -mirrored[::-1]) + np.log(2)
            for nats, mirrored in zip(forward, reverse, strict=True)
        ]

    def as_in_the_paper(self, windows: Sequence[Window], seed: int) -> list[dict]:
        """Return windows with 15 % of their bases hidden, 80/10/10; N is not chosen."""
        examples = []
        for number, window in enumerate(windows):
            ids = self.tokenizer.encode(window.sequence)
            known = np.frombuffer(window.sequence.encode(), dtype=np.uint8) != ord("N")
            rng = np.random.default_rng([seed, number, 15])
            chosen = mask_tokens(ids, known, rng, PAPER, self.tokenizer)
            examples.append(example_of(*chosen, self.tokenizer))
        return examples


def training_sequences(store: TokenStore, tokenizer) -> Iterator[str]:
    """Yield the documents that cover the training regions once."""
    for document in covering_documents(store):
        yield tokenizer.decode(store.document(document))


def by_block(
    windows: Sequence[Window], costs: Sequence[np.ndarray], block_bp: int, repeats: RepeatClasses
) -> tuple[np.ndarray, np.ndarray]:
    """Sum the costs of hidden bases by block of the genome, and by repeat class.

    Args:
        costs: For each window (M, K) nats.

    Returns:
        Sums with the hidden bases as last column, (N, K + 1), and (N, S, K + 1).
    """
    whole: dict[tuple[str, int], np.ndarray] = {}
    parts: dict[tuple[str, int], np.ndarray] = {}
    for window, nats in zip(windows, costs, strict=True):
        values = np.column_stack([nats, np.ones(len(nats))])
        blocks = window.bounds[:, 0] // block_bp
        for block in np.unique(blocks):
            here, key = blocks == block, (window.interval.chrom, int(block))
            of_class = repeats.sums(window.interval.chrom, window.bounds[here], values[here])
            whole[key] = whole.get(key, 0) + values[here].sum(axis=0)
            parts[key] = parts.get(key, 0) + of_class
    return np.array(list(whole.values())), np.array(list(parts.values()))


def hidden_apart(
    model: Model, windows: Sequence[Window], train: TokenStore
) -> tuple[list[str], list[np.ndarray]]:
    """Return the predictors of bases that are hidden far apart, and their costs by window."""
    forward = model.hidden_alone(windows)
    counts = BaseMixtureTwoSided().fit_sequences(training_sequences(train, model.tokenizer))
    mixed = counts.nll([w.sequence for w in windows], [w.hidden for w in windows])
    columns = zip(model.both_strands(windows, forward), forward, mixed, strict=True)
    return [BOTH, FORWARD, TWO_SIDED], [np.column_stack(column) for column in columns]


def hidden_as_in_the_paper(
    model: Model, windows: Sequence[Window], train: TokenStore, seed: int
) -> tuple[list[str], list[np.ndarray], list[Window]]:
    """Return predictors, costs and windows with 15 % of the bases hidden.

    What `evaluate-lm` has as masked baselines is next to the model.
    """
    examples = model.as_in_the_paper(windows, seed)
    counts = MaskedBaselines(train, model.tokenizer, PAPER, None)
    costs = [
        np.column_stack([nats, counts.nats(example)])
        for nats, example in zip(model.nats(examples), examples, strict=True)
    ]
    hidden = [_offsets(example) for example in examples]
    moved = [Window(w.interval, w.sequence, h) for w, h in zip(windows, hidden, strict=True)]
    return [FORWARD, *counts.names], costs, moved


def _offsets(example: dict) -> np.ndarray:
    """Return which bases of its window an example hides."""
    positions = example["positions"]
    return positions - 1 - example["segment_ids"][positions]


def measure(options: argparse.Namespace) -> tuple[list[dict], str]:
    """Return the rows of the table, and what they were measured on."""
    model, genome = Model(options.model), Genome(options.genome)
    regions = select(genome, options.regions)
    model.check_unread(regions, options.model)
    repeats = repeat_classes(genome, options.repeats, options.pieces)
    sizes = {"length": model.length, "margin": options.margin, "apart": options.apart}
    windows, first_pass = (
        list(draw_windows(genome, regions, **sizes, passes=passes, seed=options.seed))
        for passes in (options.passes, 1)
    )
    train = TokenStore(options.corpus / "train.h5")

    def rows(way: str, names: list[str], drawn: list[Window], costs: list[np.ndarray]) -> list:
        whole, parts = by_block(drawn, costs, options.block_bp, repeats)
        divided = {"by_repeat_class": (repeats.names, parts)}
        return stratified_rows(names, whole, divided, options.seed, hidden=way)

    names, costs = hidden_apart(model, windows, train)
    table = rows(f"{options.apart} apart", names, windows, costs)
    names, costs, drawn = hidden_as_in_the_paper(model, first_pass, train, options.seed)
    table += rows("15 %", names, drawn, costs)
    count = sum(len(window.hidden) for window in windows)
    note = (
        f"{options.split}, {' '.join(options.regions)}: {count:,} hidden bases {options.apart} or more "
        f"apart in {len(windows):,} windows of {model.length} bases, at least {options.margin} from their "
        f"ends, {options.passes} passes, seed {options.seed}. Brackets: 95 % bootstrap intervals over "
        f"blocks of {options.block_bp:,} bp; differences are paired, to the first predictor: above 0 it "
        "is better."
    )
    return table, note


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the options."""
    parser = parser_of(__doc__)
    parser.add_argument("--model", type=Path, required=True, help="bundle of single bases")
    parser.add_argument(
        "--regions", nargs="+", required=True, help="held out, such as chr1:1-1,000"
    )
    parser.add_argument("--apart", type=int, default=50, help="bases between hidden ones, at least")
    parser.add_argument("--margin", type=int, default=64, help="bases at both ends of a window")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--block_bp", type=int, default=5000)
    options = parser.parse_args(argv)
    if options.genome is None:
        parser.error("--genome is needed: the bases are read from it")
    return options


def main(argv: Sequence[str] | None = None) -> None:
    """Write and print the table."""
    report(parse(argv), measure)


if __name__ == "__main__":
    main()
