"""benchmarks/no_tata.py: areas and intervals, what a recipe trains on, which rows are held out."""

from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from dna_bigbird.metrics.binary import auroc


@pytest.fixture
def scripts(script, monkeypatch):
    """The script and its helpers."""
    return SimpleNamespace(
        main=script("no_tata"), rows=script("no_tata_rows"), training=script("no_tata_training")
    )


def held_out(seed, shift):
    """Scores of 20 sites that are higher by `shift`."""
    rng = np.random.default_rng(seed)
    counts = {"site": 20, "own": 20, "background": 90, "tata": 30}
    counts |= dict.fromkeys(("random_base", "permuted", "genomic"), 30)
    scores = {part: rng.normal(size=count).round(1) for part, count in counts.items()}
    return scores | {"site": scores["site"] + shift}


def fold(number):
    blocks = np.repeat(np.arange(10), 2)
    return SimpleNamespace(fold=number, blocks=blocks, held_out=held_out(number, 0.0))


def test_the_area_is_the_auroc(scripts):
    scores = held_out(0, 0.5)
    labels = np.repeat([1, 0], [20, 90])
    values = np.concatenate([scores["site"], scores["background"]])
    expected = auroc(labels, values)
    assert scripts.main.area([scores], "site", "background") == pytest.approx(expected)


def repeated(scores, part, blocks, drawn):
    """Scores of a draw, with every row as often as its unit was drawn, and the labels."""
    names = [*blocks, *(blocks if part == "own" else np.arange(10, 100))]
    values = np.concatenate([scores["site"], scores[part]])
    labels = np.repeat([1, 0], [20, len(scores[part])])
    times = np.array([drawn[unit] for unit in names], dtype=int)
    return np.repeat(labels, times), np.repeat(values, times)


@pytest.mark.parametrize("part", ["own", "background"])
def test_a_draw_repeats_whole_blocks(scripts, part):
    """Ten blocks of two sites; `own` windows go with their site, 90 `background` windows are single."""
    draws = scripts.main.SiteDraws([fold(1)], part, replicates=20)
    scores, times = held_out(1, 0.5), draws.draws[0].times
    assert len(times) == (10 if part == "own" else 100)
    expected = [
        auroc(*repeated(scores, part, np.repeat(np.arange(10), 2), times[:, r])) for r in range(20)
    ]
    np.testing.assert_allclose(draws.areas([scores]), expected)


def test_differences_are_paired(scripts):
    folds = [fold(1), fold(2)]
    draws = scripts.main.SiteDraws(folds, "own", replicates=300)
    scores = [held_out(1, 1.0), held_out(2, 1.0)]
    better = draws.areas([held_out(1, 3.0), held_out(2, 3.0)]) - draws.areas(scores)
    assert np.quantile(better, 0.025) > 0
    with_itself = scripts.main.row_of("network", scores, scores, [draws])
    assert "+0.000 [+0.000, +0.000]" in with_itself


def test_a_line_has_every_column(scripts):
    draws = [scripts.main.SiteDraws([fold(1)], part, 50) for part in ("own", "background")]
    line = scripts.main.row_of("network", [held_out(1, 1.0)], [held_out(3, 0.0)], draws)
    assert line.count("|") == len(scripts.main.HEADER) + 1
    assert line.startswith("| network | 0.")


def test_short_trainings_differ_from_the_recipe_in_their_length_only(scripts):
    recipe = yaml.safe_load((scripts.rows.bundled.RECIPE).read_text())
    promoter = recipe["experiments"]["heads"]["bundled"]["promoter"]
    others = {"max_steps", "warmup_steps", "validate_every", "both_strands", "positive_weight"}
    training = {key: value for key, value in promoter["training"].items() if key not in others}
    used = vars(scripts.training.TRAINING)
    assert {key: used[key] for key in training} == training
    assert {key: vars(scripts.training.HEAD)[key] for key in promoter["head"]} == promoter["head"]
    shipped = scripts.training.RECIPES["shipped"]
    assert shipped.positive_weight == promoter["training"]["positive_weight"]
    assert promoter["negatives"].split(",") == list(scripts.rows.TYPES)


def test_words_are_added_by_their_spread(scripts):
    network, words = held_out(1, 1.0), held_out(2, 0.0)
    larger = {part: 10 * values for part, values in words.items()}
    for first, second in ((network, words), (network, larger)):
        total = scripts.main.with_words(first, second, 0.0)
        order = np.argsort(total["site"], kind="stable")
        assert (order == np.argsort(network["site"], kind="stable")).all()
    sums = [scripts.main.with_words(network, x, 0.5)["own"] for x in (words, larger)]
    np.testing.assert_allclose(*sums)


def test_recipes_choose_rows(scripts):
    rows = SimpleNamespace(
        fold=1, sites=np.arange(40).reshape(8, 5), tata=np.arange(100, 120).reshape(4, 5)
    )
    recipes, training_rows = scripts.training.RECIPES, scripts.training.training_rows
    numbers, times = training_rows(rows, recipes["shipped"])
    assert sorted(numbers) == [*range(40), *range(100, 120)]
    assert set(times) == {1}
    numbers, _ = training_rows(rows, recipes["quarter"])
    assert (numbers < 40).sum() == 10
    numbers, times = training_rows(rows, recipes["own_background"])
    assert set(numbers[numbers < 40] % 5) == {0, 4}
    assert set(times[numbers < 40]) == {8}
    numbers, times = training_rows(rows, recipes["more_background"])
    assert set(times[numbers % 5 == 4]) == {3}
    assert set(times[numbers % 5 != 4]) == {1}


def test_every_row_is_in_a_pass_as_often_as_asked(scripts):
    times = np.array([1, 1, 6])
    batches = list(scripts.training.batches(times, seed=0, count=2))
    assert np.bincount(np.concatenate(batches)).tolist() == [16, 16, 96]


@pytest.mark.slow
def test_held_out_rows_and_test_rows_are_in_no_training(scripts, real_data, tmp_path):
    sets = scripts.rows.build_sets(real_data, tmp_path)
    test_rows = scripts.rows.FoldRows(sets, 0, 10)
    names = {sets[0].interval(int(row)) for row in test_rows.held_out["site"]}
    assert len(names) == 21  # of the card
    for number in (1, 4):
        rows = scripts.rows.FoldRows(sets, number, 10)
        trained = {rows.labelled.interval(int(row)) for row in rows.sites[:, 0]}
        own = {rows.labelled.interval(int(row)) for row in rows.held_out["site"]}
        assert not trained & (own | names)
        assert not own & names
        assert len(trained) > 50
        assert len(rows.tata) == 10
