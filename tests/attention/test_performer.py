"""Attention by random features against its oracle, the kernel they estimate, and faults."""

from dataclasses import replace
from unittest.mock import patch

import pytest
import torch

from dna_bigbird.attention.backends import favor
from dna_bigbird.attention.cores.performer import attend_favor, draw_projection
from dna_bigbird.attention.favor_features import Favor
from tests.attention.favor_cases import answers, excess, random_case, truth
from tests.attention.test_etc import LargestTensor

CASES, STEP = 320, 40
FORMS = pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])


@FORMS
@pytest.mark.parametrize("first", range(0, CASES, STEP))
def test_output_and_gradients_equal_the_oracle_and_round_about_as_well(first, causal):
    """1e-10 in float64; in the type of the case the tolerance of `excess`."""
    for seed in range(first, first + STEP):
        case = random_case(seed, causal=causal)
        exact, dense = truth(case), answers(case, "dense", case.dtype)
        for right, near in zip(exact, answers(case, "linear", torch.float64), strict=True):
            torch.testing.assert_close(near, right, rtol=0, atol=1e-10, msg=case.what)
        assert excess(case, exact, dense, answers(case, "linear", case.dtype)) <= 1, case.what


@pytest.mark.parametrize("kernel", ["softmax", "relu"])
def test_causal_over_more_than_one_chunk_of_the_default_size(kernel):
    length = favor.CHUNK_TOKENS + favor.PIECE + 5
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, 1, length, 4, generator=generator, dtype=torch.float64)
    settings = (draw_projection(6, 4, seed=0, draw=0), Favor(kernel), None, True)
    dense, linear = (attend_favor(q, k, v, *settings, x) for x in ("dense", "linear"))
    torch.testing.assert_close(linear, dense, rtol=0, atol=1e-10)


def test_causal_equals_each_prefix_alone():
    case = random_case(3, causal=True)
    settings = (case.projection, case.favor)
    out = attend_favor(*case.qkv, *settings, causal=True)
    for t in range(out.shape[2]):
        q, k, v = (x[:, :, : t + 1] for x in case.qkv)
        alone = attend_favor(q, k, v, *settings)
        torch.testing.assert_close(out[:, :, t], alone[:, :, t], rtol=0, atol=1e-10)


@FORMS
@pytest.mark.parametrize("backend", ["dense", "linear"])
def test_hidden_memory_has_no_influence(backend, causal):
    """Not-a-number as padding: outputs and gradients stay, those of padding are exactly zero."""
    padded = 0
    for seed in range(40):
        case = random_case(seed, causal=causal)
        noise = tuple(x.masked_fill(case.hidden, torch.nan) for x in case.qkv)
        before = answers(case, backend, torch.float32)
        after = answers(replace(case, qkv=noise), backend, torch.float32)
        for plain, noisy in zip(before, after, strict=True):
            assert torch.equal(plain, noisy), case.what
            assert (plain.masked_select(case.hidden) == 0).all()
        padded += bool(case.hidden.any())
    assert padded > 15


@FORMS
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("stabilizer", ["projection", "exponent"])
def test_vectors_of_any_length_give_finite_results(stabilizer, dtype, causal):
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, 70, 8, generator=generator)
    for norm in (1e-3, 30.0, 1e3):
        inputs = [(x * norm).to(dtype).requires_grad_() for x in (q, k)]
        inputs.append(v.to(dtype).requires_grad_())
        w_MD = draw_projection(12, 8, seed=0, draw=0)
        out = attend_favor(*inputs, w_MD, Favor(stabilizer=stabilizer), causal=causal)
        gradients = torch.autograd.grad(out.sum(), inputs)
        assert all(x.isfinite().all() for x in (out, *gradients)), norm


@FORMS
def test_no_tensor_is_quadratic_in_the_length(causal):
    def largest(backend, length):
        q, k, v = (torch.ones(1, 1, length, 2, requires_grad=True) for _ in range(3))
        with LargestTensor() as mode:
            settings = (draw_projection(2, 2, seed=0, draw=0), Favor(), None, causal, backend)
            torch.autograd.grad(attend_favor(q, k, v, *settings).sum(), (q, k, v))
        return mode.elements

    assert largest("linear", 4096) <= favor.CHUNK_TOKENS * favor.PIECE
    assert largest("dense", 300) >= 300 * 300  # the measure sees one


def no_mask_of_keys(case):
    """Features of padded keys are not zeroed, only their values are."""
    read = favor.read_keys

    def wrong(k, v, keep, *settings):
        keys = read(k, v, None, *settings)
        return keys if keep is None else keys._replace(v1=torch.cat(
            [keys.v1[..., :-1].masked_fill(~keep, 0.0), keys.v1[..., -1:]], dim=-1
        ))  # fmt: skip

    return patch.object(favor, "read_keys", wrong)


def no_normaliser(case):
    """The sum of values is not divided by the sum of weights."""
    return patch.object(favor, "divided", lambda sums: sums[..., :-1])


def later_keys(case):
    """A query reads the keys of its whole piece."""
    return patch.object(torch.Tensor, "tril_", lambda x: x)


