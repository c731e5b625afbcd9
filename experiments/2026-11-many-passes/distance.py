"""How far models are from the mean of their teachers, in the training text and in unseen text.

    python experiments/2026-11-many-passes/distance.py --corpus results/many-passes-70/data/corpus --teachers A B C \\
        --students D E

Reads the same hidden tokens of contiguous examples with all bundles, 15 % hidden, 80/10/10, and prints the mean
Kullback-Leibler divergence from the mean of the teachers' probabilities to those of each student, and what the true
tokens cost both, in nats per token. A student that is further in unseen text has overfitted its teachers.
"""

import argparse
from pathlib import Path

import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.limits import use_threads
from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.corpus.masking import PAPER
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore

BATCH = 16


def main() -> None:
    """Print a line for each text and student."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="has train.h5 and test.h5")
    parser.add_argument("--teachers", nargs="+", required=True, help="pretrained bundles")
    parser.add_argument("--students", nargs="+", required=True, help="pretrained bundles")
    parser.add_argument("--examples", type=int, default=160)
    parser.add_argument("--max_tokens", type=int, default=512, help="of an example")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    use_threads(1)
    teachers = [load_bundle(x) for x in options.teachers]
    students = [load_bundle(x) for x in options.students]
    print("text", "student", "divergence", "cost", "cost_of_teachers", sep="\t")
    for text in ("train", "test"):
        store, tokenizer = TokenStore(options.corpus / f"{text}.h5"), teachers[0].tokenizer
        settings = tokenizer, options.max_tokens, PAPER, options.seed
        examples = PretrainExamples(store, *settings, random_second=False)
        parts: list[list] = []
        for first in range(0, options.examples, BATCH):
            last = min(first + BATCH, options.examples)
            batch = collate_pretraining([(i, examples[i]) for i in range(first, last)])
            inputs = (
                batch.token_ids_BT,
                batch.is_padding_BT,
                batch.segment_ids_BT,
                batch.positions_P,
            )
            with torch.no_grad():
                mean_PV = torch.stack([x.model(*inputs)[0].softmax(-1) for x in teachers]).mean(0)
                logits = [x.model(*inputs)[0].log_softmax(-1) for x in students]
            labels_P1 = batch.labels_P[:, None]
            costs = [-x.gather(1, labels_P1)[:, 0] for x in (mean_PV.log(), *logits)]
            apart = [(mean_PV * (mean_PV.log() - x)).sum(1) for x in logits]
            parts.append([*costs, *apart])
        taught, *means = [torch.cat(x).mean().item() for x in zip(*parts, strict=True)]
        for i, name in enumerate(options.students):
            cost, divergence = means[i], means[len(students) + i]
            print(text, name, f"{divergence:.4f}", f"{cost:.4f}", f"{taught:.4f}", sep="\t")


if __name__ == "__main__":
    main()
