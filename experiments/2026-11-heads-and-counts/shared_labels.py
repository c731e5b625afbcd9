"""What the mean over labels adds to a model of labels with k-mer counts, and counts with composition alone.

    python experiments/2026-11-heads-and-counts/shared_labels.py --model MODEL --data set.h5 --genome genome.fa \
        --kmer kmer.h5 --composition composition.h5

MODEL is one of `finetune --words.max_k 6` without the mean; the files are of `baseline`. Sums are fitted on validation
windows, by ten blocks for the first table; the test windows are scored once for each.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.evaluation.evaluate_run import model_scores
from dna_bigbird.labelled.labelled_set import open_labelled_set
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.metrics.label_objectives import macro_auroc

SUMS = {
    "network, counts": "nc",
    "and mean of network": "ncN",
    "and mean of counts": "ncC",
    "and both": "ncNC",
}
BLOCKS, DRAWS, BLOCK_BP = 10, 300, 50_000


def logit(p: np.ndarray) -> np.ndarray:
    p = p.astype(np.float64).clip(1e-6, 1 - 1e-6)
    return np.log(p / (1 - p))


def fitted(parts: list[np.ndarray], labels: np.ndarray) -> np.ndarray:
    """Return weights and a constant of lowest log loss; held to 1/2 (means: 0) as by one more row."""
    tensors = [torch.from_numpy(x) for x in parts]
    pull = torch.tensor([0.5, 0.5] + [0.0] * (len(parts) - 2), dtype=torch.float64)
    weights = torch.cat([pull, torch.zeros(1)]).requires_grad_()
    stds = torch.stack([x.std(correction=0) for x in tensors])
    optimizer = torch.optim.LBFGS([weights], max_iter=100, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        total = weights[-1] + sum(w * x for w, x in zip(weights, tensors, strict=False))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(total, torch.from_numpy(labels))
        loss = loss + ((weights[:-1] - pull) * stds).square().sum() / labels.size
        loss.backward()
        return loss

    optimizer.step(closure)
    return weights.detach().numpy()


def summed(parts: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    return weights[-1] + sum(w * x for w, x in zip(weights, parts, strict=False))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("model", "data", "genome", "kmer", "composition"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    asked = parser.parse_args()
    labelled = open_labelled_set(asked.data, asked.genome)
    bundle = load_bundle(asked.model)
    bundle = replace(bundle, config=bundle.config.with_values(calibration=None))
    words, bundle.model.words = bundle.model.words, None
    rows = {x: labelled.rows(x) for x in ("validation", "test")}
    labels = {x: labelled.labels_of(r).astype(np.float64) for x, r in rows.items()}
    logits: dict[str, dict[str, np.ndarray]] = {}
    for split, of_split in rows.items():
        read = {"batch_size": 64, "checksum": "", "strand": "both"}
        both = [bundle, replace(bundle, model=words)]
        n, c = (logit(model_scores(x, labelled, of_split, **read).values) for x in both)
        means = [np.broadcast_to(x.mean(1, keepdims=True), x.shape).copy() for x in (n, c)]
        logits[split] = dict(zip("ncNC", [n, c, *means], strict=True))
    block = np.arange(len(rows["validation"])) * BLOCKS // len(rows["validation"])
    for name, letters in SUMS.items():
        held, out = ([logits[x][i] for i in letters] for x in ("validation", "test"))
        truth, crossed = labels["validation"], np.zeros_like(labels["validation"])
        for left in range(BLOCKS):
            own = block == left
            weights = fitted([x[~own] for x in held], truth[~own])
            crossed[own] = summed([x[own] for x in held], weights)
        loss = np.mean(np.logaddexp(0, crossed) - truth * crossed)
        test = macro_auroc(labels["test"], summed(out, fitted(held, truth)))
        print(f"{name}: {loss:.5f}, AUROC {macro_auroc(truth, crossed):.4f}; test {test:.4f}")
    scores = [read_scores(x) for x in (asked.kmer, asked.composition)]
    k, c = ({x: logit(each.of(r)) for x, r in rows.items()} for each in scores)
    shares = np.linspace(0, 1, 21)
    mixed = [{x: (1 - w) * k[x] + w * c[x] for x in rows} for w in shares]
    best = max(mixed, key=lambda x: macro_auroc(labels["validation"], x["validation"]))
    model = summed(
        [logits["test"][i] for i in "ncN"],
        fitted([logits["validation"][i] for i in "ncN"], labels["validation"]),
    )
    units = np.array([labelled.interval(int(r)).start // BLOCK_BP for r in rows["test"]])
    rng, gains = np.random.default_rng(0), []
    for _ in range(DRAWS):
        drawn = rng.choice(np.unique(units), len(np.unique(units)))
        at = np.concatenate([np.flatnonzero(units == x) for x in drawn])
        truth = labels["test"][at]
        gains.append(macro_auroc(truth, model[at]) - macro_auroc(truth, best["test"][at]))
    own, other = (macro_auroc(labels["test"], x) for x in (model, best["test"]))
    low, high = np.percentile(gains, [2.5, 97.5])
    print(
        f"k-mers and composition {other:.4f}; the model minus it {own - other:+.4f} [{low:+.4f}, {high:+.4f}]"
    )


if __name__ == "__main__":
    main()
