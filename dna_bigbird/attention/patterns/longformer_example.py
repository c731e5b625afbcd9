"""Who reads whom in one sequence of Longformer, in plain integers: for the oracle and for drawings."""

from collections.abc import Iterator

from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout

NOT_READ, WINDOW, GLOBAL = ".wg"


class Example:
    """One row of a layout as lists, and who reads whom there."""

    def __init__(self, pattern: LongformerPattern, layout: LongformerLayout, row: int) -> None:
        self.pattern = pattern
        self.is_padding = layout.is_padding[row].tolist()
        no_token = [False] * len(self.is_padding)
        self.is_global = no_token if layout.is_global is None else layout.is_global[row].tolist()

    def keys(self, query: int, head: int) -> Iterator[tuple[int, str]]:
        """Yield the positions that `query` reads, each once, with the reason: WINDOW or GLOBAL."""
        if self.is_padding[query]:
            return
        for key, is_padding in enumerate(self.is_padding):
            if is_padding or (self.pattern.is_causal and key > query):
                continue
            if self.is_global[query] or self.is_global[key]:
                yield key, GLOBAL
            elif self.pattern.in_window(query, key, head):
                yield key, WINDOW


def draw_longformer(
    pattern: LongformerPattern, layout: LongformerLayout, head: int = 0, row: int = 0
) -> str:
    """Return one head as text: 'w' window, 'g' global, '.' not read; one line per query."""
    example = Example(pattern, layout, row)
    num_tokens = len(example.is_padding)
    lines = []
    for query in range(num_tokens):
        reasons = dict(example.keys(query, head))
        lines.append("".join(reasons.get(key, NOT_READ) for key in range(num_tokens)))
    return "\n".join(lines)
