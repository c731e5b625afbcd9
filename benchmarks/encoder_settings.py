"""What settings of the encoder cost: processor time of a step with each, over that of one with none.

    python benchmarks/encoder_settings.py                   the model of tests/real/pretraining.yaml at 512 tokens
    python benchmarks/encoder_settings.py --tokens 4096 --rounds 15

Forward and backward of one batch of 4,096 random tokens with a loss on the hidden states, without the
optimizer and the heads, bfloat16 where the processor has it. All settings in turn, round by round.
"""

import argparse
import statistics
import time

import torch
from timing import MIN_ROUNDS, header, spread

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


def step_s(encoder: Encoder, ids: torch.Tensor) -> float:
    """Return the processor time of one forward and backward pass."""
    encoder.zero_grad()
    started = time.process_time()
    with torch.autocast("cpu", torch.bfloat16, enabled=has_bf16_products("cpu")):
        states = encoder(ids, torch.zeros_like(ids, dtype=torch.bool))
        states.float().square().mean().backward()
    return time.process_time() - started


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
    times: dict[str, list[float]] = {name: [] for name in encoders}
    for number in range(options.rounds + 1):
        for name, encoder in encoders.items():
            elapsed_s = step_s(encoder, ids)
            if number:  # the first round warms up
                times[name].append(elapsed_s)
    print(*header("cpu"), sep="\n")
    print("setting", "median_ms", "ratio to none, round by round", sep="\t")
    for name, values in times.items():
        ratios = [value / none for value, none in zip(values, times["none"], strict=True)]
        print(name, f"{1000 * statistics.median(values):.1f}", spread(ratios), sep="\t")


if __name__ == "__main__":
    main()
