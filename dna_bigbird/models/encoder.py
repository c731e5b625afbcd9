"""The encoder: embeddings and post-norm BigBird layers (specification §1.5)."""

# B batch, T tokens, E hidden size

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dna_bigbird.attention.cores import BigBirdItc
from dna_bigbird.models.config import EncoderConfig

NORM_EPS = 1e-12
INIT_STD = 0.02


def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Draw kernels and embeddings from a normal cut at two sigma; biases 0, norms 1 and 0."""
    for child in module.modules():
        if isinstance(child, nn.Linear | nn.Embedding):
            nn.init.trunc_normal_(
                child.weight, std=INIT_STD, a=-2 * INIT_STD, b=2 * INIT_STD, generator=generator
            )
        if isinstance(child, nn.Linear) and child.bias is not None:
            nn.init.zeros_(child.bias)


class EncoderLayer(nn.Module):
    """x → LN(x + drop(attention(x))) → LN(y + drop(FFN(y)))."""

    def __init__(self, config: EncoderConfig, layer: int) -> None:
        super().__init__()
        original = config.random_plan == "original"
        self.attention = BigBirdItc(
            config.hidden_size,
            config.num_heads,
            block_size=config.block_size,
            num_random=config.num_random,
            plan=config.random_plan,
            seed=layer if original else config.pattern_seed * 1000 + layer,
        )
        self.attention_norm = nn.LayerNorm(config.hidden_size, eps=NORM_EPS)
        self.ffn_in = nn.Linear(config.hidden_size, config.ffn_size)
        self.activation = nn.GELU(approximate="tanh")
        self.ffn_out = nn.Linear(config.ffn_size, config.hidden_size)
        self.ffn_norm = nn.LayerNorm(config.hidden_size, eps=NORM_EPS)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x_BTE: Tensor, is_padding_BT: Tensor | None) -> Tensor:
        """Return the layer's output (batch, tokens, hidden)."""
        y = self.attention_norm(x_BTE + self.dropout(self.attention(x_BTE, is_padding_BT)))
        return self.ffn_norm(y + self.dropout(self.ffn_out(self.activation(self.ffn_in(y)))))


class Encoder(nn.Module):
    """Tokens to hidden states.

    Rows of a batch are computed in groups of equal number of blocks, each with the pattern of its
    own length, so a sequence gives the same states alone and beside longer ones.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.word = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position = nn.Embedding(config.max_tokens, config.hidden_size)
        self.segment = nn.Embedding(2, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=NORM_EPS)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(config, i) for i in range(config.num_layers))

    def forward(
        self, token_ids_BT: Tensor, is_padding_BT: Tensor, segment_ids_BT: Tensor | None = None
    ) -> Tensor:
        """Return hidden states (batch, tokens, hidden); those of padding are zero.

        Args:
            is_padding_BT: True = padding, at the right only.

        Raises:
            ValueError: If a sequence is longer than `max_tokens`.
        """
        lengths = (~is_padding_BT).sum(dim=1)
        longest = int(lengths.max())
        if longest > self.config.max_tokens:
            raise ValueError(
                f"a sequence has {longest} tokens, the model reads at most {self.config.max_tokens}"
            )
        if segment_ids_BT is None:
            segment_ids_BT = torch.zeros_like(token_ids_BT)
        blocks = -(-lengths // self.config.block_size)
        counts = blocks.unique().tolist()
        out = None
        for count in counts:
            rows = slice(None) if len(counts) == 1 else (blocks == count).nonzero().squeeze(1)
            width = min(count * self.config.block_size, token_ids_BT.shape[1])
            width = min(width, int(lengths[rows].max()))
            states = self._same_blocks(
                token_ids_BT[rows, :width],
                is_padding_BT[rows, :width],
                segment_ids_BT[rows, :width],
            )
            if out is None:
                out = states.new_zeros((*token_ids_BT.shape, states.shape[-1]))
            out[rows, :width] = states
        return out

    def _same_blocks(self, token_ids: Tensor, is_padding: Tensor, segment_ids: Tensor) -> Tensor:
        positions = torch.arange(token_ids.shape[1], device=token_ids.device)
        x = self.word(token_ids) + self.segment(segment_ids) + self.position(positions)
        x = self.norm(self.dropout(x))
        mask = is_padding if bool(is_padding.any()) else None
        for layer in self.layers:
            if self.config.gradient_checkpointing and self.training:
                x = checkpoint(layer, x, mask, use_reentrant=False)
            else:
                x = layer(x, mask)
        return x if mask is None else x.masked_fill(mask[..., None], 0.0)
