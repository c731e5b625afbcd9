"""The best learning rates of Muon and AdamW by width, and the rule that follows for wider models.

    python experiments/2026-11-learning/rates.py --config tests/real/fast.yaml --variant bigbird_512 \\
        --folder results/rates [--widths 64 128 256] [--steps 300] [--seeds 3] [--jobs 2]

For each width (heads of 32, feed-forward layers four times as wide, init_std in proportion to
1 / sqrt(width)) the recipe `ours` of learning_arms.yaml is trained for --steps steps at three rates, a
factor --factor apart, and at more on the side where the lowest bits per masked base are at an edge:
first over muon_learning_rate, then, at its best, over learning_rate, which all other weights have. Per
seed a parabola over log2(rate) through the lowest point and its neighbours gives the best rate, and a
straight line over log2(width) the rule. Intervals are Student's over seeds. Trainings are those of
learning.py: restartable, scored on validation only. What is finished is kept: with more widths or
seeds the same folder goes on. Writes rates.tsv and rates.json.
"""

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import learning
import learning_arms as arms_of
import numpy as np
from learning_arms import OURS, Settings, Training
from scipy import stats

from dna_bigbird.core.tables import Table
from dna_bigbird.core.writing import atomic_path, json_text
from dna_bigbird.workflow.config.run_config import read_config

MUON, REST = "muon_learning_rate", "learning_rate"
HEAD_SIZE, INIT_STD, WIDTH = 32, 0.05, 128
"""The size of a head; init_std at the width that rules are written for."""
MOST_RATES = 9
Bits = Callable[[int, dict[str, float]], list[float]]
"""Width and both rates -> bits per masked base of each seed."""


@dataclass(frozen=True)
class Best:
    """The best rate of one width, per seed, and what was tried."""

    sweep: str
    width: int
    tried: dict[float, list[float]]
    """Rate -> bits of each seed, rising rates."""

    @property
    def on_grid(self) -> float:
        """The tried rate with the fewest bits, mean over seeds."""
        return min(self.tried, key=lambda rate: np.mean(self.tried[rate]))

    @property
    def is_at_edge(self) -> bool:
        """True if the best rate may be outside of what was tried."""
        return self.on_grid in (min(self.tried), max(self.tried))

    @property
    def log2_rates(self) -> np.ndarray:
        """The best rate of each seed, as log2."""
        bits = np.array(list(self.tried.values())).T
        return np.array([lowest_point(list(self.tried), row) for row in bits])


def lowest_point(rates: Sequence[float], bits: Sequence[float]) -> float:
    """Return log2 of the rate where the parabola through the lowest point and its neighbours is lowest.

    At an edge that is the point itself.

    Example:
        >>> lowest_point([0.25, 0.5, 1.0, 2.0], [9.0, 4.0, 1.0, 0.0])
        1.0
        >>> round(lowest_point([0.5, 1.0, 2.0], [2.25, 0.25, 0.25]), 6)
        0.5
    """
    x, at = np.log2(rates), int(np.argmin(bits))
    if at in (0, len(x) - 1):
        return float(x[at])
    a, b, _ = np.polyfit(x[at - 1 : at + 2], bits[at - 1 : at + 2], 2)
    return float(-b / (2 * a)) if a > 0 else float(x[at])


def best_rate(sweep: str, width: int, rates: dict[str, float], bits: Bits, factor: float) -> Best:
    """Try rates around `rates[sweep]` until the best of them lies between two others."""
    tried: dict[float, list[float]] = {}

    def attempt(rate: float) -> None:
        tried[rate] = bits(width, rates | {sweep: rate})

    for exponent in (-1, 0, 1):
        attempt(rates[sweep] * factor**exponent)
    while True:
        best = Best(sweep, width, dict(sorted(tried.items())))
        if not best.is_at_edge or len(tried) >= MOST_RATES:
            return best
        attempt(best.on_grid * (factor if best.on_grid == max(tried) else 1 / factor))


