"""The estimate of memory against what autograd really keeps."""

from pathlib import Path

import pytest
import torch
from torch import nn

from dna_bigbird.corpus.masking import PAPER
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.memory import pretraining_memory, pretraining_parameters
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimisation import build_optimizer
from dna_bigbird.training.pretrain import estimate

ROOT = Path(__file__).parents[2]
SMALL = {
    "vocab_size": 500,
    "hidden_size": 192,
    "num_layers": 3,
    "num_heads": 3,
    "ffn_size": 768,
    "max_tokens": 512,
    "block_size": 16,
    "num_random": 1,
}


def pretraining_model(config: EncoderConfig) -> PretrainingModel:
    heads = {"heads": ("mlm", "cpc")} if config.attention == "etc" else {}
    return PretrainingModel(config, **heads)


def kept_bytes(
    config: EncoderConfig, precision: str, backend: str, batch_size: int, predicted: int
):
    """Return the bytes that the backward pass waits for, without weights and their copies."""
    model = PretrainingModel(config).train()
    model.encoder.set_backend(backend)
    skipped = {p.untyped_storage().data_ptr() for p in model.parameters()}
    shapes = {tuple(p.shape) for p in model.parameters()} | {
        tuple(p.T.shape) for p in model.parameters() if p.ndim == 2
    }
    kept: dict[int, torch.Tensor] = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in skipped and tuple(tensor.shape) not in shapes:
            kept[storage.data_ptr()] = tensor.detach()
        return tensor.detach()  # an output of a node, kept by the node, would never be freed

    ids_BT = torch.randint(6, config.vocab_size, (batch_size, config.max_tokens))
    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16-mixed"),
    ):
        logits_PV, nsp_B2 = model(ids_BT, ids_BT < 0, None, torch.arange(predicted))
        loss = nn.functional.cross_entropy(logits_PV.float(), ids_BT.flatten()[:predicted])
        loss = loss + nn.functional.cross_entropy(nsp_B2.float(), ids_BT[:, 0] % 2)
    assert loss.requires_grad
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


@pytest.mark.parametrize("precision", ["bf16-mixed", "32-true"])
@pytest.mark.parametrize("backend", ["cpu_chunks", "gather"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"dropout": 0.0},
        {"num_layers": 6, "ffn_size": 500},
        {"hidden_size": 256, "num_heads": 8, "block_size": 32, "num_random": 3},
        {"gradient_checkpointing": True},
        {"positions": "rotary"},
        {"positions": "rotary", "qk_norm": True, "stem_width": 5},
        {"head_gates": True},
        {"value_embeddings": True, "layer_skips": True},
        {"word_memory": 1000, "stem_width": 5, "num_layers": 1},
        {"attention": "etc"},
        {"attention": "etc", "etc": {"tokens_per_global": 4, "radius": 20}},
        {"attention": "etc", "etc": {"tokens_per_global": 4}, "max_tokens": 1024},
        {"attention": "etc", "gradient_checkpointing": True},
    ],
    ids=str,
)
def test_activations_are_what_autograd_keeps(changes, backend, precision):
    check_activations(EncoderConfig(**SMALL | changes), backend, precision)


@pytest.mark.parametrize("precision", ["bf16-mixed", "32-true"])
@pytest.mark.parametrize(
    "changes",
    [
        {"attention": "longformer"},
        {"attention": "longformer", "longformer": {"separate_global": False}},
        {"attention": "longformer", "positions": "rotary", "qk_norm": True},
        {"attention": "performer", "performer": {"num_features": 0}},
        {"attention": "performer", "positions": "rotary"},
        {"attention": "performer", "positions": "rotary", "qk_norm": True},
        {"attention": "performer", "gradient_checkpointing": True},
    ],
    ids=str,
)
def test_activations_of_longformer_and_performer(changes, precision):
    check_activations(EncoderConfig(**SMALL | changes), "auto", precision)


