"""The character model: size, who has influence on whom, windows, settings."""

import pytest
import torch

from dna_bigbird.models.character_config import SMALL_WINDOWS, CharacterConfig
from dna_bigbird.models.character_model import CharacterModel

TINY = CharacterConfig(
    vocab_size=5, hidden_size=8, num_heads=2, ffn_size=16, causal_windows=[3, 4], dilations=[1, 2], dilated_heads=1,
    dropout=0.0, init_std=0.3,
)  # fmt: skip


def characters(length=60, batch=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 5, (batch, length), generator=generator)


def parameters(config):
    with torch.device("meta"):
        return sum(p.numel() for p in CharacterModel(config).parameters())


def test_the_last_heads_of_upper_layers_are_dilated():
    assert CharacterConfig().head_dilations(11) == (1, 1, 1, 1, 1, 1, 4, 4)


def test_the_published_sizes():
    """41 M parameters with 12 layers, 102 M with 30 (text8: 27 characters, enwik8: 205)."""
    assert round(parameters(CharacterConfig()) / 1e6) == 41
    large = CharacterConfig(
        vocab_size=205, causal_windows=[32] * 30, dilations=[1] * 15 + [1] * 5 + [2] * 5 + [3] * 5
    )
    assert round(parameters(large) / 1e6) in (102, 103)
    assert round(sum(SMALL_WINDOWS) / 12) == 229  # the published mean is 230


def test_a_prediction_depends_on_the_characters_within_reach_and_no_others():
    """By gradients of logits, position by position."""
    model = CharacterModel(TINY).double()
    assert TINY.reach == 3 + 4 * 2
    read = characters(40, batch=1)
    embedded = model.embedding(read).detach().requires_grad_()
    model.embedding.forward = lambda _: embedded
    for position in (0, 7, 25, 39):
        (gradient,) = torch.autograd.grad(model(read)[0, position].sum(), embedded)
        influence = (gradient[0] != 0).any(-1).nonzero()[:, 0].tolist()
        assert max(influence) == position
        assert min(influence) == max(0, position - TINY.reach)


def test_a_prefix_gives_the_same_logits():
    model, read = CharacterModel(TINY).double(), characters()
    torch.testing.assert_close(model(read)[:, :23], model(read[:, :23]))


def test_other_windows_are_another_function_of_the_same_weights():
    model, read = CharacterModel(TINY), characters()
    before, weights = model(read), {n: x.clone() for n, x in model.state_dict().items()}
    model.use_windows([6, 8])
    assert model.config.causal_windows == [6, 8]
    assert model.config.reach == 2 * TINY.reach
    assert not torch.allclose(model(read), before)
    assert all(torch.equal(x, weights[n]) for n, x in model.state_dict().items())
    model.use_windows(TINY.causal_windows)
    assert torch.equal(model(read), before)


@pytest.mark.parametrize("softmax", ["tied", "untied"])
def test_the_softmax_shares_the_embeddings_or_not(softmax):
    model = CharacterModel(CharacterConfig(**vars(TINY) | {"softmax": softmax}))
    assert (model.output.weight is model.embedding.weight) == (softmax == "tied")


def test_weights_are_a_function_of_the_seed():
    first, second, other = (CharacterModel(TINY, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(x, second[n]) for n, x in first.items())
    assert not torch.equal(first["embedding.weight"], other["embedding.weight"])


def test_checkpointed_layers_have_the_same_gradients():
    grads = []
    for is_checkpointed in (False, True):
        config = CharacterConfig(
            **vars(TINY) | {"gradient_checkpointing": is_checkpointed, "dropout": 0.3}
        )
        model = CharacterModel(config).train()
        torch.manual_seed(0)
        model(characters()).square().sum().backward()
        grads.append([p.grad for p in model.parameters()])
    for one, two in zip(*grads, strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"causal_windows": [3]}, "--model.causal_windows has 1 layers, --model.dilations 2"),
        ({"causal_windows": [3, 0]}, r"--model.causal_windows 0"),
        ({"dilations": [1, 1.5]}, r"dilations=1.5: expected a whole number"),
        ({"num_heads": 3}, "--model.hidden_size 8 must be even and a multiple of --model.num_heads 3"),
        ({"dilated_heads": 3}, "--model.dilated_heads 3"),
        ({"dropout": 1.0}, "--model.dropout 1.0"),
        ({"ffn_size": 0}, "--model.ffn_size 0"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        CharacterConfig(**vars(TINY) | changes)
