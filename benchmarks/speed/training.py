"""How fast pretraining is, and what of a step is spent waiting for data.

    python -m benchmarks.speed training                 the demo's model with one data worker
    python -m benchmarks.speed training --base          and the paper's base model at 4,096 tokens,
    bfloat16

The corpus is random and made here, so a fresh clone can run it. Figures are those of the run's own
speed.tsv (dna_bigbird/training/speed.py), one row per window of steps; the first window, in which the
worker is still starting, is separate.
"""

import argparse
import contextlib
import csv
import io
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.lib.targets import Target, print_targets
from benchmarks.lib.timing import Spread, header, spread
from dna_bigbird.cli.main import main as command
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.data_modules import pretraining_data
from dna_bigbird.training.fit import fit
from dna_bigbird.training.pretraining_task import PretrainingTask

GENOME_BP = 1_000_000
DEMO = EncoderConfig(  # config/config.yaml
    vocab_size=512, hidden_size=128, num_layers=4, num_heads=4, ffn_size=256, max_tokens=384,
    block_size=32, num_random=2, dropout=0.0, init_std=0.05,
)  # fmt: skip
Rows = list[dict[str, float]]


def make_corpus(folder: Path) -> tuple[TokenStore, DnaTokenizer]:
    """Draw a genome, and make documents, tokenizer and store by the commands."""
    letters = np.random.default_rng(0).choice(list("ACGT"), GENOME_BP)
    (folder / "random.fa").write_text(f">chr1\n{''.join(letters)}\n")
    at = {"genome": folder / "random.fa", "documents": folder / "documents.bed.gz"}
    bpe, store = folder / "bpe.model", folder / "train.h5"
    for line in (
        "documents --genome {genome} --output {documents} --documents.passes 2 "
        "--documents.max_start_bp 1000 --documents.min_sentences 5 --documents.max_sentences 10 ",
        "train-tokenizer --genome {genome} --documents {documents} --output {bpe} "
        "--metrics {bpe}.json --tokenizer.vocab_size 512 --tokenizer.max_piece_bp 12",
        "tokenize --genome {genome} --documents {documents} --tokenizer {bpe} --output {store} "
        "--assembly random",
    ):
        with contextlib.redirect_stdout(io.StringIO()):
            command(line.format(**at, bpe=bpe, store=store).split())
    return TokenStore(store), DnaTokenizer.from_file(bpe)


class FullExamples:
    """Random examples of the greatest length, for models whose vocabulary no small corpus fills."""

    def __init__(self, config: EncoderConfig) -> None:
        self.config = config

    def __getitem__(self, index: int) -> dict:
        """Return one example, as datasets.pretraining_examples.PretrainExamples does."""
        rng, tokens = np.random.default_rng(index), self.config.max_tokens
        positions = np.sort(rng.choice(tokens, size=round(0.15 * tokens), replace=False))
        ids = rng.integers(6, self.config.vocab_size, size=tokens)
        return {
            "token_ids": ids,
            "segment_ids": (np.arange(tokens) > tokens // 2).astype(np.int64),
            "positions": positions,
            "labels": ids[positions],
            "is_next": index % 2,
        }


def train(model: EncoderConfig, examples, piece_bp: np.ndarray, config: TrainConfig) -> Rows:
    """Pretrain for a few steps; return the rows of speed.tsv."""
    task = PretrainingTask(PretrainingModel(model), config, piece_bp)
    data = pretraining_data(
        examples,
        examples,
        batch_size=config.batch_size,
        validation_examples=config.validation_examples,
        workers=config.workers,
    )
    with tempfile.TemporaryDirectory() as folder:
        fit(task, data, config, checkpoints=Path(folder), seed=0, settings={})
        with open(Path(folder) / "speed.tsv") as stream:
            rows = list(csv.DictReader(stream, delimiter="\t"))
    return [{name: float(value) for name, value in row.items()} for row in rows]


def show(name: str, rows: Rows) -> None:
    """Print the figures of a run, its first window apart."""
    print(f"\n# {name}: windows of {int(rows[0]['step'])} steps, median [lowest, highest]")
    print("figure\tafterwards\tfirst window")
    for figure in rows[0]:
        if figure != "step":
            values = spread([row[figure] for row in rows[1:]])
            shown = " ".join(f"{part:.4g}" for part in values)
            print(f"{figure}\t{shown}\t{rows[0][figure]:.4g}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=80, help="of the demo's model")
    parser.add_argument("--log_every", type=int, default=10, help="steps of a window")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--precision", default="32-true", choices=("32-true", "bf16-mixed"))
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--base", action="store_true", help="also the base model, a few steps")
    parser.add_argument("--base_steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="0 leaves PyTorch alone")
    options = parser.parse_args(arguments)
    if options.steps < 2 * options.log_every or options.base_steps < 2:
        parser.error("two windows at least: the first one is shown separately")
    if options.threads:
        torch.set_num_threads(options.threads)
    print("\n".join(header("cuda" if torch.cuda.is_available() else "cpu")))
    config = TrainConfig(
        max_steps=options.steps, batch_size=16, learning_rate=1e-3, gradient_clip=1.0,
        precision=options.precision, validate_every=options.steps, validation_examples=16,
        log_every=options.log_every, workers=options.workers, compile=options.compile,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        store, bpe = make_corpus(Path(folder))
        examples = PretrainExamples(store, bpe, DEMO.max_tokens, MaskingConfig(), seed=0)
        rows = train(replace(DEMO, vocab_size=bpe.vocab_size), examples, bpe.piece_bp, config)
    show(f"the demo's model, {options.workers} data worker(s), {options.precision}", rows)
    waiting = spread([100 * row["waiting_share"] for row in rows[1:]])
    targets = [Target("% of a step spent waiting for data", 3, 1, Spread(*waiting), at_most=True)]
    if options.base:
        base = EncoderConfig(dropout=0.0)
        few = replace(
            config, max_steps=options.base_steps, validate_every=options.base_steps, log_every=1,
            batch_size=1, validation_examples=1, precision="bf16-mixed",
        )  # fmt: skip
        # 8.78 base pairs per token, as in the paper: these ids come from no corpus.
        rows = train(base, FullExamples(base), np.full(base.vocab_size, 8.78), few)
        show("the base model, 1 x 4,096 tokens, bf16-mixed; 8.78 bp a token assumed", rows)
    print_targets(targets)


if __name__ == "__main__":
    main()
