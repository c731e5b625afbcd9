"""Is a network better that is trained next to a regression on counts? Three ways, against the sum of two fits.

    python experiments/2026-11-heads-and-counts/next_to_counts.py --data ../shared/data/benchmarks \
        --folder results/next-to-counts --sets strong dnabert --ways sum both

`sum`: network and regression are fitted apart, as `finetune` does. `residual`: the network is trained on what the
regression leaves; of its own rows the regression says what fits without them say (five parts). `both`: the loss is
the mean of the network's alone and of the sum's. With `_zero` the last layer begins at 0.
Sets are made of the rows that are not test rows of public_sets.py, and split again; nothing here reads its test rows.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.baselines.kmer import PENALTIES, KmerBaseline
from dna_bigbird.baselines.logistic import RidgeLogistic
from dna_bigbird.labelled.labelled_set import open_labelled_set
from dna_bigbird.labelled.sequences.sequence_set import sequence_set
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.models.kmer_config import KmersConfig
from dna_bigbird.models.kmer_head import KmerCounts, bases_of_pieces
from dna_bigbird.training import finetune_run, label_training
from dna_bigbird.training.encoder_source import open_source
from dna_bigbird.training.kmer_counts import kmers_for
from dna_bigbird.training.label_config import LabelHeadConfig, LabelTrainConfig
from dna_bigbird.training.probe import outputs

sys.path.append(str(Path(__file__).parents[1] / "2026-11-public-sets"))
from public_sets import labelled_sequences

WAYS = ("sum", "residual", "residual_zero", "both", "both_zero")
FOLDS, BLOCKS = 5, 50
FLOAT32 = {"precision": torch.float32}


def fitted_logits(setup, training) -> dict[str, Tensor]:
    """Return the regression's logits: of training rows by fits without them, of validation and test rows by all."""
    labelled, tokenizer = setup.labelled, setup.source.tokenizer
    limits = {"max_tokens": setup.encoder.max_tokens, "both_strands": False}
    splits = {x: labelled.rows(x) for x in ("train", "validation", "test")}
    counts = KmerCounts(setup.words, len(tokenizer.pieces))
    counts.bases_VI.copy_(torch.from_numpy(bases_of_pieces(tokenizer.pieces, tokenizer.piece_bp)))
    x, y = {}, {}
    for split, rows in splits.items():
        windows = label_training.tokenize_rows(labelled, rows, tokenizer, **limits)
        x[split] = outputs(counts, windows, np.arange(len(rows)), **FLOAT32).numpy()
        y[split] = labelled.labels_of(rows).astype(np.float64)
    parts = []
    for at in counts.parts().values():
        fit = KmerBaseline(KmerConfig(strands="together", centre_bp=0))
        fit.fit(x["train"][:, at], y["train"], x["validation"][:, at], y["validation"])
        weight_LD, bias_L = fit.linear_map()
        logits = {split: each[:, at] @ weight_LD.T + bias_L for split, each in x.items()}
        fold_N = np.arange(len(splits["train"])) * BLOCKS // len(splits["train"]) % FOLDS
        for fold in range(FOLDS):
            own, others = fold_N == fold, x["train"][fold_N != fold][:, at]
            mean, std = others.mean(0), others.std(0)
            std = np.where(std > 1e-9, std, np.inf)
            weights = RidgeLogistic((others - mean) / std).fit(
                y["train"][fold_N != fold], fit.penalty
            )
            scaled = (x["train"][own][:, at] - mean) / std
            logits["train"][own] = scaled @ weights[:-1] + weights[-1]
        assert fit.penalty in PENALTIES
        parts.append({k: torch.from_numpy(v).float() for k, v in logits.items()})
    truth = torch.from_numpy(y["validation"]).float()
    *weights, shift = lowest_loss([part["validation"] for part in parts], truth, 1 / len(parts))
    return {
        split: shift + sum(w * part[split] for w, part in zip(weights, parts, strict=True))
        for split in splits
    }


def lowest_loss(parts: list[Tensor], truth: Tensor, expected: float) -> list[float]:
    """Return weights, none below 0, and a constant; each weight is held to `expected` as by one more row."""
    used = list(range(len(parts)))
    while used:
        weights = torch.tensor([expected] * len(used) + [0.0], requires_grad=True)
        stds = torch.stack([parts[i].std(correction=0) for i in used])
        optimizer = torch.optim.LBFGS([weights], max_iter=50, line_search_fn="strong_wolfe")

        def closure(weights=weights, stds=stds, optimizer=optimizer, used=tuple(used)) -> Tensor:
            optimizer.zero_grad()
            total = weights[-1] + sum(weights[n] * parts[i] for n, i in enumerate(used))
            loss = torch.nn.functional.binary_cross_entropy_with_logits(total, truth)
            loss = loss + ((weights[:-1] - expected) * stds).square().sum() / truth.numel()
            loss.backward()
            return loss

        optimizer.step(closure)
        chosen = weights.tolist()
        if min(chosen[:-1]) > 0:
            break
        del used[int(np.argmin(chosen[:-1]))]
    by_part = dict(zip(used, chosen, strict=False))
    return [by_part.get(i, 0.0) for i in range(len(parts))] + chosen[-1:]


