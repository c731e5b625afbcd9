"""The weights of an encoder in one of another attention: bigbird, full, longformer or performer."""

import re

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder

_OF_ONE_ATTENTION = re.compile(r"\.attention\.(global_qkv\.\w+|projection|_extra_state)$")
"""Names that only Longformer or only the Performer has."""


def move_weights(source: Encoder, target: Encoder) -> None:
    """Give an encoder the weights of another one, which may have another attention.

    `qkv` and `output` mean the same in all four. What the target lacks is left out. Global projections
    of Longformer that the source lacks begin as copies of the ordinary ones. The random features of a
    Performer are kept if both have equal settings, else they are the target's own; the count of its
    training forwards begins at 0.

    Raises:
        RuntimeError: If other weights are missing or have another shape.
    """
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
