"""What the embedding of a token gets from its neighbours before the first layer, or loses to them."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dna_bigbird.attention.packing import Packing

# B batch, T tokens, U patches, S tokens of a patch, E hidden size


class Patches(nn.Module):
    """Joins `size` neighbouring tokens before the layers, and gives each its state afterwards.

    A patch has the maximum of its tokens, number by number: with a convolution in front of it,
    whether a pattern is anywhere in the patch. After the layers the state of a token is its own
    before them plus a linear map of its patch, one for each offset in a patch.
    """

    def __init__(self, hidden_size: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.offsets = nn.Linear(hidden_size, size * hidden_size)

    def joined(self, x_BTE: Tensor, is_padding_BT: Tensor) -> tuple[Tensor, Tensor]:
        """Return patches (batch, patches, hidden), and which consist of padding alone."""
        more = -x_BTE.shape[1] % self.size
        hidden_BUS = F.pad(is_padding_BT, (0, more), value=True).unflatten(1, (-1, self.size))
        x_BUSE = F.pad(x_BTE, (0, 0, 0, more)).unflatten(1, (-1, self.size))
        joined_BUE = x_BUSE.masked_fill(hidden_BUS[..., None], float("-inf")).amax(2)
        is_padding_BU = hidden_BUS.all(2)
        return joined_BUE.masked_fill(is_padding_BU[..., None], 0.0), is_padding_BU

    def any_of(self, marks_BT: Tensor) -> Tensor:
        """Return True for patches with a marked token, (batch, patches)."""
        more = -marks_BT.shape[1] % self.size
        return F.pad(marks_BT, (0, more)).unflatten(1, (-1, self.size)).any(2)

    def spread(self, patches_BUE: Tensor, x_BTE: Tensor) -> Tensor:
        """Return the states of the tokens: their own plus those of their patches."""
        offsets_BUSE = self.offsets(patches_BUE).unflatten(2, (self.size, -1))
        return x_BTE + offsets_BUSE.flatten(1, 2)[:, : x_BTE.shape[1]]


# P packed tokens, E and F hidden size, W width, V letters, U any other size


NOWHERE = -(2**40)
"""Stands for the position of what is outside of the packed row."""


class Stem(nn.Module):
    """x + convolution(x), `width` (odd) tokens wide, zero beyond the ends and at padding."""

    # It reads no token of another sequence of a packed batch, so a sequence has the same result alone.

    def __init__(self, hidden_size: int, width: int) -> None:
        super().__init__()
        self.width = width
        # As a matrix product: one kernel for every device, and deterministic.
        self.convolution = nn.Linear(width * hidden_size, hidden_size)

    def forward(self, x_PE: Tensor, packing: Packing) -> Tensor:
        """Return the sum of embeddings and convolution, (packed tokens, hidden)."""
        if packing.is_padding_P is not None:
            x_PE = x_PE.masked_fill(packing.is_padding_P[:, None], 0.0)
        columns_PWE = neighbours(x_PE, packing, self.width, outside=0.0)
        return x_PE + self.convolution(columns_PWE.flatten(1))

    def of_letters(self, letters_P: Tensor, table_VE: Tensor, packing: Packing) -> Tensor:
        """Return `forward` of `table_VE[letters_P]`, computed with V numbers per token."""
        # The convolution of each letter is computed once for each of the W positions; then every token adds
        # up those of its neighbours, as a product with zeros and ones: fast for few letters.
        x_PE, V = table_VE[letters_P], len(table_VE)
        if packing.is_padding_P is not None:
            letters_P = letters_P.masked_fill(packing.is_padding_P, V)
            x_PE = x_PE.masked_fill(packing.is_padding_P[:, None], 0.0)
        letters_PW = neighbours(letters_P, packing, self.width, outside=V)
        is_letter_PWV = letters_PW[..., None] == torch.arange(V, device=letters_P.device)
        kernel_EWE = self.convolution.weight.unflatten(1, (self.width, -1))
        added_WVE = torch.einsum("ewf,vf->wve", kernel_EWE, table_VE)
        is_letter_PU = is_letter_PWV.flatten(1).to(added_WVE.dtype)
        return x_PE + (is_letter_PU @ added_WVE.flatten(0, 1) + self.convolution.bias)


class WordMemory(nn.Module):
    """A hashed table of words of neighbouring tokens, read at their last and at their first token.

    So a hidden token is looked up with those before it and with those after it. Each length and side has a
    hash of its own, beyond the ends of a sequence too; two words may share a row. The gate is a sigmoid of
    the scaled product of the embedding, normed, and a linear map of what was read (Engram, arXiv 2601.07372;
    Gengram, arXiv 2601.22203).
    """

    def __init__(self, hidden_size: int, rows: int, word_tokens: int, vocab_size: int) -> None:
        super().__init__()
        self.word_tokens, self.outside = word_tokens, vocab_size
        self.rows = nn.Embedding(rows, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)

    def forward(self, token_ids_P: Tensor, x_PE: Tensor, packing: Packing) -> Tensor:
        """Return what is added to the embeddings, (packed tokens, hidden)."""
        if packing.is_padding_P is not None:
            token_ids_P = token_ids_P.masked_fill(packing.is_padding_P, self.outside)
        read_PE = self.rows(self.hashed(token_ids_P, packing)).sum(1)
        normed_PE = F.layer_norm(x_PE, x_PE.shape[-1:])
        products_P1 = (normed_PE * self.key(read_PE)).sum(-1, keepdim=True)
        return torch.sigmoid(products_P1 / math.sqrt(x_PE.shape[-1])) * read_PE

    def hashed(self, token_ids_P: Tensor, packing: Packing) -> Tensor:
        """Return the rows of the words at each token, (packed tokens, 2 · (word_tokens - 1))."""
        ids_PW = neighbours(token_ids_P, packing, 2 * self.word_tokens - 1, self.outside)
        middle, rows = self.word_tokens - 1, []
        for side, step in enumerate((-1, 1)):
            word_P = 2 * ids_PW[:, middle] + side
            for length in range(1, self.word_tokens):
                # Below 2^31 before each product with a number below 2^31: no overflow of 63 bits.
                word_P = (word_P * HASH_FACTOR + ids_PW[:, middle + step * length] + 1) % HASH_PRIME
                rows.append(word_P % self.rows.num_embeddings)
        return torch.stack(rows, dim=1)


HASH_PRIME, HASH_FACTOR = 2**31 - 1, 1_103_515_245
"""Of a polynomial over the ids of a word; the second one as in the generator of ANSI C."""


def neighbours(x: Tensor, packing: Packing, width: int, outside: float) -> Tensor:
    """Return the values of the `width` (odd) tokens around each token, first to last: (P, W, …)."""
    P, side = len(x), width // 2
    wide = F.pad(x, (0, 0) * (x.dim() - 1) + (side, side))
    positions_U = F.pad(packing.positions_P, (side, side), value=NOWHERE)
    shifted, is_other = [], []
    for shift in range(width):
        shifted.append(wide[shift : shift + P])
        expected_P = packing.positions_P + (shift - side)
        is_other.append(positions_U[shift : shift + P] != expected_P)
    values = torch.stack(shifted, dim=1)
    # Beyond the ends of a sequence is another one of the packed row.
    is_other_PW = torch.stack(is_other, dim=1)
    return values.masked_fill(is_other_PW.view(P, width, *(1,) * (x.dim() - 1)), outside)