def train(setup, training, way: str, folder: Path) -> dict[str, float]:
    """Train one way; return validation loss and scores of the sum on validation and test rows."""
    known = fitted_logits(setup, training)
    table = torch.zeros(len(setup.labelled), 1)
    for split, logits in known.items():
        table[torch.from_numpy(setup.labelled.rows(split))] = logits
    usual = label_training.LabelModule

    class NextToCounts(usual):
        def logits_and_loss(self, batch):
            alone, loss = super().logits_and_loss(batch)
            total = alone + table[batch.examples_B]
            next_to = self.objective.loss(total, batch.labels_BL)
            if way.startswith("both") and self.training:
                next_to = (next_to + loss) / 2
            return total, next_to

    start = finetune_run.FinetuningSetup.build_model
    if way != "sum":
        label_training.LabelModule = NextToCounts
        finetune_run.FinetuningSetup.build_model = lambda x: zeroed(start(x), way)
    try:
        task, _, _ = finetune_run.train(setup, training, folder)
    finally:
        label_training.LabelModule = usual
        finetune_run.FinetuningSetup.build_model = start
    labelled, objective, results = setup.labelled, task.objective, {}
    limits = {"max_tokens": setup.encoder.max_tokens, "both_strands": False}
    parts, truth = {}, {}
    for split in ("validation", "test"):
        rows = labelled.rows(split)
        windows = label_training.tokenize_rows(labelled, rows, setup.source.tokenizer, **limits)
        network = outputs(task.model, windows, np.arange(len(rows)), **FLOAT32)
        parts[split] = [network, known[split]]
        truth[split] = torch.from_numpy(labelled.labels_of(rows)).float()
    pull = 0.5 if way == "sum" else 1.0
    *weights, shift = lowest_loss(parts["validation"], truth["validation"], pull)
    for split, both in parts.items():
        total = shift + sum(w * x for w, x in zip(weights, both, strict=True))
        results[f"{split} loss"] = float(objective.loss(total, truth[split]))
        for name, logits in {"": total, " network": both[0], " counts": both[1]}.items():
            score = objective.scores(truth[split].numpy(), logits.numpy())["macro_auroc"]
            results[f"{split} AUROC{name}"] = score
    return results | {"weight of network": weights[0], "weight of counts": weights[1]}


def zeroed(model, way: str):
    """Begin at the counts: without constant, and without the rest of the last layer."""
    with torch.no_grad():
        model.label_layer.bias.zero_()
        if way.endswith("zero"):
            model.label_layer.weight.zero_()
    return model


def development_set(data: Path, name: str, folder: Path) -> Path:
    """Make a set of the rows that public_sets.py does not test on."""
    paths = [folder / f"{name}.{x}" for x in ("all.csv", "all.h5", "csv", "h5")]
    if not paths[-1].exists():
        write_rows(paths[0], labelled_sequences(data, name))
        sequence_set(input=[paths[0]], output=paths[1])
        full = open_labelled_set(paths[1], None)
        rows = np.sort(np.concatenate([full.rows("train"), full.rows("validation")]))
        write_rows(
            paths[2], [(full.sequence(int(i)), int(full.labels_of(i[None])[0, 0])) for i in rows]
        )
        sequence_set(input=[paths[2]], output=paths[3])
    return paths[-1]


def write_rows(path: Path, rows: list[tuple[str, int]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("sequence", "label"), *rows])


def main() -> None:
    """Train every way on every set and print the scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["strong", "dnabert", "enhancers", "ecoli"])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    asked.folder.mkdir(parents=True, exist_ok=True)
    source = open_source(None, None, EncoderChanges(), from_scratch=False)
    for name in asked.sets:
        labelled = open_labelled_set(development_set(asked.data, name, asked.folder), None)
        fitting = source.for_windows(labelled.window_bp)
        training, head = finetune_run.choose_settings(
            LabelTrainConfig(), LabelHeadConfig(), labelled, fitting
        )
        words = kmers_for(
            KmersConfig(),
            labelled,
            fitting.tokenizer,
            both_strands=training.both_strands,
            has_recipe=True,
        )
        setup = finetune_run.FinetuningSetup(
            fitting, labelled, head, None, asked.seed, training.both_strands, words=words
        )
        for way in asked.ways:
            results = train(setup, training, way, asked.folder / f"{name}.{way}.{asked.seed}")
            print(name, way, {k: round(v, 4) for k, v in results.items()}, flush=True)


if __name__ == "__main__":
    main()
