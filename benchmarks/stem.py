"""What it is worth that the stem of single bases computes each letter once (models/stem.py).

    OMP_NUM_THREADS=1 python benchmarks/stem.py [--rounds 7]

Processor time of a training step (forward and backward, bfloat16 autocast) of the small encoder of
`finetune --tokenizer bases` on 64 windows of 300 bp, per letter and per token in turns, and the ratio
with its range over rounds.
"""

import argparse
import statistics
import time

import torch

from dna_bigbird.models import encoder
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.training.encoder_source import open_source

WINDOWS, TOKENS = 64, 302


def step_s(model: SequenceClassifier, few_letters: int) -> float:
    """Return the processor time of a step; the stem computes per letter up to so many letters."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(model.encoder.config.vocab_size, (WINDOWS, TOKENS), generator=generator)
    encoder.FEW_LETTERS = few_letters
    started_at = time.process_time()
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(ids, torch.zeros(WINDOWS, TOKENS, dtype=torch.bool)).float()
    logits.sum().backward()
    model.zero_grad()
    return time.process_time() - started_at


def main() -> None:
    """Measure in turns and print the medians and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    source = open_source(None, "bases", EncoderChanges(), from_scratch=False).for_windows(300)
    model = SequenceClassifier(source.encoder, 1, HeadConfig(pooling="parts", parts=60))
    ways = {"per letter": encoder.FEW_LETTERS, "per token": 0}
    for few_letters in ways.values():
        step_s(model, few_letters)
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, few_letters in ways.items():
            times[name].append(step_s(model, few_letters))
    for name, values in times.items():
        print(f"{name}: {statistics.median(values):.2f} processor s per step")
    ratios = [a / b for a, b in zip(times["per letter"], times["per token"], strict=True)]
    print(f"ratio {statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]")


if __name__ == "__main__":
    main()
