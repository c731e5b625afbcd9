"""Plans that repeat published code: the pattern follows the padded width of the batch."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from dna_bigbird.attention.packing import Packing
from dna_bigbird.attention.patterns import bigbird_itc
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder

CONFIG = EncoderConfig(
    vocab_size=40, hidden_size=8, num_layers=1, num_heads=2, ffn_size=12, max_tokens=1024,
    block_size=64, num_random=3, random_plan="huggingface", dropout=0.0,
)  # fmt: skip


def inputs(lengths, width, seed=1):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 40, (len(lengths), width), generator=generator)
    return ids, torch.arange(width) >= torch.tensor(lengths)[:, None]


def encoder(plan="huggingface", **changes):
    model = Encoder(replace(CONFIG, random_plan=plan, **changes))
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
    return model.double().eval()


def by_hand(model, ids, is_padding):
    """One layer over the whole score matrix; each key counts as often as the batch's width says."""
    (B, T), w = ids.shape, model.state_dict()
    pattern = bigbird_itc(
        -(-T // 64), 64, 3, 2, model.config.random_plan, 0, table_tokens=1024,
        training=model.training,
    )  # fmt: skip
    times = torch.from_numpy(pattern.times()).repeat_interleave(64, 1).repeat_interleave(64, 2)
    times = times[:, :T, :T] * ~is_padding[:, None, None]
    x = w["word.weight"][ids] + w["position.weight"][:T] + w["segment.weight"][0]
    x = F.layer_norm(x, (8,), w["norm.weight"], w["norm.bias"], 1e-12)
    layer = {n.removeprefix("layers.0."): v for n, v in w.items() if n.startswith("layers.0.")}
    qkv = F.linear(x, layer["attention.qkv.weight"], layer["attention.qkv.bias"])
    q, k, v = (part.view(B, T, 2, 4).transpose(1, 2) for part in qkv.split(8, dim=2))
    weights = (q @ k.mT / 2).exp() * times
    mixed = (weights / weights.sum(-1, keepdim=True) @ v).transpose(1, 2).reshape(B, T, 8)
    mixed = F.linear(mixed, layer["attention.output.weight"], layer["attention.output.bias"])
    y = F.layer_norm(
        x + mixed, (8,), layer["attention_norm.weight"], layer["attention_norm.bias"], 1e-12
    )
    f = F.gelu(F.linear(y, layer["ffn_in.weight"], layer["ffn_in.bias"]), approximate="tanh")
    f = F.linear(f, layer["ffn_out.weight"], layer["ffn_out.bias"])
    y = F.layer_norm(y + f, (8,), layer["ffn_norm.weight"], layer["ffn_norm.bias"], 1e-12)
    return y.masked_fill(is_padding[..., None], 0.0)


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("plan", ["original", "huggingface"])
@pytest.mark.parametrize("width", [640, 704, 705, 768, 1000, 1024])
def test_the_batch_has_one_pattern_that_follows_its_width(width, plan, training):
    model = encoder(plan).train(training)
    ids, is_padding = inputs([width - 3, 70, 1, 600], width)
    is_padding[3, 100:300] = True
    hidden = model(ids, is_padding)
    torch.testing.assert_close(hidden, by_hand(model, ids, is_padding), rtol=0, atol=1e-9)


@pytest.mark.parametrize("plan", ["original", "huggingface"])
def test_a_sequence_depends_on_the_width_and_on_nothing_else_in_the_batch(plan):
    model = encoder(plan)
    ids, is_padding = inputs([1000, 750, 1], 1000)
    together = model(ids, is_padding)
    alone = torch.cat([model(ids[i : i + 1], is_padding[i : i + 1]) for i in range(3)])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-10)
    unpadded = model(ids[1:2, :750], is_padding[1:2, :750])
    assert (together[1, :750] - unpadded[0]).abs().max() > 1e-3


def test_only_huggingface_computes_something_else_in_training():
    ids, is_padding = inputs([1024], 1024)
    for plan, same in [("huggingface", False), ("original", True), ("uniform", True)]:
        model = encoder(plan)
        in_evaluation = model(ids, is_padding)
        assert torch.allclose(model.train()(ids, is_padding), in_evaluation) == same
    short = inputs([704], 704)
    model = encoder()
    torch.testing.assert_close(model(*short), model.train()(*short))


def test_each_layer_is_seeded_with_its_index_whatever_the_seed_of_the_pattern():
    model = Encoder(replace(CONFIG, num_layers=3, pattern_seed=5)).train()
    for index, layer in enumerate(model.layers):
        expected = bigbird_itc(16, 64, 3, 2, "huggingface", index, table_tokens=1024, training=True)
        assert layer.attention.pattern(1000) is expected


def test_what_is_too_long():
    model = encoder(max_tokens=900)
    with pytest.raises(ValueError, match="a sequence has 901 tokens, the model reads at most 900"):
        model(*inputs([901], 901))
    model(*inputs([900], 900))
    # 1,024 tokens wide: the library's table would have to be as long.
    with pytest.raises(ValueError, match="a table for table_tokens 900 = 14 blocks of 64"):
        model(*inputs([900], 1024))
    encoder("original", max_tokens=900)(*inputs([900], 1024))


def test_packing_of_a_whole_batch():
    is_padding = torch.arange(10) >= torch.tensor([[9], [3], [0]])
    packing = Packing.of(is_padding, block_size=4, max_tokens=10, whole_batch=True)
    (group,) = packing.groups()
    assert (group.num_sequences, group.num_tokens) == (3, 12)
    assert packing.is_padding_P.view(3, 12).equal(F.pad(is_padding, (0, 2), value=True))
    states = torch.randn(36, 5)
    expected = states.view(3, 12, 5)[:, :10].masked_fill(is_padding[..., None], 0)
    assert torch.equal(packing.unpack(states, is_padding), expected)
