"""The head that reads bins: assignment drawn by hand, states by a loop, strands, refusals."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from dna_bigbird.models.classifier import BinTokens, SequenceClassifier
from dna_bigbird.models.config import HeadConfig, stored_head
from dna_bigbird.models.etc_encoder import SENTENCE, GlobalTokens
from dna_bigbird.models.flops import forward_flops
from dna_bigbird.models.stored_settings import settings_from
from tests.models.test_encoder import spread_out
from tests.models.test_etc_encoder import CONFIG

CLS, SEP, PAD = 2, 3, 0
PIECE_BP = torch.zeros(50, dtype=torch.int64)
PIECE_BP[5:10] = 1
PIECE_BP[10:] = torch.arange(40) % 4 + 1
HEAD = HeadConfig(pooling="bin", bin_bp=4, dropout=0.0)


def drawn(lengths, bin_bp=4):
    """Bin of each token as a letter; - belongs to none; capitals: the centre bin.

    Args:
        lengths: Bases of the tokens of one window, between [CLS] and [SEP].
    """
    bins = BinTokens(bin_bp, 6)
    bins.know_pieces(torch.tensor([0, 1, 2, 3, 4, 0]))
    ids = torch.tensor([[5, *lengths, 5, 0]])
    is_padding = torch.arange(ids.shape[1])[None] == ids.shape[1] - 1
    tokens, centre = bins(ids, is_padding)
    assert (tokens.types_BG == SENTENCE).all()
    text = ""
    for belongs in tokens.layout.belongs[0]:
        assert belongs.sum() <= 1
        number = int(belongs.int().argmax())
        letter = chr(ord("a") + number) if belongs.any() else "-"
        text += letter.upper() if number == int(centre[0]) else letter
    return text


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([1] * 12, "-aaaaBBBBcccc--"),
        ([1] * 10, "-aaaBBBBccc--"),  # partial bins at both edges
        ([1] * 20, "-aaaabbbbCCCCddddeeee--"),
        ([1] * 4, "-AAAA--"),
        ([1] * 3, "-AAA--"),  # shorter than a bin
        ([1] * 11, "-aaaBBBBcccc--"),  # the centre is a base earlier
        # 12 bases: middles at 1, 3, 6, 9, 11.
        ([3, 1, 4, 2, 2], "-aaBcc--"),
        # 12 bases: middles at 1, 4, 6, 8, 11: of 2 or 4 bases the right one of the two in the middle.
        ([2, 4, 1, 3, 2], "-aBBcc--"),
        # A special token among the bases has none and moves nothing.
        ([1, 1, 1, 1, 5, 1, 1, 1, 1, 1, 1, 1, 1], "-aaaa-BBBBcccc--"),
    ],
)
def test_bins_by_hand(lengths, expected):
    assert drawn(lengths) == expected


def windows(lengths, seed=0):
    """Windows of drawn tokens of several bases, with [CLS] and [SEP], padded on the right."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.full((len(lengths), max(lengths) + 2), PAD)
    for row, count in zip(ids, lengths, strict=True):
        row[1 : count + 1] = torch.randint(5, 50, (count,), generator=generator)
        row[0], row[count + 1] = CLS, SEP
    is_padding = torch.arange(ids.shape[1]) >= torch.tensor(lengths)[:, None] + 2
    return ids, is_padding


def classifier(head=HEAD, labels=3, dtype=torch.float64):
    model = spread_out(SequenceClassifier(CONFIG, labels, head).to(dtype)).eval()
    model.bins.know_pieces(PIECE_BP)
    return model


