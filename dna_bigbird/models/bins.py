"""Global tokens for the bins of a DNA window: what pooling 'bin' reads (ETC, paper §E.2)."""

# B batch, T tokens, V vocabulary, P bins that are read, E hidden size

import torch
from torch import Tensor, nn

from dna_bigbird.models.global_tokens import NO_SENTENCE, GlobalTokens


class BinTokens(nn.Module):
    """One global token for each bin of a window: the tokens of a bin belong to its global token.

    Bins are counted from the centre outwards. In a window of W bases the centre bin begins at base
    (W - bin_bp) // 2, where the labelled bin of a chromatin set is; the bins next to it follow without a
    gap, and the first and the last one may be shorter. A token belongs to the bin of its middle base (of
    two, the right one); a token without bases, as [CLS], belongs to none. A window shorter than a bin is
    one bin.

    Args:
        bin_bp: Bases of a bin.
        vocab_size: Entries of the vocabulary; their bases are unknown until `know_pieces`.
    """

    def __init__(self, bin_bp: int, vocab_size: int) -> None:
        super().__init__()
        self.bin_bp = bin_bp
        # As a file of weights has them: floating point.
        self.register_buffer("piece_bp_V", torch.zeros(vocab_size))

    def know_pieces(self, piece_bp_V: Tensor) -> None:
        """Keep how many bases each token of the vocabulary has; 0: none.

        Args:
            piece_bp_V: Of the tokenizer; the vocabulary of the encoder may have more entries.

        Raises:
            ValueError: If a token has more bases than a bin: a bin might have no token.
        """
        if (longest := int(piece_bp_V.max())) > self.bin_bp:
            raise ValueError(
                f"--head.bin_bp {self.bin_bp} must be at least {longest}, the bases of the longest token"
            )
        with torch.no_grad():
            self.piece_bp_V[: len(piece_bp_V)] = piece_bp_V.to(self.piece_bp_V)

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> tuple[GlobalTokens, Tensor]:
        """Return the global tokens of windows, and which of them is of the centre bin, (B,) int64."""
        bp_BT = self.piece_bp_V[token_ids_BT].long().masked_fill(is_padding_BT, 0)
        ends_BT = bp_BT.cumsum(1)
        middles_BT = ends_BT - bp_BT + bp_BT // 2
        centre_starts_B = (ends_BT[:, -1] - self.bin_bp).div(2, rounding_mode="floor")
        centres_B = -(-centre_starts_B).div(self.bin_bp, rounding_mode="floor")
        offsets_BT = middles_BT - centre_starts_B[:, None]
        numbers_BT = centres_B[:, None] + offsets_BT.div(self.bin_bp, rounding_mode="floor")
        numbers_BT = numbers_BT.masked_fill(bp_BT == 0, NO_SENTENCE)
        return GlobalTokens.of_sentences(numbers_BT, is_padding_BT), centres_B


def states_of_bins(
    global_BGE: Tensor, tokens: GlobalTokens, centres_B: Tensor, bins_P2: Tensor | None
) -> Tensor:
    """Return the state of the global token of each bin that is read, (P, E).

    Args:
        global_BGE, tokens, centres_B: States of the global stream, and what `BinTokens` returns.
        bins_P2: int64, window in the batch and number of the bin, counted from the centre bin (negative
            before it); None: the centre bin of each window.

    Raises:
        ValueError: If a window has no such bin.
    """
    if bins_P2 is None:
        return global_BGE[torch.arange(len(centres_B), device=centres_B.device), centres_B]
    windows_P, offsets_P = bins_P2.unbind(1)
    at_P = centres_B[windows_P] + offsets_P
    is_outside_P = (at_P < 0) | (at_P >= (~tokens.layout.global_padding).sum(1)[windows_P])
    if is_outside_P.any():
        raise ValueError(f"a window has no bin {int(offsets_P[is_outside_P][0])} from its centre")
    return global_BGE[windows_P, at_P]
