"""The published networks: parameters by hand, letters read right, a motif learned."""

import pytest
import torch
import torch.nn.functional as F

from dna_bigbird.baselines.config import CnnPromConfig, DeePromoterConfig, DeepSeaConfig
from dna_bigbird.baselines.networks import build_network, one_hot
from dna_bigbird.training.network_baseline import BaseTokenizer

ALL = [CnnPromConfig(), CnnPromConfig("non_tata"), DeePromoterConfig(), DeepSeaConfig()]
SMALL = [
    CnnPromConfig(width=0.3),
    CnnPromConfig("non_tata", width=0.3),
    DeePromoterConfig(width=0.5),
    DeepSeaConfig(width=0.1),
]
NAMES = ["cnnprom", "cnnprom non-TATA", "deepromoter", "deepsea"]


def read(*sequences):
    """Ids and padding of sequences of one length."""
    ids = torch.stack([torch.from_numpy(BaseTokenizer().encode(x)) for x in sequences]).long()
    return ids, torch.zeros_like(ids, dtype=torch.bool)


def dense(inputs, outputs):
    return (inputs + 1) * outputs


def cnnprom(positions, filters, labels):
    return dense(4 * 21, filters) + dense(filters * positions, 128) + dense(128, labels)


def deepromoter(positions, labels):
    convolutions = sum(dense(4 * bases, 32) for bases in (27, 14, 7))
    lstm = 2 * 4 * 32 * (96 + 32 + 2)  # directions, gates, units; two bias vectors in torch
    return convolutions + lstm + dense(64 * positions, 128) + dense(128, labels)


def deepsea(positions, labels):
    convolutions = dense(4 * 8, 320) + dense(320 * 8, 480) + dense(480 * 8, 960)
    return convolutions + dense(960 * positions, 925) + dense(925, labels)


@pytest.mark.parametrize(
    ("config", "window_bp", "labels", "expected"),
    [
        (CnnPromConfig(), 251, 1, cnnprom(57, 200, 1)),  # (251 - 20) // 4
        (CnnPromConfig(), 300, 1, cnnprom(70, 200, 1)),
        (CnnPromConfig(), 8000, 1, cnnprom(62, 200, 1)),  # 7980 // 128
        (CnnPromConfig("non_tata"), 251, 1, cnnprom(1, 300, 1)),
        (CnnPromConfig("non_tata"), 8000, 2, cnnprom(1, 300, 2)),
        (DeePromoterConfig(), 300, 1, deepromoter(50, 1)),
        (DeePromoterConfig(), 8000, 1, deepromoter(49, 1)),  # 8000 // 162
        (DeepSeaConfig(), 1000, 919, deepsea(53, 919)),
        (DeepSeaConfig(), 8000, 24, deepsea(53, 24)),
        (DeepSeaConfig(), 400, 24, deepsea(15, 24)),  # 400, 393 // 4, 91 // 4, 15
    ],
)
def test_parameters_against_a_formula(config, window_bp, labels, expected):
    network = build_network(config, window_bp, labels, seed=0)
    assert sum(p.numel() for p in network.parameters()) == expected


def test_deepsea_has_the_published_52_8_million():
    assert deepsea(53, 919) == 52_843_119


def test_letters_in_the_order_a_c_g_t_and_n_is_nothing():
    ids, is_padding = read("ACGTN")
    assert one_hot(ids, is_padding)[0].tolist() == [
        [1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 0, 1, 0],
    ]
    is_padding[0, 0] = True
    assert one_hot(ids, is_padding)[0, :, 0].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("config", SMALL, ids=NAMES)
def test_windows_of_n_alone_see_only_biases(config):
    """Gradients of the first kernels are zero: nothing was read."""
    network = build_network(config, 300, 2, seed=0).eval()
    network(*read("N" * 300)).sum().backward()
    first = next(p for p in network.parameters() if p.ndim == 3)
    assert first.grad.abs().max() == 0
    network(*read("N" * 150 + "A" + "N" * 149)).sum().backward()
    assert first.grad[:, 0].abs().max() > 0, "the channel of A"
    assert first.grad[:, 1:].abs().max() == 0


def test_cnnprom_by_hand():
    """The largest of two places of one filter that counts A, through weights of 1."""
    network = build_network(CnnPromConfig("non_tata", width=0.001), 22, 1, seed=0)
    state = {name: torch.ones_like(x) for name, x in network.state_dict().items()}
    state["convolution.weight"][:, 1:] = -1
    network.load_state_dict(state)
    # Places see 21 letters: 18 A less 3 C, or 17 A less 4 C; plus 1, then 1 and 1 more.
    assert network(*read("A" * 18 + "C" * 4)).item() == 18 - 3 + 3


def test_deepsea_reads_the_central_1000():
    network = build_network(DeepSeaConfig(width=0.05), 1600, 3, seed=0).eval()
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 4, (2, 1600), generator=generator)
    ids[1, 300:1300] = ids[0, 300:1300]
    is_padding = torch.zeros_like(ids, dtype=torch.bool)
    first, second = network(ids, is_padding)
    torch.testing.assert_close(first, second, rtol=0, atol=1e-6)
    for ends in (slice(300, 340), slice(1260, 1300)):
        changed = ids[:1].clone()
        changed[0, ends] = (changed[0, ends] + 1) % 4
        assert not torch.allclose(network(changed, is_padding[:1])[0], first)


@pytest.mark.parametrize("config", SMALL, ids=NAMES)
def test_seed_decides_all_weights(config):
    first, second, other = (
        build_network(config, 300, 2, seed=seed).state_dict() for seed in (4, 4, 5)
    )
    assert all(torch.equal(first[name], second[name]) for name in first)
    kernels = [name for name in first if first[name].ndim > 1]
    assert kernels
    assert not any(torch.equal(first[name], other[name]) for name in kernels)


@pytest.mark.parametrize(
    ("config", "window_bp"),
    [(CnnPromConfig(), 23), (DeePromoterConfig(), 5), (DeepSeaConfig(), 100)],
)
def test_windows_that_are_too_short_are_refused(config, window_bp):
    with pytest.raises(ValueError, match=f"cannot read windows of {window_bp} bp"):
        build_network(config, window_bp, 1, seed=0)


def test_widths_are_checked():
    with pytest.raises(ValueError, match=r"--deepsea\.width 0"):
        DeepSeaConfig(width=0)


@pytest.mark.parametrize("config", SMALL, ids=NAMES)
def test_a_planted_motif_is_learned(config):
    """Two labels, one motif each, on a few rows: the training loss falls to nearly nothing."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, 4, (48, 300), generator=generator)
    labels_BL = torch.stack([torch.arange(48) % 2, torch.arange(48) // 2 % 2], dim=1).float()
    for motif, column, place in (("TATAAAAG", 0, 120), ("CCGCCCAA", 1, 170)):
        rows = labels_BL[:, column] == 1
        ids[rows, place : place + 8] = torch.from_numpy(BaseTokenizer().encode(motif)).long()
    is_padding = torch.zeros_like(ids, dtype=torch.bool)
    network = build_network(config, 300, 2, seed=0)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    torch.manual_seed(0)  # dropout
    for _ in range(80):
        loss = F.binary_cross_entropy_with_logits(network(ids, is_padding), labels_BL)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    called = network.eval()(ids, is_padding) > 0
    assert (called == labels_BL.bool()).all()
