"""k-mers, counted from tokens, and their part of the logits: "wide and deep" (arXiv:1606.07792)."""

# B batch, T tokens, V vocabulary, I bases of a token, S bases, G bins of a window, P those with a value, D k-mers,
# L labels

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.genome.kmer_numbers import (
    PART_K,
    canonical_kmers,
    num_positional,
    part_of_starts,
)
from dna_bigbird.models.kmer_config import KmerHeadConfig

CODES = {"A": 0, "C": 1, "G": 2, "T": 3}
N_CODE, NO_BASE = 4, 5
"""In place of a base: an unknown one, and none."""
WORDS, POSITIONS = "words", "positions"


class KmerCounts(nn.Module):
    """Tokens to the share of every k-mer of 1 to `max_k` bases, then to which base is where."""

    # Shares are among the k-mers of a length, without those with an N; those in the middle of the sequence follow
    # those of the whole. Positions are read as `baselines.kmer.positional_features` reads them.

    def __init__(self, config: KmerHeadConfig, vocab_size: int) -> None:
        super().__init__()
        self.config = config
        shape = vocab_size, config.piece_bp
        # As a file of weights has them: floating point.
        self.register_buffer("bases_VI", torch.full(shape, float(NO_BASE)))

    def parts(self) -> dict[str, slice]:
        """Return where the numbers of k-mers and those of positions are, without what is not read."""
        each = [num_kmers(k, together=self.config.together) for k in self._lengths]
        kmers = sum(each) * (1 + bool(self.config.centre_bp))
        size = kmers + sum(num_positional(self.config.positions))
        parts = {WORDS: slice(0, kmers), POSITIONS: slice(kmers, size)}
        return {name: at for name, at in parts.items() if at.start < at.stop}

    @property
    def size(self) -> int:
        """How many numbers it gives."""
        return max(at.stop for at in self.parts().values())

    @property
    def _lengths(self) -> range:
        return range(1, self.config.max_k + 1)

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return the shares and positions (B, D) in float32."""
        codes_BS = self.spelled(token_ids_BT, is_padding_BT)
        lengths_B = (codes_BS != NO_BASE).sum(1)
        parts = self._shares(codes_BS, torch.zeros_like(lengths_B), lengths_B)
        if centre_bp := self.config.centre_bp:
            start_B = ((lengths_B - centre_bp) // 2).clamp(min=0)
            parts += self._shares(codes_BS, start_B, torch.minimum(start_B + centre_bp, lengths_B))
        if self.config.positions:
            parts += self._positions(codes_BS)
        return torch.cat(parts, dim=1)

    def spelled(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return the bases of each sequence, (B, S); none after its last one."""
        codes_BTI = self.bases_VI[token_ids_BT].long()
        codes_BU = codes_BTI.masked_fill(is_padding_BT[..., None], NO_BASE).flatten(1)
        order_BU = (codes_BU == NO_BASE).long().argsort(dim=1, stable=True)
        most = int((codes_BU != NO_BASE).sum(1).max())
        return codes_BU.gather(1, order_BU)[:, :most]

    def _numbers(self, codes_BS: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Yield each k and the number of the k-mer at each base, (B, S - k + 1); with an N how many k-mers there are."""
        kmers = torch.zeros_like(codes_BS)
        is_known = torch.ones_like(codes_BS, dtype=torch.bool)
        for k in self._lengths:
            last = max(0, codes_BS.shape[1] - k + 1)
            bases = codes_BS[:, k - 1 :]
            kmers, is_known = kmers[:, :last] * 4 + bases, is_known[:, :last] & (bases < N_CODE)
            numbers = kmers.clamp(max=4**k - 1)
            if self.config.together:
                numbers = torch.from_numpy(canonical_kmers(k)).to(numbers.device)[numbers]
            yield k, torch.where(is_known, numbers, num_kmers(k, together=self.config.together))

    def _shares(self, codes_BS: Tensor, start_B: Tensor, end_B: Tensor) -> list[Tensor]:
        B, S = codes_BS.shape
        places_S = torch.arange(S, device=codes_BS.device)
        rows_B = torch.arange(B, device=codes_BS.device)[:, None]
        shares = []
        for k, numbers_BS in self._numbers(codes_BS):
            size = num_kmers(k, together=self.config.together)
            starts = places_S[: numbers_BS.shape[1]]
            is_inside = (starts >= start_B[:, None]) & (starts + k <= end_B[:, None])
            # One number more, for what is not counted.
            flat = numbers_BS.where(is_inside, size) + rows_B * (size + 1)
            counts = torch.bincount(flat.flatten(), minlength=B * (size + 1)).view(B, -1)[:, :size]
            shares.append(counts.float() / counts.sum(1, keepdim=True).clamp(min=1))
        return shares

    def _positions(self, codes_BS: Tensor) -> list[Tensor]:
        """Return which base is where (one of four), and the counts of 3-mers in parts."""
        window_bp = self.config.positions
        missing = max(0, window_bp - codes_BS.shape[1])
        codes_BW = nn.functional.pad(codes_BS, (0, missing), value=NO_BASE)[:, :window_bp]
        one_hot, size = num_positional(window_bp)
        is_base_BW4 = codes_BW[..., None] == torch.arange(4, device=codes_BW.device)
        parts_P = torch.from_numpy(part_of_starts(window_bp)).to(codes_BW.device)
        kmers_BP3 = codes_BW.unfold(1, PART_K, 1)
        digits = 4 ** torch.arange(PART_K - 1, -1, -1, device=codes_BW.device)
        numbers_BP = parts_P * 4**PART_K + (kmers_BP3 * digits).sum(-1)
        numbers_BP = torch.where((kmers_BP3 < N_CODE).all(-1), numbers_BP, size)
        counts = codes_BW.new_zeros(len(codes_BW), size + 1)
        counts.scatter_add_(1, numbers_BP, torch.ones_like(numbers_BP))
        return [is_base_BW4.flatten(1)[:, :one_hot].float(), counts[:, :size].float()]


class KmerHead(nn.Module):
    """The logits of a regression on k-mer counts and positions; all zero until it is fitted."""

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


class BinKmerCounts(KmerCounts):
    """Tokens to the share of every k-mer around each bin of a window, (B, P, D), for each of `around_bp`."""

    # A k-mer belongs to the bin of its middle base; `around_bp` are rounded to whole bins and end with the window.

    @property
    def size(self) -> int:
        """How many numbers it gives for a bin."""
        each = sum(num_kmers(k, together=self.config.together) for k in self._lengths)
        return each * len(self.config.around_bp)

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return the shares (B, P, D) in float32."""
        bin_bp, crop_bp = self.config.bin_bp, self.config.crop_bp
        codes_BS = self.spelled(token_ids_BT, is_padding_BT)
        B, S = codes_BS.shape
        before, start = divmod(crop_bp, bin_bp)
        G, P = (S - start) // bin_bp, (S - 2 * crop_bp) // bin_bp
        bins_P = before + torch.arange(P, device=codes_BS.device)
        reaches = [round(x / bin_bp) for x in self.config.around_bp]
        spans = [((bins_P - x).clamp(min=0), (bins_P + x + 1).clamp(max=G)) for x in reaches]
        of_bin_S = (torch.arange(S, device=codes_BS.device) - start).div(
            bin_bp, rounding_mode="floor"
        )
        of_bin_S = torch.where((of_bin_S < 0) | (of_bin_S >= G), G, of_bin_S)
        of_window_B = torch.arange(B, device=codes_BS.device)[:, None] * (G + 1)
        parts: list[list[Tensor]] = [[] for _ in spans]
        for k, numbers_BS in self._numbers(codes_BS):
            size = num_kmers(k, together=self.config.together)
            at_S = of_bin_S[k // 2 : k // 2 + numbers_BS.shape[1]]
            flat = (of_window_B + at_S) * (size + 1) + numbers_BS
            counts = torch.bincount(flat.flatten(), minlength=B * (G + 1) * (size + 1))
            sums = counts.view(B, G + 1, -1)[:, :G, :size].cumsum(1)
            sums = nn.functional.pad(sums, (0, 0, 1, 0))
            for part, (first_P, last_P) in zip(parts, spans, strict=True):
                inside = (sums[:, last_P] - sums[:, first_P]).float()
                part.append(inside / inside.sum(-1, keepdim=True).clamp(min=1))
        return torch.cat([x for part in parts for x in part], dim=-1)


LARGEST_SHARE = 8.0
"""Standard deviations to which the shares of k-mers around a bin are limited: rare k-mers have far higher ones."""


class BinKmerHead(nn.Module):
    """The logits of every bin from the k-mers around it and the best matches of filters; all zero until it is fitted.

    Those of k-mers go through one hidden layer. A filter is a weight per base and position, and is also read on the
    other strand; its best match is the largest sum within `reach_bp` of the bin, as in DeepBind (Alipanahi et al. 2015).
    """

    def __init__(self, config: KmerHeadConfig, vocab_size: int, num_labels: int) -> None:
        super().__init__()
        self.counts = BinKmerCounts(config, vocab_size)
        self.register_buffer("mean_D", torch.zeros(self.counts.size))
        self.register_buffer("std_D", torch.ones(self.counts.size))
        self.hidden = nn.Linear(self.counts.size, config.hidden)
        self.linear = nn.Linear(config.hidden, num_labels)
        self.filters = nn.Conv1d(4, config.filters, config.filter_bp)
        self.matches = nn.Linear(config.filters, num_labels, bias=False)
        for zeros in (self.linear.weight, self.matches.weight, self.linear.bias, self.filters.bias):
            nn.init.zeros_(zeros)

    def scaled(self, shares_BPD: Tensor) -> Tensor:
        """Return the shares as the hidden layer reads them."""
        scaled_BPD = (shares_BPD - self.mean_D) / self.std_D
        return scaled_BPD.clamp(-LARGEST_SHARE, LARGEST_SHARE)

    @property
    def sides(self) -> tuple[int, int]:
        """Bases next to a bin where a filter may be centred, and half a filter."""
        config = self.counts.config
        half = config.filter_bp // 2
        return max(0, min(config.reach_bp, config.crop_bp - half)), half

    def matched(self, codes_BS: Tensor) -> Tensor:
        """Return the best matches (B, P, F), at least 0, of what `spelled_bins` returns."""
        reach, bin_bp = self.sides[0], self.counts.config.bin_bp
        hot_B4S = codes_BS[:, None] == torch.arange(4, device=codes_BS.device)[:, None]
        hot_B4S = hot_B4S.to(self.filters.weight.dtype)
        best_BFS = torch.maximum(
            *(
                nn.functional.conv1d(hot_B4S, weight_F4W, self.filters.bias)
                for weight_F4W in (self.filters.weight, self.filters.weight.flip(1, 2))
            )
        )
        return nn.functional.max_pool1d(best_BFS, bin_bp + 2 * reach, bin_bp).mT.relu()

    def spelled_bins(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return the bases that filters read: those of the bins, and what they reach on either side."""
        beyond = self.counts.config.crop_bp - sum(self.sides)
        codes_BS = self.counts.spelled(token_ids_BT, is_padding_BT)
        return nn.functional.pad(codes_BS, (-beyond, -beyond), value=NO_BASE)

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return the logits (B, P, L) in float32, without autocast."""
        shares_BPD = self.counts(token_ids_BT, is_padding_BT).to(self.mean_D.dtype)
        with torch.autocast(shares_BPD.device.type, enabled=False):
            logits_BPL = self.linear(self.hidden(self.scaled(shares_BPD)).relu())
            matched_BPF = self.matched(self.spelled_bins(token_ids_BT, is_padding_BT))
            return logits_BPL + self.matches(matched_BPF)


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
