"""The whole model under torch.compile, autocast and gradient checkpointing, with every backend."""

import re
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch._dynamo.utils import counters

from dna_bigbird.attention.attend import BACKENDS
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.training.fit import COMPILER
from tests.attention.native.marks import needs_kernel
from tests.attention.test_flex import needs_compiler

pytestmark = pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")
CONFIG = EncoderConfig(
    vocab_size=50, hidden_size=32, num_layers=2, num_heads=2, ffn_size=48, max_tokens=200,
    block_size=16, num_random=1, dropout=0.0, init_std=0.2,
)  # fmt: skip
TRAINABLE = [
    pytest.param(name, marks=needs_kernel) if name == "native" else name
    for name in BACKENDS
    if name not in ("flex", "triton")  # without gradients, and not at all, on a CPU
]
# No padding; two patterns and padding in the last block; then other numbers of blocks.
LENGTHS = ([160, 160], [170, 100], [192, 192], [90, 195], [64, 64])


OWN = {"positions": "rotary", "qk_norm": True, "stem_width": 5, "norm_first": True}


class Counting:
    """A compiler that runs the graphs as they are and counts them."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph, inputs):
        self.graphs += 1
        return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)


@pytest.fixture(autouse=True)
def fresh_compiler():
    """Forget other tests' graphs, and count from nothing."""
    torch._dynamo.reset()
    counters.clear()


