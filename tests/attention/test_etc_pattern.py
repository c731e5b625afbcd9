"""Labels and masks of BigBird-ETC by hand, and what is refused."""

from dataclasses import replace

import pytest
import torch

from dna_bigbird.attention.cores.etc import attend_global, attend_long
from dna_bigbird.attention.etc_heads import EtcHeads
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout, offset_labels
from dna_bigbird.report.plot_attention_drawing import draw_etc, etc_reasons


def two_paragraphs():
    """Global: paragraph, two sentences; paragraph, one sentence. Long: 3 + 2 and 4 tokens, padding."""
    sentence = torch.tensor([1, 1, 1, 2, 2, 4, 4, 4, 4, 4])
    paragraph = torch.tensor([0, 0, 0, 0, 0, 3, 3, 3, 3, 3])
    return EtcLayout.of_owners(
        torch.stack([sentence, paragraph], dim=1)[None],
        (torch.arange(10) == 9)[None],
        torch.zeros(1, 5, dtype=torch.bool),
        long_segments=paragraph[None],
        global_segments=torch.tensor([[0, 0, 0, 1, 1]]),
        free_global=torch.tensor([[False, False, True, False, False]]),
    )


def test_labels_of_the_specification():
    """§12, item 5, and the docstring of the public code's RelativePositionGenerator."""
    pattern = EtcPattern(max_distance=3)
    expected = [
        [0, 1, 2, 3, 3, 3],
        [4, 0, 1, 2, 3, 3],
        [5, 4, 0, 1, 2, 3],
        [6, 5, 4, 0, 1, 2],
        [6, 6, 5, 4, 0, 1],
        [6, 6, 6, 5, 4, 0],
    ]
    assert offset_labels(pattern, 6, torch.device("cpu")).tolist() == expected
    assert [[pattern.offset_label(j - i) for j in range(6)] for i in range(6)] == expected
    assert pattern.labels_by_offset() == [6, 5, 4, 0, 1, 2, 3]


def test_labels_between_global_tokens_of_different_segments():
    """The example in the public code's overwrite_relative_att_ids_outside_segments, value 9 here."""
    segments = torch.tensor([[10, 10, 10, 20, 20, 30, 40, 40]])
    nothing = torch.zeros(1, 8, dtype=torch.bool)
    layout = EtcLayout(nothing, nothing, torch.zeros(1, 8, 8, dtype=torch.bool), None, segments)
    expected = [
        [0, 1, 2, 9, 9, 9, 9, 9],
        [4, 0, 1, 9, 9, 9, 9, 9],
        [5, 4, 0, 9, 9, 9, 9, 9],
        [9, 9, 9, 0, 1, 9, 9, 9],
        [9, 9, 9, 4, 0, 9, 9, 9],
        [9, 9, 9, 9, 9, 0, 9, 9],
        [9, 9, 9, 9, 9, 9, 0, 1],
        [9, 9, 9, 9, 9, 9, 4, 0],
    ]
    assert layout.global_labels(EtcPattern(max_distance=3))[0].tolist() == expected


def test_table_sizes_of_the_base_and_the_large_model():
    base, large = EtcPattern(), EtcPattern(169, max_distance=24)
    assert (base.num_labels, large.num_labels) == (28, 52)
    assert (base.label_outside, base.label_belongs, base.label_other_segment) == (25, 26, 27)
    assert [base.cross_label(x) for x in (False, True)] == [25, 26]


def test_pattern_by_hand():
    """Hard g2l with one free sentence token, a cut between the paragraphs, the last token padding."""
    pattern = EtcPattern(radius=2, max_distance=2, hard_g2l=True)
    assert (
        draw_etc(etc_reasons(pattern, two_paragraphs()))
        == """\
gggppbbbbb.....
gggppbbb.......
gggppooobboooo.
pppgg.....bbbb.
pppgg.....bbbb.
bbooowww.......
bbooowwww......
bbooowwwww.....
boboo.wwww.....
boboo..www.....
ooobb.....www..
ooobb.....wwww.
ooobb.....wwww.
ooobb......www.
..............."""
    )


def test_hard_l2g_and_no_cuts_by_hand():
    pattern = EtcPattern(radius=1, max_distance=1, hard_l2g=True, cuts=False)
    layout = replace(two_paragraphs(), free_long=(torch.arange(10) == 1)[None])
    lines = draw_etc(etc_reasons(pattern, layout)).splitlines()
    assert lines[:2] == ["gggggbbbbboooo.", "gggggbbboooooo."]
    assert lines[5:11] == [
        "bb...ww........",
        "bbooowww.......",
        "bb....www......",
        "b.b....www.....",
        "b.b.....www....",
        "...bb....www...",
    ]


