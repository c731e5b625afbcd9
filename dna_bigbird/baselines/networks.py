"""Published networks that read single bases, called as the models are.

Each is `network(token_ids_BT, is_padding_BT) -> logits_BL` on single bases as ids, all
windows of one length. Sources, sizes and what differs from them: docs/explanation/counts-as-baselines.md.
"""

# B batch, T bases, C channels, P pooled positions, L labels

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dna_bigbird.baselines.config import (
    CnnPromConfig,
    DeePromoterConfig,
    DeepSeaConfig,
    pooling_bp,
    scaled,
)

NUM_BASES = 4
DEEPSEA_BP = 1000


def one_hot(token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
    """Return (batch, 4, bases) float32, channels A C G T; N and padding are all zero."""
    letters_BTC = F.one_hot(token_ids_BT, NUM_BASES + 1)[..., :NUM_BASES]
    return (letters_BTC * ~is_padding_BT[..., None]).mT.float()


def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Draw kernels after He (for ReLU), those of an LSTM evenly; biases are 0.

    The last layer begins near 0, so that no label begins with a wrong certainty.
    """
    for child in module.modules():
        if isinstance(child, nn.Conv1d | nn.Linear):
            nn.init.kaiming_normal_(child.weight, nonlinearity="relu", generator=generator)
            nn.init.zeros_(child.bias)
        elif isinstance(child, nn.LSTM):
            bound = 1 / math.sqrt(child.hidden_size)
            for name, parameter in child.named_parameters():
                if name.startswith("weight"):
                    nn.init.uniform_(parameter, -bound, bound, generator=generator)
                else:
                    nn.init.zeros_(parameter)
    nn.init.normal_(module.label_layer.weight, std=0.01, generator=generator)


class CnnProm(nn.Module):
    """Convolution over 21 bases, max pooling, a hidden layer, one logit per label.

    Raises:
        ValueError: If the window is shorter than one filter and one pooling.
    """

    WINDOW_BP, FILTER_BP, HIDDEN = 251, 21, 128
    POOL_BP = 4

    def __init__(self, config: CnnPromConfig, window_bp: int, num_labels: int, seed: int) -> None:
        super().__init__()
        width = window_bp - self.FILTER_BP + 1
        self.pool = max(1, width)  # non_tata
        if config.variant == "tata":
            self.pool = pooling_bp(
                self.POOL_BP, window_bp=window_bp, published_window_bp=self.WINDOW_BP
            )
        _check_window("cnnprom", window_bp, width // self.pool)
        filters = {"tata": 200, "non_tata": 300}[config.variant]
        channels, hidden = (scaled(n, config.width) for n in (filters, self.HIDDEN))
        self.convolution = nn.Conv1d(NUM_BASES, channels, self.FILTER_BP)
        self.hidden = nn.Linear(channels * (width // self.pool), hidden)
        self.label_layer = nn.Linear(hidden, num_labels)
        initialise(self, torch.Generator().manual_seed(seed))

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return logits (batch, labels)."""
        x_BCP = self.convolution(one_hot(token_ids_BT, is_padding_BT)).relu()
        x_BCP = F.max_pool1d(x_BCP, self.pool)
        return self.label_layer(self.hidden(x_BCP.flatten(1)).relu())


class DeePromoter(nn.Module):
    """Convolutions over 27, 14 and 7 bases side by side, a BiLSTM, a hidden layer.

    Raises:
        ValueError: If the window is shorter than one pooling.
    """

    WINDOW_BP, FILTERS_BP, FILTERS, POOL_BP, UNITS, HIDDEN = 300, (27, 14, 7), 32, 6, 32, 128
    DROPOUT = 0.5

    def __init__(
        self, config: DeePromoterConfig, window_bp: int, num_labels: int, seed: int
    ) -> None:
        super().__init__()
        self.pool = pooling_bp(
            self.POOL_BP, window_bp=window_bp, published_window_bp=self.WINDOW_BP
        )
        width = window_bp // self.pool
        _check_window("deepromoter", window_bp, width)
        channels, units, hidden = (
            scaled(n, config.width) for n in (self.FILTERS, self.UNITS, self.HIDDEN)
        )
        self.convolutions = nn.ModuleList(
            nn.Conv1d(NUM_BASES, channels, bases) for bases in self.FILTERS_BP
        )
        self.lstm = nn.LSTM(
            channels * len(self.FILTERS_BP), units, bidirectional=True, batch_first=True
        )
        self.hidden = nn.Linear(2 * units * width, hidden)
        self.dropout = nn.Dropout(self.DROPOUT)
        self.label_layer = nn.Linear(hidden, num_labels)
        initialise(self, torch.Generator().manual_seed(seed))

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return logits (batch, labels)."""
        bases_BCT = one_hot(token_ids_BT, is_padding_BT)
        parts = []
        for convolution, width in zip(self.convolutions, self.FILTERS_BP, strict=True):
            padded = F.pad(bases_BCT, ((width - 1) // 2, width // 2))  # as many places as bases
            parts.append(self.dropout(F.max_pool1d(convolution(padded).relu(), self.pool)))
        states_BPC, _ = self.lstm(torch.cat(parts, dim=1).mT)
        return self.label_layer(self.dropout(self.hidden(states_BPC.flatten(1)).relu()))


class DeepSea(nn.Module):
    """Three convolutions over 8 places and a hidden layer, on the central 1000 bp of the window.

    A shorter window is read whole, with fewer weights in the hidden layer.

    Raises:
        ValueError: If the window is too short for three convolutions and two poolings.
    """

    CHANNELS, FILTER, POOL, HIDDEN = (320, 480, 960), 8, 4, 925
    DROPOUTS = (0.2, 0.2, 0.5)

    def __init__(self, config: DeepSeaConfig, window_bp: int, num_labels: int, seed: int) -> None:
        super().__init__()
        self.read_bp = width = min(window_bp, DEEPSEA_BP)
        for pool in (self.POOL, self.POOL, 1):
            width = (width - self.FILTER + 1) // pool
        _check_window("deepsea", window_bp, width)
        channels = [scaled(n, config.width) for n in self.CHANNELS]
        hidden = scaled(self.HIDDEN, config.width)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(before, after, self.FILTER)
            for before, after in pairwise([NUM_BASES, *channels])
        )
        self.dropouts = nn.ModuleList(nn.Dropout(share) for share in self.DROPOUTS)
        self.hidden = nn.Linear(channels[-1] * width, hidden)
        self.label_layer = nn.Linear(hidden, num_labels)
        initialise(self, torch.Generator().manual_seed(seed))

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return logits (batch, labels)."""
        start = (token_ids_BT.shape[1] - self.read_bp) // 2
        centre = slice(start, start + self.read_bp)
        x_BCP = one_hot(token_ids_BT[:, centre], is_padding_BT[:, centre])
        for i, (convolution, dropout) in enumerate(
            zip(self.convolutions, self.dropouts, strict=True)
        ):
            x_BCP = convolution(x_BCP).relu()
            if i + 1 < len(self.convolutions):
                x_BCP = F.max_pool1d(x_BCP, self.POOL)
            x_BCP = dropout(x_BCP)
        return self.label_layer(self.hidden(x_BCP.flatten(1)).relu())


def _check_window(name: str, window_bp: int, width: int) -> None:
    if width < 1:
        raise ValueError(f"{name} cannot read windows of {window_bp} bp: nothing is left of them")


def build_network(
    config: CnnPromConfig | DeePromoterConfig | DeepSeaConfig,
    window_bp: int,
    num_labels: int,
    *,
    seed: int,
) -> nn.Module:
    """Return the network that a config describes; equal arguments give equal weights.

    Raises:
        ValueError: If it cannot read windows that short.
    """
    networks = {CnnPromConfig: CnnProm, DeePromoterConfig: DeePromoter, DeepSeaConfig: DeepSea}
    return networks[type(config)](config, window_bp, num_labels, seed)
