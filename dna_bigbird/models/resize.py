"""An encoder with more rows in its tables of words and segments."""

from dataclasses import replace

import torch
from torch import nn

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.etc_encoder import build_encoder


def with_tables(encoder: Encoder, config: EncoderConfig, generator: torch.Generator) -> Encoder:
    """Return an encoder with at least as many word and segment vectors; the same one if it has them.

    Args:
        config: Has the wanted `vocab_size` and `num_segments`.
        generator: Draws the appended word vectors as fresh ones are. An appended segment begins as
            the first one, so that the states are those of pretraining.
    """
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
