"""Whether positions explain how the cores of `compare-attention` differ on hidden words of DNA.

No peer. The small models of that comparison, trained in the same way, with a learned table of positions (as there), rotary ones and
none. Prints bits per base of hidden words in the test sequences after equal steps.

    python experiments/2026-11-long-attention/dna_positions.py --seeds 0 1
"""

import argparse
import time
from typing import Any

import numpy as np
import torch

from dna_bigbird.evaluation.long_attention.baselines import score
from dna_bigbird.evaluation.long_attention.batches import source_of
from dna_bigbird.evaluation.long_attention.plan import Training
from dna_bigbird.evaluation.long_attention.small_models import SmallModel

TOKENS, TEST_SEQUENCES = 3072, 150
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "full, learned": ("full", {}),
    "full, rotary": ("full", {"positions": "rotary"}),
    "bigbird, learned": ("bigbird", {}),
    "bigbird, rotary": ("bigbird", {"positions": "rotary"}),
    "etc, labels of distances": ("etc", {}),
}
"""Core and changed settings."""


def bits_per_base(core: str, changes: dict[str, Any], seed: int, steps: int) -> np.ndarray:
    """Train a model and return the bits per base of each test sequence."""
    torch.manual_seed(seed)
    words, test = (source_of("dna", is_test=is_test) for is_test in (False, True))
    model = SmallModel(core, words.vocabulary, TOKENS, seed, **changes)
    training = Training(model, {"tokens": TOKENS, "steps": steps, "seed": seed}, time.process_time)
    for _ in range(steps):
        training.advance(words)
    return np.array(score(model, test, TOKENS, TEST_SEQUENCES)["bits_per_base"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("| core, positions | seed | bits per base [95 %] |")
    print("|---|---|---|")
    for name in args.arms:
        for seed in args.seeds:
            values = bits_per_base(*ARMS[name], seed, args.steps)
            half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
            mean = values.mean()
            print(
                f"| {name} | {seed} | {mean:.3f} [{mean - half:.3f}, {mean + half:.3f}] |",
                flush=True,
            )


if __name__ == "__main__":
    main()
