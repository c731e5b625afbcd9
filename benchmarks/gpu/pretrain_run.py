"""One call of benchmarks.gpu.pretrain: where it starts, its data, optimizer, clock and log."""

import argparse
import itertools
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import yaml

from benchmarks.gpu import pieces
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.precision import BFLOAT16, resolve_precision
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training import pretrain_run as steps
from dna_bigbird.training.data_modules import pretraining_data
from dna_bigbird.training.objective import Sums, add_sums, ratios
from dna_bigbird.training.objective_config import ObjectiveConfig
from dna_bigbird.training.optimisation import build_optimizer
from dna_bigbird.training.pretrain_run import PretrainingReading
from dna_bigbird.training.pretraining_start import DnaStart
from dna_bigbird.training.pretraining_task import PretrainingTask
from dna_bigbird.training.teachers import Teachers
from dna_bigbird.training.trained_bundle import validation_metrics

RECIPE = Path(__file__).resolve().parents[2] / "config/grch37-fast.yaml"
STORE_MIB = 45
WARM_UP = 0.05
"""Share of the time."""
SAVING_S = 15.0
OBJECTIVE = ObjectiveConfig(nsp_weight=0.0)
COLUMNS = (
    "call", "minutes", "step", "tokens", "tokens_per_s", "rate_share", "training_bits_per_base",
    "validation_bits_per_base",
)  # fmt: skip


@dataclass(frozen=True)
class Start:
    """Where a call begins."""

    model: PretrainingModel
    call: int
    log: list[str]
    """Lines of log.tsv of the calls before."""
    note: str


def rates(width: int) -> dict[str, float]:
    """Return the learning rates by width: docs/explanation/training-recipe.md, "Rates by width"."""
    times = width / 128
    return {"muon_learning_rate": 0.0041 * times**-1.09, "learning_rate": 0.0048 * times**-0.57}


def check_store(path: Path) -> None:
    """Raise InputError if a token store is too large to be copied to a lent machine."""
    mebibytes = path.stat().st_size / 2**20 if path.is_file() else 0.0
    if mebibytes > STORE_MIB:
        raise InputError(
            f"{path}: {mebibytes:.1f} MiB, expected at most {STORE_MIB}; draw fewer documents "
            "(dna-bigbird documents --documents.passes) and tokenize again"
        )


def encoder_of(options: argparse.Namespace, vocab_size: int) -> EncoderConfig:
    """Return the encoder: the recipe's settings with the sizes of the options."""
    return EncoderConfig(
        vocab_size=vocab_size,
        hidden_size=options.hidden_size,
        num_layers=options.layers,
        num_heads=options.heads,
        ffn_size=4 * options.hidden_size,
        max_tokens=options.max_tokens,
        block_size=options.block_size,
        init_std=0.05 * math.sqrt(128 / options.hidden_size),
        **yaml.safe_load(RECIPE.read_text())["model"],
    )


def training_of(options: argparse.Namespace, width: int) -> TrainConfig:
    """Return the settings of optimizer and batch; the schedule is ours."""
    recipe = yaml.safe_load(RECIPE.read_text())["pretraining"]
    kept = ("optimizer", "beta2", "weight_decay", "gradient_clip")
    return TrainConfig(
        **{name: recipe[name] for name in kept},
        **rates(width),
        batch_size=options.batch_size,
        precision=resolve_precision("auto", options.device),
    )


def open_start(options: argparse.Namespace, corpus: steps.TokenizedCorpus) -> Start:
    """Return fresh weights, or those of the call before.

    Raises:
        InputError: If those have another tokenizer.
    """
    folder = options.start or options.output
    if not pieces.has_pieces(folder):
        if options.start:
            raise InputError(f"--start {folder}: no model in pieces is there")
        encoder = encoder_of(options, corpus.tokenizer.vocab_size)
        model = PretrainingModel(encoder, heads=OBJECTIVE.heads)
        return Start(model, 1, ["\t".join(COLUMNS)], "fresh weights")
    with tempfile.TemporaryDirectory() as scratch:
        pieces.join(folder, Path(scratch) / "bundle")
        bundle = load_bundle(Path(scratch) / "bundle")
    if bundle.tokenizer.files != corpus.tokenizer.files:
        raise InputError(f"{folder}: its model was trained with another tokenizer")
    log = (folder / pieces.LOG).read_text().splitlines()
    call = int(log[-1].split("\t")[0]) + 1
    note = f"weights of call {call - 1} from {folder}; new optimizer state, warm-up and examples"
    return Start(bundle.model, call, log, note)


