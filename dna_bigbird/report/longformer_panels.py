"""Steps of `plot-attention --pattern longformer`: one sequence and its drawing."""

import numpy as np
import torch

from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_example import draw_longformer
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout
from dna_bigbird.core.errors import InputError
from dna_bigbird.report.attention_panels import DrawnPanel
from dna_bigbird.report.longformer_drawing import LongformerDrawing

LONGFORMER_LEGEND = "w window, g global, . not read; a line per token that reads"
LONGFORMER_REASONS = {1: "window", 2: "global"}
LETTERS = ".wg"
"""In the order of the codes: 0 is not read."""


def longformer_panel(drawing: LongformerDrawing) -> DrawnPanel:
    """Draw who reads whom in a sequence.

    Raises:
        InputError: If a number is out of range.
    """
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
    codes = np.array([[LETTERS.index(letter) for letter in line] for line in text.splitlines()])
    title = (
        f"longformer, window of {drawing.window_tokens} on either side, dilation {drawing.dilation}"
    )
    return DrawnPanel(title, text, codes)
