"""What it is worth that the stem of single bases computes each letter once (models/stem.py).

    OMP_NUM_THREADS=1 python -m benchmarks.speed stem [--rounds 7]

Processor time of a training step (forward and backward, bfloat16 autocast) of the small encoder of
`finetune --tokenizer bases` on 64 windows of 300 bp, per letter and per token in turns, and the ratio
with its range over rounds.
"""

import argparse
import functools
import time

import torch

from benchmarks.lib.table import print_costs
from benchmarks.lib.timing import MIN_ROUNDS, TRAINING, Case, header, interleaved
from dna_bigbird.models import encoder
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.training.encoder_source import open_source

WINDOWS, TOKENS = 64, 302


def step(model: SequenceClassifier, few_letters: int) -> None:
    """Run a step; the stem computes per letter up to so many letters."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(model.encoder.config.vocab_size, (WINDOWS, TOKENS), generator=generator)
    encoder.FEW_LETTERS = few_letters
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(ids, torch.zeros(WINDOWS, TOKENS, dtype=torch.bool)).float()
    logits.sum().backward()
    model.zero_grad()


def main(arguments: list[str] | None = None) -> None:
    """Measure in turns and print the medians and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=MIN_ROUNDS)
    rounds = parser.parse_args(arguments).rounds
    source = open_source(None, "bases", EncoderChanges(), from_scratch=False).for_windows(300)
    model = SequenceClassifier(source.encoder, 1, HeadConfig(pooling="parts", parts=60))
    ways = {"per letter": encoder.FEW_LETTERS, "per token": 0}
    calls = {
        Case(TOKENS, TRAINING, name): functools.partial(step, model, few_letters)
        for name, few_letters in ways.items()
    }
    print(*header("cpu"), sep="\n")
    print_costs(interleaved(calls, rounds, "cpu", clock=time.process_time)[0], "per token")


if __name__ == "__main__":
    main()
