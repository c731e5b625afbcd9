"""The learning comparison: equal starts, budgets, scores of models that are right by construction, baselines."""

import itertools

import numpy as np
import pytest
import torch

from dna_bigbird.evaluation.long_attention.baselines import (
    baselines_job,
    kmer_counts,
    nearest_value,
    score,
    wilson,
)
from dna_bigbird.evaluation.long_attention.batches import Batch, hide_any, source_of
from dna_bigbird.evaluation.long_attention.distant_pairs import DNA_WORDS
from dna_bigbird.evaluation.long_attention.names import CORES
from dna_bigbird.evaluation.long_attention.plan import Training, train
from dna_bigbird.evaluation.long_attention.small_models import SmallModel
from dna_bigbird.evaluation.long_attention.tables import comparison_figure, tables_of

SETTINGS = {
    "part": "partner", "core": "full", "seed": 0, "tokens": 512, "steps": 4, "seconds": 0.0,
    "test_sequences": 3,
}  # fmt: skip


@pytest.mark.parametrize("core", CORES)
def test_models_of_all_cores_share_their_initial_weights(core):
    full, other = SmallModel("full", 50, 256, seed=3), SmallModel(core, 50, 256, seed=3)
    of_full, of_other = full.state_dict(), other.state_dict()
    shared = [x for x in of_full if x in of_other and "extra_state" not in x]
    assert len(shared) >= 30
    for name in shared:
        if of_full[name].shape == of_other[name].shape:
            assert torch.equal(of_full[name], of_other[name]), name


def test_longformer_starts_with_equal_global_projections():
    state = SmallModel("longformer", 50, 256, seed=0).state_dict()
    name = "lm.encoder.layers.1.attention.{}.weight"
    assert torch.equal(state[name.format("global_qkv")], state[name.format("qkv")])


class Reader(torch.nn.Module):
    """Names the value at the only other site with the key of the question."""

    def __init__(self, task, is_right):
        super().__init__()
        self.task, self.is_right = task, is_right

    def forward(self, token_ids_BT, positions_P):
        logits = torch.zeros(len(positions_P), DNA_WORDS + 1)
        tokens = token_ids_BT.flatten()
        for row, position in enumerate(positions_P):
            (sites,) = torch.nonzero(tokens == tokens[position - 2], as_tuple=True)
            (other,) = [x for x in sites if x != position - 2]
            logits[row, tokens[other + 2]] = 1.0 if self.is_right else -1.0
        return logits


@pytest.mark.parametrize("is_right", [True, False])
def test_accuracy_by_distance_of_a_model_that_reads_the_partner(is_right):
    test = source_of("partner", is_test=True)
    result = score(Reader(test.task, is_right), test, 512, count=5)
    assert result["score"] == is_right
    assert [row["distance"] for row in result["by_distance"]] == [42, 85, 171, 341]
    assert sum(row["n"] for row in result["by_distance"]) == result["n"] == 20
    assert all(row["right"] == is_right * row["n"] for row in result["by_distance"])


class Uniform(torch.nn.Module):
    def forward(self, token_ids_BT, positions_P):
        return torch.zeros(len(positions_P), 4**6)


def test_equal_chances_of_all_words_are_two_bits_per_base():
    result = score(Uniform(), source_of("dna", is_test=True), 256, count=2)
    assert result["score"] == pytest.approx(2.0)


def test_hidden_tokens_are_a_share_without_repetition():
    rows = [np.arange(100), np.arange(100, 200)]
    batch = hide_any(rows, 999, np.random.default_rng(0))
    hidden = batch.token_ids_BT == 999
    assert hidden.sum(1).tolist() == [15, 15]
    assert torch.equal(batch.token_ids_BT.flatten()[batch.positions_P], torch.full((30,), 999))
    assert torch.equal(batch.answers_P, batch.positions_P)


def test_stages_grow_and_have_equal_positions():
    training = Training(
        SmallModel("full", 50, 1024, 0), {**SETTINGS, "tokens": 1024, "steps": 10}, iter
    )
    even, odd = [], []
    for training.step in range(14):
        (odd if training.step % 2 else even).append(training.next_tokens())
    assert even == [256, 256, 512, 512, 1024, 1024, 1024]
    assert odd[:3] == [256] * 3
    assert set(odd[3:]) <= {256, 512}


class Fixed:
    """A source with the same batch every time."""

    vocabulary, choices = 50, None

    def draw(self, count, tokens, rng):
        self.asked = (count, tokens)
        ids = torch.arange(count * tokens).view(count, tokens) % 50
        return Batch(ids, torch.tensor([1]), torch.tensor([7]), np.zeros(1))


