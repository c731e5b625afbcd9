"""What settings of the encoder cost: processor time of a step with each, over that of one with none.

    python -m benchmarks.speed encoder_settings                   the model of tests/real/pretraining.yaml at 512 tokens
    python -m benchmarks.speed encoder_settings --tokens 4096 --rounds 15

Forward and backward of one batch of 4,096 random tokens with a loss on the hidden states, without the
optimizer and the heads, bfloat16 where the processor has it. All settings in turn, round by round.
"""

import argparse
import functools
import time

import torch

from benchmarks.lib.table import print_costs
from benchmarks.lib.timing import MIN_ROUNDS, TRAINING, Case, header, interleaved
from dna_bigbird.core.limits import use_threads
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.precision import has_bf16_products

SIZE = {
    "vocab_size": 2048, "hidden_size": 128, "num_layers": 4, "num_heads": 4, "ffn_size": 512,
    "dropout": 0.0, "block_size": 32, "num_random": 2,
}  # fmt: skip
SETTINGS = {
    "none": {},
    "rotary": {"positions": "rotary"},
    "qk_norm": {"qk_norm": True},
    "stem of 5": {"stem_width": 5},
    "norm_first": {"norm_first": True},
    "patches of 8": {"patch_tokens": 8, "positions": "rotary", "norm_first": True},
    "all": {"positions": "rotary", "qk_norm": True, "stem_width": 5, "norm_first": True},
}
BATCH_TOKENS = 4096


def step(encoder: Encoder, ids: torch.Tensor) -> None:
    """Run one forward and backward pass."""
    encoder.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=has_bf16_products("cpu")):
        states = encoder(ids, torch.zeros_like(ids, dtype=torch.bool))
        states.float().square().mean().backward()


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=512, help="of a sequence")
    parser.add_argument("--rounds", type=int, default=MIN_ROUNDS)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    use_threads(options.threads)
    size = SIZE | {"max_tokens": options.tokens}
    encoders = {name: Encoder(EncoderConfig(**size, **own)) for name, own in SETTINGS.items()}
    rows = max(BATCH_TOKENS // options.tokens, 1)
    ids = torch.randint(5, 2048, (rows, options.tokens))
    calls = {
        Case(options.tokens, TRAINING, name): functools.partial(step, encoder, ids)
        for name, encoder in encoders.items()
    }
    print(*header("cpu"), sep="\n")
    print_costs(interleaved(calls, options.rounds, "cpu", clock=time.process_time)[0], "none")


if __name__ == "__main__":
    main()
