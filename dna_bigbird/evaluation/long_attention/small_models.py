"""One layer and the small model of every core, with equal weights where the shapes agree."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from dna_bigbird.attention.cores import BigBirdEtc, BigBirdItc, Full, Longformer, Performer
from dna_bigbird.attention.cores.etc import LabelTable
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout
from dna_bigbird.evaluation.long_attention.names import IDENTITY
from dna_bigbird.models.attention_config import EtcConfig, LongformerConfig, PerformerConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.etc_encoder import GlobalTokens
from dna_bigbird.models.pretraining_model import PretrainingModel


@torch.no_grad()
def draw_by_name(model: nn.Module, seed: int, std: float) -> None:
    """Draw all weights again, normal within two `std`; equal names and shapes, equal weights."""
    for name, module in model.named_modules():
        generator = torch.Generator().manual_seed(zlib.crc32(f"{seed}/{name}".encode()))
        # Constants stay: gains and biases of norms, and buffers such as random features.
        if isinstance(module, LabelTable):
            module.reset_parameters(generator)
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.trunc_normal_(
                module.weight, std=std, a=-2 * std, b=2 * std, generator=generator
            )
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


# B batch, T tokens, G global tokens, E hidden size


WINDOW_BLOCKS, RANDOM_BLOCKS = 3, 3
GLOBAL_BLOCKS = 2
SCALE = 0.5
"""Standard deviation of the numbers of queries and keys; that of the scores is its square."""


@dataclass(frozen=True)
class LayerSizes:
    """Sizes of the compared layers; all sparse cores have one width of the window."""

    hidden_size: int = 256
    num_heads: int = 4
    block_size: int = 64
    """Of BigBird; the window of every sparse core is three blocks wide."""
    features: int = 256
    """Of the Performer."""

    @property
    def side(self) -> int:
        """Tokens on one side of an exact window, half of three blocks."""
        return WINDOW_BLOCKS * self.block_size // 2

    @property
    def num_global(self) -> int:
        """Global tokens of BigBird, and of the Longformer here."""
        return GLOBAL_BLOCKS * self.block_size

    def tokens_per_global(self, tokens: int) -> int:
        """Return how many tokens share a global token of ETC: 16 as in the paper, or more."""
        # So many that a token of a long sequence reads about as many keys as in BigBird.
        most = (WINDOW_BLOCKS + GLOBAL_BLOCKS + RANDOM_BLOCKS) * self.block_size - 2 * self.side - 1
        return max(16, -(-tokens // most))


@dataclass(frozen=True)
class Layer:
    """An attention layer and the input that it is called with."""

    module: nn.Module
    states: Tensor
    """(1, T, E)."""
    attend: Callable[[Tensor], Tensor]
    """States to output, both (1, T, E)."""
    reference: str | None
    """Backend of the core's own dense reference; None: exact softmax attention over all pairs."""


