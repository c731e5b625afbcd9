"""Muon for matrices of layers, AdamW for the rest: compared with torch's own, run apart."""

import copy
import dataclasses

import pytest
import torch
from torch import nn

from dna_bigbird.core.errors import InputError
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimisation import build_optimizer
from dna_bigbird.training.optimizers import Float32Muon, MuonWithAdamW, orthogonalised

SMALL = EncoderConfig(
    vocab_size=12, hidden_size=8, num_layers=2, num_heads=2, ffn_size=16, max_tokens=16,
    block_size=4, num_random=1, dropout=0.0, positions="learned", stem_width=3, qk_norm=True,
)  # fmt: skip
MUON = {"optimizer": "muon", "max_steps": 100}
LAYERS = {
    f"encoder.layers.{layer}.{name}.weight"
    for layer in (0, 1)
    for name in ("attention.qkv", "attention.output", "ffn_in", "ffn_out")
}


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def matrices():
    """Wide, tall, square and long ones, as parameters."""
    shapes = ((8, 8), (24, 8), (8, 10), (8, 32))
    return [nn.Parameter(0.1 * drawn(*shape, seed=i)) for i, shape in enumerate(shapes)]


def set_gradients(parameters, step):
    for i, p in enumerate(parameters):
        p.grad = drawn(*p.shape, seed=1000 * step + i)


def both_kinds():
    """Parameters for Muon, and for AdamW a matrix and a vector."""
    return matrices(), [nn.Parameter(drawn(12, 8, seed=9)), nn.Parameter(drawn(8, seed=10))]


def joined(of_muon, of_adamw, in_float32=False):
    groups = [
        {"params": of_muon, "is_muon": True, "weight_decay": 0.1, "lr": 0.02},
        {"params": of_adamw[:1], "is_muon": False, "weight_decay": 0.1},
        {"params": of_adamw[1:], "is_muon": False, "weight_decay": 0.0},
    ]
    return MuonWithAdamW(groups, lr=0.003, betas=(0.9, 0.99), eps=1e-6, in_float32=in_float32)


def assert_bits_equal(found, expected):
    for number, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert torch.equal(a, b), number


def test_it_is_torchs_two_optimizers_bit_for_bit():
    of_muon, of_adamw = both_kinds()
    theirs = copy.deepcopy((of_muon, of_adamw))
    ours = joined(of_muon, of_adamw)
    muon = torch.optim.Muon(
        theirs[0], lr=0.02, weight_decay=0.1, momentum=0.95, adjust_lr_fn="match_rms_adamw"
    )
    adamw = torch.optim.AdamW(
        [{"params": theirs[1][:1], "weight_decay": 0.1}, {"params": theirs[1][1:]}],
        lr=0.003, betas=(0.9, 0.99), eps=1e-6, weight_decay=0.0, fused=True,
    )  # fmt: skip
    before = copy.deepcopy(of_muon + of_adamw)
    for step in range(5):
        set_gradients(of_muon + of_adamw, step)
        set_gradients(theirs[0] + theirs[1], step)
        ours.step()
        muon.step()
        adamw.step()
    assert_bits_equal(of_muon + of_adamw, theirs[0] + theirs[1])
    assert not any(torch.equal(a, b) for a, b in zip(of_muon + of_adamw, before, strict=True))


def by_hand(matrix, gradients, *, rate, decay):
    """Jordan et al. 2024 with the scale of Liu et al. 2025, in float64."""
    matrix, mean = matrix.detach().double(), 0.0
    for gradient in gradients:
        mean = 0.95 * mean + 0.05 * gradient.double()
        x = 0.05 * gradient.double() + 0.95 * mean
        x = x / x.norm()
        for _ in range(5):
            xxt = x @ x.mT
            x = 3.4445 * x - 4.7750 * xxt @ x + 2.0315 * xxt @ xxt @ x
        rows, columns = matrix.shape
        matrix = (1 - rate * decay) * matrix - rate * 0.2 * max(rows, columns) ** 0.5 * x
    return matrix