def no_epsilon(case):
    """ε is left out."""
    return patch.object(Favor, "added", 0.0)


@pytest.mark.parametrize(
    ("fault", "causal"),
    [
        (no_mask_of_keys, False),
        (no_mask_of_keys, True),
        (no_normaliser, False),
        (no_normaliser, True),
        (later_keys, True),
        (no_epsilon, False),
        (no_epsilon, True),
    ],
)
def test_a_planted_fault_is_caught(fault, causal):
    """The measure of the first test in float32, wherever the fault changes the output at all."""
    caught = 0
    for seed in range(5000, 5060):
        case = replace(random_case(seed, causal=causal), dtype=torch.float32)
        exact, dense = truth(case), answers(case, "dense", torch.float32)
        with fault(case):
            wrong = answers(case, "linear", torch.float64)
            tested = answers(case, "linear", torch.float32)
        if torch.allclose(exact[0], wrong[0], rtol=0, atol=1e-3):
            continue
        assert excess(case, exact, dense, tested) > 1, f"{fault.__name__}: {case.what}"
        caught += 1
    assert caught >= 12


def softmax_kernel_estimate(q, k, w_MD):
    """The estimate of exp(q · k / √D) by positive features, without ε and stabiliser.

    Its mean over draws of the projection is exact (Choromanski et al. 2021, Lemma 1).
    """
    favor = Favor(epsilon=0.0)
    return (favor.exponents(q, w_MD) + favor.exponents(k, w_MD)).exp().mean(-1)


def estimates(draws, num_features, *, scale=0.7, **settings):
    """Estimates of exp(q · k / √D) by independent draws, and the exact value.

    Args:
        scale: Of the vectors; the estimates of longer ones have heavier tails.
    """
    generator = torch.Generator().manual_seed(1)
    q, k = scale * torch.randn(2, 8, generator=generator, dtype=torch.float64)
    values = [
        softmax_kernel_estimate(
            q, k, draw_projection(num_features, 8, seed=7, draw=i, **settings).double()
        )
        for i in range(draws)
    ]
    return torch.stack(values), (q @ k / 8**0.5).exp()


@pytest.mark.parametrize("rows", ["orthogonal", "independent"])
def test_the_kernel_estimate_is_unbiased(rows):
    """Five standard errors over 4,000 draws: with a normal mean a right one fails with probability 6e-7."""
    values, exact = estimates(4000, 8, rows=rows)
    assert abs(values.mean() - exact) < 5 * values.std() / len(values) ** 0.5
    assert values.std() / len(values) ** 0.5 < 0.02 * exact  # a bias of 10 % would be seen


def test_rows_of_one_sign_would_be_seen():
    """The same measure, without the signs of the QR decomposition: it is biased."""
    with patch("numpy.sign", lambda x: x * 0 + 1):
        values, exact = estimates(4000, 8)
    assert abs(values.mean() - exact) > 5 * values.std() / len(values) ** 0.5


def test_the_error_falls_with_the_features_and_orthogonal_rows_have_less():
    """Mean squared errors of 2,000 draws; independent rows: proportional to 1 / M.

    Each mean has a relative standard error below 15 %, so the logarithm of the ratio one below 0.22: with
    normal errors a ratio of 8 is outside of 4 to 16 with a probability of 0.002 at most.
    """
    errors = {}
    for rows in ("independent", "orthogonal"):
        for num_features in (8, 64):
            values, exact = estimates(2000, num_features, scale=0.35, rows=rows)
            squares = (values - exact).square()
            errors[rows, num_features] = squares.mean().item()
            assert squares.std() / len(squares) ** 0.5 < 0.15 * squares.mean()
    assert 4 < errors["independent", 8] / errors["independent", 64] < 16
    for num_features in (8, 64):
        assert errors["orthogonal", num_features] < errors["independent", num_features]


def test_settings_that_do_not_fit():
    q = torch.ones(1, 1, 3, 2)
    with pytest.raises(ValueError, match=r"projection must be \(features, 2\), got \(4, 3\)"):
        attend_favor(q, q, q, torch.ones(4, 3), Favor())
    with pytest.raises(ValueError, match="key_padding_mask must be bool"):
        attend_favor(q, q, q, torch.ones(4, 2), Favor(), torch.ones(1, 3))
    with pytest.raises(ValueError, match="must have one shape"):
        attend_favor(q, q[:, :, :2], q, torch.ones(4, 2), Favor())
    with pytest.raises(ValueError, match="of one type"):
        attend_favor(q, q.double(), q, torch.ones(4, 2), Favor())
    with pytest.raises(ValueError, match="backend must be one of auto, linear, dense"):
        attend_favor(q, q, q, torch.ones(4, 2), Favor(), backend="flex")
    with pytest.raises(ValueError, match="epsilon must be at least 0 and below 1, got 1"):
        Favor(epsilon=1)
    with pytest.raises(ValueError, match="rows 'identity' needs 4 features, got 5"):
        draw_projection(5, 4, seed=0, draw=0, rows="identity")
    with pytest.raises(ValueError, match="must be at least 1, seed and draw at least 0"):
        draw_projection(5, 4, seed=0, draw=-1)