class OwnValues(nn.Module):
    """The projections of an attention layer in which every token reads its own value."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(hidden_size, 3 * hidden_size)
        self.output = nn.Linear(hidden_size, hidden_size)

    def forward(self, x_BTE: Tensor) -> Tensor:
        """Return the output (B, T, E)."""
        return self.output(self.qkv(x_BTE).chunk(3, dim=-1)[2])


def build_layer(core: str, tokens: int, sizes: LayerSizes, seed: int = 0) -> Layer:
    """Return the layer of a core; states and weights depend on the seed, not on the core."""
    module = _module(core, tokens, sizes).eval()
    draw_by_name(module, seed, std=SCALE * sizes.hidden_size**-0.5)
    if isinstance(module, Longformer):
        module.copy_to_global()
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(1, tokens, sizes.hidden_size, generator=generator)
    if isinstance(module, BigBirdEtc):
        padding = torch.zeros(1, tokens, dtype=torch.bool)
        layout = GlobalTokens.evenly(padding, sizes.tokens_per_global(tokens)).layout
        num_global = layout.global_padding.shape[1]
        of_global = torch.randn(1, num_global, sizes.hidden_size, generator=generator)
        return Layer(module, states, lambda x: _joined(module(x, of_global, layout)), "dense")
    if isinstance(module, Longformer):
        marks = (torch.arange(tokens) < sizes.num_global)[None]
        layout = LongformerLayout(torch.zeros_like(marks), marks)
        return Layer(module, states, lambda x: module(x, layout), "dense")
    return Layer(module, states, module, None if core == "performer" else "dense")


def _joined(streams: tuple[Tensor, Tensor]) -> Tensor:
    """Return both streams as one, so that the work of the global stream counts."""
    return torch.cat(streams, dim=1)


def _module(core: str, tokens: int, sizes: LayerSizes) -> nn.Module:
    shape = (sizes.hidden_size, sizes.num_heads)
    if core == IDENTITY:
        return OwnValues(sizes.hidden_size)
    if core == "full":
        return Full(*shape, block_size=sizes.block_size)
    if core == "bigbird":
        return BigBirdItc(
            *shape, num_random=RANDOM_BLOCKS, window_blocks=WINDOW_BLOCKS, block_size=sizes.block_size,
            plan="uniform", seed=0, table_tokens=tokens,
        )  # fmt: skip
    if core == "etc":
        return BigBirdEtc(*shape, EtcPattern(radius=sizes.side, hard_g2l=True), dropout_p=0.0)
    if core == "longformer":
        return Longformer(*shape, LongformerPattern(sizes.side), dropout_p=0.0)
    return Performer(*shape, num_features=sizes.features)


BLOCK = 32
WINDOW_SIDE = 3 * BLOCK // 2
TOKENS_PER_GLOBAL = 20
FEATURES = 128
INIT_STD = 0.1
OWN = {
    "etc": {"etc": EtcConfig(radius=WINDOW_SIDE, tokens_per_global=TOKENS_PER_GLOBAL)},
    "longformer": {"longformer": LongformerConfig(window_tokens=WINDOW_SIDE)},
    "performer": {"performer": PerformerConfig(num_features=FEATURES)},
}
"""Settings that one core reads, by its name."""


def encoder_config(core: str, vocabulary: int, tokens: int, **changes: Any) -> EncoderConfig:
    """Return the settings of a core: two layers of width 64 that differ in the attention only."""
    settings = EncoderConfig(
        vocab_size=vocabulary,
        hidden_size=64,
        num_layers=2,
        num_heads=4,
        ffn_size=128,
        max_tokens=tokens,
        block_size=BLOCK,
        num_segments=0,
        attention=core,
        norm_first=True,
        stem_width=5,
        dropout=0.0,
        init_std=INIT_STD,
        **OWN.get(core, {}),
    )
    return replace(settings, **changes)


class SmallModel(nn.Module):
    """An encoder with the head for masked tokens; equal seeds share weights over all cores."""

    def __init__(self, core: str, vocabulary: int, tokens: int, seed: int, **changes: Any) -> None:
        super().__init__()
        config = encoder_config(core, vocabulary, tokens, **changes)
        self.lm = PretrainingModel(config, heads=("mlm",))
        draw_by_name(self.lm, seed, INIT_STD)
        if self.encoder.position is not None:
            nn.init.zeros_(self.encoder.position.weight)
        for module in self.modules():
            if isinstance(module, Longformer):
                module.copy_to_global()

    @property
    def encoder(self) -> nn.Module:
        """The encoder, where optimizers look for it."""
        return self.lm.encoder

    def forward(self, token_ids_BT: Tensor, positions_P: Tensor) -> Tensor:
        """Return logits (positions, vocabulary) of flat indices into batch × tokens."""
        padding_BT = torch.zeros_like(token_ids_BT, dtype=torch.bool)
        own = {}
        if self.encoder.config.attention == "longformer":
            is_global_BT = torch.zeros_like(padding_BT)
            # The first and the last block, as in BigBird.
            is_global_BT[:, :BLOCK] = is_global_BT[:, -BLOCK:] = True
            own["is_global_BT"] = is_global_BT
        states_BTE = self.encoder(token_ids_BT, padding_BT, **own)
        chosen_PE = states_BTE.flatten(0, 1).index_select(0, positions_P)
        return self.lm.mlm(chosen_PE, self.encoder.word.weight)