def all_best(
    widths: Sequence[int], rates: dict[str, float], bits: Bits, factor: float
) -> list[Best]:
    """Return the best of both rates by width, narrow ones first; each begins where the last ended."""
    bests = []
    for width in sorted(widths):
        for sweep in (MUON, REST):
            bests.append(best_rate(sweep, width, rates, bits, factor))
            rates = rates | {sweep: bests[-1].on_grid}
    return bests


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return mean and 95 % limits by Student's t; limits are NaN for one value.

    Example:
        >>> [round(x, 3) for x in interval([1.0, 2.0, 3.0])]
        [2.0, -0.484, 4.484]
    """
    mean, count = float(np.mean(values)), len(values)
    if count < 2:
        return mean, math.nan, math.nan
    half = stats.t.ppf(0.975, count - 1) * float(np.std(values, ddof=1)) / math.sqrt(count)
    return mean, mean - half, mean + half


def rule(bests: Sequence[Best], to_width: int) -> dict[str, float]:
    """Return power and rate of `rate = rate_128 * (width / 128) ** power` with intervals over seeds.

    Args:
        bests: Of one sweep, two widths or more.
        to_width: For which the rule is computed, as an extrapolation.
    """
    x = np.log2([best.width / WIDTH for best in bests])
    fits = [np.polyfit(x, y, 1) for y in np.array([best.log2_rates for best in bests]).T]
    at = math.log2(to_width / WIDTH)
    figures = {
        "power": interval([slope for slope, _ in fits]),
        f"rate_{WIDTH}": _powers(interval([start for _, start in fits])),
        f"rate_{to_width}": _powers(interval([start + at * slope for slope, start in fits])),
    }
    return {
        f"{name}{end}": value
        for name, values in figures.items()
        for end, value in zip(("", "_low", "_high"), values, strict=True)
    }


def _powers(logs: tuple[float, float, float]) -> tuple[float, float, float]:
    return tuple(2.0**value for value in logs)


def sizes(width: int) -> dict:
    """Return the settings of the encoder that follow from its width."""
    std = INIT_STD * math.sqrt(WIDTH / width)
    heads = max(1, width // HEAD_SIZE)
    return {"hidden_size": width, "num_heads": heads, "ffn_size": 4 * width, "init_std": std}


class Trainer:
    """Trains by learning.py's runner what was not trained before.

    Args:
        plan: Folder, corpus and examples.
        settings: Of the recipe.
        steps: Of every training.
    """

    def __init__(
        self,
        plan: learning.Plan,
        settings: Settings,
        steps: int,
        seeds: int,
        cores: learning.Cores,
    ) -> None:
        self.plan, self.settings, self.steps = plan, settings, steps
        self.seeds, self.cores = seeds, cores

    def bits(self, width: int, rates: dict[str, float]) -> list[float]:
        """Return bits per masked base of each seed, training where they are not there yet."""
        settings = arms_of.merged(self.settings, {"model": sizes(width), "training": rates})
        name = f"width{width}_muon{rates[MUON]:g}_rest{rates[REST]:g}"
        trainings = [Training(name, seed, settings) for seed in range(self.seeds)]
        bits = self.cores.map(self._bits, trainings)
        print(f"{name}: {' '.join(f'{x:.4f}' for x in bits)}", flush=True)
        return bits

    def _bits(self, training: Training, core: int | None) -> float:
        folder = self.plan.at(training)
        settings = self.plan.settings(training)
        settings |= {"steps": self.steps, "validate_every": self.steps}
        if not learning.is_done(folder, "result.json", settings):
            learning.start("train", folder, core)
        result = json.loads((folder / "result.json").read_text())
        return result["metrics"]["bits_per_base_masked"]


def rows_of(bests: Sequence[Best]) -> list[dict]:
    """Return one line per width and sweep."""
    rows = []
    for best in bests:
        rate, low, high = _powers(interval(best.log2_rates))
        row = {"rate": best.sweep, "width": best.width, "best": rate}
        row |= {"best_low": low, "best_high": high, "on_grid": best.on_grid}
        row |= {"bits_per_base_masked": float(np.mean(best.tried[best.on_grid]))}
        rows.append(row | {"at_edge": best.is_at_edge, "tried": " ".join(map(_text, best.tried))})
    return rows


def _text(rate: float) -> str:
    return f"{rate:g}"


def write_results(folder: Path, bests: Sequence[Best], to_width: int, note: str) -> list[str]:
    """Write rates.tsv and rates.json; return the lines to print."""
    rules = []
    for sweep in (MUON, REST):
        of_sweep = [best for best in bests if best.sweep == sweep]
        if len(of_sweep) > 1:
            rules.append({"rate": sweep, **rule(of_sweep, to_width)})
    rows = rows_of(bests)
    tried = [{"rate": b.sweep, "width": b.width, "tried": list(b.tried.items())} for b in bests]
    texts = {
        "rates.tsv": Table(rows).to_tsv(),
        "rates.json": json_text({"note": note, "rows": rows, "rules": rules, "tried": tried}),
    }
    for name, text in texts.items():
        with atomic_path(folder / name) as path:
            path.write_text(text)
    return [note, *Table(rows).to_tsv().splitlines(), "", *Table(rules).to_tsv().splitlines()]


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the options."""
    parser = learning.parser_of(__doc__)
    parser.add_argument("--widths", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--to_width", type=int, default=768, help="the rule is computed for it too")
    parser.add_argument("--steps", type=int, default=300, help="of each training")
    parser.add_argument("--seeds", type=int, default=3, help="trainings per pair of rates")
    parser.add_argument("--factor", type=float, default=2.0, help="between two rates")
    options = parser.parse_args(argv)
    if options.factor <= 1:
        parser.error(f"--factor {options.factor:g} must be above 1")
    for width in options.widths:
        if width < 1 or (width % HEAD_SIZE and width > HEAD_SIZE):
            parser.error(f"--widths {width} is not a multiple of {HEAD_SIZE}")
    return options


def main(argv: Sequence[str] | None = None) -> None:
    """Find the best rates of all widths, then write and print tables and rules."""
    options = parse(argv)
    base = arms_of.base_settings(read_config([options.config]), options.variant)
    (ours,) = arms_of.read_arms(options.arms, base, [OURS])
    plan = learning.Plan(
        folder=options.folder,
        corpus=learning.corpus_of(options),
        minutes=0.0,
        validations=1,
        examples=options.examples,
        curve_examples=1,
        examples_seed=options.seed,
    )
    cores = learning.Cores(options.jobs, options.cores)
    trainer = Trainer(plan, ours.settings, options.steps, options.seeds, cores)
    rates = {name: ours.settings["training"][name] for name in (MUON, REST)}
    bests = all_best(options.widths, rates, trainer.bits, options.factor)
    note = (
        f"# {options.steps} steps, {options.seeds} seeds; bits per masked base of validation, "
        f"{options.examples} examples; brackets (_low, _high): 95 %, Student's t over seeds; "
        f"rate = rate_{WIDTH} * (width / {WIDTH}) ^ power; {options.to_width} was not run unless it "
        "is among the widths"
    )
    for line in write_results(options.folder, bests, options.to_width, note):
        print(line)


if __name__ == "__main__":
    main()
