"""What the encoder's benchmark runs: whole pretraining models, their input and their loss."""

import argparse
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.lib import peers
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel

OWN = ("ours", "ours-compiled", "full")
MODELS = (*OWN, "hf", "hf-strip", "hf-compiled")
DTYPES = ("float32", "bfloat16")
LOGITS = ("predicted", "all")
SIZES = {
    "tiny": {
        "vocab_size": 500,
        "hidden_size": 32,
        "num_layers": 2,
        "num_heads": 2,
        "ffn_size": 64,
    },
    "base": {
        "vocab_size": 32000,
        "hidden_size": 768,
        "num_layers": 12,
        "num_heads": 12,
        "ffn_size": 3072,
    },
    "large": {
        "vocab_size": 32000,
        "hidden_size": 1024,
        "num_layers": 24,
        "num_heads": 16,
        "ffn_size": 4096,
    },
}
PREDICTED = 0.15  # of the tokens


class Variant(NamedTuple):
    """What one line of the table runs."""

    model: str
    dtype: str
    logits: str

    @classmethod
    def parse(cls, text: str) -> "Variant":
        """Read MODEL/DTYPE[/LOGITS].

        Raises:
            ValueError: If a part does not exist.
        """
        parts = text.split("/")
        if len(parts) == 2:
            parts.append("predicted" if parts[0] in OWN else "all")
        if len(parts) != 3:
            raise ValueError(f"{text!r} is not MODEL/DTYPE or MODEL/DTYPE/LOGITS")
        for part, allowed in zip(parts, (MODELS, DTYPES, LOGITS), strict=True):
            if part not in allowed:
                raise ValueError(f"{part!r} in {text!r} is not one of {', '.join(allowed)}")
        return cls(*parts)

    def __str__(self) -> str:
        return "/".join(self)


def own_model(options: argparse.Namespace, tokens: int, *, full: bool) -> PretrainingModel:
    """Return our model with fresh weights."""
    settings = SIZES[options.size] | {
        "max_tokens": tokens,
        "block_size": options.block_size,
        "num_random": options.num_random,
        "gradient_checkpointing": options.checkpointing,
    }
    if full:
        settings["attention"] = "full"
    model = PretrainingModel(EncoderConfig(**settings))
    if options.backend != "auto":
        model.encoder.set_backend(options.backend)
    return model


def library_model(options: argparse.Namespace, tokens: int, *, stripped: bool) -> nn.Module:
    """Return the library's model of the same size with fresh weights."""
    size = SIZES[options.size]
    model = peers.library_model(
        stripped=stripped,
        vocab_size=size["vocab_size"],
        hidden_size=size["hidden_size"],
        num_hidden_layers=size["num_layers"],
        num_attention_heads=size["num_heads"],
        intermediate_size=size["ffn_size"],
        max_position_embeddings=tokens,
        block_size=options.block_size,
        num_random_blocks=options.num_random,
    )
    if options.checkpointing:
        model.gradient_checkpointing_enable()
    return model


class Batch(NamedTuple):
    """Random tokens, all real, with targets at a share of them."""

    token_ids: Tensor  # (batch, tokens)
    is_padding: Tensor  # (batch, tokens)
    segment_ids: Tensor  # (batch, tokens)
    positions: Tensor  # (predicted,): flat indices into batch × tokens
    targets: Tensor  # (predicted,)
    is_random: Tensor  # (batch,): the second sentence's origin

    @classmethod
    def draw(cls, batch: int, tokens: int, vocab_size: int, device: str) -> "Batch":
        """Draw a batch."""
        generator = torch.Generator().manual_seed(0)
        predicted = max(int(PREDICTED * batch * tokens), 1)
        parts = (
            torch.randint(5, vocab_size, (batch, tokens), generator=generator),
            torch.zeros(batch, tokens, dtype=torch.bool),
            (torch.arange(tokens) >= tokens // 2).long().repeat(batch, 1),
            torch.randperm(batch * tokens, generator=generator)[:predicted].sort().values,
            torch.randint(5, vocab_size, (predicted,), generator=generator),
            torch.randint(0, 2, (batch,), generator=generator),
        )
        return cls(*(part.to(device) for part in parts))


def own_logits(model: nn.Module, batch: Batch, logits: str) -> tuple[Tensor, Tensor]:
    """Return our MLM logits (positions, vocabulary) and NSP logits."""
    positions = batch.positions
    if logits == "all":
        positions = torch.arange(batch.token_ids.numel(), device=positions.device)
    # Nothing is padding. Planned on the CPU, as in training: a step on a GPU waits for nothing.
    is_padding = torch.zeros(batch.token_ids.shape, dtype=torch.bool)
    packing = model.encoder.packing(is_padding).to(batch.token_ids.device)
    return model(batch.token_ids, batch.is_padding, batch.segment_ids, positions, packing=packing)


def library_logits(model: nn.Module, batch: Batch, logits: str) -> tuple[Tensor, Tensor]:
    """Return the library's MLM logits (positions, vocabulary) and NSP logits.

    With "predicted" its own head is called on the hidden states of the predicted positions.
    """
    inputs = {"attention_mask": (~batch.is_padding).long(), "token_type_ids": batch.segment_ids}
    if logits == "all":
        out = model(batch.token_ids, **inputs)
        return out.prediction_logits.flatten(0, 1), out.seq_relationship_logits
    out = model.bert(batch.token_ids, **inputs)
    chosen = out.last_hidden_state.flatten(0, 1)[batch.positions]
    return model.cls(chosen, out.pooler_output)


def loss_of(logits_pair: tuple[Tensor, Tensor], batch: Batch, logits: str) -> Tensor:
    """Return the sum of both mean losses."""
    of_tokens, of_pairs = logits_pair
    targets = batch.targets
    if logits == "all":  # as the library does: the others count as -100
        targets = torch.full((batch.token_ids.numel(),), -100, device=targets.device)
        targets[batch.positions] = batch.targets
    return F.cross_entropy(of_tokens.float(), targets) + F.cross_entropy(
        of_pairs.float(), batch.is_random
    )