def test_float32_is_the_formula_and_torchs_but_for_bfloat16():
    ours, theirs = matrices(), matrices()
    settings = {"lr": 0.02, "weight_decay": 0.1, "adjust_lr_fn": "match_rms_adamw"}
    optimizers = (Float32Muon(ours, **settings), torch.optim.Muon(theirs, **settings))
    seen = [[] for _ in ours]
    for step in range(4):
        set_gradients(ours, step)
        set_gradients(theirs, step)
        for gradients, p in zip(seen, ours, strict=True):
            gradients.append(p.grad)
        for optimizer in optimizers:
            optimizer.step()
    for start, gradients, mine, other in zip(matrices(), seen, ours, theirs, strict=True):
        exact = by_hand(start, gradients, rate=0.02, decay=0.1)
        moved = (exact - start).abs().max()
        assert (mine - exact).abs().max() < 1e-5 * moved
        assert 1e-4 * moved < (other - exact).abs().max() < 0.05 * moved  # five products of 8 bits


@pytest.mark.parametrize("shape", [(64, 64), (64, 96), (192, 64), (64, 512)])
def test_singular_values_come_close_to_one(shape):
    """Before, the largest one is 100 times the smallest."""
    u, _, v = torch.linalg.svd(drawn(*shape), full_matrices=False)
    values = torch.logspace(1, -1, 64)
    result = orthogonalised(u @ values.diag() @ v)
    rotated = u.mT @ result @ v.mT
    assert (rotated - rotated.diagonal().diag()).abs().max() < 1e-3, "other singular vectors"
    assert 0.5 < rotated.diagonal().min() < rotated.diagonal().max() < 1.3


@pytest.mark.parametrize("shape", [(16, 16), (16, 64), (64, 16)])
def test_a_matrix_of_low_rank_does_not_blow_up(shape):
    result = orthogonalised(drawn(shape[0], 1) @ drawn(1, shape[1], seed=1))
    values = torch.linalg.svdvals(result)
    assert 0.5 < values[0] < 1.3
    assert values[1] < 0.05
    assert not orthogonalised(torch.zeros(shape)).any()


def test_rounded_factors_take_the_steps_that_stand_them(monkeypatch):
    """On AMX with oneDNN's float32, small singular values would be lost in X X'."""
    name = "dna_bigbird.training.optimizers.float32_products_are_rounded"
    monkeypatch.setattr(
        "dna_bigbird.training.optimizers._by_square", lambda x: pytest.fail("by the square")
    )
    monkeypatch.setattr(name, lambda: True)
    orthogonalised(drawn(8, 32))
    monkeypatch.setattr(name, lambda: False)
    orthogonalised(drawn(8, 32).bfloat16())
    with pytest.raises(pytest.fail.Exception, match="by the square"):
        orthogonalised(drawn(8, 32))


def names_by_kind(model, optimizer):
    """Return the names of the parameters of both kinds, each with its rate and decay."""
    name_of = {id(p): name for name, p in model.named_parameters()}
    kinds = {True: {}, False: {}}
    for group in optimizer.param_groups:
        for p in group["params"]:
            kinds[group["is_muon"]][name_of[id(p)]] = (group["lr"], group["weight_decay"])
    return kinds[True], kinds[False]


def test_matrices_of_the_layers_go_to_muon_and_all_others_to_adamw():
    model = PretrainingModel(SMALL)
    config = TrainConfig(**MUON, learning_rate=0.004, muon_learning_rate=0.03)
    of_muon, of_adamw = names_by_kind(model, build_optimizer(model, config)[0])
    assert of_muon == dict.fromkeys(LAYERS, (0.03, 0.01))
    assert of_muon.keys() | of_adamw.keys() == {name for name, _ in model.named_parameters()}
    matrices = {"word", "position", "segment", "stem.convolution"}
    for name in (f"encoder.{part}.weight" for part in matrices):
        assert of_adamw[name] == (0.004, 0.01), name
    for name, p in model.named_parameters():
        if p.ndim < 2:
            assert of_adamw[name] == (0.004, 0.0), name


