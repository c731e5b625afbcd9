"""The weights of an encoder in one of another attention: bigbird, full, longformer or performer."""

import re
from dataclasses import replace

import torch
from torch import nn

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.etc_encoder import EtcEncoder, build_encoder

_OF_STREAM = re.compile(r"\bglobal_(norm|attention_norm|output|qkv|ffn_in|ffn_out|ffn_norm)\b")
_OTHER_KEYS = re.compile(r"\b(?:long_to_global|global_to_long)_kv\b")
"""Keys and values of the other stream: the rows of `qkv` after the queries."""


def lift_to_etc(encoder: Encoder, config: EncoderConfig, generator: torch.Generator) -> EtcEncoder:
    """Return a BigBird-ETC encoder with the weights of one with blocks or full attention."""
    # Projections, feed-forward layers and norms go to both streams, word and segment vectors to the
    # embeddings. Positions are left out. Label tables and the types of global tokens are fresh.
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


# --- An encoder with more rows in its tables of words and segments ---


def with_tables(encoder: Encoder, config: EncoderConfig, generator: torch.Generator) -> Encoder:
    """Return an encoder with at least the word and segment vectors of `config`, or the same one."""
    # An appended segment begins as the first one, so that the states are those of pretraining.
    own = encoder.config
    words = max(config.vocab_size - own.vocab_size, 0)
    segments = max(config.num_segments - own.num_segments, 0) if encoder.segment is not None else 0
    if not words + segments:
        return encoder
    sizes = {
        "vocab_size": own.vocab_size + words,
        "num_segments": own.num_segments + segments,
    }
    grown = build_encoder(replace(own, **sizes), generator)
    state = dict(encoder.state_dict())
    rows = torch.empty(words, own.hidden_size)
    std = own.init_std
    nn.init.trunc_normal_(rows, std=std, a=-2 * std, b=2 * std, generator=generator)
    state["word.weight"] = torch.cat([state["word.weight"], rows.to(state["word.weight"])])
    if segments:
        known = state["segment.weight"]
        state["segment.weight"] = torch.cat([known, known[:1].expand(segments, -1)])
    grown.load_state_dict(state)
    return grown


_OF_ONE_ATTENTION = re.compile(r"\.attention\.(global_qkv\.\w+|projection|_extra_state)$")
"""Names that only Longformer or only the Performer has."""


def copy_weights(source: Encoder, target: Encoder) -> None:
    """Give an encoder the weights of another one, which may have another attention."""
    # `qkv` and `output` mean the same in all four. What the target lacks is left out. Global projections
    # of Longformer that the source lacks begin as copies of the ordinary ones. The random features of a
    # Performer are kept if both have equal settings, else they are the target's own; the count of its
    # training forwards begins at 0.
    if "etc" in (source.config.attention, target.config.attention):  # whose global_qkv is another
        target.load_state_dict(source.state_dict())
        return
    own, state = target.state_dict(), source.state_dict()
    own_names = {name for name in own if _OF_ONE_ATTENTION.search(name)}
    moved = {name: x for name, x in state.items() if not _OF_ONE_ATTENTION.search(name)}
    for name in own_names:
        if "global_qkv" in name:
            moved[name] = state.get(name, state[name.replace("global_qkv", "qkv")])
        elif name.endswith("projection") and _have_equal_features(source.config, target.config):
            moved[name] = state[name]
        else:
            moved[name] = own[name]
    target.load_state_dict(moved)


def _have_equal_features(first: EncoderConfig, second: EncoderConfig) -> bool:
    names = ("num_features", "rows", "norms", "seed")
    values = [[getattr(config.performer, name) for name in names] for config in (first, second)]
    return first.attention == second.attention and values[0] == values[1]
