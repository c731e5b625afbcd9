"""Steps of `plot-attention --pattern etc` and `longformer`: a layout or sequence, and its drawing."""

import numpy as np
import torch

from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import GLOBAL as GLOBAL_STREAM
from dna_bigbird.attention.patterns.etc_layout import EtcLayout, Example, Key
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout, draw_longformer
from dna_bigbird.core.errors import InputError
from dna_bigbird.report.plot_attention_blocks import NOT_READ
from dna_bigbird.report.plot_attention_options import EtcDrawing, LongformerDrawing, Panel

GLOBAL_PAIR, BAND, BELONGS, OUTSIDE, OTHER_SEGMENT = range(1, 6)
ETC_LETTERS = ".gwbop"


def etc_reasons(pattern: EtcPattern, layout: EtcLayout, row: int = 0) -> np.ndarray:
    """Return the reason of every pair of tokens, (G + L, G + L) int64, query by key, global ones first."""
    example = Example(pattern, layout, row)
    num_global, num_long = len(example.global_padding), len(example.long_padding)
    codes = np.full((num_global + num_long,) * 2, NOT_READ)
    read = [list(example.keys_of_global(i)) for i in range(num_global)]
    read += [list(example.keys_of_long(i)) for i in range(num_long)]
    for query, keys in enumerate(read):
        for stream, position, label in keys:
            column = position if stream == GLOBAL_STREAM else num_global + position
            codes[query, column] = _reason(pattern, (stream, position, label), query < num_global)
    return codes


def _reason(pattern: EtcPattern, key: Key, is_global: bool) -> int:
    stream, _, label = key
    of_label = {
        pattern.label_belongs: BELONGS,
        pattern.label_outside: OUTSIDE,
        pattern.label_other_segment: OTHER_SEGMENT,
    }
    return of_label.get(label, GLOBAL_PAIR if is_global and stream == GLOBAL_STREAM else BAND)


def draw_etc(codes: np.ndarray) -> str:
    """Return the reasons as text, a line per query and a letter per key."""
    return "\n".join("".join(ETC_LETTERS[code] for code in line) for line in codes)


LONGFORMER_LEGEND = "w window, g global, . not read; a line per token that reads"
LONGFORMER_REASONS = {1: "window", 2: "global"}
LONGFORMER_LETTERS = ".wg"
"""In the order of the codes: 0 is not read."""


def longformer_panel(drawing: LongformerDrawing) -> Panel:
    """Draw who reads whom in a sequence."""
    num_tokens, at = drawing.sequence_tokens, drawing.global_at
    if at and not 0 <= min(at) <= max(at) < num_tokens:
        shown = " ".join(map(str, at))
        raise InputError(
            f"--longformer.global_at {shown}: expected positions from 0 to {num_tokens - 1} "
            "(--longformer.sequence_tokens)"
        )
    try:
        pattern = LongformerPattern(drawing.window_tokens, (drawing.dilation,), drawing.is_causal)
    except ValueError as error:
        raise InputError(f"--longformer: {error}") from error
    is_global = torch.zeros(1, num_tokens, dtype=torch.bool)
    is_global[0, list(at)] = True
    text = draw_longformer(pattern, LongformerLayout(torch.zeros_like(is_global), is_global))
    codes = np.array(
        [[LONGFORMER_LETTERS.index(letter) for letter in line] for line in text.splitlines()]
    )
    title = (
        f"longformer, window of {drawing.window_tokens} on either side, dilation {drawing.dilation}"
    )
    return Panel(title, codes, text)


ETC_LEGEND = (
    "global tokens first, then long ones: w band, b belongs, o does not belong, g global tokens, "
    "p global tokens of different paragraphs, . not read"
)
ETC_REASONS = {
    GLOBAL_PAIR: "global to global",
    BAND: "band",
    BELONGS: "belongs",
    OUTSIDE: "does not belong",
    OTHER_SEGMENT: "global, other paragraph",
}


def etc_panel(drawing: EtcDrawing) -> Panel:
    """Draw both streams of a text with even sentences."""
    num_sentences = drawing.paragraphs * drawing.sentences
    if drawing.long_tokens < num_sentences:
        raise InputError(
            f"--etc.long_tokens {drawing.long_tokens}: expected at least {num_sentences}, a token per sentence"
        )
    try:
        pattern = EtcPattern(
            drawing.radius,
            drawing.local_mode,
            1,  # labels of distances are not drawn
            hard_g2l=drawing.hard_g2l,
            hard_l2g=drawing.hard_l2g,
        )
    except ValueError as error:
        raise InputError(f"--etc: {error}") from error
    codes = etc_reasons(pattern, even_layout(drawing))
    title = f"etc, {drawing.paragraphs} paragraphs, {drawing.sentences} sentences each"
    return Panel(title, codes, draw_etc(codes))


def even_layout(drawing: EtcDrawing) -> EtcLayout:
    """Return the layout: each paragraph's global token comes before those of its sentences."""
    of_paragraph = 1 + drawing.sentences
    num_global = drawing.paragraphs * of_paragraph
    sentence = torch.arange(drawing.long_tokens) * drawing.paragraphs * drawing.sentences
    sentence = sentence // drawing.long_tokens
    paragraph = sentence // drawing.sentences
    owners = torch.stack([paragraph * of_paragraph, paragraph + sentence + 1], dim=1)
    return EtcLayout.of_owners(
        owners[None],
        torch.zeros(1, drawing.long_tokens, dtype=torch.bool),
        torch.zeros(1, num_global, dtype=torch.bool),
        long_segments=paragraph[None],
        global_segments=(torch.arange(num_global) // of_paragraph)[None],
    )
