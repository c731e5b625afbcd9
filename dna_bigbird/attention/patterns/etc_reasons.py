"""Why a token of BigBird-ETC reads another: for drawings."""

import numpy as np

from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_example import GLOBAL, Example, Key
from dna_bigbird.attention.patterns.etc_layout import EtcLayout

NOT_READ, GLOBAL_PAIR, BAND, BELONGS, OUTSIDE, OTHER_SEGMENT = range(6)
LETTERS = ".gwbop"


def etc_reasons(pattern: EtcPattern, layout: EtcLayout, row: int = 0) -> np.ndarray:
    """Return NOT_READ, GLOBAL_PAIR, BAND, BELONGS, OUTSIDE or OTHER_SEGMENT for every pair of tokens.

    O((G + L)²): for drawing.

    Returns:
        (G + L, G + L) int64 of one sequence of the batch, query by key; global tokens come first.
    """
    example = Example(pattern, layout, row)
    num_global, num_long = len(example.global_padding), len(example.long_padding)
    codes = np.full((num_global + num_long,) * 2, NOT_READ)
    read = [list(example.keys_of_global(i)) for i in range(num_global)]
    read += [list(example.keys_of_long(i)) for i in range(num_long)]
    for query, keys in enumerate(read):
        for stream, position, label in keys:
            column = position if stream == GLOBAL else num_global + position
            codes[query, column] = _reason(pattern, (stream, position, label), query < num_global)
    return codes


def _reason(pattern: EtcPattern, key: Key, is_global: bool) -> int:
    stream, _, label = key
    of_label = {
        pattern.label_belongs: BELONGS,
        pattern.label_outside: OUTSIDE,
        pattern.label_other_segment: OTHER_SEGMENT,
    }
    return of_label.get(label, GLOBAL_PAIR if is_global and stream == GLOBAL else BAND)


def draw_etc(codes: np.ndarray) -> str:
    """Return the reasons as text, a line per query and a letter per key.

    'w' band, 'b' belongs, 'o' does not belong, 'g' both global, 'p' both global and of different
    segments, '.' not read.
    """
    return "\n".join("".join(LETTERS[code] for code in line) for line in codes)