class Run:
    """One call: model, data, optimizer and clock."""

    def __init__(self, options: argparse.Namespace, started_at: float) -> None:
        for path in (options.store, options.validation):
            check_store(path)
        self.options = options
        self.ends_at = started_at + 60 * options.minutes
        self.corpus = steps.open_corpus(
            options.store,
            options.validation,
            DnaTokenizer.from_file(options.tokenizer),
            options.tokenizer,
        )
        self.start = open_start(options, self.corpus)
        self.start.model.encoder.set_backend(options.backend)
        self.encoder = self.start.model.encoder.config
        pieces.check_size(self.start.model)
        self.training = training_of(options, self.encoder.hidden_size)
        self.masking = MaskingConfig(**yaml.safe_load(RECIPE.read_text())["masking"])
        piece_bp = self.corpus.tokenizer.piece_bp
        self.task = PretrainingTask(self.start.model, self.training, piece_bp, 0.0)
        self.task = self.task.to(options.device)
        if options.compile:
            self.task.model.compile(dynamic=True)
        self.optimizer, _ = build_optimizer(self.task.model, self.training)
        self.data = self._data()
        self.rows: list[dict[str, Any]] = []
        self.step = self.tokens = 0

    def _data(self):
        drawn = steps.pretraining_examples(
            self.corpus,
            self.encoder,
            self.masking,
            self.start.call,  # the seed: every call reads other examples
            OBJECTIVE,
            PretrainingReading(),
        )
        scored = steps.pretraining_examples(
            self.corpus, self.encoder, self.masking, 0, OBJECTIVE, PretrainingReading()
        )
        self.examples = drawn["train"]
        data = pretraining_data(
            self.examples,
            scored["validation"],
            batch_size=self.options.batch_size,
            validation_examples=self.options.examples,
            workers=self.options.workers,
        )
        data.trainer = SimpleNamespace(global_step=0, world_size=1, global_rank=0)
        return data

    def loss_and_sums(self, batch) -> tuple[torch.Tensor, Sums]:
        """Return loss and figures of a batch."""
        device = torch.device(self.options.device)
        moved = self.task.transfer_batch_to_device(batch, device, 0)
        enabled = self.training.precision == BFLOAT16
        with torch.autocast(device.type, torch.bfloat16, enabled=enabled):
            return self.task.loss_and_sums(moved)

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Return the figures of the validation examples, the same ones in every call."""
        self.task.eval()
        total: Sums = {}
        for batch in self.data.val_dataloader():
            add_sums(total, self.loss_and_sums(batch)[1])
        self.task.train()
        return ratios(total)

    def train(self, began_at: float, until: float, report: Callable[[dict], None]) -> None:
        """Train until a reading of the clock, or for the steps asked for."""
        sums: Sums = {}
        logged_at, logged_tokens = began_at, 0
        for batch in self._batches(until):
            share = self.share(began_at, until)
            for group in self.optimizer.param_groups:
                group["lr"] = group["initial_lr"] * rate_share(share)
            loss, more = self.loss_and_sums(batch)
            loss.backward()
            clip = self.training.gradient_clip
            self.task.configure_gradient_clipping(self.optimizer, clip)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            add_sums(sums, more)
            self.step += 1
            self.tokens += int((~batch.is_padding_BT).sum())
            if self.step % self.options.log_every == 0:
                figures, now = ratios(sums), time.monotonic()  # waits for a GPU
                per_s = (self.tokens - logged_tokens) / (now - logged_at)
                bits = figures["bits_per_base_masked"]
                report(self.row(began_at, rate_share(share), training=bits, tokens_per_s=per_s))
                if not math.isfinite(bits):
                    raise InputError(
                        f"step {self.step}: the loss is not a number; nothing is saved"
                    )
                sums, logged_at, logged_tokens = {}, now, self.tokens

    def share(self, began_at: float, until: float) -> float:
        """Return how much of the training is over."""
        passed = (time.monotonic() - began_at) / max(until - began_at, 1e-9)
        return max(passed, self.step / self.options.steps if self.options.steps else 0.0)

    def _batches(self, until: float) -> Iterator:
        batches = iter(self.data.train_dataloader())
        for batch in itertools.islice(batches, self.options.steps or None):
            if time.monotonic() >= until:
                return
            yield batch

    def row(self, began_at: float, share: float, **figures: float) -> dict[str, Any]:
        """Return a row of the log."""
        return {
            "call": self.start.call,
            "minutes": round((time.monotonic() - began_at) / 60, 3),
            "step": self.step,
            "tokens": self.tokens,
            "tokens_per_s": round(figures.get("tokens_per_s", 0)) or "",
            "rate_share": round(share, 3),
            "training_bits_per_base": _rounded(figures.get("training")),
            "validation_bits_per_base": _rounded(figures.get("validation")),
        }

    def save(self, scores: dict[str, float], log: list[str]) -> None:
        """Write the model in pieces."""
        call, examples = self.start.call, self.options.examples
        origin = DnaStart(self.encoder, self.corpus.tokenizer, self.options.tokenizer)
        described = steps.pretrained_config(
            self.corpus, origin, self.masking, call, OBJECTIVE, self.examples, Teachers([])
        )
        described["examples_per_step"] = self.options.batch_size
        pieces.write_pieces(
            self.options.output,
            model=self.task.model,
            config=described,
            tokenizer=self.corpus.tokenizer,
            metrics=validation_metrics(scores, self.step, 0, n_examples=examples),
            log="\n".join(log) + "\n",
        )


def _rounded(value: float | None) -> float | str:
    return "" if value is None else round(value, 4)


def rate_share(share: float) -> float:
    """Return the share of the largest rates, `share` of the training being over.

    Example:
        >>> [rate_share(x) for x in (0.0, 0.025, 0.05, 0.525, 1.0)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return min(share / WARM_UP, max(1 - share, 0.0) / (1 - WARM_UP))
