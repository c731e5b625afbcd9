"""The head that reads the window from its middle: against loops, with padding, as it learns distances."""

import math
from dataclasses import asdict

import pytest
import torch

from dna_bigbird.models.config import EncoderConfig, HeadConfig, stored_head
from dna_bigbird.models.heads import KNOTS, OUTSIDE, AttentionPooler, LabelHead, bands
from dna_bigbird.models.stored_settings import settings_from

E, K, REACH = 8, 3, 40


def fresh_pooler(seed: int = 0, queries: int = K, reach: int = REACH) -> AttentionPooler:
    generator = torch.Generator().manual_seed(seed)
    pooler = AttentionPooler(E, centre_tokens=4, queries=queries, reach_tokens=reach)
    with torch.no_grad():
        for parameter in pooler.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return pooler


def by_hand(pooler: AttentionPooler, hidden_TE: torch.Tensor) -> torch.Tensor:
    """One window without padding, one query and one token at a time."""
    tokens = len(hidden_TE)
    middle = (tokens - 1) / 2
    centre = hidden_TE[[t for t in range(tokens) if abs(t - middle) <= 2]].mean(dim=0)
    parts = [centre]
    queries = (pooler.query.weight @ centre + pooler.query.bias).reshape(K, E)
    for query, profile in zip(queries, pooler.profiles_KD, strict=True):
        weights = []
        for t in range(tokens):
            knot = min(abs(t - middle), REACH) / REACH * (KNOTS - 1)
            below = min(int(knot), KNOTS - 2)
            share = knot - below
            bias = (1 - share) * profile[below] + share * profile[below + 1]
            weights.append(math.exp(float((query @ hidden_TE[t] / math.sqrt(E) + bias).detach())))
        parts.append(sum(w * h for w, h in zip(weights, hidden_TE, strict=True)) / sum(weights))
    return torch.cat(parts)


@pytest.mark.parametrize("tokens", [1, 2, 31, 120])
def test_it_is_the_formula(tokens):
    pooler = fresh_pooler()
    hidden = torch.randn(1, tokens, E, generator=torch.Generator().manual_seed(tokens))
    pooled = pooler(hidden, torch.zeros(1, tokens, dtype=torch.bool))
    torch.testing.assert_close(pooled[0], by_hand(pooler, hidden[0]), rtol=1e-4, atol=1e-5)


def test_padding_anywhere_changes_nothing():
    pooler = fresh_pooler()
    hidden = torch.randn(1, 50, E, generator=torch.Generator().manual_seed(1))
    alone = pooler(hidden, torch.zeros(1, 50, dtype=torch.bool))
    padded = torch.full((1, 80, E), 100.0)
    is_padding = torch.ones(1, 80, dtype=torch.bool)
    at = [t for t in range(55) if t not in (0, 7, 8, 30, 31)]
    padded[0, at], is_padding[0, at] = hidden[0], False
    torch.testing.assert_close(pooler(padded, is_padding), alone, rtol=1e-5, atol=1e-5)


def test_fresh_queries_read_bands_of_the_window():
    """With content off, query k gives the k-th tenth of the reach nearly all of its weight."""
    queries, reach = 4, 128
    pooler = AttentionPooler(E, centre_tokens=4, queries=queries, reach_tokens=reach)
    torch.nn.init.zeros_(pooler.query.weight)
    torch.nn.init.zeros_(pooler.query.bias)
    tokens = 2 * reach + 1
    distance = (torch.arange(tokens) - reach).abs()
    for k in range(queries):
        hidden = torch.zeros(1, tokens, E)
        hidden[0, (distance >= k * 32) & (distance < (k + 1) * 32), 0] = 1
        pooled = pooler(hidden, torch.zeros(1, tokens, dtype=torch.bool)).reshape(1 + queries, E)
        assert pooled[1 + k, 0] > 0.8
        others = [1 + j for j in range(queries) if j != k]
        assert pooled[others, 0].max() < 0.15


def test_bands_share_the_knots():
    profiles = bands(8, KNOTS)
    assert set(profiles.unique().tolist()) == {0.0, OUTSIDE}
    assert (profiles == 0).sum(dim=0).tolist() == [1] * KNOTS
    assert (profiles == 0).sum(dim=1).tolist() == [KNOTS // 8] * 8


def test_a_token_at_the_right_distance_is_learned_where_counts_say_nothing():
    """One marked token per window, near or far: its distance is the label, its presence is not."""
    generator = torch.Generator().manual_seed(0)
    rows, tokens = 256, 101
    labels = torch.arange(rows) % 2
    hidden = torch.zeros(rows, tokens, E)
    hidden[..., 1] = 1.0
    distance = torch.where(
        labels == 1,
        torch.randint(15, 30, (rows,), generator=generator),
        torch.randint(34, 49, (rows,), generator=generator),
    )
    side = torch.randint(2, (rows,), generator=generator) * 2 - 1
    hidden[torch.arange(rows), 50 + side * distance] = torch.eye(E)[0]
    is_padding = torch.zeros(rows, tokens, dtype=torch.bool)
    config = HeadConfig(
        pooling="attention", centre_tokens=4, queries=4, reach_tokens=50, dropout=0.0
    )
    head = LabelHead(E, 1, config)
    for module in head.modules():
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.normal_(module.weight, std=0.2, generator=generator)
            torch.nn.init.zeros_(module.bias)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.05)
    train = torch.arange(rows) < rows // 2
    for _ in range(60):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            head(hidden[train], is_padding[train])[:, 0], labels[train].float()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        called = head(hidden[~train], is_padding[~train])[:, 0] > 0
    assert (called == (labels[~train] == 1)).float().mean() > 0.95
    # The mean over all tokens is the same in every window.
    assert hidden.mean(dim=1).std(dim=0).max() == 0


def test_files_of_other_heads_have_no_settings_of_attention():
    for pooling in ("cls", "mean", "centre"):
        stored = stored_head(HeadConfig(pooling=pooling))
        assert sorted(stored) == ["activation", "centre_tokens", "dropout", "pooling"]
        assert settings_from(HeadConfig, stored) == HeadConfig(pooling=pooling)
    head = HeadConfig(pooling="attention", queries=5, reach_tokens=70)
    of_others = {"parts", "part_value", "label_rank", "bin_bp", "bins_at_once", "crop_bp", "loss"}
    assert stored_head(head) == {k: v for k, v in asdict(head).items() if k not in of_others}
    assert settings_from(HeadConfig, stored_head(head)) == head


def test_width_of_the_last_layer():
    encoder = EncoderConfig(hidden_size=E, num_heads=1)
    head = LabelHead(encoder.hidden_size, 7, HeadConfig(pooling="attention", queries=5))
    assert head.dense.weight.shape == (7, 6 * E)


@pytest.mark.parametrize("name", ["queries", "reach_tokens"])
def test_sizes_below_one_are_refused(name):
    with pytest.raises(ValueError, match=f"--head.{name} 0"):
        HeadConfig(pooling="attention", **{name: 0})
