"""An encoder with more rows in its word table."""

from dataclasses import replace

import torch
from torch import nn

from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.etc_encoder import build_encoder


def with_vocabulary(encoder: Encoder, size: int, generator: torch.Generator) -> Encoder:
    """Return an encoder with at least `size` word vectors; the same one if it has them.

    Args:
        generator: Draws the appended rows as fresh ones are.
    """
    config = encoder.config
    if config.vocab_size >= size:
        return encoder
    grown = build_encoder(replace(config, vocab_size=size), generator)
    state = dict(encoder.state_dict())
    rows = torch.empty(size - config.vocab_size, config.hidden_size)
    std = config.init_std
    nn.init.trunc_normal_(rows, std=std, a=-2 * std, b=2 * std, generator=generator)
    state["word.weight"] = torch.cat([state["word.weight"], rows.to(state["word.weight"])])
    grown.load_state_dict(state)
    return grown
