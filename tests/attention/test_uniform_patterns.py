"""The uniform plan with any window and any global blocks: drawings by hand, and its promises."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dna_bigbird.attention.patterns import bigbird_itc, draw, itc

SETTINGS = st.fixed_dictionaries(
    {
        "num_blocks": st.integers(1, 40),
        "block_size": st.sampled_from([16, 64, 128]),
        "num_random": st.integers(0, 9),
        "num_heads": st.integers(1, 3),
        "seed": st.integers(0, 10**6),
        "window_blocks": st.sampled_from([0, 1, 3, 5, 7, 41, 99]),
        "global_blocks": st.sampled_from(["first_last", "first_two", "none"]),
    }
)


FIVE_AND_FIRST_TWO = [
    [0, 1, 2, 3, 4, 5, 6, 12, 13],
    [0, 1, 3, 4, 5, 6, 7, 12, 14],
    [0, 1, 4, 5, 6, 7, 8, 9, 11],
]
WINDOW_ONE_ALONE = [[0, 1, 8, 9], [1, 8, 9, 10], [2, 5, 7, 10]]


def fixed_sets(num_blocks, window_blocks, global_blocks):
    """What each block reads without drawing, as sets; and which blocks are global."""
    every = set(range(num_blocks))
    first = {"first_last": {0, num_blocks - 1}, "first_two": {0, 1}, "none": set()}[global_blocks]
    near = range(-(window_blocks // 2), window_blocks // 2 + 1) if window_blocks else ()
    rows = [
        every if row in first else (first | {row + step for step in near}) & every
        for row in range(num_blocks)
    ]
    return rows, first & every


def drawing(num_blocks, **changes):
    options = {"block_size": 16, "num_random": 0, "num_heads": 1, **changes}
    return draw(bigbird_itc(num_blocks, **options)).splitlines()


def test_window_of_five_and_the_first_two_blocks_global():
    assert drawing(8, window_blocks=5, global_blocks="first_two") == [
        "########",
        "########",
        "#####...",
        "######..",
        "#######.",
        "##.#####",
        "##..####",
        "##...###",
    ]


def test_window_alone():
    assert drawing(5, window_blocks=3, global_blocks="none") == [
        "##...",
        "###..",
        ".###.",
        "..###",
        "...##",
    ]
    assert drawing(3, window_blocks=1, global_blocks="none") == ["#..", ".#.", "..#"]


def test_global_blocks_alone():
    """Without a window a block does not even read itself."""
    assert drawing(5, window_blocks=0) == ["#####", "#...#", "#...#", "#...#", "#####"]
    first_two = drawing(4, window_blocks=0, global_blocks="first_two")
    assert first_two == ["####", "####", "##..", "##.."]


def test_random_blocks_alone():
    times = bigbird_itc(9, 16, 4, 3, window_blocks=0, global_blocks="none").times()
    assert (times.sum(axis=2) == 4).all()
    assert times.max() == 1
    assert bigbird_itc(4, 16, 4, 3, window_blocks=0, global_blocks="none").covers_everything


@given(SETTINGS)
@settings(deadline=None, max_examples=150, derandomize=True)
def test_each_row_reads_its_globals_its_window_and_just_enough_others_once(options):
    window, places, r = (options[k] for k in ("window_blocks", "global_blocks", "num_random"))
    assume(window or r or places != "none")
    n, pattern = options["num_blocks"], bigbird_itc(**options)
    times = pattern.times()
    assert times.max() == 1
    rows, first = fixed_sets(n, window, places)
    for row, fixed in enumerate(rows):
        for head in range(options["num_heads"]):
            read = set(np.flatnonzero(times[head, row]).tolist())
            assert fixed <= read
            assert len(read) == min(len(fixed) + r, n)
    expected = set(range(n)) if pattern.covers_everything else first
    assert set(np.flatnonzero(pattern.is_global).tolist()) == expected
    assert pattern.covers_everything == (times.min() == 1)


@given(SETTINGS)
@settings(deadline=None, max_examples=50, derandomize=True)
def test_pure_function_in_which_more_heads_leave_the_first_ones_alone(options):
    assume(options["window_blocks"] or options["num_random"] or options["global_blocks"] != "none")
    first = bigbird_itc(**options).key_blocks.copy()
    itc._build.cache_clear()
    np.random.seed(options["seed"] % 7)  # the global generator must not matter
    again = bigbird_itc(**{**options, "num_heads": 1}).key_blocks
    assert np.array_equal(again, first[:1])
    training = bigbird_itc(**options, training=True, table_tokens=512)
    assert training is bigbird_itc(**options)  # what means nothing to this plan changes nothing


@pytest.mark.parametrize("places", ["first_last", "first_two", "none"])
@pytest.mark.parametrize("window", [0, 3, 7])
def test_heads_layers_and_lengths_differ(window, places):
    def table(num_blocks, seed):
        options = {"window_blocks": window, "global_blocks": places}
        pattern = bigbird_itc(num_blocks, 16, 3, 2, "uniform", seed, **options)
        return pattern.key_blocks[:, 10:30, -3:]

    assert not np.array_equal(table(40, 0)[0], table(40, 0)[1])
    assert not np.array_equal(table(40, 0), table(40, 1))
    assert not np.array_equal(table(40, 0), table(41, 0))


@pytest.mark.parametrize(
    ("window", "places"), [(0, "none"), (1, "first_two"), (5, "first_last"), (7, "none")]
)
def test_every_free_block_is_drawn_equally_often(window, places):
    n, r, draws = 20, 3, 2000
    options = {"window_blocks": window, "global_blocks": places}
    chosen = sum(
        bigbird_itc(n, 16, r, 100, "uniform", seed, **options).times().sum(axis=0)
        for seed in range(draws // 100)
    )
    rows, first = fixed_sets(n, window, places)
    for row in set(range(n)) - first:
        free = sorted(set(range(n)) - rows[row])
        share = r / len(free)
        five_sigma = 5 * np.sqrt(draws * share * (1 - share))
        assert np.abs(chosen[row, free] - draws * share).max() < five_sigma
        assert (np.delete(chosen[row], free) == draws).all()


def test_tables_of_the_other_options_never_change():
    """Stored weights rely on them: written down once."""
    five = bigbird_itc(16, 64, 2, 2, "uniform", 3, window_blocks=5, global_blocks="first_two")
    assert five.key_blocks[1, 4:7].tolist() == FIVE_AND_FIRST_TWO
    alone = bigbird_itc(12, 64, 3, 1, "uniform", 3, window_blocks=1, global_blocks="none")
    assert alone.key_blocks[0, :3].tolist() == WINDOW_ONE_ALONE


def test_a_million_tokens_take_linear_room():
    pattern = bigbird_itc(16384, 64, 3, 2, window_blocks=5)
    assert pattern.key_blocks.shape == (2, 16384, 10)
    assert pattern.key_blocks[:, 8000, 1:6].tolist() == [[7998, 7999, 8000, 8001, 8002]] * 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window_blocks": 2}, "window_blocks must be 0 or odd, got 2"),
        ({"window_blocks": -3}, "window_blocks must be 0 or odd, got -3"),
        ({"global_blocks": "last"}, "global_blocks must be one of first_last, .*, got 'last'"),
        ({"window_blocks": 0, "global_blocks": "none", "num_random": 0}, "no block would read"),
        ({"plan": "original", "window_blocks": 5}, "plan 'original' has window_blocks 3"),
        ({"plan": "huggingface", "global_blocks": "none"}, "got 3 and none. Use plan 'uniform'"),
        ({"plan": "huggingface", "table_tokens": 0}, "table_tokens must be at least 1, got 0"),
    ],
)
def test_contradictions(change, message):
    with pytest.raises(ValueError, match=message):
        bigbird_itc(
            **{"num_blocks": 20, "block_size": 16, "num_random": 1, "num_heads": 1} | change
        )
