"""Whether the first global token of BigBird-ETC can learn the type of answer of HotpotQA.

    python experiments/2026-11-etc/etc_answer_type.py --pretrained mlm-etc --data hotpot_distractor_60.json.gz --steps 150

Trains on the cross-entropy of the type (span, yes, no) alone, and prints how many closed questions of the
training examples are right, and how much the state of the first global token differs between questions.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.models.attention_config import EtcChanges
from dna_bigbird.models.text_config import FactsHead
from dna_bigbird.text.data.hotpotqa import SPAN, HotpotQaOptions
from dna_bigbird.text.tasks.hotpotqa import HotpotQaTask
from dna_bigbird.text.text_train_run import encoder_settings, start_model

BATCH, WARM_UP, LEARNING_RATE, EVERY = 4, 20, 0.003, 50


def figures(model: torch.nn.Module, task: HotpotQaTask, rows: list) -> str:
    """Return the closed questions that are right, and the spread and size of the first global state."""
    states, right = [], []
    layer = model.get_submodule("kind")
    kept = layer.register_forward_pre_hook(lambda _, inputs: states.append(inputs[0]))
    with torch.inference_mode():
        for row in rows:
            batch = task.collate([row])
            types = task.outputs(model.eval(), batch)["kind"].argmax(1)
            if batch.targets_B3[0, 0] != SPAN:
                right.append(int(types[0] == batch.targets_B3[0, 0]))
    kept.remove()
    model.train()
    states_BE = torch.cat(states)
    spread, size = states_BE.std(dim=0).mean(), states_BE.abs().mean()
    return f"{sum(right)} of {len(right)}\t{spread:.3f}\t{size:.3f}"


def main() -> None:
    """Train and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pretrained", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=150)
    options = parser.parse_args()
    torch.set_num_threads(1)
    bundle = load_bundle(options.pretrained)
    task = HotpotQaTask(HotpotQaOptions(), FactsHead(dropout=0.0))
    encoder = encoder_settings(task, bundle, None, None, EtcChanges(), False)
    model = start_model(task, bundle, encoder, 0, False)
    examples, _ = task.read(options.data, "train")
    rows = list(enumerate(task.rows(examples, bundle.tokenizer, training=True).rows))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
    rng = np.random.default_rng(0)
    print("step", "closed questions right", "spread of the state", "mean size", sep="\t")
    for step in range(options.steps + 1):
        if step % EVERY == 0:
            print(step, figures(model, task, rows), sep="\t", flush=True)
        share = min((step + 1) / WARM_UP, 1) * (1 - step / (options.steps + 1))
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * share
        batch = task.collate([rows[i] for i in rng.choice(len(rows), BATCH, replace=False)])
        logits = task.outputs(model, batch)["kind"]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, batch.targets_B3[:, 0]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


if __name__ == "__main__":
    main()
