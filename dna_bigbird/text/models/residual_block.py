"""One more feed-forward block between the encoder and a head that reads tokens."""

# E hidden size

from torch import Tensor, nn

from dna_bigbird.models.activations import activation
from dna_bigbird.models.config import EncoderConfig


class ResidualBlock(nn.Module):
    """x → LN(x + drop(FFN(drop(x)))), the FFN as wide as the encoder's.

    The question answering head of the Hugging Face library has it before its last layer; the ETC
    code has one, as an option, before the scores of WikiHop's candidates.
    """

    def __init__(self, config: EncoderConfig, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.ffn_in = nn.Linear(config.hidden_size, config.ffn_size)
        self.activation = activation(config.activation)
        self.ffn_out = nn.Linear(config.ffn_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)

    def forward(self, x: Tensor) -> Tensor:
        """Return hidden states of the same shape (…, hidden)."""
        inner = self.activation(self.ffn_in(self.dropout(x)))
        return self.norm(x + self.dropout(self.ffn_out(inner)))
