"""Copies of its training text for a masked model: as inputs, and beside its predictions, weighed by a gate."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import initialise
from dna_bigbird.models.read_text import FEATURES, CopiesConfig, ReadText

# B batch, T tokens, P predicted positions, V vocabulary, E hidden size, K copies, F features, W inputs of the gate
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

OF_COPY = FEATURES + 3
OF_NETWORK = 4
LEAST_P = 1e-30


class Copied(NamedTuple):
    """What copies say of P positions."""

    ids_PK: Tensor
    """Tokens, -1 where there is no copy."""
    scores_PKF: Tensor
    """How good the copies are: see `ReadText.copies`."""

    @property
    def alike(self) -> Tensor:
        """Share of the copies that say the same."""
        has_PK = self.ids_PK >= 0
        same_PKK = (self.ids_PK[:, :, None] == self.ids_PK[:, None]) & has_PK[:, None]
        return same_PKK.sum(2) / self.ids_PK.shape[1] * has_PK

    def shares(self, logits: Tensor) -> Tensor:
        """Return a softmax over none of the copies and those that there are, (P, 1 + K)."""
        absent = nn.functional.pad(self.ids_PK < 0, (1, 0))
        return logits.masked_fill(absent, -torch.inf).softmax(-1)


class Evidence(NamedTuple):
    """What the gate weighs at P positions."""

    copied: Copied
    inputs_PW: Tensor


class CopyInputs(nn.Module):
    """Adds vectors of the copied tokens to the embedding of a [MASK]; their weights are a softmax over a hidden layer."""

    def __init__(self, config: CopiesConfig, encoder: EncoderConfig) -> None:
        super().__init__()
        self.mask_id = config.mask_id
        self.hidden = nn.Linear(config.num_copies * (FEATURES + 1), config.input_size)
        self.weights = nn.Linear(config.input_size, 1 + config.num_copies)
        self.of_token = nn.Embedding(encoder.vocab_size, encoder.hidden_size)

    def forward(self, copied: Copied, token_ids_BT: Tensor, positions_P: Tensor) -> Tensor:
        """Return what is added to the embeddings, (B, T, E): zero but for the [MASK] of `positions_P`."""
        inputs = torch.cat([copied.scores_PKF, copied.alike[..., None]], dim=2).flatten(1)
        shares = copied.shares(self.weights(self.hidden(inputs).relu()))[:, 1:]
        is_hidden_P = token_ids_BT.flatten()[positions_P] == self.mask_id
        said_PKE = self.of_token(copied.ids_PK.clamp(min=0))
        said_PE = ((shares * is_hidden_P[:, None])[..., None] * said_PKE).sum(1)
        more_NE = said_PE.new_zeros(token_ids_BT.numel(), said_PE.shape[1])
        return more_NE.index_copy(0, positions_P, said_PE).view(*token_ids_BT.shape, -1)


class Copies(nn.Module):
    """p = g₀ p(network) + Σ gₖ [token k is copied]; the gate g is a softmax over a hidden layer.

    The gate reads how well each copy agrees with what is shown around the position, how probable the network
    finds its token, how many copies say the same, and how sure the network is.
    """

    def __init__(
        self, config: CopiesConfig, encoder: EncoderConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.config = config
        self.text: ReadText | None = None
        """None: what copies say has to be given with each batch, as in training."""
        width = config.num_copies * OF_COPY + OF_NETWORK
        if config.hidden_size:
            self.hidden = nn.Linear(width, config.hidden_size)
            self.weights = nn.Linear(config.hidden_size, 1 + config.num_copies)
        self.inputs = CopyInputs(config, encoder) if config.input_size else None
        initialise(self, 0.05, generator)

    def copied(
        self, token_ids_BT: Tensor, positions_P: Tensor, left_out_BD: Tensor | None = None
    ) -> Copied:
        """Look the surroundings of positions up in the text; `left_out_BD`: documents not to look in."""
        if self.text is None:
            raise ValueError("copies without a text: set `text` first")
        length = token_ids_BT.shape[1]
        tokens, positions = token_ids_BT.flatten().cpu().numpy(), positions_P.cpu().numpy()
        rows = torch.arange(token_ids_BT.numel()).numpy() // length
        out = None if left_out_BD is None else left_out_BD.cpu().numpy()
        said, scores = self.text.copies(tokens, positions, self.config, out, rows)
        device = token_ids_BT.device
        return Copied(torch.from_numpy(said).to(device), torch.from_numpy(scores).to(device))

    def evidence(
        self, logits_PV: Tensor, token_ids_BT: Tensor, positions_P: Tensor, copied: Copied
    ) -> Evidence:
        """Return what the gate reads of the copies and of the network."""
        ids_PK = copied.ids_PK
        log_p_PV = logits_PV.float().log_softmax(-1)
        shown_P = token_ids_BT.flatten()[positions_P]
        of_copy_PK = log_p_PV.gather(1, ids_PK.clamp(min=0)) * (ids_PK >= 0) / 10
        is_shown_PK = (ids_PK == shown_P[:, None]).float()
        entropy_P = -(log_p_PV.exp() * log_p_PV).sum(1)
        of_network = [
            entropy_P,
            log_p_PV.max(1).values,
            (shown_P == self.config.mask_id).float(),
            log_p_PV.gather(1, shown_P[:, None])[:, 0] / 10,
        ]
        more_PK3 = torch.stack([of_copy_PK, copied.alike, is_shown_PK], dim=2)
        of_copies = torch.cat([copied.scores_PKF, more_PK3], dim=2).flatten(1)
        return Evidence(copied, torch.cat([of_copies, torch.stack(of_network, 1)], dim=1))

    def gates(self, evidence: Evidence) -> Tensor:
        """Return the weights of the network and of each copy, (P, 1 + K), together 1."""
        return evidence.copied.shares(self.weights(self.hidden(evidence.inputs_PW).relu()))

    def forward(
        self, logits_PV: Tensor, token_ids_BT: Tensor, positions_P: Tensor, copied: Copied
    ) -> Tensor:
        """Return log-probabilities of network and copies together, (P, V), float32; without a gate the logits."""
        if not self.config.hidden_size:
            return logits_PV
        with torch.autocast(logits_PV.device.type, enabled=False):
            gates = self.gates(self.evidence(logits_PV, token_ids_BT, positions_P, copied))
            p_PV = gates[:, :1] * logits_PV.float().softmax(-1)
            p_PV = p_PV.scatter_add(1, copied.ids_PK.clamp(min=0), gates[:, 1:])
            return p_PV.clamp(min=LEAST_P).log()
