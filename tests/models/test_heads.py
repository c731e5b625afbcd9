"""Pretraining and classification heads, rebuilt by hand from the weights."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.heads import CentrePooler, MlmHead, PartsPooler
from dna_bigbird.models.pretraining_model import PretrainingModel

CONFIG = EncoderConfig(
    vocab_size=50, hidden_size=16, num_layers=1, num_heads=2, ffn_size=24, max_tokens=64,
    block_size=4, num_random=1, dropout=0.0,
)  # fmt: skip


@pytest.fixture
def inputs():
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 50, (3, 40), generator=generator)
    is_padding = torch.arange(40) >= torch.tensor([[40], [13], [22]])
    return ids, is_padding, (torch.arange(40) > 10).long().repeat(3, 1)


def test_mlm_logits_at_positions_are_rows_of_all_logits(inputs):
    model = PretrainingModel(CONFIG, seed=1)
    everywhere, _ = model(*inputs, torch.arange(120))
    positions = torch.tensor([0, 39, 41, 52, 101, 41])
    chosen, _ = model(*inputs, positions)
    torch.testing.assert_close(chosen, everywhere[positions])
    # The flat index is row * T + column.
    w = model.state_dict()
    state = model.encoder(*inputs)[1, 12]
    state = F.gelu(w["mlm.dense.weight"] @ state + w["mlm.dense.bias"], approximate="tanh")
    state = F.layer_norm(state, (16,), w["mlm.norm.weight"], w["mlm.norm.bias"], 1e-12)
    torch.testing.assert_close(chosen[3], w["encoder.word.weight"] @ state + w["mlm.bias"])


def test_an_untied_head_has_a_table_of_its_own_and_logits_have_a_cap(inputs):
    """The other weights are those of the tied head, so that the logits can be rebuilt from its."""
    tied = PretrainingModel(CONFIG, seed=1)
    other = PretrainingModel(replace(CONFIG, untied_head=True, logit_cap=1.5), seed=1)
    state = tied.state_dict() | {"mlm.table.weight": 25 * other.mlm.table.weight.detach()}
    other.load_state_dict(state)
    positions = torch.arange(0, 120, 7)
    found, _ = other(*inputs, positions)
    with torch.no_grad():
        hidden = tied.encoder(*inputs).flatten(0, 1)[positions]
        logits = tied.mlm(hidden, state["mlm.table.weight"])
    assert logits.abs().max() > 2
    torch.testing.assert_close(found, 1.5 * torch.tanh(logits / 1.5))
    with pytest.raises(ValueError, match=r"--model.logit_cap -1"):
        replace(CONFIG, logit_cap=-1.0)


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "relu"])
def test_mlm_head_has_the_activation_and_the_norm_of_the_model(name):
    """Rebuilt with all-zero kernels but the identity, on states large enough to tell them apart."""
    head = MlmHead(replace(CONFIG, activation=name, norm_eps=0.5)).double()
    torch.nn.init.eye_(head.dense.weight)
    torch.nn.init.zeros_(head.dense.bias)
    hidden = torch.linspace(-3, 3, 48, dtype=torch.float64).view(3, 16)
    table = torch.eye(50, 16, dtype=torch.float64)
    by_hand = {
        "gelu": lambda x: x / 2 * (1 + torch.erf(x / 2**0.5)),
        "gelu_tanh": lambda x: (
            x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
        ),
        "relu": lambda x: x.clamp(min=0),
    }
    x = by_hand[name](hidden)
    x = (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, correction=0) + 0.5).sqrt()
    torch.testing.assert_close(head(hidden, table)[:, :16], x, rtol=0, atol=1e-12)


def test_no_position_to_predict(inputs):
    logits, nsp = PretrainingModel(CONFIG)(*inputs, torch.empty(0, dtype=torch.long))
    assert logits.shape == (0, 50)
    assert nsp.shape == (3, 2)


def test_word_table_is_tied(inputs):
    """One tensor, in the state once, with gradients from both ends."""
    model = PretrainingModel(CONFIG)
    assert [n for n, p in model.named_parameters() if p.shape == (50, 16)] == [
        "encoder.word.weight"
    ]
    before = model(*inputs, torch.tensor([3]))[0]
    unused = 1  # an id that no input holds
    with torch.no_grad():
        model.encoder.word.weight[unused] += 1
    after = model(*inputs, torch.tensor([3]))[0]
    assert after[0, unused] != before[0, unused]
    after[0].logsumexp(0).backward()
    assert (model.encoder.word.weight.grad[unused] != 0).any()


def test_nsp_reads_the_first_token_through_tanh(inputs):
    model = PretrainingModel(CONFIG, seed=1)
    w = model.state_dict()
    first = model.encoder(*inputs)[:, 0]
    pooled = torch.tanh(first @ w["pooler.dense.weight"].T + w["pooler.dense.bias"])
    expected = pooled @ w["nsp.weight"].T + w["nsp.bias"]
    torch.testing.assert_close(model(*inputs, torch.tensor([0]))[1], expected)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_classifier_head(inputs, pooling):
    model = SequenceClassifier(CONFIG, 7, HeadConfig(pooling=pooling), seed=1).eval()
    w = model.state_dict()
    hidden = model.encoder(*inputs[:2])
    vectors = [
        hidden[row, 0] if pooling == "cls" else hidden[row, :length].mean(dim=0)
        for row, length in enumerate([40, 13, 22])
    ]
    pooled = torch.stack(vectors)
    if pooling == "cls":
        pooler = w["head.pooler.dense.weight"], w["head.pooler.dense.bias"]
        pooled = torch.tanh(F.linear(pooled, *pooler))
    expected = F.linear(pooled, w["head.dense.weight"], w["head.dense.bias"])
    torch.testing.assert_close(model(*inputs[:2]), expected)


def test_head_dropout_only_in_training(inputs):
    model = SequenceClassifier(CONFIG, 2, HeadConfig(dropout=0.5))
    model.train()
    assert not torch.equal(model(*inputs[:2]), model(*inputs[:2]))
    model.eval()
    assert torch.equal(model(*inputs[:2]), model(*inputs[:2]))


@pytest.mark.parametrize(
    ("tokens", "real", "read"),
    [(1, 13, [6]), (4, 13, [4, 5, 6, 7, 8]), (30, 13, range(13)), (1, 12, [5, 6]), (1, 1, [0])],
)
def test_centre_pooling_by_hand(tokens, real, read):
    """Token n of the real ones is the n-th unit vector; one place among them is padding."""
    is_padding = torch.ones(1, 16, dtype=torch.bool)
    places = [i for i in range(16) if i != 1][:real]
    is_padding[0, places] = False
    hidden = torch.full((1, 16, 16), 1000.0)
    hidden[0, places] = torch.eye(16)[:real]
    pooled = CentrePooler(tokens)(hidden, is_padding)
    expected = torch.zeros(1, 16)
    expected[0, list(read)] = 1 / len(read)
    torch.testing.assert_close(pooled, expected)


@pytest.mark.parametrize("value", ["mean", "max"])
@pytest.mark.parametrize(("parts", "real"), [(1, 16), (4, 16), (5, 13), (16, 16), (7, 3), (3, 0)])
def test_parts_pooling_by_a_loop(parts, real, value):
    """Padding is in front of, between and behind real tokens, and has values that would show."""
    is_padding = torch.ones(1, 20, dtype=torch.bool)
    places = [i for i in range(20) if i not in (0, 9, 17)][:real]
    is_padding[0, places] = False
    hidden = torch.full((1, 20, 2), 1000.0)
    hidden[0, places] = torch.randn(real, 2)
    expected = torch.zeros(parts, 2)
    for part in range(parts):
        own = [hidden[0, x] for i, x in enumerate(places) if i * parts // real == part]
        if own:
            stack = torch.stack(own)
            expected[part] = stack.mean(dim=0) if value == "mean" else stack.amax(dim=0)
    pooled = PartsPooler(parts, value)(hidden, is_padding)
    torch.testing.assert_close(pooled[0], expected.flatten() / parts**0.5)


@pytest.mark.parametrize("pooling", ["cls", "mean", "centre", "parts", "attention"])
def test_a_window_scores_the_same_alone_and_beside_others(inputs, pooling):
    model = SequenceClassifier(CONFIG, 3, HeadConfig(pooling=pooling)).eval()
    ids, is_padding, _ = inputs
    together = model(ids, is_padding)
    alone = [
        model(ids[i : i + 1, :n], is_padding[i : i + 1, :n]) for i, n in enumerate([40, 13, 22])
    ]
    torch.testing.assert_close(together, torch.cat(alone), rtol=0, atol=1e-6)


def test_seed_decides_all_weights():
    def weights(make, seed):
        return make(seed).state_dict()

    def pretraining(seed):
        return PretrainingModel(CONFIG, seed=seed)

    def classifier(seed):
        return SequenceClassifier(CONFIG, 3, seed=seed)

    for make in (pretraining, classifier):
        first, second, other = (weights(make, seed) for seed in (4, 4, 5))
        assert all(torch.equal(first[name], second[name]) for name in first)
        matrices = [n for n in first if first[n].dim() == 2]
        assert not any(torch.equal(first[name], other[name]) for name in matrices)
    # The encoder does not depend on what stands on it.
    a, b = pretraining(4).encoder.state_dict(), classifier(4).encoder.state_dict()
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_pretraining_step_under_autocast(inputs):
    model = PretrainingModel(replace(CONFIG, gradient_checkpointing=True))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits, nsp = model(*inputs, torch.arange(0, 40, 7))
        loss = F.cross_entropy(logits, torch.full((6,), 9))
        loss = loss + F.cross_entropy(nsp, torch.tensor([0, 1, 0]))
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_training_learns_a_copy_task(inputs):
    """The loss goes down: gradients reach what they must."""
    model = PretrainingModel(CONFIG)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    ids, is_padding, segments = inputs
    positions = torch.arange(40)
    losses = []
    for _ in range(30):
        loss = F.cross_entropy(model(ids, is_padding, segments, positions)[0], ids[0])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(3.9, abs=0.1)  # ln 50
    assert losses[-1] < 1


def test_a_classifier_needs_labels():
    with pytest.raises(ValueError, match="at least one label, got 0"):
        SequenceClassifier(CONFIG, 0)


@pytest.mark.parametrize(
    ("size", "count"),
    [
        ({"num_layers": 12, "num_heads": 12, "hidden_size": 768, "ffn_size": 3072}, 128_112_824),
        ({"num_layers": 24, "num_heads": 16, "hidden_size": 1024, "ffn_size": 4096}, 360_228_024),
    ],
    ids=["base", "large"],
)
def test_paper_sizes_have_as_many_parameters_as_the_library(size, count):
    """Counted without memory for them; vocabulary, positions and block are the published ones."""
    transformers = pytest.importorskip("transformers")
    with torch.device("meta"):
        ours = PretrainingModel(EncoderConfig(vocab_size=50358, **size))
        theirs = transformers.BigBirdForPreTraining(
            transformers.BigBirdConfig(
                num_hidden_layers=size["num_layers"],
                num_attention_heads=size["num_heads"],
                hidden_size=size["hidden_size"],
                intermediate_size=size["ffn_size"],
            )
        )
    for model in (ours, theirs):
        assert sum(parameter.numel() for parameter in model.parameters()) == count


def test_labels_of_a_head_of_low_rank_come_from_few_numbers(inputs):
    """Without their biases, logits of many windows have the rank; of a head without limit more."""
    ids, is_padding, _ = inputs
    ids, is_padding = ids.repeat(4, 1), is_padding.repeat(4, 1)
    ids = torch.randint(5, 40, ids.shape, generator=torch.Generator().manual_seed(3))
    ranks = []
    for rank in (2, 0):
        model = (
            SequenceClassifier(CONFIG, 9, HeadConfig(pooling="mean", label_rank=rank))
            .double()
            .eval()
        )
        logits = model(ids, is_padding) - model.label_layer.bias
        ranks.append(int(torch.linalg.matrix_rank(logits, rtol=1e-9)))
    assert ranks == [2, 9]


def test_a_negative_rank_is_refused():
    with pytest.raises(ValueError, match=r"--head.label_rank -1"):
        HeadConfig(label_rank=-1)
