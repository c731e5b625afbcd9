"""Effects of tokens: finite differences of a table of their own, sums that are the difference, constant weights."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from dna_bigbird.attention.cores import Performer
from dna_bigbird.models.attention_config import EtcConfig
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.prediction.attribution.embedding_gradients import VectorGradients, constant_weights

SMALL = {
    "vocab_size": 12, "hidden_size": 16, "num_layers": 2, "num_heads": 2, "ffn_size": 24, "max_tokens": 64,
    "block_size": 4, "num_random": 1, "dropout": 0.0, "init_std": 0.4,
}  # fmt: skip
MODELS = {
    "published": {},
    "ours": {"positions": "rotary", "norm_first": True, "stem_width": 3, "qk_norm": True, "num_segments": 0},
    "letters": {"positions": "rotary", "norm_first": True, "stem_width": 3, "scale_embeddings": True},
    "patches": {"positions": "rotary", "stem_width": 3, "patch_tokens": 2, "norm_first": True},
    "full": {"attention": "full"},
    "longformer": {"attention": "longformer"},
    "performer": {"attention": "performer"},
    "etc": {"attention": "etc", "etc": EtcConfig(radius=4, tokens_per_global=4)},
}  # fmt: skip


def classifier(settings):
    config = EncoderConfig(**SMALL | settings)
    model = SequenceClassifier(config, 2, HeadConfig(pooling="mean"), seed=1).double().eval()
    for layer in model.encoder.layers:
        if isinstance(layer.attention, Performer):
            # Its stabiliser counts as a constant, which changes gradients only where epsilon is not 0.
            layer.attention.favor = replace(layer.attention.favor, epsilon=0.0)
    return model


def batch_of(lengths=(9, 14)):
    """Tokens with [CLS], [SEP] and padding; which of them are words."""
    rng = np.random.default_rng(3)
    width = max(lengths) + 2
    ids = np.zeros((len(lengths), width), np.int64)
    is_word = np.zeros(ids.shape, bool)
    for row, length in enumerate(lengths):
        ids[row, : length + 2] = [2, *rng.integers(5, 12, length), 3]
        is_word[row, 1 : length + 1] = True
    is_padding = np.arange(width) >= np.array(lengths)[:, None] + 2
    return torch.from_numpy(ids), torch.from_numpy(is_padding), torch.from_numpy(is_word)


def gradients_of(model):
    reference = model.encoder.word.weight.detach()[5:].mean(0)
    return VectorGradients(model, lambda outputs: outputs, reference, torch.tensor([5, 6]))


class OwnTable:
    """The same model whose every token has a row of its own in the table of words."""

    def __init__(self, settings, token_ids_BT, is_padding_BT):
        self.model = classifier(settings)
        self.is_padding_BT = is_padding_BT
        self.vectors_BTE = self.model.encoder.word.weight.detach()[token_ids_BT].clone()
        self.ids_BT = torch.arange(token_ids_BT.numel()).view_as(token_ids_BT)
        self.model.encoder.letters_at_once = False  # the table has many rows

    def logits(self, vectors_BTE):
        self.model.encoder.word = torch.nn.Embedding.from_pretrained(vectors_BTE.flatten(0, 1))
        with torch.inference_mode():
            return self.model(self.ids_BT, self.is_padding_BT)


@pytest.mark.parametrize("name", MODELS)
def test_effects_are_finite_differences(name):
    """Along the line from the reference to the vector of a token."""
    token_ids, is_padding, is_word = batch_of()
    model = classifier(MODELS[name])
    gradients = gradients_of(model)
    found = gradients.gradient(token_ids, is_padding, is_word)
    own = OwnTable(MODELS[name], token_ids, is_padding)
    assert torch.allclose(found.logits, own.logits(own.vectors_BTE), atol=1e-12)
    step = 1e-5
    for row, column in [(0, 1), (0, 9), (1, 5), (1, 14)]:
        for effect, away in [
            (found.effects[row, column], own.vectors_BTE[row, column] - gradients.reference),
            (found.of_candidates[row, column, 1], model.encoder.word.weight[6] - gradients.reference),
        ]:  # fmt: skip
            sides = []
            for sign in (1, -1):
                vectors = own.vectors_BTE.clone()
                vectors[row, column] += sign * step * away.detach()
                sides.append(own.logits(vectors)[row])
            assert torch.allclose(effect, (sides[0] - sides[1]) / (2 * step), atol=1e-7)
    assert not found.effects[~is_word].any()
    assert not found.of_candidates[~is_word].any()


@pytest.mark.parametrize("name", MODELS)
def test_integrated_gradients_add_up_to_the_difference(name):
    token_ids, is_padding, is_word = batch_of()
    gradients = gradients_of(classifier(MODELS[name]))
    found = gradients.integrated(token_ids, is_padding, is_word, 128)
    own = OwnTable(MODELS[name], token_ids, is_padding)
    reference = torch.where(is_word[..., None], gradients.reference, own.vectors_BTE)
    difference = own.logits(own.vectors_BTE) - own.logits(reference)
    assert difference.abs().max() > 0.05
    # The maximum of a patch has corners, where a rule of few points is less exact.
    tolerance = 1e-2 if name == "patches" else 1e-6
    assert torch.allclose(found.effects.sum(1), difference, rtol=tolerance, atol=1e-9)
    one = gradients.gradient(token_ids, is_padding, is_word)
    assert not torch.allclose(one.effects.sum(1), difference, rtol=tolerance)


def test_the_model_is_as_it_was():
    token_ids, is_padding, is_word = batch_of()
    model = classifier(MODELS["letters"])
    before = model(token_ids, is_padding)
    with constant_weights(model):
        gradients_of(model).gradient(token_ids, is_padding, is_word)
    assert torch.equal(model(token_ids, is_padding), before)
    assert not any(m._forward_hooks for m in model.modules())
    assert model.encoder.letters_at_once
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("norm_first", [False, True])
def test_constant_weights_are_those_of_a_frozen_model(norm_first):
    """A model of one layer of full attention, written again with its weights and divisors given."""
    settings = {"attention": "full", "num_layers": 1, "norm_first": norm_first, "num_segments": 0}
    token_ids, is_padding, is_word = batch_of((10,))
    model = classifier(settings)
    gradients = gradients_of(model)
    with constant_weights(model):
        found = gradients.gradient(token_ids, is_padding, is_word)
    vectors_TE = model.encoder.word.weight.detach()[token_ids[0]]
    kept = {}
    assert torch.allclose(frozen(model, vectors_TE, kept), found.logits[0], atol=1e-12)
    away_TE = (vectors_TE - gradients.reference) * is_word[0][:, None]
    step = 1e-5
    for column in (1, 4, 10):
        moved = torch.zeros_like(vectors_TE)
        moved[column] = step * away_TE[column]
        slope = (
            frozen(model, vectors_TE + moved, kept) - frozen(model, vectors_TE - moved, kept)
        ) / (2 * step)
        assert torch.allclose(found.effects[0, column], slope, atol=1e-7)
    free = gradients.gradient(token_ids, is_padding, is_word)
    assert not torch.allclose(free.effects, found.effects, rtol=0.01)


@torch.no_grad()
def frozen(model, vectors_TE, kept):
    """Logits with the attention weights and divisors in `kept`, which are stored at the first call."""
    encoder, layer = model.encoder, model.encoder.layers[0]

    def keep(name, value):
        return kept.setdefault(name, value)

    def norm(module, x, name):
        divisor = keep(name, (x.var(-1, correction=0, keepdim=True) + module.eps).sqrt())
        return (x - x.mean(-1, keepdim=True)) / divisor * module.weight + module.bias

    def attention(x):
        q, k, v = layer.attention.qkv(x).view(len(x), 3, 2, 8).permute(1, 2, 0, 3)
        weights = keep("weights", (q @ k.mT / math.sqrt(8)).softmax(-1))
        return layer.attention.output((weights @ v).transpose(0, 1).flatten(1))

    def feed_forward(x):
        return layer.ffn_out(layer.activation(layer.ffn_in(x)))

    x = vectors_TE + encoder.position.weight[: len(vectors_TE)]
    if encoder.config.norm_first:
        x = x + attention(norm(layer.attention_norm, x, "first"))
        x = x + feed_forward(norm(layer.ffn_norm, x, "second"))
        x = norm(encoder.norm, x, "last")
    else:
        x = norm(encoder.norm, x, "embeddings")
        x = norm(layer.attention_norm, x + attention(x), "first")
        x = norm(layer.ffn_norm, x + feed_forward(x), "second")
    return model.head.dense(x.mean(0))
