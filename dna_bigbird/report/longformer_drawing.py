"""The options of `plot-attention --pattern longformer`."""

from dataclasses import dataclass
from typing import Annotated

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Range


@dataclass(frozen=True)
class LongformerDrawing:
    """The pattern to draw, and the global tokens of the sequence."""

    window_tokens: int = 3
    """Tokens that a token reads on either side of it: few enough to be seen."""
    dilation: int = 1
    """Distance between the tokens of the window: 2 is every second token."""
    is_causal: bool = False
    """No token reads a later one."""
    sequence_tokens: Annotated[int, Range(1, most=1024)] = 32
    """Tokens of the sequence that is drawn."""
    global_at: tuple[int, ...] = (0,)
    """Positions of global tokens, from 0."""

    def __post_init__(self) -> None:
        check_fields(self, "longformer")