def test_three_blocks_by_hand():
    pattern = EtcPattern(radius=3, local_mode="three_blocks", max_distance=2)
    nothing = torch.zeros(1, 11, dtype=torch.bool)
    layout = EtcLayout(nothing, nothing[:, :1], nothing[..., None])
    lines = [line[1:] for line in draw_etc(etc_reasons(pattern, layout)).splitlines()[1:]]
    assert lines == [
        *["wwwwww....."] * 3,
        *["wwwwwwwww.."] * 3,
        *["...wwwwwwww"] * 3,
        *["......wwwww"] * 2,
    ]


@pytest.mark.parametrize("backend", ["dense", "blocked"])
def test_the_function_reads_what_is_drawn(backend):
    """The gradient of the values is nonzero exactly where the drawing has a letter."""
    pattern, layout = EtcPattern(radius=2, max_distance=2, hard_g2l=True), two_paragraphs()
    codes = torch.from_numpy(etc_reasons(pattern, layout))
    for attend, queries, rows in ((attend_global, 5, codes[:5]), (attend_long, 10, codes[5:])):
        torch.manual_seed(0)
        sizes = (queries, 10, 10, 5, 5)
        drawn = (torch.randn(1, 1, n, 4, dtype=torch.float64) for n in sizes)
        tables = (torch.randn(8, 1, 4).double(), torch.randn(8, 1).double())
        heads = EtcHeads(*drawn, *tables)
        heads.v_long.requires_grad_()
        heads.v_global.requires_grad_()
        out = attend(heads, pattern, layout, backend=backend)
        for query, row in enumerate(rows):
            values = (heads.v_global, heads.v_long)
            parts = torch.autograd.grad(out[0, 0, query].sum(), values, retain_graph=True)
            read = torch.cat([x[0, 0].abs().sum(-1) for x in parts]) > 0
            assert read.tolist() == (row > 0).tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radius": 0}, "radius 0 and max_distance 12 must be at least 1"),
        ({"local_mode": "blocks"}, "local_mode='blocks': expected 'exact' or 'three_blocks'"),
        ({"radius": 2.5}, "radius=2.5: expected a whole number"),
        (
            {"local_mode": "three_blocks", "radius": 11},
            "'three_blocks' needs a radius of at least max_distance 12, got 11",
        ),
    ],
)
def test_patterns_that_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        EtcPattern(**settings)


def test_layouts_that_are_refused():
    layout = two_paragraphs()
    with pytest.raises(ValueError, match=r"belongs must be bool \(1, 10, 5\), got .* \(1, 10, 4\)"):
        replace(layout, belongs=layout.belongs[..., :4])
    with pytest.raises(ValueError, match=r"long_segments must be integers \(1, 10\)"):
        replace(layout, long_segments=layout.long_padding)
    with pytest.raises(ValueError, match="both streams need tokens, got 10 long and 0 global ones"):
        replace(layout, global_padding=layout.global_padding[:, :0])


def test_calls_that_are_refused():
    pattern, layout = EtcPattern(), two_paragraphs()
    shapes = [(1, 2, 10, 4)] * 3 + [(1, 2, 5, 4)] * 2 + [(28, 2, 4), (28, 2)]
    heads = EtcHeads(*map(torch.zeros, shapes))
    with pytest.raises(ValueError, match=r"q must be \(1, 2, 5, 4\) for this layout"):
        attend_global(heads, pattern, layout)
    with pytest.raises(ValueError, match=r"label_biases must be \(28, 2\) .* got \(27, 2\)"):
        attend_long(heads._replace(label_biases=torch.zeros(27, 2)), pattern, layout)
    with pytest.raises(ValueError, match="backend must be one of auto, dense, blocked; got 'flex'"):
        attend_long(heads, pattern, layout, backend="flex")
    with pytest.raises(ValueError, match=r"dropout_p must be at least 0 and below 1, got 1\.0"):
        attend_long(heads, pattern, layout, dropout_p=1.0)
    two = [layout.long_padding, layout.global_padding, layout.belongs]
    with pytest.raises(ValueError, match="the layout is for 2 sequences, got 1"):
        attend_long(heads, pattern, EtcLayout(*(torch.cat([x, x]) for x in two)))
