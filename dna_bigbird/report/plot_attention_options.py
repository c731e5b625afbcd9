"""What `plot-attention` draws: one panel, and the options of `--pattern etc` and `longformer`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Positive, Range

if TYPE_CHECKING:
    import numpy as np


class Panel(NamedTuple):
    """One drawing: of a head, or of single tokens."""

    title: str
    codes: "np.ndarray"
    """(queries, keys): 0 where nothing is read, else the number of the reason."""
    text: str = ""


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


@dataclass(frozen=True)
class EtcDrawing:
    """The pattern to draw, and the paragraphs and sentences of the text."""

    radius: int = 5
    """Long tokens that a long token reads on either side: few enough to be seen."""
    local_mode: Literal["exact", "three_blocks"] = "exact"
    """Form of the band: exact ends radius tokens away, three_blocks consists of whole blocks of radius tokens."""
    hard_g2l: bool = False
    """A global token reads only the long tokens that belong to it."""
    hard_l2g: bool = False
    """A long token reads only the global tokens that it belongs to."""
    paragraphs: Positive = 2
    """Paragraphs of the text, where the band is cut; each has a global token."""
    sentences: Positive = 2
    """Sentences of a paragraph; each has a global token."""
    long_tokens: Annotated[int, Range(1, most=1024)] = 36
    """Tokens of the long stream, shared evenly by the sentences."""

    def __post_init__(self) -> None:
        check_fields(self, "etc")