def by_loop(model, ids_T):
    """States of the global tokens of one window from `both`, and the number of the centre, base by base."""
    bp = [int(PIECE_BP[i]) for i in ids_T]
    start_of_centre = (sum(bp) - model.bins.bin_bp) // 2
    owners, at = [], 0
    for bases in bp:
        owners.append((at + bases // 2 - start_of_centre) // model.bins.bin_bp if bases else None)
        at += bases
    first = min((0 - start_of_centre) // model.bins.bin_bp, 0)
    owners = torch.tensor([-1 if owner is None else owner - first for owner in owners])[None]
    no_padding = torch.zeros(1, len(ids_T), dtype=torch.bool)
    tokens = GlobalTokens.of_sentences(owners, no_padding)
    _, states_1GE = model.encoder.both(ids_T[None], no_padding, global_tokens=tokens)
    return states_1GE[0], -first


def test_the_centre_bin_is_read_next_to_other_windows():
    model = classifier()
    ids, is_padding = windows([24, 17, 5, 1])
    logits = model(ids, is_padding)
    for row in range(len(ids)):
        states_GE, centre = by_loop(model, ids[row][~is_padding[row]])
        expected = nn.functional.linear(
            states_GE[centre], model.head.dense.weight, model.head.dense.bias
        )
        assert torch.allclose(logits[row], expected, atol=1e-10)
        others = [i for i in range(len(states_GE)) if i != centre]
        if others:
            assert (states_GE[others] - states_GE[centre]).abs().amax(1).min() > 0.01


def test_named_bins_are_those_of_the_loop_and_their_loss_the_mean_of_single_ones():
    model = classifier()
    ids, is_padding = windows([24, 17])
    bins = [(0, -2), (0, 0), (0, 1), (1, -1), (1, 2)]
    labels = torch.rand(5, 3, generator=torch.Generator().manual_seed(1)).round().double()
    logits = model(ids, is_padding, bins_P2=torch.tensor(bins))
    loss_of = nn.functional.binary_cross_entropy_with_logits
    losses = []
    for number, (row, bin_number) in enumerate(bins):
        states_GE, centre = by_loop(model, ids[row][~is_padding[row]])
        expected = model.head.dense(states_GE[centre + bin_number])
        assert torch.allclose(logits[number], expected, atol=1e-10)
        losses.append(loss_of(expected, labels[number]))
    assert torch.allclose(loss_of(logits, labels), torch.stack(losses).mean(), atol=1e-10)


@pytest.mark.parametrize("bin_number", [-4, 4])
def test_a_bin_outside_its_window_is_refused(bin_number):
    """Of padding too: the other window is longer."""
    model = classifier(replace(HEAD, bin_bp=8))
    ids = torch.full((2, 62), 5)
    is_padding = torch.zeros(2, 62, dtype=torch.bool)
    is_padding[0, 30:] = True  # 30 bases: 3 whole bins and two of 3 bases
    assert model(ids, is_padding, bins_P2=torch.tensor([[1, bin_number], [0, 2]])).shape == (2, 3)
    with pytest.raises(ValueError, match=f"a window has no bin {bin_number} from its centre"):
        model(ids, is_padding, bins_P2=torch.tensor([[1, 0], [0, bin_number]]))


def test_bins_of_the_reverse_complement_are_the_same_bases():
    """Numbers change their sign: reading backwards, bin r has the bases of bin -r."""
    bins = BinTokens(4, 50)
    bins.know_pieces(PIECE_BP)
    ids = torch.full((1, 18), 5)  # 18 single bases: partial bins of 3 at both edges
    tokens, centre = bins(ids, torch.zeros(1, 18, dtype=torch.bool))
    belongs_TG = tokens.layout.belongs[0]
    assert int(centre) == 2
    assert belongs_TG.shape == (18, 5)
    assert torch.equal(belongs_TG.flip(0).flip(1), belongs_TG)


def test_the_other_global_tokens_matter_and_those_of_the_data_do_not():
    """Bins, not `tokens_per_global`, make the global stream of this head."""
    ids, is_padding = windows([20])
    logits = classifier()(ids, is_padding)
    etc = replace(CONFIG, etc=replace(CONFIG.etc, tokens_per_global=9))
    model = spread_out(SequenceClassifier(etc, 3, HEAD).double()).eval()
    model.bins.know_pieces(PIECE_BP)
    assert torch.equal(model(ids, is_padding), logits)
    wider = classifier(replace(HEAD, bin_bp=5))(ids, is_padding)
    assert (wider - logits).abs().max() > 0.01


def test_the_head_of_a_file_is_the_same_and_others_have_no_bins():
    model = classifier()
    again = SequenceClassifier(CONFIG, 3, settings_from(HeadConfig, stored_head(HEAD))).double()
    again.load_state_dict(model.state_dict())
    ids, is_padding = windows([20, 9])
    assert torch.equal(again.eval()(ids, is_padding), model(ids, is_padding))
    assert not {"bin_bp", "bins_at_once"} & stored_head(HeadConfig(pooling="mean")).keys()
    assert "bins.piece_bp_V" not in SequenceClassifier(CONFIG, 3).state_dict()
    assert forward_flops(model, [20]) > 0


def test_gradients_reach_both_streams():
    model = classifier(dtype=torch.float32).train()
    ids, is_padding = windows([20, 9])
    model(ids, is_padding, bins_P2=torch.tensor([[0, 0], [0, 1], [1, 0]])).sum().backward()
    for weight in (model.encoder.word.weight, model.encoder.global_type.weight):
        assert weight.grad.abs().max() > 0


def test_what_does_not_fit_is_refused():
    bigbird = replace(CONFIG, attention="bigbird", etc=type(CONFIG.etc)())
    with pytest.raises(
        ValueError, match=r"--head.pooling bin reads global tokens of bins, .* attention bigbird"
    ):
        SequenceClassifier(bigbird, 3, HEAD)
    with pytest.raises(
        ValueError, match=r"--head.bin_bp 3 must be at least 4, the bases of the longest"
    ):
        BinTokens(3, 50).know_pieces(PIECE_BP)
    with pytest.raises(ValueError, match=r"--head.bin_bp 0"):
        HeadConfig(pooling="bin", bin_bp=0)
    with pytest.raises(
        ValueError, match=r"--head.bins_at_once true is for --head.pooling bin, got mean"
    ):
        HeadConfig(pooling="mean", bins_at_once=True)
    ids, is_padding = windows([9])
    with pytest.raises(ValueError, match="bins are read by a head of pooling 'bin'"):
        SequenceClassifier(CONFIG, 3)(ids, is_padding, bins_P2=torch.tensor([[0, 0]]))
