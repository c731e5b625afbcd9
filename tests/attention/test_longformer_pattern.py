"""Who reads whom in Longformer, drawn by hand, and what does not fit."""

import pytest
import torch

from dna_bigbird.attention.cores.longformer import attend_global, attend_windows
from dna_bigbird.attention.patterns.longformer import LongformerPattern, upper_dilations
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout, draw_longformer


def layout(length=9, padding=(), global_tokens=()):
    marks = torch.zeros(2, 1, length, dtype=torch.bool)
    marks[0, 0, list(padding)] = True
    marks[1, 0, list(global_tokens)] = True
    return LongformerLayout(*marks)


def test_window_with_a_global_token_and_padding():
    """Token 5 is global, the last one is padding. The global token in a window counts once."""
    assert (
        draw_longformer(LongformerPattern(2), layout(padding=[8], global_tokens=[5]))
        == """\
www..g...
wwww.g...
wwwwwg...
.wwwwg...
..wwwgw..
gggggggg.
....wgww.
.....gww.
........."""
    )


def test_dilated_causal_window_with_a_global_token():
    """Dilation 2: nothing odd is read from an even position, but the global token is, if it is earlier."""
    pattern = LongformerPattern(2, (1, 2), is_causal=True)
    assert (
        draw_longformer(pattern, layout(global_tokens=[3]), head=1)
        == """\
w........
.w.......
w.w......
gggg.....
w.wgw....
.w.g.w...
..wgw.w..
...g.w.w.
...gw.w.w"""
    )


def test_entries_of_sequences_with_fewer_global_tokens():
    is_global = torch.tensor([[0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0]], dtype=torch.bool)
    is_padding = torch.zeros(3, 4, dtype=torch.bool)
    is_padding[0, 3] = True  # padding is not global
    batch = LongformerLayout(is_padding, is_global)
    assert batch.global_positions.tolist() == [[1], [2], [4]]
    assert batch.is_unused.tolist() == [[False], [False], [True]]


def test_dilations_of_the_character_models():
    """Paper, Table 12: none in layers 0 to 5, then gaps of 1, 2 and 3 on two heads."""
    gaps = [0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3]
    assert upper_dilations(0, gaps, 8) == (1,) * 8
    assert upper_dilations(11, gaps, 8) == (1, 1, 1, 1, 1, 1, 4, 4)


def test_settings_that_do_not_fit():
    with pytest.raises(ValueError, match="window must be at least 1, got 0"):
        LongformerPattern(0)
    with pytest.raises(ValueError, match=r"numbers of at least 1, got \(1, 0\)"):
        LongformerPattern(2, (1, 0))
    with pytest.raises(ValueError, match="one per head: got 3 for 2 heads"):
        LongformerPattern(2, (1, 2, 3)).check_heads(2)
    with pytest.raises(ValueError, match=r"is_global must be bool .* got torch.float32"):
        LongformerLayout(torch.zeros(1, 4, dtype=torch.bool), torch.zeros(1, 4))


def test_inputs_that_do_not_fit():
    x, batch = torch.zeros(1, 2, 9, 4), layout(global_tokens=[3])
    for broken, message in [
        ((x, x[:, :, :8], x), r"k must be \(1, 2, 9, 4\) for this layout, got \(1, 2, 8, 4\)"),
        ((x[..., :2], x, x), r"k must be \(1, 2, 9, 2\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            attend_windows(*broken, LongformerPattern(2), batch)
    with pytest.raises(ValueError, match=r"q_global must be \(1, 2, 1, 4\)"):
        attend_global(x, x, x, LongformerPattern(2), batch)
    with pytest.raises(ValueError, match="one of auto, dense, blocked; got 'flash'"):
        attend_windows(x, x, x, LongformerPattern(2), batch, backend="flash")
    with pytest.raises(ValueError, match="dropout_p must be at least 0 and below 1, got 1"):
        attend_windows(x, x, x, LongformerPattern(2), batch, dropout_p=1)
