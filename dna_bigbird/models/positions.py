"""Sequences longer than a model was trained for: more positions by a named rule."""

# T positions before, L positions after, E hidden size

import copy
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor, nn

from dna_bigbird.models.encoder import Encoder

RULES = ("tile", "interpolate")
ROTARY, LABELS = "rotary", "labels"
"""What a bundle says instead of a rule: there was no table to extend."""

Model = TypeVar("Model", bound=nn.Module)


def extend_positions(model: Model, max_tokens: int, rule: str | None = None) -> Model:
    """Return a copy of the model that reads up to `max_tokens` tokens; the model stays as it is.

    Everything but the position table (and that of a decoder with its own, unless its length is set) is copied. Without this a
    longer sequence is refused: no rule is right for every model, and after either the model should be
    trained further. A model with rotary positions or labels (BigBird-ETC) has no table and needs no rule: its setting
    `max_tokens` alone changes, which is what training and windows follow.

    With random plan 'uniform' the attention of a sequence depends on its own length alone, so old
    lengths keep theirs, and with 'tile' their states, too. Plan 'huggingface' makes its table for
    the whole position table: as in that library, the random blocks that 1,024, 3,072 and 4,096
    tokens have in training are other ones afterwards. In evaluation nothing changes.

    Args:
        model: An `Encoder`, or a model that has one as `.encoder`.
        rule: 'tile' repeats the table as often as needed, as Longformer did; the first positions
            keep their rows. 'interpolate' stretches it linearly; both ends keep theirs. None with
            rotary positions.

    Raises:
        ValueError: If the rule is unknown, missing or has no meaning, or the model is as long already.
    """
    extended = copy.deepcopy(model)
    encoder: Encoder = extended if isinstance(extended, Encoder) else extended.encoder
    if encoder.position is None and rule is not None:
        raise ValueError(
            f"rule {rule!r} is for a table of positions; the model has none: leave it out"
        )
    if encoder.position is not None and rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    if max_tokens <= encoder.config.max_tokens:
        raise ValueError(
            f"the model reads {encoder.config.max_tokens} tokens already, got max_tokens {max_tokens}"
        )
    decoder = getattr(extended, "decoder", None)
    has_own_length = decoder is not None and extended.head.decoder_positions
    for part in (encoder, None if has_own_length else decoder):
        if part is None or part.position is None:
            continue
        old = part.position.weight
        table_LE = (_tile if rule == "tile" else _interpolate)(old.detach(), max_tokens)
        part.position = nn.Embedding.from_pretrained(table_LE, freeze=not old.requires_grad)
    encoder.config = replace(encoder.config, max_tokens=max_tokens)
    for layer in encoder.layers if encoder.config.keeps_published_padding else ():
        rule = layer.attention.rule
        if rule.plan == "huggingface":
            layer.attention.set_rule(replace(rule, table_tokens=max_tokens))
    return extended


def _tile(table_TE: Tensor, length: int) -> Tensor:
    return table_TE[torch.arange(length, device=table_TE.device) % len(table_TE)]


def _interpolate(table_TE: Tensor, length: int) -> Tensor:
    # In float64: a row is exact where a place falls on an old one.
    places_L = torch.arange(length, dtype=torch.float64, device=table_TE.device)
    places_L = places_L * (len(table_TE) - 1) / (length - 1)
    before_L = places_L.long()
    share_L1 = (places_L - before_L)[:, None]
    after_L = (before_L + 1).clamp(max=len(table_TE) - 1)
    exact_TE = table_TE.double()
    return torch.lerp(exact_TE[before_L], exact_TE[after_L], share_L1).to(table_TE.dtype)