def batch(lengths, seed=1):
    generator = torch.Generator().manual_seed(seed)
    width = max(lengths)
    ids = torch.randint(5, 50, (len(lengths), width), generator=generator)
    is_padding = torch.arange(width) >= torch.tensor(lengths)[:, None]
    segments = (torch.arange(width) > width // 3).long().expand(len(lengths), -1)
    return (
        ids.masked_fill(is_padding, 0),
        is_padding,
        segments,
        torch.tensor([1, 7, ids.numel() - 3]),
    )


def loss_of(model, inputs):
    mlm, nsp = model(*inputs)
    return mlm.float().square().mean() + nsp.float().square().sum()


def gradients(call, model, inputs):
    model.zero_grad()
    torch.manual_seed(5)  # of dropout
    loss = loss_of(call, inputs)
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


def build(backend="auto", **changes):
    model = PretrainingModel(replace(CONFIG, **changes), seed=3)
    model.encoder.set_backend(backend)
    return model


@pytest.mark.parametrize(
    ("backend", "changes"),
    [("auto", {}), ("gather", {}), ("auto", OWN), ("auto", OWN | {"patch_tokens": 3})],
    ids=str,
)
def test_compiled_training_equals_eager(backend, changes):
    model = build(backend, **changes)
    compiled = torch.compile(model, backend="aot_eager")
    for lengths in LENGTHS[:2]:
        expected = gradients(model, model, batch(lengths))
        found = gradients(compiled, model, batch(lengths))
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@needs_compiler
def test_compiled_prediction_with_flex():
    """The model's graphs, and within its attention a kernel compiled on its own."""
    model = build("flex").eval()
    compiled = torch.compile(model, backend="aot_eager")
    for lengths in ([97, 99], [170, 175], [30, 26]):
        inputs = batch(lengths)
        with torch.no_grad():
            found = compiled(*inputs)
            torch.testing.assert_close(found, model(*inputs))
            model.encoder.set_backend("dense")
            torch.testing.assert_close(found, model(*inputs), rtol=1e-4, atol=1e-5)
            model.encoder.set_backend("flex")


def test_layers_share_their_graphs():
    counts = []
    for num_layers in (2, 5):
        torch._dynamo.reset()
        model, counting = build(num_layers=num_layers), Counting()
        compiled = torch.compile(model, backend=counting)
        loss_of(compiled, batch(LENGTHS[0]))
        counts.append(counting.graphs)
    assert counts[0] == counts[1] <= 6


def test_lengths_share_graphs():
    """With and without padding, flattened or packed; other lengths of these kinds compile nothing."""
    model, counting = build(), Counting()
    compiled = torch.compile(model, backend=counting)
    for lengths in LENGTHS:
        gradients(compiled, model, batch(lengths))
    seen = counting.graphs
    assert seen <= 16
    for lengths in ([144, 144], [150, 190], [16, 16], [33, 180]):
        gradients(compiled, model, batch(lengths))
    assert counting.graphs == seen


def test_batch_sizes_and_modes_share_graphs():
    """One sequence, several, and prediction have graphs of their own, whatever their lengths."""
    model, counting = build(), Counting()
    compiled = torch.compile(model, backend=counting)
    counts = []
    for longer in (0, 9, -21):
        for lengths, training in (
            ([160, 160], True), ([150, 70, 80], True), ([130], True), ([160, 31], False)
        ):  # fmt: skip
            with torch.set_grad_enabled(training):
                loss_of(compiled.train(training), batch([length + longer for length in lengths]))
        counts.append(counting.graphs)
    assert counts[0] <= counts[1] <= 26
    assert counts[2] == counts[1]


def test_any_number_of_patterns_in_a_batch_shares_graphs():
    model, counting = build(), Counting()
    compiled = torch.compile(model, backend=counting)
    counts = []
    with torch.no_grad():
        for patterns in (1, 3, 2, 5, 10):
            compiled(*batch([17 * (1 + row % patterns) for row in range(10)]))
            counts.append(counting.graphs)
    assert counts[1:] == counts[1:2] * 4


def test_graphs_break_only_around_packing_and_attention():
    model = build("gather")
    loss_of(torch.compile(model, backend="aot_eager"), batch(LENGTHS[1])).backward()
    stated = r"Packing\.of|BlockAttention\._mix_groups"
    for reason in counters["graph_break"]:
        assert re.search(rf"torch.compiler.disable.*{stated}", reason, re.DOTALL), reason
    assert counters["frames"]["total"] - counters["frames"]["ok"] <= 1  # the loop over the layers


@pytest.mark.slow
@pytest.mark.parametrize(
    "own", [{"longformer": {"window_tokens": 9}}, {"performer": {"redraw_interval": 1}}], ids=str
)
def test_attention_without_blocks_compiles_around_itself(own):
    """Also where the Performer draws its features again: before the second pass."""
    (attention,) = own
    model, compiled = (build(attention=attention, num_layers=1, **own) for _ in range(2))
    counting = Counting()
    call = torch.compile(compiled, backend=counting)
    for lengths in LENGTHS[:2]:
        inputs = batch(lengths)
        expected, found = gradients(model, model, inputs), gradients(call, compiled, inputs)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    assert counting.graphs > 0
    reasons = r"Packing\.of|_mix_groups|_count|shared"
    for reason in counters["graph_break"]:
        assert re.search(rf"torch.compiler.disable.*({reasons})", reason, re.DOTALL), reason


ONE_GRAPH = [
    OWN,
    pytest.param({}, marks=pytest.mark.slow),
    pytest.param({"gradient_checkpointing": True}, marks=pytest.mark.slow),
    pytest.param({"random_plan": "original"}, marks=pytest.mark.slow),
]


@needs_kernel
@pytest.mark.parametrize("changes", ONE_GRAPH, ids=str)
def test_a_packed_batch_makes_one_graph_of_the_model(changes):
    """Forward and backward, whatever the lengths; one sequence has a graph of its own."""
    model, counting = build("native", **changes), Counting()
    compiled = torch.compile(model, backend=counting, fullgraph=True, dynamic=True)
    for lengths in [*LENGTHS, [160], [31], [170, 100, 60, 20]]:
        inputs = batch(lengths)
        packing = model.encoder.packing(inputs[1])
        expected = gradients(model, model, inputs)
        found = gradients(partial(compiled, packing=packing), model, inputs)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    assert counting.graphs <= 8


def test_compiled_with_dropout_and_checkpointing():
    model = build(dropout=0.1, gradient_checkpointing=True)
    compiled = torch.compile(model, backend="aot_eager")
    for lengths in LENGTHS[:2]:
        found = gradients(compiled, model, batch(lengths))
        assert all(x.isfinite().all() for x in found)
    plain, kept = build(), build(gradient_checkpointing=True)
    torch._dynamo.reset()
    found = gradients(torch.compile(kept, backend="aot_eager"), kept, batch(LENGTHS[1]))
    for one, other in zip(found, gradients(plain, plain, batch(LENGTHS[1])), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", TRAINABLE)
def test_gradient_checkpointing_changes_nothing(backend):
    results = []
    for again in (False, True):
        model = build(backend, gradient_checkpointing=again, dropout=0.1)
        results.append(gradients(model, model, batch(LENGTHS[1])))
    for kept, recomputed in zip(*results, strict=True):
        torch.testing.assert_close(recomputed, kept)


@pytest.mark.parametrize("backend", [*TRAINABLE, "auto"])
def test_bfloat16_autocast(backend):
    model = build(backend)
    exact = gradients(model, model, batch(LENGTHS[1]))
    call = torch.compile(model, backend="aot_eager") if backend == "auto" else model
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mlm, nsp = call(*batch(LENGTHS[1]))
        found = gradients(call, model, batch(LENGTHS[1]))
    assert mlm.dtype == nsp.dtype == torch.bfloat16
    assert all(p.grad.dtype == torch.float32 for p in model.parameters())
    for one, other in zip(found, exact, strict=True):
        assert one.isfinite().all()
        assert (one - other).norm() <= 0.05 * other.norm() + 1e-4


@needs_compiler
@pytest.mark.slow
def test_bfloat16_autocast_with_flex():
    model = build("dense").eval()
    with torch.no_grad():
        exact = model(*batch(LENGTHS[1]))
        model.encoder.set_backend("flex")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = model(*batch(LENGTHS[1]))
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == torch.bfloat16
        assert (one - other).norm() <= 0.05 * other.norm()


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, OWN], ids=["default", "own"])
@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("backend", ["gather", pytest.param("native", marks=needs_kernel)])
def test_inductor_training_equals_eager(backend, autocast, changes):
    """The real compiler instead of the graphs as they are; with 'native' one graph."""
    model = build(backend, **changes)
    compiled = torch.compile(model, fullgraph=backend == "native", options=COMPILER)
    for lengths in LENGTHS[:4]:
        inputs = batch(lengths)
        exact = gradients(model, model, inputs)
        packing = model.encoder.packing(inputs[1])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            found = gradients(partial(compiled, packing=packing), model, inputs)
        for one, other in zip(found, exact, strict=True):
            share = 0.05 if autocast else 1e-4
            assert (one - other).norm() <= share * other.norm() + 1e-4
