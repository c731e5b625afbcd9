"""Steps of `plot-attention --pattern etc`: an even layout and its drawing."""

import torch

from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout
from dna_bigbird.attention.patterns.etc_reasons import (
    BAND,
    BELONGS,
    GLOBAL_PAIR,
    OTHER_SEGMENT,
    OUTSIDE,
    draw_etc,
    etc_reasons,
)
from dna_bigbird.core.errors import InputError
from dna_bigbird.report.attention_panels import DrawnPanel
from dna_bigbird.report.etc_drawing import EtcDrawing

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


def etc_panel(drawing: EtcDrawing) -> DrawnPanel:
    """Draw both streams of a text with even sentences.

    Raises:
        InputError: If a number is out of range.
    """
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
    return DrawnPanel(title, draw_etc(codes), codes)


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
