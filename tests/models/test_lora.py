"""Low-rank adaptation: against products by hand and a full update in closed form."""

import copy

import pytest
import torch

from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.lora import LowRank, adapt, freeze, merge
from dna_bigbird.models.lora_config import LoraConfig

CONFIG = EncoderConfig(
    vocab_size=12, hidden_size=8, num_layers=2, num_heads=2, ffn_size=16, max_tokens=16,
    block_size=4, num_random=1, dropout=0.0, init_std=0.5,
)  # fmt: skip
ALL = ["query", "key", "value", "output", "ffn"]
IDS = torch.tensor([[2, 5, 6, 7, 8, 9, 3, 0], [2, 7, 7, 5, 3, 0, 0, 0]])


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def spread(module):
    """Give the products values, as training would."""
    for number, (name, parameter) in enumerate(module.named_parameters()):
        if ".up." in name:
            parameter.data = torch.randn(parameter.shape, generator=seeded(number))


@pytest.mark.parametrize("targets", [["query"], ["query", "value"], ["output", "ffn"], ALL])
def test_merged_gives_what_unmerged_gives(targets):
    model = SequenceClassifier(CONFIG, 3, HeadConfig(pooling="mean", dropout=0.0)).eval()
    plain = copy.deepcopy(model)
    before = model(IDS, IDS == 0)
    adapt(model.encoder, LoraConfig(rank=2, alpha=3.0, targets=targets), seeded())
    assert torch.equal(model(IDS, IDS == 0), before), "products begin at 0"
    spread(model)
    after = model(IDS, IDS == 0)
    assert (after - before).abs().max() > 1e-3
    merge(model)
    assert torch.allclose(model(IDS, IDS == 0), after, atol=1e-6)
    assert list(model.state_dict()) == list(plain.state_dict()), "an ordinary model"
    assert SequenceClassifier(CONFIG, 3, HeadConfig(pooling="mean")).load_state_dict(
        model.state_dict()
    )


def test_only_the_named_rows_change_by_the_scaled_product():
    encoder = Encoder(CONFIG)
    weight = encoder.layers[0].attention.qkv.weight.detach().clone()
    adapt(encoder, LoraConfig(rank=2, alpha=3.0, targets=["key"]), seeded())
    spread(encoder)
    qkv = encoder.layers[0].attention.qkv
    (product,) = qkv.parametrizations.weight
    up, down = product.up[0].detach(), product.down[0].detach()
    expected = weight.clone()
    for row in range(8):
        for column in range(8):
            added = sum(up[row, r] * down[r, column] for r in range(2))
            expected[8 + row, column] += 3.0 / 2 * added
    assert torch.allclose(qkv.weight, expected, atol=1e-6)
    trained = {name for name, p in encoder.named_parameters() if p.requires_grad}
    assert trained == {
        f"layers.{layer}.attention.qkv.parametrizations.weight.0.{part}.0"
        for layer in (0, 1)
        for part in ("up", "down")
    }


def test_a_step_of_full_rank_with_an_orthogonal_factor_is_a_step_of_the_matrix():
    """With B = 0 and A'A = 1, one step of gradient descent on B moves W by -rate * dL/dW."""
    weight = torch.randn(5, 6, generator=seeded(1), dtype=torch.float64).requires_grad_()
    x = torch.randn(7, 6, generator=seeded(2), dtype=torch.float64)
    target = torch.randn(7, 5, generator=seeded(3), dtype=torch.float64)
    loss = ((x @ weight.T - target) ** 2).sum()
    loss.backward()
    full = weight - 0.01 * weight.grad
    product = LowRank([(0, 5)], 6, 6, 1.0, seeded(4)).double()
    product.down[0].data = torch.linalg.qr(torch.randn(6, 6, generator=seeded(5)).double())[0]
    ((x @ product(weight.detach()).T - target) ** 2).sum().backward()
    with torch.no_grad():
        product.up[0] -= 0.01 * product.up[0].grad
    assert torch.allclose(product(weight.detach()), full, atol=1e-12)


def test_frozen_weights_have_no_gradient():
    model = SequenceClassifier(CONFIG, 3, HeadConfig(pooling="mean"))
    freeze(model.encoder)
    model(IDS, IDS == 0).sum().backward()
    assert all(p.grad is None for p in model.encoder.parameters())
    assert all(p.grad is not None for p in model.head.parameters())


def test_what_cannot_be_adapted_is_refused():
    with pytest.raises(ValueError, match=r"--lora.rank 9 is larger than the width 8"):
        adapt(Encoder(CONFIG), LoraConfig(rank=9), seeded())
    bare = Encoder(EncoderConfig(vocab_size=12, hidden_size=8, num_heads=2, num_layers=0))
    with pytest.raises(ValueError, match="the encoder has no layers to adapt"):
        adapt(bare, LoraConfig(rank=1), seeded())
    for settings, message in (
        ({"rank": -1}, "--lora.rank -1"),
        ({"alpha": 0.0}, "--lora.alpha 0.0"),
        ({"targets": []}, "expected one or more, each once"),
        ({"targets": ["key", "key"]}, "expected one or more, each once"),
    ):
        with pytest.raises(ValueError, match=message):
            LoraConfig(**settings)
