"""Why pretraining on the task's own sequences does not help the planted partner: a small ablation.

No peer. The small model of `compare-attention` with full attention learns the planted partner in sequences of 256 tokens,
after so many steps of pretraining: naming hidden words anywhere in sequences of the task, or the asked values alone.
Prints the accuracy on other draws of the training sequences as the steps go on (chance 0.5).

    python experiments/2026-11-long-attention/self_pretraining.py --seeds 0 1
"""

import argparse
import time

import numpy as np
import torch

from dna_bigbird.evaluation.long_attention.batches import Batch, Source, ask, source_of
from dna_bigbird.evaluation.long_attention.plan import Training
from dna_bigbird.evaluation.long_attention.small_models import SmallModel

TOKENS = 256
SETTINGS = {"tokens": 3072, "steps": 1000}
"""Of the comparison, whose first 400 steps have sequences of TOKENS tokens."""
STEPS, SHOWN_EVERY = 400, 50
SEQUENCES = 100
ARMS = {"none": (0, False), "50 steps": (50, False), "150 steps": (150, False), "400 steps": (400, False),
        "400 steps, asked values alone": (400, True)}  # fmt: skip


class AskedValues:
    """The questions of the task, with every word of the vocabulary as an answer, as in pretraining."""

    def __init__(self) -> None:
        self.inner = source_of("partner", is_test=False)
        self.vocabulary, self.choices = self.inner.vocabulary, None

    def draw(self, count: int, tokens: int, rng: np.random.Generator) -> Batch:
        """Return a batch of so many sequences."""
        task = self.inner.task
        drawn = [task.draw(tokens, self.inner.distances, rng) for _ in range(count)]
        batch = ask(drawn, self.vocabulary - 1)
        return Batch(
            batch.token_ids_BT,
            batch.positions_P,
            torch.tensor(task.values)[batch.answers_P],
            batch.distances_P,
        )


@torch.no_grad()
def accuracy(model: SmallModel, source: Source) -> float:
    """Return the share of right answers in SEQUENCES sequences, the same for every model."""
    model.eval()
    rng = np.random.default_rng(77)
    right = []
    for _ in range(SEQUENCES // 10):
        batch = source.draw(10, TOKENS, rng)
        logits = model(batch.token_ids_BT, batch.positions_P)[:, source.choices]
        right += (logits.argmax(1) == batch.answers_P).tolist()
    return float(np.mean(right))


def arm(core: str, seed: int, steps: int, only_asked: bool) -> list[float]:
    """Pretrain, train, and return the accuracy every SHOWN_EVERY steps."""
    torch.manual_seed(seed)
    task = source_of("partner", is_test=False)
    words = source_of("pretrained", is_test=False, is_asked=False)
    model = SmallModel(core, task.vocabulary, SETTINGS["tokens"], seed)
    before = Training(model, {**SETTINGS, "seed": seed + 1_000_000}, time.process_time)
    for _ in range(steps):
        before.advance(AskedValues() if only_asked else words)
    training = Training(model, {**SETTINGS, "seed": seed}, time.process_time)
    curve = []
    for step in range(1, STEPS + 1):
        training.advance(task)
        if step % SHOWN_EVERY == 0:
            curve.append(accuracy(model, task))
    return curve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--core", default="full", help="attention core")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    args = parser.parse_args()
    torch.set_num_threads(1)
    shown = range(SHOWN_EVERY, STEPS + 1, SHOWN_EVERY)
    print(f"| pretraining | seed | {' | '.join(map(str, shown))} |")
    print("|---|---|" + "---|" * len(shown))
    for name, (steps, only_asked) in ARMS.items():
        for seed in args.seeds:
            curve = arm(args.core, seed, steps, only_asked)
            print(f"| {name} | {seed} | {' | '.join(f'{x:.2f}' for x in curve)} |", flush=True)


if __name__ == "__main__":
    main()
