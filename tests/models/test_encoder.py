"""The encoder against PyTorch's own transformer, and its promises on ragged batches."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from dna_bigbird.attention.patterns import bigbird_itc
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder

CONFIG = EncoderConfig(
    vocab_size=50, hidden_size=16, num_layers=2, num_heads=2, ffn_size=24, max_tokens=100,
    block_size=8, num_random=1, dropout=0.0,
)  # fmt: skip
COVERED = replace(CONFIG, num_random=20)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def spread_out(model, seed=3):
    """Fresh weights are so small that every attention is a mean; larger ones tell more."""
    g = generator(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=g), alpha=0.3)
    return model


def batch(lengths, width=None, seed=1):
    width = width or max(lengths)
    ids = torch.randint(5, 50, (len(lengths), width), generator=generator(seed))
    is_padding = torch.arange(width) >= torch.tensor(lengths)[:, None]
    segments = (torch.arange(width) > width // 3).long().expand(len(lengths), -1)
    return ids.masked_fill(is_padding, 0), is_padding, segments.masked_fill(is_padding, 0)


def reference(encoder: Encoder, ids, is_padding, segments, times_of_layers=None):
    """nn.TransformerEncoderLayer with the same weights: full attention.

    Args:
        times_of_layers: How often each query counts each key, one (heads, tokens, tokens) a layer;
            by default once.
    """
    c, own = encoder.config, encoder.state_dict()
    x = own["word.weight"][ids] * (4.0 if c.scale_embeddings else 1.0)
    x = x + own["position.weight"][: ids.shape[1]]
    if c.num_segments:
        x = x + own["segment.weight"][segments]

    def norm(x):
        return nn.functional.layer_norm(x, (16,), own["norm.weight"], own["norm.bias"], c.norm_eps)

    x = x if c.norm_first else norm(x)
    activations = {
        "gelu": nn.functional.gelu,
        "gelu_tanh": lambda x: nn.functional.gelu(x, approximate="tanh"),
        "relu": nn.functional.relu,
    }
    names = {
        "attention.qkv": "self_attn.in_proj_", "attention.output": "self_attn.out_proj.",
        "attention_norm": "norm1.", "ffn_in": "linear1.", "ffn_out": "linear2.", "ffn_norm": "norm2.",
    }  # fmt: skip
    for i in range(c.num_layers):
        layer = nn.TransformerEncoderLayer(
            c.hidden_size, c.num_heads, c.ffn_size, dropout=0.0, layer_norm_eps=c.norm_eps,
            activation=activations[c.activation], batch_first=True, norm_first=c.norm_first,
        )  # fmt: skip
        layer.load_state_dict(
            {
                theirs + kind: own.get(
                    f"layers.{i}.{ours}.{kind}", layer.state_dict()[theirs + kind]
                )
                for ours, theirs in names.items()
                for kind in ("weight", "bias")
            }
        )
        weights = None
        if times_of_layers is not None:
            weights = times_of_layers[i].to(x.dtype).log().repeat(len(ids), 1, 1)
        hidden = torch.zeros(ids.shape, dtype=x.dtype).masked_fill(is_padding, -torch.inf)
        x = layer.to(x.dtype)(x, src_mask=weights, src_key_padding_mask=hidden)
    x = norm(x) if c.norm_first else x
    return x.masked_fill(is_padding[..., None], 0.0)


@pytest.mark.parametrize("lengths", [[40, 40], [24, 24, 24], [37, 9, 22, 40]])
def test_equals_torch_transformer_when_the_pattern_covers_everything(lengths):
    encoder = spread_out(Encoder(COVERED)).double()
    inputs = batch(lengths)
    torch.testing.assert_close(encoder(*inputs), reference(encoder, *inputs), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "change",
    [
        {"activation": "gelu"},
        {"activation": "relu", "norm_eps": 0.1},
        {"scale_embeddings": True, "num_segments": 5},
        {"norm_first": True},
        {"norm_first": True, "qkv_bias": False, "output_bias": False, "num_segments": 0},
    ],
    ids=str,
)
def test_options_equal_those_of_torch(change):
    encoder = spread_out(Encoder(replace(COVERED, **change))).double()
    ids, is_padding, segments = batch([100, 37, 9, 90])
    count = max(encoder.config.num_segments, 1)
    segments = (segments + torch.arange(100) % count) % count
    expected = reference(encoder, ids, is_padding, segments)
    torch.testing.assert_close(encoder(ids, is_padding, segments), expected, rtol=0, atol=1e-10)
    assert not torch.allclose(
        reference(spread_out(Encoder(COVERED)).double(), ids, is_padding, segments % 2), expected
    )


def test_full_attention_whatever_the_length():
    encoder = spread_out(Encoder(replace(CONFIG, attention="full", num_random=0))).double()
    inputs = batch([100, 37, 9, 90])
    torch.testing.assert_close(encoder(*inputs), reference(encoder, *inputs), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "change",
    [
        {"window_blocks": 5, "global_blocks": "first_two"},
        {"window_blocks": 0},
        {"window_blocks": 1, "global_blocks": "none", "num_random": 2},
        {"random_plan": "original"},
        {"random_plan": "huggingface"},
        {"random_plan": "original", "global_blocks": "first_two"},
        {"random_plan": "huggingface", "global_blocks": "first_two"},
    ],
    ids=str,
)
def test_sparse_equals_torch_with_the_logarithm_of_the_counts(change):
    encoder = spread_out(Encoder(replace(CONFIG, **change))).double().eval()
    ids, is_padding, segments = batch([98, 97])
    is_padding[1, 20:30] = True
    times = []
    for i in range(2):
        options = {"window_blocks": 3, "global_blocks": "first_last", "num_random": 1} | change
        r, plan = options.pop("num_random"), options.pop("random_plan", "uniform")
        table = bigbird_itc(13, 8, r, 2, plan, i, table_tokens=100, **options).times()
        times.append(torch.from_numpy(table.repeat(8, 1).repeat(8, 2)[:, :98, :98]))
    expected = reference(encoder, ids, is_padding, segments, times)
    torch.testing.assert_close(encoder(ids, is_padding, segments), expected, rtol=0, atol=1e-10)


def test_queries_keys_and_values_without_bias():
    """As with a bias of zero; the output keeps its own."""
    without = Encoder(replace(CONFIG, qkv_bias=False))
    missing = set(Encoder(CONFIG).state_dict()) - set(without.state_dict())
    assert missing == {f"layers.{i}.attention.qkv.bias" for i in range(2)}
    spread_out(without)
    zero = Encoder(CONFIG)
    zero.load_state_dict(without.state_dict(), strict=False)  # fresh biases are zero
    assert torch.equal(without(*batch([80, 33])), zero(*batch([80, 33])))


def test_sparse_differs_from_the_transformer():
    encoder = spread_out(Encoder(CONFIG)).double()
    inputs = batch([80])
    assert (encoder(*inputs) - reference(encoder, *inputs)).abs().max() > 0.01


OWN = [
    {},
    {"window_blocks": 5, "global_blocks": "first_two"},
    {"window_blocks": 1, "global_blocks": "none"},
    {"window_blocks": 0},
    {"attention": "full"},
]


@pytest.mark.parametrize("change", OWN, ids=str)
@pytest.mark.parametrize("width", [97, 100])
def test_a_sequence_scores_the_same_alone_and_beside_others(change, width):
    encoder = spread_out(Encoder(replace(CONFIG, **change)))
    lengths = [97, 3, 64, 65, 40, 8, 96, 1, 57]
    ids, is_padding, segments = batch(lengths, width)
    together = encoder(ids, is_padding, segments)
    for row, length in enumerate(lengths):
        cut = [x[row : row + 1, :length] for x in (ids, is_padding, segments)]
        torch.testing.assert_close(together[row, :length], encoder(*cut)[0], rtol=0, atol=1e-5)
        assert (together[row, length:] == 0).all()


def test_gradients_are_the_same_alone_and_beside_others():
    encoder = spread_out(Encoder(CONFIG)).double()
    lengths = [70, 12, 64, 33]
    ids, is_padding, segments = batch(lengths)
    weight = torch.randn(4, 70, 16, generator=generator(2)).double()
    (encoder(ids, is_padding, segments) * weight).sum().backward()
    together = {name: p.grad.clone() for name, p in encoder.named_parameters()}
    encoder.zero_grad()
    for row, length in enumerate(lengths):
        cut = [x[row : row + 1, :length] for x in (ids, is_padding, segments)]
        (encoder(*cut) * weight[row, :length]).sum().backward()
    for name, parameter in encoder.named_parameters():
        torch.testing.assert_close(parameter.grad, together[name], rtol=0, atol=1e-9)


def test_ids_and_segments_at_padding_have_no_influence():
    encoder = spread_out(Encoder(CONFIG))
    ids, is_padding, segments = batch([45, 80, 17])
    other = ids.masked_fill(is_padding, 44), is_padding, segments.masked_fill(is_padding, 1)
    torch.testing.assert_close(encoder(*other), encoder(ids, is_padding, segments))


def test_padding_between_tokens_is_hidden():
    encoder = spread_out(Encoder(COVERED)).double()
    ids, is_padding, segments = batch([40, 33])
    is_padding[0, 5:20] = True
    expected = reference(encoder, ids, is_padding, segments)
    torch.testing.assert_close(encoder(ids, is_padding, segments), expected, rtol=0, atol=1e-10)


def test_a_row_of_padding_alone_is_zero_and_harmless():
    encoder = spread_out(Encoder(CONFIG))
    inputs = batch([30, 0, 80])
    hidden = encoder(*inputs)
    assert (hidden[1] == 0).all()
    hidden.sum().backward()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())


def test_default_segment_is_0():
    encoder = Encoder(CONFIG)
    ids, is_padding, segments = batch([30, 64])
    assert torch.equal(encoder(ids, is_padding), encoder(ids, is_padding, segments * 0))
    assert not torch.equal(encoder(ids, is_padding), encoder(ids, is_padding, segments))


def test_same_function_in_training_and_evaluation_without_dropout():
    encoder = spread_out(Encoder(CONFIG))
    inputs = batch([80, 33])
    assert torch.equal(encoder.train()(*inputs), encoder.eval()(*inputs))


def test_dropout_only_in_training():
    encoder = Encoder(replace(CONFIG, dropout=0.5))
    inputs = batch([80, 33])
    assert not torch.equal(encoder.train()(*inputs), encoder(*inputs))
    assert torch.equal(encoder.eval()(*inputs), encoder(*inputs))


def test_attention_dropout_only_in_training():
    encoder = spread_out(Encoder(replace(CONFIG, attention_dropout=0.5)))
    inputs = batch([80, 33])
    assert not torch.allclose(encoder.train()(*inputs), encoder(*inputs))
    plain = Encoder(CONFIG)
    plain.load_state_dict(encoder.state_dict())
    assert torch.equal(encoder.eval()(*inputs), plain(*inputs))


@pytest.mark.parametrize("plan", ["uniform", "huggingface"])
def test_gradient_checkpointing_changes_nothing(plan):
    inputs = batch([80, 33])
    gradients = []
    for keep in (True, False):
        encoder = Encoder(
            replace(
                CONFIG, gradient_checkpointing=not keep, dropout=0.1, attention_dropout=0.1,
                random_plan=plan,
            )
        )  # fmt: skip
        torch.manual_seed(5)  # of the dropout
        encoder.train()(*inputs).square().sum().backward()
        gradients.append([p.grad for p in encoder.parameters()])
    for plain, recomputed in zip(*gradients, strict=True):
        torch.testing.assert_close(recomputed, plain)


def test_weights_are_a_pure_function_of_the_generator():
    torch.manual_seed(1)
    first = Encoder(CONFIG, generator(4)).state_dict()
    torch.manual_seed(2)
    second, other = Encoder(CONFIG, generator(4)).state_dict(), Encoder(CONFIG).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["word.weight"], other["word.weight"])


def test_initial_weights_follow_the_specification():
    """Kernels and embeddings: normal, sigma 0.02, cut at two sigma; biases 0; norms 1 and 0."""
    encoder = Encoder(replace(CONFIG, hidden_size=128, ffn_size=256))
    for name, weight in encoder.state_dict().items():
        if name.endswith("bias"):
            assert (weight == 0).all()
        elif "norm" in name:
            assert (weight == 1).all()
        else:
            assert weight.abs().max() <= 0.04
            if weight.numel() > 5000:
                # Standard deviation of a normal cut at two sigma: 0.8796 sigma.
                assert weight.std().item() == pytest.approx(0.02 * 0.8796, rel=0.03)


def test_pattern_seed_changes_the_function():
    encoders = [spread_out(Encoder(replace(CONFIG, pattern_seed=seed))) for seed in (0, 1)]
    long, short = batch([80]), batch([30])
    assert not torch.allclose(encoders[0](*long), encoders[1](*long))
    assert torch.equal(encoders[0](*short), encoders[1](*short))  # four blocks are covered
    seeds = {layer.attention.rule.seed for e in encoders for layer in e.layers}
    assert len(seeds) == 4


@pytest.mark.parametrize("plan", ["uniform", "original"])
def test_every_layer_has_its_own_pattern(plan):
    encoder = Encoder(replace(CONFIG, random_plan=plan, num_layers=4))
    tables = {layer.attention.pattern(100).key_blocks.tobytes() for layer in encoder.layers}
    assert len(tables) == 4


def test_original_plan_is_seeded_with_the_layer_index():
    encoder = Encoder(replace(CONFIG, random_plan="original", pattern_seed=9))
    for index, layer in enumerate(encoder.layers):
        assert layer.attention.pattern(100) is bigbird_itc(13, 8, 1, 2, "original", index)


@pytest.mark.parametrize("lengths", [[80, 80], [70, 12, 64]])
def test_bfloat16_autocast(lengths):
    encoder = spread_out(Encoder(CONFIG))
    inputs = batch(lengths)
    exact = encoder(*inputs)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = encoder(*inputs)
        loss = hidden.square().mean()
    loss.backward()
    assert (hidden.float() - exact).abs().mean() < 0.05 * exact.abs().mean()
    assert all(p.grad.dtype == torch.float32 for p in encoder.parameters())
    assert all(p.grad.isfinite().all() for p in encoder.parameters())


def test_backend_of_every_layer():
    """Another backend is the same function at another cost, and nothing that is stored."""
    encoder = spread_out(Encoder(CONFIG)).double()
    inputs, before = batch([80, 33]), encoder.config
    expected = encoder(*inputs)
    assert encoder.layers[0].attention.backend == "auto"
    encoder.set_backend("dense")
    assert {layer.attention.backend for layer in encoder.layers} == {"dense"}
    torch.testing.assert_close(encoder(*inputs), expected, rtol=0, atol=1e-10)
    assert encoder.config == before
    with pytest.raises(ValueError, match=r"backend must be one of auto, dense, .*; got 'fast'"):
        encoder.set_backend("fast")
    assert {layer.attention.backend for layer in encoder.layers} == {"dense"}


def test_longer_than_max_tokens():
    encoder = Encoder(CONFIG)
    encoder(*batch([100], width=130))  # what is too long is padding
    with pytest.raises(ValueError, match="a sequence has 101 tokens, the model reads at most 100"):
        encoder(*batch([20, 101]))


def test_shapes_must_agree():
    ids, is_padding, segments = batch([40, 30])
    with pytest.raises(ValueError, match=r"is_padding is \(2, 39\), token_ids \(2, 40\)"):
        Encoder(CONFIG)(ids, is_padding[:, 1:])
    with pytest.raises(ValueError, match=r"segment_ids is \(1, 40\)"):
        Encoder(CONFIG)(ids, is_padding, segments[:1])


def test_a_fixed_position_table_does_not_train():
    encoder = Encoder(replace(CONFIG, train_positions=False))
    fixed = [name for name, p in encoder.named_parameters() if not p.requires_grad]
    assert fixed == ["position.weight"]
