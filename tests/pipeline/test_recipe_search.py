"""Which recipes are tried, that finished trials are kept, and which one wins."""

import csv
from dataclasses import asdict

import pytest

from dna_bigbird.baselines.recipe_search import check_search, draw_recipes, search
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.train_config import TrainConfig

MUON = TrainConfig(optimizer="muon", learning_rate=0.002, muon_learning_rate=0.01)


def test_the_first_recipe_is_the_given_one_and_others_are_around_it():
    recipes = draw_recipes(MUON, None, 40, seed=3)
    assert recipes[0].training == MUON
    assert recipes[0].dropout is None
    for recipe in recipes[1:]:
        changed = {k for k, v in asdict(recipe.training).items() if v != asdict(MUON)[k]}
        assert changed <= {"learning_rate", "muon_learning_rate", "weight_decay"}
        assert 0.002 / 4.01 < recipe.training.learning_rate < 0.002 * 4.01
        assert 0.01 / 4.01 < recipe.training.muon_learning_rate < 0.01 * 4.01
        assert recipe.training.weight_decay in (0.0, 0.01, 0.1)
        assert recipe.dropout in (0.0, 0.1, 0.2, 0.3)
    rates = [recipe.training.learning_rate for recipe in recipes]
    assert min(rates) < 0.001
    assert max(rates) > 0.004


def test_recipes_depend_on_the_seed_and_their_number_only():
    assert draw_recipes(MUON, 0.1, 3, seed=3) == draw_recipes(MUON, 0.1, 9, seed=3)[:3]
    assert draw_recipes(MUON, 0.1, 3, seed=3)[1] != draw_recipes(MUON, 0.1, 3, seed=4)[1]


def test_rates_that_are_not_used_are_not_drawn():
    values = draw_recipes(TrainConfig(), None, 2, seed=0)[1].values
    assert list(values) == ["learning_rate", "weight_decay", "dropout"]
    with_head = TrainConfig(head_learning_rate=0.01)
    assert "head_learning_rate" in draw_recipes(with_head, None, 2, seed=0)[1].values


class Trials:
    """Scores by number; counts what is run."""

    def __init__(self, scores):
        self.scores, self.ran = scores, []

    def run(self, number):
        self.ran.append(number)
        if self.scores[number] is None:
            raise KeyboardInterrupt
        return self.scores[number], 10 * number


def tried(trials, folder, identity="same"):
    recipes = [{"learning_rate": number} for number in range(len(trials.scores))]
    return search(recipes, trials.run, lambda number: {"identity": identity}, folder)


def test_the_highest_score_wins_and_every_trial_is_in_the_table(tmp_path):
    done = tried(Trials([0.7, 0.9, float("nan"), 0.9, 0.8]), tmp_path)
    assert done.best.number == 1, "the first of equal scores"
    with open(tmp_path / "search.tsv", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert [row["validation_macro_auroc"] for row in rows] == ["0.7", "0.9", "", "0.9", "0.8"]
    assert [row["is_chosen"] for row in rows] == ["False", "True", "False", "False", "False"]
    assert [row["step"] for row in rows] == ["0", "10", "20", "30", "40"]


def test_a_stopped_search_runs_only_what_is_missing(tmp_path):
    stopped = Trials([0.7, 0.9, None, 0.6])
    with pytest.raises(KeyboardInterrupt):
        tried(stopped, tmp_path)
    assert not (tmp_path / "search.tsv").exists()
    again = Trials([0.1, 0.1, 0.8, 0.6])
    done = tried(again, tmp_path)
    assert again.ran == [2, 3]
    assert [trial.score for trial in done.trials] == [0.7, 0.9, 0.8, 0.6]
    other = Trials([0.1, 0.1, 0.8, 0.6])
    tried(other, tmp_path, identity="another set")
    assert other.ran == [0, 1, 2, 3]


def test_a_damaged_result_is_run_again(tmp_path):
    tried(Trials([0.7, 0.9]), tmp_path)
    (tmp_path / "trial001/result.json").write_text("{")
    again = Trials([0.1, 0.8])
    assert tried(again, tmp_path).best.number == 1
    assert again.ran == [1]


def test_searches_that_cannot_be_done_are_refused():
    with pytest.raises(InputError, match="several processes is not supported"):
        check_search(2, TrainConfig(devices=2))
    check_search(0, TrainConfig(devices=2))
