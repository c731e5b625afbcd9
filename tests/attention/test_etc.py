"""BigBird-ETC in blocks against loops over every query, and faults that must be seen."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from dna_bigbird.attention.backends import etc_global, etc_long
from dna_bigbird.attention.cores.etc import ETC_BACKENDS, attend_long
from dna_bigbird.attention.etc_heads import EtcHeads
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import LONG, EtcLayout, Example
from tests.attention.etc_cases import answers, excess, random_case, truth

CASES, MORE_CASES = 320, 3000


def blocked(stream, seed):
    """The blocked form with blocks and chunks of sizes that the seed draws."""
    rng = np.random.default_rng(seed + 10**6)
    size, most_scores = int(rng.integers(1, 24)), int(rng.choice([1, 3000, 10**6]))

    def attend(*inputs):
        return ETC_BACKENDS["blocked"][stream](*inputs, 0.0, size)

    return attend, patch.dict(etc_long.MOST_SCORES, cpu=most_scores)


def results(case, seed, dtype):
    attend, sizes = blocked(case.stream, seed)
    with sizes:
        return answers(case, attend, dtype)


def check(seed):
    case = random_case(seed)
    exact = truth(case)
    dense = answers(case, ETC_BACKENDS["dense"][case.stream], case.dtype)
    assert excess(exact, dense, results(case, seed, case.dtype), case) <= 1, case.what


@pytest.mark.parametrize("first", range(0, CASES, 40))
def test_output_and_gradients_round_about_as_well_as_dense(first):
    for seed in range(first, first + 40):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(CASES, MORE_CASES, 40))
def test_more_problems(first):
    for seed in range(first, first + 40):
        check(seed)


def test_both_forms_equal_the_loops_in_float64():
    for seed in range(60):
        case = random_case(seed)
        exact = truth(case)
        dense = answers(case, ETC_BACKENDS["dense"][case.stream], torch.float64)
        for other in (dense, results(case, seed, torch.float64)):
            for right, near in zip(exact, other, strict=True):
                torch.testing.assert_close(near, right, rtol=0, atol=1e-12, msg=case.what)


def wrong_label(case):
    """One pair between the streams has the other label; the masks stay."""
    layout = case.layout
    belongs = layout.belongs.clone()
    belongs[0, len(belongs[0]) // 2, 0] ^= True
    pattern = replace(case.pattern, hard_g2l=False, hard_l2g=False)
    case = replace(case, pattern=pattern)
    return case, replace(case, layout=replace(layout, belongs=belongs))


def other_direction(case):
    """Labels of left and right neighbours are exchanged."""
    k = case.pattern.max_distance
    order = torch.arange(case.pattern.num_labels)
    order[[1, k + 1]] = order[[k + 1, 1]]
    tables = (case.heads.label_embeddings[order], case.heads.label_biases[order])
    return case, replace(case, heads=EtcHeads(*case.heads[:5], *tables))


def lost_neighbour(case):
    """The band is one token narrower."""
    pattern = replace(case.pattern, local_mode="exact", radius=max(2, case.pattern.radius))
    return (
        replace(case, pattern=pattern),
        replace(case, pattern=replace(pattern, radius=pattern.radius - 1)),
    )


def crossed_cut(case):
    """The last paragraph begins one token too late."""
    pattern, at = replace(case.pattern, cuts=True), torch.arange(case.layout.belongs.shape[1])
    cuts = [
        ((at >= len(at) // 2 + late) * 1).expand_as(case.layout.long_padding) for late in (0, 1)
    ]
    layouts = [replace(case.layout, long_segments=cut) for cut in cuts]
    return tuple(replace(case, pattern=pattern, layout=layout) for layout in layouts)


def reads_differ(case, broken):
    """True if a query that reads two keys or more reads others, or with other labels."""
    rows = range(len(case.layout.belongs))
    pairs = []
    for c in (case, broken):
        examples = [Example(c.pattern, c.layout, row) for row in rows]
        names = "keys_of_long" if c.stream == LONG else "keys_of_global"
        queries = range(c.heads.q.shape[2])
        pairs.append([list(getattr(x, names)(i)) for x in examples for i in queries])
    return any(a != b and min(len(a), len(b)) > 1 for a, b in zip(*pairs, strict=True))


def reads_neighbours(case, _):
    """True if some query reads a neighbour and something else."""
    k = case.pattern.max_distance
    rows = range(len(case.layout.belongs))
    examples = [Example(case.pattern, case.layout, row) for row in rows]
    name = "keys_of_long" if case.stream == LONG else "keys_of_global"
    keys = [list(getattr(x, name)(i)) for x in examples for i in range(case.heads.q.shape[2])]
    return any(len(x) > 1 and {1, k + 1} & {label for *_, label in x} for x in keys)


@pytest.mark.parametrize(
    ("fault", "has_effect", "least"),
    [
        (wrong_label, reads_differ, 25),
        (other_direction, reads_neighbours, 25),
        (lost_neighbour, reads_differ, 10),
        (crossed_cut, reads_differ, 10),
    ],
)
def test_a_planted_fault_is_caught(fault, has_effect, least):
    """The same measure in float32, when the blocked form computes a slightly different problem."""
    caught = 0
    for seed in range(5000, 5050):
        case, broken = fault(replace(random_case(seed), dtype=torch.float32))
        if not has_effect(case, broken):
            continue
        dense = answers(case, ETC_BACKENDS["dense"][case.stream], case.dtype)
        measured = excess(truth(case), dense, results(broken, seed, case.dtype), case)
        assert measured > 1, f"{fault.__name__}: {case.what}"
        caught += 1
    assert caught >= least


@pytest.mark.parametrize("stream", [0, 1])
def test_backward_draws_the_dropout_masks_of_forward(stream):
    """Numerical gradients of the function with the masks of one seed; several blocks and chunks."""
    pattern = EtcPattern(radius=2, max_distance=2)
    nothing = torch.zeros(1, 9, dtype=torch.bool)
    layout = EtcLayout(nothing, nothing[:, :3], (torch.arange(27) % 2 == 0).view(1, 9, 3))
    generator = torch.Generator().manual_seed(0)
    lengths = ((9, 3)[stream], 9, 9, 3, 3)
    shapes = [(1, 2, n, 2) for n in lengths] + [(8, 2, 2), (8, 2)]
    heads = [torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes]

    def attend(*tensors):
        torch.manual_seed(3)
        return ETC_BACKENDS["blocked"][stream](EtcHeads(*tensors), pattern, layout, 0.4, 4)

    with patch.dict(etc_long.MOST_SCORES, cpu=1):
        assert torch.autograd.gradcheck(attend, [x.requires_grad_() for x in heads])


@pytest.mark.parametrize("backend", ["dense", "blocked"])
def test_hidden_memory_has_no_influence(backend):
    """Not-a-number as padding, in either stream; padding queries give exactly zero."""
    padded = 0
    for seed in range(0, 60, 2):
        case = random_case(seed)
        layout = case.layout
        q, *keys, embeddings, biases = (x.to(case.dtype) for x in case.heads)
        hidden = [layout.long_padding] * 2 + [layout.global_padding] * 2
        masks = [layout.long_padding, *hidden]
        tensors = [q, *keys]
        other = [
            x.masked_fill(mask[:, None, :, None], torch.nan)
            for x, mask in zip(tensors, masks, strict=True)
        ]
        plain, changed = (
            attend_long(EtcHeads(*x, embeddings, biases), case.pattern, layout, backend=backend)
            for x in (tensors, other)
        )
        assert torch.equal(plain, changed), case.what
        assert (plain[layout.long_padding[:, None].expand(plain.shape[:3])] == 0).all()
        padded += int(layout.long_padding.any() and layout.global_padding.any())
    assert padded > 5


class LargestTensor(TorchDispatchMode):
    """Number of elements of the largest tensor that any operation returns or holds."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for x in tree_leaves(out):
            if isinstance(x, torch.Tensor):
                size = x.untyped_storage().nbytes() // x.element_size()
                self.elements = max(self.elements, size)
        return out