def test_gates_of_heads_go_to_adamw():
    gated = dataclasses.replace(SMALL, head_gates=True, value_embeddings=True)
    model = PretrainingModel(gated)
    of_muon, of_adamw = names_by_kind(model, build_optimizer(model, TrainConfig(**MUON))[0])
    added = {f"encoder.layers.{layer}.attention.first_value.weight" for layer in (0, 1)}
    assert of_muon.keys() == LAYERS | added
    assert {f"encoder.layers.{layer}.attention.gate.weight" for layer in (0, 1)} < of_adamw.keys()


def classifier():
    return SequenceClassifier(SMALL, 3, HeadConfig(pooling="mean"))


def test_fine_tuning_has_three_rates():
    model = classifier()
    config = TrainConfig(
        **MUON, learning_rate=1e-3, muon_learning_rate=2e-3, head_learning_rate=0.1
    )
    optimizer, schedule = build_optimizer(model, config)
    of_muon, of_adamw = names_by_kind(model, optimizer)
    assert of_muon == dict.fromkeys(LAYERS, (2e-3, 0.01))
    rates = {name: rate for name, (rate, _) in of_adamw.items()}
    assert rates == {n: 1e-3 if n.startswith("encoder.") else 0.1 for n in rates}
    before = copy.deepcopy(model.state_dict())
    logits = model(torch.full((2, 9), 5), torch.zeros(2, 9, dtype=torch.bool))
    logits.square().sum().backward()
    optimizer.step()
    schedule.step()
    for name in (*LAYERS, "encoder.word.weight"):
        assert not torch.equal(model.state_dict()[name], before[name]), name


def test_a_schedule_moves_all_rates():
    model = classifier()
    config = TrainConfig(
        **MUON, schedule="stable_decay", decay_share=0.1, warmup_steps=10, head_learning_rate=0.1
    )
    optimizer, schedule = build_optimizer(model, config)
    highest = [group["initial_lr"] for group in optimizer.param_groups]
    assert set(highest) == {config.muon_learning_rate, config.learning_rate, 0.1}
    factors = []
    for _ in range(101):
        rates = [group["lr"] for group in optimizer.param_groups]
        factors.append(rates[0] / highest[0])
        assert rates == pytest.approx([factors[-1] * rate for rate in highest])
        optimizer.step()
        schedule.step()
    expected = [0.0, 0.5, 1.0, 1.0, 1.0, 0.5, 0.1, 0.0]
    assert [factors[i] for i in (0, 5, 10, 50, 90, 95, 99, 100)] == pytest.approx(expected)


@pytest.mark.parametrize("in_float32", [True, False])
def test_a_state_in_a_fresh_optimizer_gives_the_same_steps(in_float32):
    of_muon, of_adamw = both_kinds()
    first = joined(of_muon, of_adamw, in_float32)
    for step in range(3):
        set_gradients(of_muon + of_adamw, step)
        first.step()
    copied = copy.deepcopy((of_muon, of_adamw, first.state_dict()))
    fresh = joined(*copied[:2], in_float32)
    fresh.load_state_dict(copied[2])
    for step in range(3, 6):
        for optimizer, parameters in ((first, of_muon + of_adamw), (fresh, copied[0] + copied[1])):
            set_gradients(parameters, step)
            optimizer.step()
    assert_bits_equal(of_muon + of_adamw, copied[0] + copied[1])
    counts = [state["step"] for state in fresh.state_dict()["state"].values() if "step" in state]
    assert counts == [6, 6]