def check_activations(config, backend, precision):
    batch_size, predicted = 2, 40
    backend = "auto" if config.attention == "etc" else backend
    found = kept_bytes(config, precision, backend, batch_size, predicted)
    step = pretraining_memory(
        config,
        batch_size=batch_size,
        predicted=predicted,
        precision=precision,
        device="cpu",
        backend=backend,
    )
    # Of the logits, one of the three is kept; the two gradients come in the backward pass.
    assert found == pytest.approx(step.activations + step.logits / 3, rel=0.06)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"qkv_bias": False},
        {"output_bias": False},
        {"num_segments": 0},
        {"max_tokens": 128},
        {"positions": "rotary", "max_tokens": 128},
        {"qk_norm": True, "stem_width": 5},
        {"patch_tokens": 4, "positions": "rotary", "norm_first": True},
        {"layer_skips": True, "value_embeddings": True, "head_gates": True, "untied_head": True},
        {"word_memory": 1000, "attention": "etc"},
        {"attention": "etc", "layer_skips": True, "untied_head": True},
        {"attention": "longformer"},
        {"attention": "longformer", "qkv_bias": False, "positions": "rotary", "qk_norm": True},
        {"attention": "longformer", "longformer": {"separate_global": False}},
        {"attention": "performer"},
        {"attention": "etc", "qkv_bias": False},
        {"attention": "etc", "etc": {"sharing": "kv", "shared_ffn": False, "max_distance": 24}},
        {
            "attention": "etc",
            "etc": {"sharing": "none", "shared_output": True},
            "output_bias": False,
        },
    ],
    ids=str,
)
def test_parameters(changes):
    config = EncoderConfig(**SMALL | changes)
    model = pretraining_model(config)
    assert pretraining_parameters(config) == sum(p.numel() for p in model.parameters())


def test_a_step_grows_with_the_micro_batch_alone():
    config = EncoderConfig()
    one, two = (
        pretraining_memory(config, batch_size=size, predicted=size * 614) for size in (8, 16)
    )
    assert two.states == one.states == 18 * pretraining_parameters(config)
    assert (two.activations, two.logits) == (2 * one.activations, 2 * one.logits)
    exchanged = pretraining_memory(config, batch_size=8, predicted=8 * 614, processes=8)
    assert exchanged.states == 22 * pretraining_parameters(config)
    averaged = pretraining_memory(config, batch_size=8, predicted=8 * 614, averages=True)
    assert averaged.total - one.total == averaged.averaged == 4 * pretraining_parameters(config)


@pytest.mark.parametrize(
    ("changes", "kept"), [({}, 0), ({"ema_decay": 0.9}, 1), ({"swa_share": 0.2}, 1)]
)
def test_a_dry_run_counts_the_mean_of_the_weights(changes, kept):
    config = EncoderConfig()
    found = estimate(config, "settings", TrainConfig(**changes), PAPER).memory
    assert {step.averaged for step in found.values()} == {4 * kept * pretraining_parameters(config)}


@pytest.mark.parametrize("attention", ["bigbird", "etc"])
@pytest.mark.parametrize("optimizer", ["adamw", "muon", "lamb"])
def test_the_state_of_the_optimizer(optimizer, attention):
    later = {"layer_skips": True, "untied_head": True}
    if attention != "etc":
        later |= {"value_embeddings": True, "head_gates": True}
    config = EncoderConfig(**SMALL | {"dropout": 0.0, "attention": attention} | later)
    model = pretraining_model(config)
    training = TrainConfig(optimizer=optimizer, precision="32-true", max_steps=5, validate_every=5)
    state_of, _ = build_optimizer(model, training)
    ids_BT = torch.randint(6, config.vocab_size, (1, 64))
    logits_PV, nsp_B2 = model(ids_BT, ids_BT < 0, None, torch.arange(4))
    loss = logits_PV.sum()
    if attention == "etc":
        global_BGE = model.encoder.both(ids_BT, ids_BT < 0)[1]
        loss = loss + model.cpc.context(global_BGE).sum() + model.cpc.target(global_BGE).sum()
    else:
        loss = loss + nsp_B2.sum()
    loss.backward()
    state_of.step()
    kept = sum(
        x.nbytes
        for state in state_of.state.values()
        for x in state.values()
        if getattr(x, "ndim", 0)
    )
    step = pretraining_memory(config, batch_size=1, predicted=4, optimizer=optimizer)
    assert kept == step.optimizer


def test_the_documentation_has_the_estimate():
    text = (ROOT / "docs/how-to/slurm-and-gpu.md").read_text()
    for size in (32, 16, 8):
        cells = [str(size)]
        for backend, checkpointing in (("gather", False), ("flex", False), ("gather", True)):
            config = EncoderConfig(gradient_checkpointing=checkpointing)
            step = pretraining_memory(
                config, batch_size=size, predicted=size * 614, backend=backend, processes=8
            )
            cells.append(f"{step.total / 1e9:.0f} GB")
        assert f"| {' | '.join(cells)} |" in text
