"""benchmarks/rates.py finds the rates and the rule of a made law, and trains by the product."""

import json
import math

import pytest


def law(power, best_at_128, *, seeds=2, calls=None):
    """Bits of parabolas over log2(rate), whose lowest points follow a power of the width."""

    def bits(width, rates):
        if calls is not None:
            calls.append((width, dict(rates)))
        total = 0.0
        for name, best in best_at_128.items():
            best = math.log2(best * (width / 128) ** power[name])
            total += 0.01 * (math.log2(rates[name]) - best) ** 2
        return [1.5 + total + 0.1 * seed for seed in range(seeds)]

    return bits


POWER = {"muon_learning_rate": -0.5, "learning_rate": 0.25}
BEST = {"muon_learning_rate": 0.013, "learning_rate": 0.0007}
START = {"muon_learning_rate": 0.01, "learning_rate": 0.005}


def test_the_rule_of_a_power_law_is_found(script):
    rates = script("rates")
    found = rates.all_best([256, 64, 128], START, law(POWER, BEST), 2.0)
    assert [(best.sweep, best.width) for best in found] == [
        (sweep, width) for width in (64, 128, 256) for sweep in BEST
    ]
    for best in found:
        exact = BEST[best.sweep] * (best.width / 128) ** POWER[best.sweep]
        assert 2**best.log2_rates == pytest.approx([exact] * 2)
        assert not best.is_at_edge
    for name, power in POWER.items():
        figures = rates.rule([best for best in found if best.sweep == name], 768)
        assert figures["power"] == pytest.approx(power)
        assert figures["rate_128"] == pytest.approx(BEST[name])
        assert figures["rate_768"] == pytest.approx(BEST[name] * 6**power)
        assert figures["power_low"] == pytest.approx(power)  # the seeds agree


def test_the_interval_is_over_seeds(script):
    """Powers 0, -1 and -2: mean -1, half width 4.3027 (t with 2 degrees) * 1 / sqrt(3)."""
    rates = script("rates")
    grid = [2.0**k for k in range(-8, 1)]
    found = [
        rates.Best("learning_rate", width, {
            rate: [(math.log2(rate) - (-3 + power * math.log2(width / 128))) ** 2 for power in (0, -1, -2)]
            for rate in grid
        })
        for width in (64, 128, 256)
    ]  # fmt: skip
    figures = rates.rule(found, 256)
    half = 4.302653 / math.sqrt(3)
    expected = {"power": -1.0, "power_low": -1 - half, "power_high": -1 + half}
    expected |= {"rate_128": 1 / 8, "rate_128_low": 1 / 8, "rate_128_high": 1 / 8}
    expected |= {"rate_256": 1 / 16, "rate_256_low": 2 ** (-4 - half)}
    assert {name: figures[name] for name in expected} == pytest.approx(expected, rel=1e-5)


def test_rates_are_added_on_the_side_of_the_best(script):
    calls = []
    far = BEST | {"muon_learning_rate": 0.15}
    best = script("rates").best_rate(
        "muon_learning_rate", 128, START, law(POWER, far, calls=calls), 2.0
    )
    tried = [rates["muon_learning_rate"] for _, rates in calls]
    assert tried == pytest.approx([0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32])
    assert {rates["learning_rate"] for _, rates in calls} == {0.005}
    assert best.on_grid == pytest.approx(0.16)


def test_a_search_without_an_end_stops_and_says_so(script):
    rates = script("rates")
    best = rates.best_rate("learning_rate", 64, START, lambda w, r: [-r["learning_rate"]], 2.0)
    assert best.is_at_edge
    assert len(best.tried) == rates.MOST_RATES
    (row,) = rates.rows_of([best])
    assert row["at_edge"]
    assert math.isnan(row["best_low"])


def test_widths_keep_the_shape(script):
    sizes = script("rates").sizes
    shape = {"hidden_size": 128, "num_heads": 4, "ffn_size": 512, "init_std": 0.05}
    assert sizes(128) == shape  # tests/real/pretraining.yaml
    assert sizes(512) == {**shape, "hidden_size": 512, "num_heads": 16, "ffn_size": 2048} | {
        "init_std": 0.025
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--widths", "100"], "--widths 100 is not a multiple of 32"),
        (["--factor", "1"], "--factor 1 must be above 1"),
    ],
)
def test_wrong_options_are_refused(script, capsys, options, message):
    with pytest.raises(SystemExit, match="2"):
        script("rates").parse(["--config", "c.yaml", "--folder", "f", *options])
    assert message in capsys.readouterr().err


CONFIG = """
model: {num_layers: 1, max_tokens: 64, block_size: 8, num_random: 1, dropout: 0.0}
pretraining: {batch_size: 4, precision: 32-true}
"""


@pytest.mark.slow
def test_trainings_are_the_products_and_are_kept(
    script, monkeypatch, toy_project, tmp_path, capsys
):
    rates, run = script("rates"), script("learning_run")
    trained = []

    def start(what, folder, core):
        trained.append(folder.name)
        run.train(folder)

    monkeypatch.setattr(rates.learning, "start", start)
    monkeypatch.setattr(  # in the main thread, which alone may handle signals
        rates.learning.Cores, "map", lambda self, call, values: [call(v, 0) for v in values]
    )
    monkeypatch.setattr(rates, "MOST_RATES", 3)
    monkeypatch.setattr(rates, "read_config", lambda paths: rates.arms_of.yaml.safe_load(CONFIG))
    (tmp_path / "corpus").mkdir()
    for name in ("train.h5", "validation.h5", "bpe.model"):
        (tmp_path / "corpus" / name).symlink_to(toy_project / name)
    line = f"--config c.yaml --folder {tmp_path}/out --corpus {tmp_path}/corpus --widths 16 32 "
    line += "--steps 2 --seeds 1 --examples 4"
    rates.main(line.split())
    assert (
        len(trained) == len(set(trained)) == 2 * (3 + 2)
    )  # each sweep's middle was trained before
    facts = json.loads((tmp_path / "out" / "rates.json").read_text())
    assert [(row["rate"], row["width"]) for row in facts["rows"]] == [
        (sweep, width) for width in (16, 32) for sweep in BEST
    ]
    assert [row["rate"] for row in facts["rules"]] == list(BEST)
    first = capsys.readouterr().out
    rates.main(line.split())
    assert len(trained) == 10
    assert capsys.readouterr().out == first
