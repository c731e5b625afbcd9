"""The best last layer for an encoder as it is: where a fine-tuning may start."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dna_bigbird.corpus.batches import PAD_ID, pad_right, padding_of
from dna_bigbird.metrics.label_objectives import LabelObjective
from dna_bigbird.models.precision import BFLOAT16, resolve_precision

# Probabilities of a network for rows of a labelled set, as `evaluate` gives them for a bundle.

# B batch, T tokens, L labels


class TokenizedWindows(Protocol):
    """What is needed of labelled.tokenized.TokenizedRows."""

    def __len__(self) -> int: ...

    def ids(self, index: int, strand: str = "+") -> np.ndarray: ...


def mean_over_strands(
    model: nn.Module,
    rows: TokenizedWindows,
    *,
    strands: str = "+-",
    batch_size: int = 64,
    progress: Callable[[Iterable], Iterable] = iter,
    activation: Callable[[Tensor], Tensor] = torch.sigmoid,
) -> NDArray[np.float32]:
    """Return each window's mean probabilities over the strands it is read on, (n, L)."""
    # `activation` maps outputs (B, L) in float64 to probabilities or targets.
    every = np.arange(len(rows))
    read = {"precision": torch.float32, "progress": progress, "batch_size": batch_size}
    by_strand = [outputs(model, rows, every, strand, **read) for strand in strands]
    means = np.mean([activation(logits_BL.double()).numpy() for logits_BL in by_strand], axis=0)
    return means.astype(np.float32)


PENALTIES = (1.0, 3e-1, 1e-1, 3e-2, 1e-2, 1e-3, 1e-4)
"""Of the squared weights over standardised features, strongest first."""
ITERATIONS = 40
MOST_WINDOWS, MOST_NUMBERS = 8_000, 60_000_000
"""Windows that are read, each strand counted, and numbers that are kept of them (240 MB). Of a larger set evenly
spaced rows are read."""
BATCH = 32
SMALLEST_STD = 1e-6


class LabelledWindows(TokenizedWindows):
    """What is needed of labelled.tokenized.TokenizedRows."""

    labels: np.ndarray


