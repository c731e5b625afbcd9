"""Awkward lengths at the paper's block size, padding invariance, and memory that stays linear."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel

LENGTHS = (1, 63, 64, 65, 703, 704, 705, 1023, 4097)
OWN = [
    {},
    {"window_blocks": 5, "global_blocks": "first_two", "num_random": 2},
    {"window_blocks": 1, "global_blocks": "none"},
]


def tiny(**changes):
    sizes = {"hidden_size": 8, "num_layers": 2, "num_heads": 2, "ffn_size": 16, "dropout": 0.0}
    config = EncoderConfig(vocab_size=40, max_tokens=8192, **{**sizes, **changes})
    model = PretrainingModel(config, seed=1)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
    return model


def tokens(length, seed=0):
    generator = torch.Generator().manual_seed(seed + length)
    return torch.randint(5, 40, (1, length), generator=generator)


def side_by_side(rows, holes=()):
    width = max(row.shape[1] for row in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    is_padding = torch.ones(len(rows), width, dtype=torch.bool)
    for i, row in enumerate(rows):
        ids[i, : row.shape[1]], is_padding[i, : row.shape[1]] = row[0], False
    for i, start, stop in holes:
        is_padding[i, start:stop] = True
    return ids, is_padding


@pytest.mark.parametrize("plan", ["uniform", "original", "huggingface"])
@pytest.mark.parametrize("length", LENGTHS)
def test_every_length_has_states_and_gradients(length, plan):
    model = tiny(random_plan=plan)
    ids = tokens(length)
    nothing_hidden = torch.zeros_like(ids, dtype=torch.bool)
    positions = torch.arange(0, length, 7)
    logits, nsp = model(ids, nothing_hidden, ids * 0, positions)
    assert logits.shape == (len(positions), 40)
    loss = torch.nn.functional.cross_entropy(logits, ids[0, positions])
    (loss + nsp.logsumexp(1).sum()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    assert (model.encoder.position.weight.grad[:length] != 0).any(dim=1).all()
    assert (model.encoder.position.weight.grad[length:] == 0).all()


@pytest.mark.parametrize("change", OWN, ids=str)
def test_every_length_scores_the_same_alone_and_beside_the_others(change):
    encoder = tiny(**change).encoder.eval()
    rows = [tokens(length) for length in LENGTHS]
    # A hole within a block, one over a whole block and more, one that hides the first block.
    holes = [(4, 10, 20), (7, 60, 200), (6, 0, 64), (8, 4000, 4090), (8, 100, 900)]
    ids, is_padding = side_by_side(rows, holes)
    with torch.no_grad():
        together = encoder(ids, is_padding)
        for i, length in enumerate(LENGTHS):
            alone = encoder(ids[i : i + 1, :length], is_padding[i : i + 1, :length])
            torch.testing.assert_close(together[i, :length], alone[0], rtol=0, atol=2e-5)
            assert (together[i, is_padding[i]] == 0).all()


@pytest.mark.parametrize("length", [1, 63, 65, 705, 1023])
def test_the_fast_way_equals_the_whole_score_matrix(length):
    encoder = tiny().double().encoder
    ids, is_padding = side_by_side([tokens(length), tokens(1100)], [(1, 5, 100)])
    fast = encoder(ids, is_padding)
    encoder.set_backend("dense")
    torch.testing.assert_close(fast, encoder(ids, is_padding), rtol=0, atol=1e-9)


class Largest(TorchDispatchMode):
    """The largest tensor that any operation returned, in elements."""

    def __init__(self):
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else [out]:
            if isinstance(tensor, torch.Tensor):
                self.elements = max(self.elements, tensor.numel())
        return out


def largest_of_a_step(length, backend, padding):
    model = tiny(num_layers=1)
    model.encoder.set_backend(backend)
    ids = tokens(length)
    is_padding = (torch.arange(length) >= length - padding)[None]
    with Largest() as largest:
        logits, _ = model(ids, is_padding, ids * 0, torch.arange(0, length, 7))
        logits.sum().backward()
    return largest.elements


@pytest.mark.parametrize("padding", [0, 5])
@pytest.mark.parametrize("backend", ["auto", "gather"])
def test_no_tensor_grows_with_the_square_of_the_length(backend, padding):
    short, long = (largest_of_a_step(length, backend, padding) for length in (1024, 4096))
    assert long <= 4.5 * short
    assert long < 4096 * 4096 / 8
    assert largest_of_a_step(1024, "dense", padding) >= 1024 * 1024  # it would be seen
