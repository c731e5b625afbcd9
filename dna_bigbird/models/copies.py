"""A masked model together with copies of its training text, weighed for each position by a gate."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dna_bigbird.models.encoder import initialise
from dna_bigbird.models.read_text import FEATURES, CopiesConfig, ReadText

# B batch, T tokens, P predicted positions, V vocabulary, K copies, W inputs of the gate
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

OF_COPY = FEATURES + 3
OF_NETWORK = 4
LEAST_P = 1e-30


class Evidence(NamedTuple):
    """What the gate weighs at P positions."""

    ids_PK: Tensor
    """Tokens that the copies say, -1 where there is none."""
    inputs_PW: Tensor


class Copies(nn.Module):
    """p = g₀ p(network) + Σ gₖ [token k is copied]; the gate g is a softmax over a hidden layer.

    The gate reads how well each copy agrees with what is shown around the position, how probable the network
    finds its token, how many copies say the same, and how sure the network is.
    """

    def __init__(self, config: CopiesConfig, generator: torch.Generator) -> None:
        super().__init__()
        self.config = config
        self.text: ReadText | None = None
        width = config.num_copies * OF_COPY + OF_NETWORK
        self.hidden = nn.Linear(width, config.hidden_size)
        self.weights = nn.Linear(config.hidden_size, 1 + config.num_copies)
        initialise(self, 0.05, generator)

    def evidence(
        self,
        logits_PV: Tensor,
        token_ids_BT: Tensor,
        positions_P: Tensor,
        left_out_BD: Tensor | None = None,
    ) -> Evidence:
        """Look the surroundings of positions up in the text; `left_out_BD`: documents not to look in."""
        if self.text is None:
            raise ValueError("copies without a text: set `text` first")
        length = token_ids_BT.shape[1]
        tokens, positions = token_ids_BT.flatten().cpu().numpy(), positions_P.cpu().numpy()
        rows = torch.arange(token_ids_BT.numel()).numpy() // length
        out = None if left_out_BD is None else left_out_BD.cpu().numpy()
        said, scores = self.text.copies(tokens, positions, self.config, out, rows)
        ids_PK = torch.from_numpy(said).to(logits_PV.device)
        scores_PKF = torch.from_numpy(scores).to(logits_PV.device)
        log_p_PV = logits_PV.float().log_softmax(-1)
        shown_P = token_ids_BT.flatten()[positions_P]
        has_PK = ids_PK >= 0
        of_copy_PK = log_p_PV.gather(1, ids_PK.clamp(min=0)) * has_PK / 10
        same_PKK = (ids_PK[:, :, None] == ids_PK[:, None]) & has_PK[:, None]
        alike_PK = same_PKK.sum(2) / ids_PK.shape[1] * has_PK
        is_shown_PK = (ids_PK == shown_P[:, None]).float()
        entropy_P = -(log_p_PV.exp() * log_p_PV).sum(1)
        of_network = [
            entropy_P,
            log_p_PV.max(1).values,
            (shown_P == self.config.mask_id).float(),
            log_p_PV.gather(1, shown_P[:, None])[:, 0] / 10,
        ]
        more_PK3 = torch.stack([of_copy_PK, alike_PK, is_shown_PK], dim=2)
        inputs = [torch.cat([scores_PKF, more_PK3], dim=2).flatten(1), torch.stack(of_network, 1)]
        return Evidence(ids_PK, torch.cat(inputs, dim=1))

    def gates(self, evidence: Evidence) -> Tensor:
        """Return the weights of the network and of each copy, (P, 1 + K), together 1."""
        logits = self.weights(self.hidden(evidence.inputs_PW).relu())
        absent = nn.functional.pad(evidence.ids_PK < 0, (1, 0))
        return logits.masked_fill(absent, -torch.inf).softmax(-1)

    def forward(
        self,
        logits_PV: Tensor,
        token_ids_BT: Tensor,
        positions_P: Tensor,
        left_out_BD: Tensor | None = None,
    ) -> Tensor:
        """Return log-probabilities of network and copies together, (P, V), float32."""
        with torch.autocast(logits_PV.device.type, enabled=False):
            evidence = self.evidence(logits_PV, token_ids_BT, positions_P, left_out_BD)
            gates = self.gates(evidence)
            p_PV = gates[:, :1] * logits_PV.float().softmax(-1)
            p_PV = p_PV.scatter_add(1, evidence.ids_PK.clamp(min=0), gates[:, 1:])
            return p_PV.clamp(min=LEAST_P).log()