def test_a_step_counts_positions_and_time_and_learns():
    ticks = itertools.count(step=2)
    model = SmallModel("full", 50, 512, 0)
    training = Training(model, SETTINGS | {"steps": 20}, lambda: next(ticks))
    source = Fixed()
    before = model(*_inputs(source))[0].log_softmax(-1)[7]
    for _ in range(8):
        training.advance(source)
    assert source.asked == (1, 512) or source.asked == (2, 256)
    assert (training.step, training.positions, training.seconds) == (8, 8 * 512, 16)
    assert model(*_inputs(source))[0].log_softmax(-1)[7] > before + 0.5


def _inputs(source):
    batch = source.draw(1, 256, None)
    return batch.token_ids_BT, batch.positions_P


@pytest.mark.parametrize("part", ["dna", "partner", "pretrained", "text"])
def test_budgets_end_at_their_step_and_their_second(part):
    ticks = itertools.count()
    result = train({**SETTINGS, "part": part, "seconds": 6.5}, clock=lambda: next(ticks))
    assert result["equal_steps"]["step"] == 4
    assert result["equal_seconds"]["step"] == 7
    assert result["equal_seconds"]["seconds"] == 7
    assert [point["step"] for point in result["curve"]] == list(range(1, 8))
    assert ("pretraining_seconds" in result) == (part == "pretrained")


def test_a_slow_core_is_scored_before_its_last_step():
    ticks = itertools.count()
    result = train({**SETTINGS, "seconds": 2.0}, clock=lambda: next(ticks))
    assert (result["equal_seconds"]["step"], result["equal_steps"]["step"]) == (2, 4)


def test_equal_settings_give_equal_results():
    first, second = (train(SETTINGS, clock=itertools.count().__next__) for _ in range(2))
    assert first == second


def test_baselines_are_at_chance_on_the_planted_task():
    """n = 160 questions: five standard errors are 0.2."""
    rows = baselines_job({"tokens": {"partner": 512}, "test_sequences": 40})["rows"]
    assert [row["predictor"] for row in rows] == ["nearest value", "k-mer counts"]
    for row in rows:
        right, n = (sum(x[name] for x in row["by_distance"]) for name in ("right", "n"))
        assert n == 160
        assert abs(right / n - 0.5) < 0.2


def test_word_frequencies_are_below_two_bits():
    (row,) = baselines_job({"tokens": {"dna": 512}, "test_sequences": 4})["rows"]
    assert 1.85 < np.mean(row["bits_per_base"]) < 2.0


def test_counts_of_kmers():
    counts = kmer_counts("ACACG")
    assert counts[:4].tolist() == [2, 2, 1, 0]
    assert counts[4 + 1] == 2  # AC
    assert counts.sum() == 5 + 4 + 3 + 2


def test_the_nearest_value_is_that_of_a_decoy_or_another_partner():
    source = source_of("partner", is_test=True)
    example = source.task.draw(512, source.distances, np.random.default_rng(0))
    tokens = example.asked(-1)
    values = [i for i, token in enumerate(tokens) if token in source.task.values]
    expected = [tokens[min(values, key=lambda i: abs(i - p))] for p in example.positions_Q]
    answers = nearest_value(source.task, example)
    assert [source.task.values[i] for i in answers] == expected


def test_intervals_are_wilson():
    assert wilson(0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)  # Newcombe 1998, table I


def test_seeds_are_joined_into_one_row():
    def result(seed, right):
        budget = {
            "step": 1,
            "seconds": 1.0,
            "by_distance": [{"distance": 85, "right": right, "n": 10}],
        }
        settings = {"part": "partner", "core": "full", "seed": seed}
        return {"settings": settings, "equal_steps": budget, "equal_seconds": budget, "curve": []}

    tables = tables_of({"a": result(0, 4), "b": result(1, 8)})
    row = tables["learning"][0]
    assert (row["score"], row["lowest_seed"], row["highest_seed"], row["seeds"]) == (
        0.6,
        0.4,
        0.8,
        2,
    )
    assert (row["score_low"], row["score_high"]) == wilson(6, 10)


def test_no_label_of_the_picture_has_markup():
    row = {"tokens": 512, "core": "full", "forward_backward_s": 0.1, "saved_bytes": 10**6}
    rows = [row, row | {"tokens": 16384, "forward_backward_s": 9.0, "saved_bytes": 10**8}]
    scored = {"part": "text", "core": "full", "budget": "equal_steps", "score": 0.7}
    learned = [
        scored | {"distance": distance, "score_low": 0.6, "score_high": 0.8}
        for distance in (512, 4096)
    ]
    figure = comparison_figure({"cost": rows, "learning": learned})
    figure.draw_without_rendering()
    for ax in figure.axes:
        labels = [*ax.get_xticklabels(which="both"), *ax.get_yticklabels(which="both")]
        texts = [label.get_text() for label in labels]
        assert "512" in texts
        assert not [text for text in texts if "$" in text]