def largest(attend, queries, num_long):
    """Elements of the largest tensor, forward and backward, with one head of 2."""
    nothing = torch.zeros(1, num_long, dtype=torch.bool)
    layout = EtcLayout(nothing, nothing[:, :2], torch.ones(1, num_long, 2, dtype=torch.bool))
    shapes = [(1, 1, n, 2) for n in (queries, num_long, num_long, 2, 2)] + [(8, 1, 2), (8, 1)]
    heads = EtcHeads(*(torch.ones(x).requires_grad_() for x in shapes))
    with LargestTensor() as mode:
        out = attend(heads, EtcPattern(radius=3, max_distance=2), layout)
        torch.autograd.grad(out.sum(), tuple(heads))
    return mode.elements


def test_no_tensor_is_quadratic_in_the_long_stream():
    """The largest has a row of labels per token, and of the scores one chunk."""
    with patch.dict(etc_long.MOST_SCORES, cpu=5000), patch.dict(etc_global.MOST_SCORES, cpu=5000):
        for stream, limit in ((0, 10), (1, 4)):
            attend = ETC_BACKENDS["blocked"][stream]
            sizes = [largest(attend, (n, 2)[stream], n) for n in (2048, 4096)]
            assert sizes[1] <= limit * 4096 + 10_000, sizes
    assert largest(ETC_BACKENDS["dense"][0], 300, 300) >= 300 * 300  # the measure sees one