def test_a_copy_works_on_its_own_weights():
    of_muon, of_adamw = both_kinds()
    optimizer = joined(of_muon, of_adamw)
    set_gradients(of_muon + of_adamw, 0)
    optimizer.step()
    before = copy.deepcopy(of_muon + of_adamw)
    other = copy.deepcopy(optimizer)
    copies = [p for group in other.param_groups for p in group["params"]]
    set_gradients(copies, 1)
    other.step()
    assert_bits_equal(of_muon + of_adamw, before)
    set_gradients(of_muon + of_adamw, 1)
    optimizer.step()
    assert_bits_equal(of_muon + of_adamw, copies)


@pytest.mark.parametrize("in_float32", [True, False])
def test_a_matrix_without_a_gradient_stays(in_float32):
    of_muon, of_adamw = both_kinds()
    optimizer = joined(of_muon, of_adamw, in_float32)
    before = copy.deepcopy(of_muon + of_adamw)
    set_gradients(of_muon + of_adamw, 0)
    still = (of_muon[1], of_adamw[0])
    for p in still:
        p.grad = None
    optimizer.step()
    kept = [torch.equal(p, b) for p, b in zip(of_muon + of_adamw, before, strict=True)]
    assert kept == [any(p is s for s in still) for p in of_muon + of_adamw]


def test_frozen_weights_are_in_no_group():
    model = PretrainingModel(SMALL)
    model.encoder.layers[0].requires_grad_(False)
    of_muon, of_adamw = names_by_kind(model, build_optimizer(model, TrainConfig(**MUON))[0])
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    assert not frozen & (of_muon.keys() | of_adamw.keys())
    assert of_muon.keys() == LAYERS - frozen


@pytest.mark.parametrize("has_layers", [True, False])
def test_a_model_without_layers_to_train_is_refused(has_layers):
    model = PretrainingModel(SMALL) if has_layers else nn.Linear(2, 2)
    if has_layers:
        model.encoder.layers.requires_grad_(False)
    with pytest.raises(InputError, match=r"optimizer muon .* this model trains none; take "):
        build_optimizer(model, TrainConfig(**MUON))


def test_a_closure_is_computed_with_gradients():
    of_muon, of_adamw = both_kinds()
    optimizer = joined(of_muon, of_adamw)

    def closure():
        loss = sum(p.square().sum() for p in of_muon + of_adamw)
        loss.backward()
        return loss

    before = copy.deepcopy(of_muon)
    assert optimizer.step(closure) > 0
    assert not any(torch.equal(a, b) for a, b in zip(of_muon, before, strict=True))


@pytest.mark.parametrize(
    ("found", "precision", "given", "kind"),
    [
        (True, "bf16-mixed", "auto", torch.optim.Muon),
        (True, "32-true", "auto", Float32Muon),
        (False, "bf16-mixed", "auto", Float32Muon),
        (False, "bf16-mixed", "bfloat16", torch.optim.Muon),
        (True, "bf16-mixed", "float32", Float32Muon),
    ],
)
def test_bfloat16_only_where_it_is_meant_and_fast(monkeypatch, found, precision, given, kind):
    monkeypatch.setattr("dna_bigbird.models.precision.has_bf16_products", lambda device: found)
    config = TrainConfig(**MUON, precision=precision, muon_precision=given)
    optimizer, _ = build_optimizer(PretrainingModel(SMALL), config)
    assert type(optimizer.parts[0]) is kind


def test_matrices_of_layers_decay_apart():
    """One step without a gradient scales what decays by 1 - rate * decay, and leaves the rest."""
    model = PretrainingModel(SMALL)
    decays = {"weight_decay": 0.1, "muon_weight_decay": 2.0}
    rates = {"learning_rate": 0.5, "muon_learning_rate": 0.25, "muon_precision": "float32"}
    optimizer, _ = build_optimizer(model, TrainConfig(**MUON, **decays, **rates))
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    for name, p in model.named_parameters():
        share = 1 - 0.25 * 2 if name in LAYERS else 1 - 0.5 * 0.1 if p.ndim == 2 else 1
        torch.testing.assert_close(p.detach(), share * before[name], msg=name)