def init_from_probe(
    model: nn.Module,
    train: LabelledWindows,
    validation: LabelledWindows,
    objective: LabelObjective,
    *,
    strands: str,
    precision: torch.dtype,
    progress: Callable[[Iterable], Iterable] = iter,
) -> dict[str, float]:
    """Fit the last layer on what the head pools from the encoder as it is.

    The loss is the objective's, minimised by L-BFGS over standardised features for each of
    `PENALTIES`, beginning with the strongest; the one with the highest score on validation is kept;
    `penalty` and score are returned. Linear probing, then fine-tuning (LP-FT): Kumar et al. 2022,
    arXiv:2202.10054.
    """
    head = model.head
    size = head.pooler_size
    most = max(1, min(MOST_WINDOWS, MOST_NUMBERS // size) // len(strands))
    chosen = spread(len(train), most)
    read = {"precision": precision, "progress": progress}
    x_NF = torch.cat([features(model, train, chosen, strand, **read) for strand in strands])
    labels_NL = torch.from_numpy(np.tile(_labels(train, chosen), (len(strands), 1)))
    rows = np.arange(len(validation))
    held_NF = features(model, validation, rows, "+", **read)
    means_F, stds_F = x_NF.mean(dim=0), x_NF.std(dim=0, correction=0).clamp(min=SMALLEST_STD)
    x_NF, held_NF = (x_NF - means_F) / stds_F, (held_NF - means_F) / stds_F
    layer = nn.Linear(size, model.label_layer.out_features)
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.copy_(model.label_layer.bias)
    best: tuple[float, float, Tensor, Tensor, Tensor] | None = None
    for penalty in PENALTIES:
        _fit(layer, x_NF, labels_NL, objective, penalty)
        weight_LF, bias_L = layer.weight.detach().clone(), layer.bias.detach().clone()
        basis_LR = _basis(
            x_NF @ weight_LF.T, model.label_layer.in_features if head.few is not None else None
        )
        outputs = held_NF @ (basis_LR @ (basis_LR.T @ weight_LF)).T + bias_L
        score = objective.scores(_labels(validation, rows), outputs.numpy())[objective.monitor]
        if best is None or score > best[0]:
            best = score, penalty, weight_LF, bias_L, basis_LR
    score, penalty, weight_LF, bias_L, basis_LR = best
    weight_LF = weight_LF / stds_F
    few_RF = basis_LR.T @ weight_LF
    with torch.no_grad():
        if head.few is None:
            head.dense.weight.copy_(weight_LF)
        else:
            head.few.weight.copy_(few_RF)
            head.dense.weight.copy_(basis_LR)
        head.dense.bias.copy_(bias_L - basis_LR @ (few_RF @ means_F))
    return {"penalty": penalty, objective.monitor: score}


def _basis(outputs_NL: Tensor, rank: int | None) -> Tensor:
    """Return the directions (L, R) of the outputs that vary most; all if there is no rank."""
    # Projecting a regression's outputs on them is reduced-rank regression (Izenman 1975).
    if rank is None:
        return torch.eye(outputs_NL.shape[1])
    _, _, right_LL = torch.linalg.svd(outputs_NL, full_matrices=False)
    return right_LL[:rank].T


def features(
    model: nn.Module, windows: TokenizedWindows, rows: np.ndarray, strand: str, **settings: Any
) -> Tensor:
    """Return what the last layer of a model reads of some rows, (N, F); see `outputs`."""

    def pooled(ids_BT: Tensor, padding_BT: Tensor) -> Tensor:
        hidden_BTE = model.states(ids_BT, padding_BT)
        with torch.autocast(ids_BT.device.type, enabled=False):
            return model.head.pooled(hidden_BTE.float(), padding_BT)

    return outputs(model, windows, rows, strand, pooled, **settings)


@torch.no_grad()
def outputs(
    module: nn.Module,
    windows: TokenizedWindows,
    rows: np.ndarray,
    strand: str = "+",
    call: Callable[[Tensor, Tensor], Tensor] | None = None,
    *,
    precision: torch.dtype,
    batch_size: int = BATCH,
    progress: Callable[[Iterable], Iterable] = iter,
) -> Tensor:
    """Return what a module, or `call`, gives for tokens and padding, in float32 on the CPU."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    was_training = module.training
    module = module.to(device).eval()
    parts = []
    for first in progress(range(0, len(rows), batch_size)):
        ids = [windows.ids(int(i), strand) for i in rows[first : first + batch_size]]
        with torch.autocast(device.type, precision, enabled=precision != torch.float32):
            part = (call or module)(pad_right(ids, PAD_ID).to(device), padding_of(ids).to(device))
        parts.append(part.float().cpu())
    module.cpu().train(was_training)  # the trainer keeps the mode, and dropout belongs to training
    return torch.cat(parts)


def products_in(precision: str) -> torch.dtype:
    """Return the type of products for `--training.precision` on the device of `outputs`."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    is_short = resolve_precision(precision, device) == BFLOAT16
    return torch.bfloat16 if is_short else torch.float32


def spread(count: int, most: int) -> np.ndarray:
    """Return evenly spaced row numbers below `count`, about `most` of them."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).astype(int))


def _fit(
    layer: nn.Linear, x_NF: Tensor, labels_NL: Tensor, objective: LabelObjective, penalty: float
) -> None:
    optimizer = torch.optim.LBFGS(
        layer.parameters(), max_iter=ITERATIONS, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = objective.loss(layer(x_NF), labels_NL)
        loss = loss + penalty / 2 * layer.weight.square().sum() / layer.out_features
        loss.backward()
        return loss

    optimizer.step(closure)


def _labels(windows: LabelledWindows, rows: np.ndarray) -> np.ndarray:
    return np.asarray(windows.labels[rows]).astype(np.float32)
