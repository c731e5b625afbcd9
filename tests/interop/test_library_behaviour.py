"""What the library does and we do not: the list of docs/results/hugging-face-library.md, one test an entry."""

import copy
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dna_bigbird.attention import patterns
from dna_bigbird.bundles.huggingface import read_huggingface

PAGE = Path(__file__).parents[2] / "docs/results/hugging-face-library.md"
OF_LONGFORMER = Path(__file__).with_name("test_longformer_behaviour.py")
DIFFERENT = 0.01
"""Well above rounding (1e-5 here), well below what another pattern does."""


@pytest.fixture(scope="module")
def base(library_model):
    return library_model("BigBirdModel")


@pytest.fixture(scope="module")
def folder(base, save_library_model, tmp_path_factory):
    return save_library_model(base, tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def convert(folder):
    """Function (plan) -> our model."""
    kept = {}

    def convert(plan="uniform"):
        if plan not in kept:
            kept[plan] = read_huggingface(folder, plan).model.encoder
        return kept[plan].eval()

    return convert


@pytest.fixture
def theirs(base):
    """A copy: a call may change a model of the library for good."""
    return copy.deepcopy(base).eval()


def tokens(length, rows=1):
    return torch.randint(5, 120, (rows, length), generator=torch.Generator().manual_seed(0))


def states(model, ids_BT, is_padding_BT=None):
    if is_padding_BT is None:
        is_padding_BT = torch.zeros_like(ids_BT, dtype=torch.bool)
    with torch.no_grad():
        if hasattr(model, "pooler"):
            return model(ids_BT, attention_mask=(~is_padding_BT).long()).last_hidden_state
        return model(ids_BT, is_padding_BT)


def gap(a, b):
    return float((a - b).abs().max())


def test_another_function_in_evaluation(theirs, convert):
    """Its random blocks exist in training only; in evaluation block 0 counts 4 times instead."""
    ids_BT = tokens(1024)
    for plan in ("uniform", "original"):
        ours = convert(plan)
        assert gap(states(ours, ids_BT), states(ours.train(), ids_BT)) < 1e-5
    evaluation = states(theirs, ids_BT)
    assert gap(evaluation, states(theirs.train(), ids_BT)) > DIFFERENT
    table = patterns.bigbird_itc(16, 64, 3, 1, "huggingface", 0).times()
    assert (table[0, 2, 0], table[0, 2].sum()) == (4, 8)
    assert gap(evaluation, states(convert("huggingface"), ids_BT)) < 1e-4


def test_a_short_input_changes_the_model_for_good(theirs, convert):
    ids_BT = tokens(1024)
    before = states(theirs, ids_BT)
    states(theirs, ids_BT[:, :704])
    assert theirs.attention_type == "original_full"
    assert gap(before, states(theirs, ids_BT)) > DIFFERENT
    for plan in ("huggingface", "uniform"):
        ours = convert(plan)
        before = states(ours, ids_BT)
        states(ours, ids_BT[:, :704])
        assert gap(before, states(ours, ids_BT)) == 0


def test_numpy_is_reseeded_by_a_training_step(theirs, convert):
    def next_number(model):
        np.random.seed(12345)
        states(model.train(), tokens(1024))
        return np.random.random()

    np.random.seed(12345)
    undisturbed = np.random.random()
    assert next_number(theirs) != undisturbed
    for plan in ("huggingface", "uniform"):
        assert next_number(convert(plan)) == undisturbed


class Largest(TorchDispatchMode):
    """Remembers the number of elements of the largest tensor that an operation returns."""

    numel = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.numel = max(self.numel, tensor.numel())
        return result


def test_a_dense_probability_tensor(theirs, convert):
    """Heads × tokens², although nobody asked for the probabilities."""
    sizes = {}
    for name, model in (("theirs", theirs), ("ours", convert("huggingface"))):
        for length in (1024, 2048):
            with Largest() as largest:
                states(model, tokens(length))
            sizes[name, length] = largest.numel
    assert sizes["theirs", 2048] >= 2 * 2048**2
    assert sizes["theirs", 2048] == 4 * sizes["theirs", 1024]
    assert sizes["ours", 2048] < 2048**2 / 2
    assert sizes["ours", 2048] <= 2.2 * sizes["ours", 1024]


def test_another_plan_at_2048_tokens(theirs, convert, monkeypatch):
    """The published code has one plan for 1,024, 2,048, 3,072 and 4,096 tokens."""
    attention = theirs.encoder.layer[0].attention.self
    drawn = []
    draw = attention._bigbird_block_rand_mask_with_head
    monkeypatch.setattr(
        attention,
        "_bigbird_block_rand_mask_with_head",
        lambda **given: drawn.append(draw(**given)) or drawn[-1],
    )
    theirs.train()
    for length in (1024, 3072, 2048):
        states(theirs, tokens(length))
    (table,) = drawn  # at 2,048 only
    assert np.max(table) <= 10  # the first 704 tokens
    published = patterns.bigbird_itc(32, 64, 3, 2, "original", 0)
    assert published.key_blocks[:, 1:-1, 5:].max() == 15  # the first 1,024 tokens
    assert gap(states(theirs, tokens(2048)), states(convert("original"), tokens(2048))) > DIFFERENT


@pytest.mark.parametrize("mode", ["evaluation", "training"])
def test_a_crash_under_autocast(theirs, convert, mode):
    ids_BT = tokens(768)
    ours = convert().train(mode == "training")
    theirs.train(mode == "training")
    exact = states(ours, ids_BT)
    with torch.autocast("cpu", torch.bfloat16):
        with pytest.raises(RuntimeError, match="scatter"):
            states(theirs, ids_BT)
        assert gap(states(ours, ids_BT).float(), exact) < 0.5


@pytest.mark.parametrize("plan", ["uniform", "huggingface"])
def test_the_pattern_follows_the_padded_batch(theirs, convert, plan):
    """The last global block is then padding. Our compatibility plans repeat it; our own does not."""
    ids_BT, is_padding_BT = tokens(2048, rows=2), torch.zeros(2, 2048, dtype=torch.bool)
    is_padding_BT[1, 1024:] = True
    alone, beside = ids_BT[1:, :1024], (ids_BT, is_padding_BT)
    assert gap(states(theirs, alone), states(theirs, *beside)[1:, :1024]) > DIFFERENT
    change = gap(states(convert(plan), alone), states(convert(plan), *beside)[1:, :1024])
    assert change < 1e-5 if plan == "uniform" else change > DIFFERENT


def test_attention_dropout_at_short_lengths_only(library_model, save_library_model, tmp_path):
    """It drops attention weights in full attention, never in block-sparse attention."""
    theirs = library_model("BigBirdModel", attention_probs_dropout_prob=0.5).train()
    ours = read_huggingface(save_library_model(theirs, tmp_path)).model.encoder.train()
    for model, length, drops in (
        (theirs, 1024, False), (ours, 1024, False), (theirs, 704, True), (ours, 704, False),
    ):  # fmt: skip
        ids_BT = tokens(length)
        assert (gap(states(model, ids_BT), states(model, ids_BT)) > DIFFERENT) is drops


def test_states_of_padding(theirs, convert):
    """Ours are zero; its are what the layers make of the padding token."""
    ids_BT, is_padding_BT = tokens(800), torch.zeros(1, 800, dtype=torch.bool)
    is_padding_BT[:, 790:] = True
    assert states(theirs, ids_BT, is_padding_BT)[0, 790:].abs().min() > 0
    assert states(convert("huggingface"), ids_BT, is_padding_BT)[0, 790:].abs().max() == 0


def test_the_page_names_every_test():
    named = set(re.findall(r"`(test_\w+)` \|", PAGE.read_text()))
    tests = {name for name in globals() if name.startswith("test_")}
    tests |= set(re.findall(r"^def (test_\w+)", OF_LONGFORMER.read_text(), flags=re.MULTILINE))
    assert named == tests - {"test_the_page_names_every_test"}
