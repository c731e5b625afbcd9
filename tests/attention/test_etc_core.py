"""The module of BigBird-ETC: sharing, the public layer's outputs, full attention, dropout, types."""

import copy
import json
from pathlib import Path

import pytest
import torch

from dna_bigbird.attention.cores import BigBirdEtc, Full
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout
from tests.attention import etc_public_layer as public

PUBLIC = json.loads((Path(__file__).parent / "etc_public_layer.json").read_text())
SMALL = EtcPattern(radius=3, max_distance=2)


def streams(batch=2, num_long=30, num_global=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(batch, n, 8, generator=generator, dtype=torch.float64)
        for n in (num_long, num_global)
    )


def plain_layout(batch=2, num_long=30, num_global=4, long_padding=None):
    owners = (torch.arange(num_long) * num_global // num_long).view(1, -1, 1)
    nothing = torch.zeros(batch, num_long, dtype=torch.bool)
    return EtcLayout.of_owners(
        owners.expand(batch, -1, -1),
        nothing if long_padding is None else long_padding,
        torch.zeros(batch, num_global, dtype=torch.bool),
    )


def etc(pattern=SMALL, **settings):
    torch.manual_seed(0)
    return BigBirdEtc(8, 2, pattern, **{"dropout_p": 0.0, **settings}).double()


@pytest.mark.parametrize("backend", ["dense", "blocked"])
@pytest.mark.parametrize("case", PUBLIC["cases"], ids=lambda c: f"{c['sharing']}-{c['hard_g2l']}")
def test_outputs_of_the_public_tensorflow_layer(case, backend):
    """Stored: what it printed for these weights (origin in the file). All other rows agreed too."""
    core = public.core(case["sharing"], case["shared_output"], case["hard_g2l"])
    core.backend = backend
    inputs = (
        public.wave((2, n, public.HIDDEN), start)
        for start, n in ((1, public.LONG), (2, public.GLOBAL))
    )
    outputs = dict(zip(("long", "global"), core(*inputs, public.layout()), strict=True))
    for stream, rows in PUBLIC["rows"].items():
        for (row, position), expected in zip(rows, case[stream], strict=True):
            error = (outputs[stream][row, position] - torch.tensor(expected)).abs().max()
            assert error < 1e-6, (stream, row, position)


def test_a_wide_radius_without_labels_is_full_attention_on_both_streams():
    """Specification §12, item 4: equal projections, no labels, everything in the band."""
    core = etc(EtcPattern(radius=40), shared_output=True, backend="blocked")
    full = Full(8, 2, block_size=4).double()
    full.load_state_dict({n: x for n, x in core.state_dict().items() if "labels" not in n})
    for table in (core.long_labels, core.global_labels):
        torch.nn.init.zeros_(table.embeddings)
    x_long, x_global = streams()
    long_out, global_out = core(x_long, x_global, plain_layout())
    together = full(torch.cat([x_long, x_global], dim=1))
    torch.testing.assert_close(torch.cat([long_out, global_out], dim=1), together)


@pytest.mark.parametrize("sharing", ["kv", "none"])
@pytest.mark.parametrize("shared_output", [True, False])
def test_separate_projections_with_equal_weights_are_shared_ones(sharing, shared_output):
    shared, separate = etc(shared_output=True), etc(sharing=sharing, shared_output=shared_output)
    weights = shared.state_dict()
    for kind in ("weight", "bias"):
        weights[f"global_qkv.{kind}"] = weights[f"qkv.{kind}"]
        if sharing == "none":
            for name in ("long_to_global_kv", "global_to_long_kv"):
                weights[f"{name}.{kind}"] = weights[f"qkv.{kind}"][8:]
        if not shared_output:
            weights[f"global_output.{kind}"] = weights[f"output.{kind}"]
    separate.load_state_dict(weights)
    inputs = (*streams(), plain_layout())
    torch.testing.assert_close(separate(*inputs), shared(*inputs))


def test_every_projection_is_used_where_it_should_be():
    """Which output changes when one projection changes."""
    core, inputs = etc(sharing="none"), (*streams(), plain_layout())
    before = core(*inputs)
    changed = {}
    for name, _ in core.named_children():
        other = copy.deepcopy(core)
        for parameter in getattr(other, name).parameters():
            torch.nn.init.normal_(parameter)
        changed[name] = tuple(
            not torch.equal(a, b) for a, b in zip(before, other(*inputs), strict=True)
        )
    assert changed == {
        "qkv": (True, False),
        "long_to_global_kv": (True, False),
        "global_qkv": (False, True),
        "global_to_long_kv": (False, True),
        "output": (True, False),
        "global_output": (False, True),
        "long_labels": (True, False),
        "global_labels": (False, True),
    }


def test_new_label_tables():
    table = BigBirdEtc(64, 4, EtcPattern()).long_labels
    assert tuple(table.embeddings.shape) == (28, 4, 16)
    assert (table.biases == 0).all()
    assert table.embeddings.abs().max() <= 1
    # A normal distribution cut at two deviations has 0.88 of its deviation; 1,792 values.
    assert table.embeddings.std().item() == pytest.approx(0.44, abs=0.03)
    assert BigBirdEtc(64, 4, EtcPattern(max_distance=24)).long_labels.biases.shape == (52, 4)


@pytest.mark.parametrize("backend", ["dense", "blocked"])
def test_dropout_keeps_the_mean_and_only_in_training(backend):
    core, copies = etc(dropout_p=0.4, backend=backend), 800
    x_long, x_global = streams(batch=1)
    many = core.train()(
        x_long.expand(copies, -1, -1), x_global.expand(copies, -1, -1), plain_layout(copies)
    )
    plain = core.eval()(x_long, x_global, plain_layout(1))
    for drawn, exact in zip(many, plain, strict=True):
        five_sigma = 5 * drawn.std(dim=0) / copies**0.5
        assert not torch.equal(drawn[0], drawn[1])
        assert ((drawn.mean(dim=0) - exact[0]).abs() < five_sigma + 1e-12).all()
    assert torch.equal(core(x_long, x_global, plain_layout(1))[0], plain[0])


@pytest.mark.parametrize("backend", ["dense", "blocked"])
def test_under_autocast_the_heads_are_bfloat16(backend):
    core, inputs = etc(backend=backend).float(), [x.float() for x in streams()]
    exact = core(*inputs, plain_layout())
    with torch.autocast("cpu", torch.bfloat16):
        rounded = core(*inputs, plain_layout())
    for near, right in zip(rounded, exact, strict=True):
        assert near.dtype == torch.bfloat16
        assert 0 < (near.float() - right).abs().max() < 0.05 * right.abs().max()


def test_a_sequence_gives_the_same_alone_and_in_a_padded_batch():
    core, (x_long, x_global) = etc(backend="blocked"), streams()
    hidden = torch.arange(30) >= torch.tensor([[30], [17]])
    together = core(x_long, x_global, plain_layout(long_padding=hidden))
    layout = plain_layout()
    short = EtcLayout(
        hidden[1:, :17], layout.global_padding[1:], layout.belongs[1:, :17].contiguous()
    )
    alone = core(x_long[1:, :17], x_global[1:], short)
    torch.testing.assert_close(together[0][1, :17], alone[0][0])
    torch.testing.assert_close(together[1][1], alone[1][0])


def test_settings_that_do_not_fit():
    with pytest.raises(ValueError, match="num_heads 3 does not divide hidden_size 8"):
        BigBirdEtc(8, 3, SMALL)
    with pytest.raises(ValueError, match="sharing='all': expected 'qkv', 'kv' or 'none'"):
        BigBirdEtc(8, 2, SMALL, sharing="all")
