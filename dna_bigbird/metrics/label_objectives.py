"""Loss and validation scores of each type of label."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.metrics.binary import auroc
from dna_bigbird.metrics.multi_class import confusion_tables, table_scores
from dna_bigbird.metrics.regression import regression_scores
from dna_bigbird.models.label_types import MONITORS, MULTI_CLASS, MULTI_LABEL, REGRESSION, TRACKS

# B batch, N rows, P bins of a window, L labels


class LabelObjective(Protocol):
    """What `training.label_training.LabelModule` minimises, and how it is validated."""

    monitor: str
    """Name of the validation score that chooses the step."""

    def loss(self, outputs_BL: Tensor, labels_BL: Tensor) -> Tensor:
        """Return the mean loss of a batch."""
        ...

    def scores(self, labels_NL: np.ndarray, outputs_NL: np.ndarray) -> dict[str, float]:
        """Return the scores of all validation rows."""
        ...

    def predictions(self, outputs_BL: Tensor) -> Tensor:
        """Return probabilities, or targets in their unit."""
        ...


@dataclass(frozen=True)
class IndependentLabels:
    """Binary cross-entropy over independent labels; the score is the macro AUROC."""

    positive_weight: float = 1.0
    monitor = MONITORS[MULTI_LABEL]

    def loss(self, outputs_BL: Tensor, labels_BL: Tensor) -> Tensor:
        """Return the mean over the measured cells, positives weighted by `positive_weight`."""
        is_measured_BL = ~labels_BL.isnan()
        loss = nn.functional.binary_cross_entropy_with_logits(
            outputs_BL,
            labels_BL.nan_to_num(),
            weight=is_measured_BL.to(outputs_BL),
            pos_weight=outputs_BL.new_full((), self.positive_weight),
        )
        # Without a missing cell the factor is 1 exactly.
        cells = is_measured_BL.sum(dtype=loss.dtype).clamp(min=1)
        return loss * (is_measured_BL.numel() / cells)

    def scores(self, labels_NL: np.ndarray, outputs_NL: np.ndarray) -> dict[str, float]:
        """Return the macro AUROC."""
        return {"macro_auroc": macro_auroc(labels_NL, outputs_NL)}

    def predictions(self, outputs_BL: Tensor) -> Tensor:
        """Return the probability of each label."""
        return outputs_BL.sigmoid()


@dataclass(frozen=True)
class OneClass:
    """Cross-entropy of a softmax over classes; the score is the Matthews correlation."""

    monitor = MONITORS[MULTI_CLASS]

    def loss(self, outputs_BL: Tensor, labels_BL: Tensor) -> Tensor:
        """Return the mean over rows, in nats."""
        return nn.functional.cross_entropy(outputs_BL, labels_BL)

    def scores(self, labels_NL: np.ndarray, outputs_NL: np.ndarray) -> dict[str, float]:
        """Return accuracy, Matthews correlation, macro F1 and macro AUROC."""
        scores = table_scores(confusion_tables(labels_NL, outputs_NL))
        probabilities_NL = self.predictions(torch.from_numpy(outputs_NL).double()).numpy()
        return {
            **{name: float(value[0]) for name, value in scores.items()},
            "macro_auroc": macro_auroc(labels_NL, probabilities_NL),
        }

    def predictions(self, outputs_BL: Tensor) -> Tensor:
        """Return the probability of each class."""
        return outputs_BL.softmax(dim=-1)


@dataclass(frozen=True)
class Targets:
    """Squared error of (target - mean) / standard deviation; scored by the mean correlation."""

    means: Sequence[float]
    """Of the training rows, one per target."""
    stds: Sequence[float]
    monitor = MONITORS[REGRESSION]

    def loss(self, outputs_BL: Tensor, labels_BL: Tensor) -> Tensor:
        """Return the mean over rows and targets."""
        means, stds = (outputs_BL.new_tensor(x) for x in (self.means, self.stds))
        return nn.functional.mse_loss(outputs_BL, (labels_BL - means) / stds)

    def scores(self, labels_NL: np.ndarray, outputs_NL: np.ndarray) -> dict[str, float]:
        """Return the means over targets of pearson, spearman, r2 and rmse."""
        values = self.predictions(torch.from_numpy(outputs_NL).double()).numpy()
        each = [regression_scores(labels_NL[:, i], values[:, i]) for i in range(labels_NL.shape[1])]
        return {name: float(np.mean([scores[name][0] for scores in each])) for name in each[0]}

    def predictions(self, outputs_BL: Tensor) -> Tensor:
        """Return the targets in their unit."""
        return outputs_BL * outputs_BL.new_tensor(self.stds) + outputs_BL.new_tensor(self.means)


TOTAL_WEIGHT = 0.2
"""Weight of the total of a window next to its shape, as in Borzoi (Linder et al. 2025)."""
SMALLEST = 1e-6
"""Added to values of which the logarithm is taken."""


@dataclass(frozen=True)
class TrackValues:
    """Values of bins (B, P, L), at least 0; scored by the mean correlation of the tracks.

    A prediction is softplus(output) times the mean of its track over the training bins. The Poisson losses of a track
    are divided by its dispersion, variance over mean: else a track of few high peaks has nearly all of the gradient.
    """

    means: Sequence[float]
    """Of the training bins, one per track."""
    stds: Sequence[float]
    loss_name: str = "poisson"
    """`HeadConfig.loss`."""
    monitor = MONITORS[TRACKS]

    def loss(
        self, outputs_BL: Tensor, labels_BL: Tensor, weights_B: Tensor | None = None
    ) -> Tensor:
        """Return the mean over the measured bins, (B, P, L) both; `weights_B` of windows."""
        means_L, stds_L = (outputs_BL.new_tensor(x) for x in (self.means, self.stds))
        weights_L = (means_L / stds_L) ** 2  # the values below are in units of the mean
        weights_L = weights_L / weights_L.mean()
        known_BPL = ~labels_BL.isnan()
        truth_BPL = labels_BL.nan_to_num() / means_L
        values_BPL = nn.functional.softplus(outputs_BL) + SMALLEST
        if self.loss_name == "mse_log":
            cells_BPL = ((values_BPL * means_L).log1p() - (truth_BPL * means_L).log1p()) ** 2
            weights_L = torch.ones_like(weights_L)
        elif self.loss_name == "poisson":
            cells_BPL = values_BPL - truth_BPL * values_BPL.log()
        else:
            values_BPL = values_BPL * known_BPL + SMALLEST
            total_B1L, truth_B1L = (x.sum(dim=1, keepdim=True) for x in (values_BPL, truth_BPL))
            shape_BPL = -truth_BPL * (values_BPL / total_B1L).log()
            total_loss_B1L = total_B1L - truth_B1L * total_B1L.log()
            share_BPL = known_BPL / known_BPL.sum(dim=1, keepdim=True).clamp(min=1)
            cells_BPL = shape_BPL + TOTAL_WEIGHT * total_loss_B1L * share_BPL
        if weights_B is not None:
            cells_BPL = cells_BPL * weights_B[:, None, None]
        return (cells_BPL * known_BPL * weights_L).sum() / known_BPL.sum().clamp(min=1)

    def scores(self, labels_NL: np.ndarray, outputs_NL: np.ndarray) -> dict[str, float]:
        """Return the mean over tracks of the correlation along the measured bins."""
        values = self.predictions(torch.from_numpy(outputs_NL).double()).numpy()
        values, labels = (x.reshape(-1, x.shape[-1]) for x in (values, labels_NL))
        known = ~np.isnan(labels)
        each = [
            regression_scores(labels[known[:, i], i], values[known[:, i], i])["pearson"][0]
            for i in range(labels.shape[1])
        ]
        return {"pearson": float(np.nanmean(each)) if not np.isnan(each).all() else math.nan}

    def predictions(self, outputs_BL: Tensor) -> Tensor:
        """Return the values in their unit."""
        return nn.functional.softplus(outputs_BL) * outputs_BL.new_tensor(self.means)


def macro_auroc(labels_NL: np.ndarray, scores_NL: np.ndarray) -> float:
    """Return the mean AUROC over labels with positives and negatives; NaN if there is none.

    A cell whose label is NaN, not measured, is left out.

    Example:
        >>> macro_auroc(np.array([[0, 1], [1, 1], [1, 1]]), np.array([[0.1, 0], [0.1, 0], [0.9, 0]]))
        0.75
    """
    areas = [auroc(labels_NL[:, i], scores_NL[:, i]) for i in range(labels_NL.shape[1])]
    defined = [area for area in areas if not math.isnan(area)]
    return sum(defined) / len(defined) if defined else math.nan
