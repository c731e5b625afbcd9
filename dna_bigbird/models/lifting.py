"""The weights of another encoder in both streams of BigBird-ETC (Ainslie et al. 2020, "lifting")."""

import re

import torch

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.etc_encoder import EtcEncoder

_OF_STREAM = re.compile(r"\bglobal_(norm|attention_norm|output|qkv|ffn_in|ffn_out|ffn_norm)\b")
_OTHER_KEYS = re.compile(r"\b(?:long_to_global|global_to_long)_kv\b")
"""Keys and values of the other stream: the rows of `qkv` after the queries."""


def lifted(encoder: Encoder, config: EncoderConfig, generator: torch.Generator) -> EtcEncoder:
    """Return a BigBird-ETC encoder with the weights of one with blocks or full attention.

    Projections, feed-forward layers and norms go to both streams, word and segment vectors to the
    embeddings. Positions are left out. Label tables and the types of global tokens are fresh.

    Args:
        config: Of the result, with attention etc; sizes as those of `encoder`.
        generator: Draws what is fresh.

    Raises:
        ValueError: If a size differs.
    """
    result = EtcEncoder(config, generator)
    own, state = encoder.state_dict(), result.state_dict()
    for name, fresh in state.items():
        source = own.get(_OF_STREAM.sub(r"\1", name))
        if _OTHER_KEYS.search(name):
            source = own[_OTHER_KEYS.sub("qkv", name)][config.hidden_size :]
        if source is None:
            continue
        if source.shape != fresh.shape:
            raise ValueError(
                f"{name} is {tuple(fresh.shape)}, the other encoder's {tuple(source.shape)}"
            )
        state[name] = source.clone()
    result.load_state_dict(state)
    return result
