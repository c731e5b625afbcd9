"""k-mers, counted from tokens, and their part of the logits: "wide and deep" (arXiv:1606.07792)."""

# B batch, T tokens, V vocabulary, I bases of a token, S bases, D k-mers, L labels

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.genome.kmer_numbers import canonical_kmers
from dna_bigbird.models.kmer_config import KmerHeadConfig

CODES = {"A": 0, "C": 1, "G": 2, "T": 3}
N_CODE, NO_BASE = 4, 5
"""In place of a base: an unknown one, and none."""


class KmerCounts(nn.Module):
    """Tokens to the share of every k-mer of 1 to `max_k` bases among the k-mers of its length."""

    # k-mers with an N are not counted. The shares in the middle of the sequence follow those of the whole.

    def __init__(self, config: KmerHeadConfig, vocab_size: int) -> None:
        super().__init__()
        self.config = config
        shape = vocab_size, config.piece_bp
        # As a file of weights has them: floating point.
        self.register_buffer("bases_VI", torch.full(shape, float(NO_BASE)))

    @property
    def size(self) -> int:
        """How many numbers it gives."""
        each = [num_kmers(k, together=self.config.together) for k in self._lengths]
        return sum(each) * (1 + bool(self.config.centre_bp))

    @property
    def _lengths(self) -> range:
        return range(1, self.config.max_k + 1)

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return the shares (B, D) in float32."""
        codes_BS = self._spelled(token_ids_BT, is_padding_BT)
        lengths_B = (codes_BS != NO_BASE).sum(1)
        parts = self._shares(codes_BS, torch.zeros_like(lengths_B), lengths_B)
        if centre_bp := self.config.centre_bp:
            start_B = ((lengths_B - centre_bp) // 2).clamp(min=0)
            parts += self._shares(codes_BS, start_B, torch.minimum(start_B + centre_bp, lengths_B))
        return torch.cat(parts, dim=1)

    def _spelled(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return the bases of each sequence, (B, S); none after its last one."""
        codes_BTI = self.bases_VI[token_ids_BT].long()
        codes_BU = codes_BTI.masked_fill(is_padding_BT[..., None], NO_BASE).flatten(1)
        order_BU = (codes_BU == NO_BASE).long().argsort(dim=1, stable=True)
        most = int((codes_BU != NO_BASE).sum(1).max())
        return codes_BU.gather(1, order_BU)[:, :most]

    def _shares(self, codes_BS: Tensor, start_B: Tensor, end_B: Tensor) -> list[Tensor]:
        B, S = codes_BS.shape
        places_S = torch.arange(S, device=codes_BS.device)
        rows_B = torch.arange(B, device=codes_BS.device)[:, None]
        kmers_BS = torch.zeros_like(codes_BS)
        is_known_BS = torch.ones_like(codes_BS, dtype=torch.bool)
        shares = []
        for k in self._lengths:
            last = max(0, S - k + 1)
            bases = codes_BS[:, k - 1 :]
            kmers_BS = kmers_BS[:, :last] * 4 + bases
            is_known_BS = is_known_BS[:, :last] & (bases < N_CODE)
            is_inside = (places_S[:last] >= start_B[:, None]) & (
                places_S[:last] + k <= end_B[:, None]
            )
            is_counted = is_known_BS & is_inside
            size = num_kmers(k, together=self.config.together)
            numbers = kmers_BS.clamp(max=4**k - 1)
            if self.config.together:
                numbers = torch.from_numpy(canonical_kmers(k)).to(numbers.device)[numbers]
            # One number more, for what is not counted.
            flat = torch.where(is_counted, numbers, size) + rows_B * (size + 1)
            counts = torch.bincount(flat.flatten(), minlength=B * (size + 1)).view(B, -1)[:, :size]
            shares.append(counts.float() / counts.sum(1, keepdim=True).clamp(min=1))
        return shares


class KmerHead(nn.Module):
    """The logits of a regression on k-mer counts; all zero until it is fitted."""

    def __init__(self, config: KmerHeadConfig, vocab_size: int, num_labels: int) -> None:
        super().__init__()
        self.counts = KmerCounts(config, vocab_size)
        self.linear = nn.Linear(self.counts.size, num_labels)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return the logits (B, L) in float32, without autocast."""
        shares_BD = self.counts(token_ids_BT, is_padding_BT)
        with torch.autocast(shares_BD.device.type, enabled=False):
            return self.linear(shares_BD.to(self.linear.weight.dtype))


def num_kmers(k: int, *, together: bool) -> int:
    """Return how many different k-mers of k bases there are, both strands `together` or not."""
    return (4**k + (4 ** (k // 2) if k % 2 == 0 else 0)) // 2 if together else 4**k


def bases_of_pieces(pieces: list[str], piece_bp: np.ndarray) -> np.ndarray:
    """Return the bases of every token of a vocabulary, (V, I) int8; none for `piece_bp` 0."""
    # A token that is not spelled in A, C, G and T stands for unknown ones.
    codes = np.full((len(pieces), int(piece_bp.max(initial=1))), NO_BASE, dtype=np.int8)
    for i, (piece, bp) in enumerate(zip(pieces, piece_bp.tolist(), strict=True)):
        spelled = piece if len(piece) == bp else "N" * bp
        codes[i, :bp] = [CODES.get(base, N_CODE) for base in spelled]
    return codes
