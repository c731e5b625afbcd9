"""Classes of the Hugging Face library that become summarizers, and what their config.json says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Fields = Mapping[str, tuple[str, Any]]
"""Our setting: the library's name, and what it means there if it is absent."""

_SIZES = {
    "vocab_size": ("vocab_size", 50265),
    "hidden_size": ("d_model", 1024),
    "num_layers": ("encoder_layers", 12),
    "num_heads": ("encoder_attention_heads", 16),
    "ffn_size": ("encoder_ffn_dim", 4096),
    "dropout": ("dropout", 0.1),
    "init_std": ("init_std", 0.02),
}
_DECODER = {
    "decoder_layers": ("decoder_layers", 12),
    "decoder_heads": ("decoder_attention_heads", 16),
    "decoder_ffn_size": ("decoder_ffn_dim", 4096),
    "start_id": ("decoder_start_token_id", 2),
    "end_id": ("eos_token_id", 2),
}
_POST_NORM = {
    "norm_first": False,
    "norm_eps": 1e-5,
    "num_segments": 0,
    "qkv_bias": True,
    "output_bias": True,
}


@dataclass(frozen=True)
class SummarizerClass:
    """A class for conditional generation.

    Attributes:
        name, base: The class, and the one without the last layer, whose word table is that layer here.
        encoder, decoder: Settings of `EncoderConfig` and `SummaryHead`.
        only: Settings of `EncoderConfig` that the library has no choice of.
        attention: The encoder's: 'bigbird', 'full' or 'longformer'.
        activation: What an absent activation_function means.
        prefix: Of the names of weights below the last layer.
        unused_positions: Rows at the start of both position tables that no token has.
        source_form: Option of the summarization task: special tokens around a document.
        pad_id: What an absent pad_token_id means.
        search: Settings of `generate` that a config.json has if it does not name them.
    """

    model_type: str
    name: str
    base: str
    encoder: Fields
    decoder: Fields
    only: Mapping[str, Any]
    attention: str
    activation: str = "gelu"
    prefix: str = "model."
    unused_positions: int = 0
    source_form: str = "cls_sep"
    pad_id: int = 1
    search: Mapping[str, Any] = field(default_factory=dict)


PEGASUS = SummarizerClass(
    "bigbird_pegasus",
    "BigBirdPegasusForConditionalGeneration",
    "",
    encoder={
        "vocab_size": ("vocab_size", 96103),
        "hidden_size": ("d_model", 1024),
        "num_layers": ("encoder_layers", 16),
        "num_heads": ("encoder_attention_heads", 16),
        "ffn_size": ("encoder_ffn_dim", 4096),
        "max_tokens": ("max_position_embeddings", 4096),
        "block_size": ("block_size", 64),
        "num_random": ("num_random_blocks", 3),
        "dropout": ("dropout", 0.1),
        "init_std": ("init_std", 0.02),
        "qkv_bias": ("use_bias", False),
        "output_bias": ("use_bias", False),
        "scale_embeddings": ("scale_embedding", True),
    },
    decoder=_DECODER | {"decoder_layers": ("decoder_layers", 16), "end_id": ("eos_token_id", 1)},
    only={"norm_first": True, "norm_eps": 1e-5, "num_segments": 0},
    attention="bigbird",
    activation="gelu_new",
    source_form="end",
    pad_id=0,
)
BART = SummarizerClass(
    "bart",
    "BartForConditionalGeneration",
    "BartModel",
    encoder=_SIZES
    | {
        "max_tokens": ("max_position_embeddings", 1024),
        "scale_embeddings": ("scale_embedding", False),
    },
    decoder=_DECODER,
    only=_POST_NORM,
    attention="full",
    unused_positions=2,
    search={"forced_eos_token_id": 2},
)
LED = SummarizerClass(
    "led",
    "LEDForConditionalGeneration",
    "LEDModel",
    encoder=_SIZES | {"max_tokens": ("max_encoder_position_embeddings", 16384)},
    decoder=_DECODER | {"decoder_positions": ("max_decoder_position_embeddings", 1024)},
    only=_POST_NORM | {"scale_embeddings": False},
    attention="longformer",
    prefix="led.",
)
CLASSES = {each.model_type: each for each in (PEGASUS, BART, LED)}
"""By `model_type` of config.json."""
