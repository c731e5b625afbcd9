"""What a training on tracks begins with: k-mers around every bin, and windows with signal more often."""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.metrics.label_objectives import LabelObjective
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.training.probe import LabelledWindows, outputs, spread

# N windows, P bins of a window, D shares of k-mers, L tracks

AROUND_BP = (0, 200, 500, 1000)
"""Bases on either side of a bin: CpG islands, and so promoters, are seen over about 1 kb."""
HIDDEN = 64
MOST_BINS = 100_000
"""Training bins that are read, of evenly spaced windows."""
EPOCHS, BATCH_BINS = 15, 256
RATE, WEIGHT_DECAY, DROPOUT = 1e-3, 0.01, 0.3
MOST_TIMES, ROWS_AT_ONCE = 20, 1024
"""How much more often a window with signal is read, at most; windows whose values are in memory at once."""


def rows_by_signal(labelled: LabelledSet) -> NDArray[np.int64]:
    """Return the training rows once, then rows with signal again: half of all by the square of their values."""
    # A site of a protein is in few windows; read evenly, its motif would be seen too seldom to be learned.
    rows = labelled.rows("train")
    parts = np.split(rows, range(ROWS_AT_ONCE, len(rows), ROWS_AT_ONCE))
    squares_NL = np.concatenate([np.nansum(labelled.labels_of(x) ** 2.0, axis=1) for x in parts])
    share_N = (squares_NL / squares_NL.mean(axis=0)).mean(axis=1)
    return np.concatenate([rows, np.repeat(rows, share_N.round().clip(0, MOST_TIMES).astype(int))])


def fit_bin_kmers(
    model: SequenceClassifier,
    kmers: KmerHeadConfig,
    bases_VI: np.ndarray,
    train: LabelledWindows,
    validation: LabelledWindows,
    objective: LabelObjective,
    *,
    num_rows: int,
    seed: int,
    progress: Callable[[Iterable], Iterable] = iter,
) -> float:
    """Add the k-mers around bins to a model before its training, fixed; return their score on validation.

    `num_rows`: the first so many windows of `train` are read. The pass with the highest score is kept.
    """
    part = model.add_kmer_head(kmers)
    part.counts.bases_VI[: len(bases_VI)] = torch.from_numpy(bases_VI)  # ids may be more
    generator = torch.Generator().manual_seed(seed)
    for layer in (part.hidden, part.linear):
        nn.init.normal_(layer.weight, std=layer.in_features**-0.5, generator=generator)
        nn.init.zeros_(layer.bias)
    held = np.arange(len(validation))
    read = partial(outputs, part.counts, precision=torch.float32, progress=progress)
    held_NPD = read(validation, held)
    some = spread(num_rows, max(1, MOST_BINS // held_NPD.shape[1]))
    shares_MD = read(train, some).flatten(0, 1)
    truth_ML = torch.from_numpy(np.array(train.labels[some])).flatten(0, 1)
    part.mean_D.copy_(shares_MD.mean(dim=0))
    part.std_D.copy_(shares_MD.std(dim=0, correction=0).clamp(min=1e-6))
    shares_MD, held_NPD = part.scaled(shares_MD), part.scaled(held_NPD)
    truth_NPL = np.asarray(validation.labels[held])
    best, kept = -np.inf, {}
    optimizer = torch.optim.AdamW(part.parameters(), RATE, weight_decay=WEIGHT_DECAY)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(truth_ML), generator=generator).split(BATCH_BINS):
            hidden = part.hidden(_dropped(shares_MD[rows], generator)).relu()
            logits_ML = part.linear(_dropped(hidden, generator))
            optimizer.zero_grad()
            objective.loss(logits_ML[:, None], truth_ML[rows, None]).backward()
            optimizer.step()
        with torch.no_grad():
            logits_NPL = part.linear(part.hidden(held_NPD).relu())
        score = objective.scores(truth_NPL, logits_NPL.numpy())[objective.monitor]
        if score > best:
            best, kept = score, {k: v.clone() for k, v in part.state_dict().items()}
    part.load_state_dict(kept)
    part.requires_grad_(False)
    return best


def _dropped(x: Tensor, generator: torch.Generator) -> Tensor:
    is_kept = torch.rand(x.shape, generator=generator) >= DROPOUT
    return x * is_kept / (1 - DROPOUT)
