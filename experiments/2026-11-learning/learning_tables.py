"""The tables and the picture of learning.py, from the files of its trainings."""

import json
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from learning_arms import OURS, Arm, Training
from learning_run import validation_examples

from dna_bigbird.bundles.card import is_semi_synthetic
from dna_bigbird.core.tables import Table
from dna_bigbird.core.writing import atomic_path, json_text
from dna_bigbird.corpus.masking import PAPER
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.evaluation.evaluate_lm_baselines import MaskedBaselines
from dna_bigbird.metrics.language import interval
from dna_bigbird.models.train_config import TrainConfig

BITS, DIFFERENCE = "bits_per_base_masked", "difference_to_ours"
DRAWN = {
    "token_unigram_informed_masked": "informed unigram",
    "token_bigram_informed_masked": "informed bigram",
    "token_mixture_informed_masked": "mixture of counts",
}
"""Baselines that the picture names shortly; all of them are drawn."""


class Scores:
    """The costs of the validation examples, by training and by baseline.

    Args:
        plan: Of the trainings.
        chosen: Those that make the row of each arm.
    """

    def __init__(self, plan: Any, chosen: dict[str, list[Training]]) -> None:
        self.plan = plan
        self.results: dict[tuple[str, int], dict] = {}
        self.nats: dict[tuple[str, int], np.ndarray] = {}
        for trainings in chosen.values():
            for training in trainings:
                key, folder = (training.arm, training.seed), plan.at(training)
                self.results[key] = json.loads((folder / "result.json").read_text())
                with np.load(folder / "scores.npz") as file:
                    self.nats[key], self.base_pairs = file["nll_nats"], file["base_pairs"]
        self.metrics = next(iter(self.results.values()))["metrics"]
        """Of one training, for the counts that all share."""
        self.baselines = _baselines(next(iter(self.results.values()))["run"])

    def seeds(self, arm: str) -> list[int]:
        """Return the seeds of an arm."""
        return sorted(seed for name, seed in self.nats if name == arm)

    def mean_nats(self, arm: str, seeds: Sequence[int]) -> np.ndarray:
        """Return the cost of each example, (N,), mean over seeds; of a baseline its only one."""
        if arm in self.baselines:
            return self.baselines[arm]
        return np.mean([self.nats[arm, seed] for seed in seeds], axis=0)

    def difference(self, arm: str) -> dict[str, float | None]:
        """Return the paired difference of an arm or baseline to ours, in bits per base.

        Over the seeds that both have: the mean over seeds of each example's cost, subtracted example
        by example, with a bootstrap interval over examples.
        """
        ours = self.seeds(OURS)
        seeds = ours if arm in self.baselines else [s for s in self.seeds(arm) if s in ours]
        if arm == OURS or not seeds:
            return dict.fromkeys((DIFFERENCE, f"{DIFFERENCE}_low", f"{DIFFERENCE}_high"))
        nats = self.mean_nats(arm, seeds) - self.mean_nats(OURS, seeds)
        return interval(DIFFERENCE, nats / np.log(2), self.base_pairs, self.plan.examples_seed)

    def row(self, arm: str) -> dict:
        """Return the line of an arm in the final table."""
        seeds = self.seeds(arm)
        results = [self.results[arm, seed] for seed in seeds]
        bits = [result["metrics"][BITS] for result in results]
        rate = TrainConfig(**results[0]["run"]["settings"]["training"]).learning_rate
        first = {"arm": arm, "learning_rate": rate, "seeds": len(seeds)}
        first |= {"steps": results[0]["run"]["steps"], "tokens": results[0]["tokens"]}
        first["processor_s"] = round(float(np.mean([r["processor_s"] for r in results])))
        sd = round(float(np.std(bits, ddof=1)), 4) if len(bits) > 1 else None
        nsp = {
            f"nsp_accuracy{end}": results[0]["metrics"].get(f"nsp_accuracy{end}")
            for end in ("", "_low", "_high")
        }
        return first | self._bits(arm, seeds) | {"sd_over_seeds": sd} | self.difference(arm) | nsp

    def baseline_row(self, name: str, like: dict) -> dict:
        """Return the line of a baseline."""
        own = {"arm": name, **self._bits(name, [0]), **self.difference(name)}
        return dict.fromkeys(like) | own

    def _bits(self, arm: str, seeds: Sequence[int]) -> dict:
        nats = self.mean_nats(arm, seeds)
        return interval(BITS, nats / np.log(2), self.base_pairs, self.plan.examples_seed)


def _baselines(run: dict) -> dict[str, np.ndarray]:
    """Return the costs of each validation example, (N,), by masked baseline."""
    examples = validation_examples(run)
    counts = MaskedBaselines(
        TokenStore(Path(run["corpus"]["train"])), examples.vocabulary, PAPER, documents=None
    )
    rows = [counts.nats(examples[number]).sum(axis=0) for number in range(run["examples"])]
    return dict(zip(counts.names, np.array(rows).T, strict=True))


def rate_rows(plan: Any, arms: Sequence[Arm]) -> list[dict]:
    """Return one line per rate of the arms that choose theirs."""
    from learning_arms import trainings_at_best

    rows = []
    for arm in arms:
        for rate in arm.rates:
            folder = plan.at(trainings_at_best(arm, rate)[0])
            metrics = json.loads((folder / "result.json").read_text())["metrics"]
            bits = {f"{BITS}{end}": metrics[f"{BITS}{end}"] for end in ("", "_low", "_high")}
            rows.append({"arm": arm.name, "learning_rate": rate, **bits})
    return rows


def curve_rows(scores: Scores) -> list[dict]:
    """Return one line per validation."""
    return [
        {"arm": arm, "seed": seed, **row}
        for (arm, seed), result in scores.results.items()
        for row in result["rows"]
    ]


def write_results(
    plan: Any, arms: Sequence[Arm], chosen: dict[str, list[Training]], picture: Path | None
) -> list[str]:
    """Write the files of the folder; return the lines to print."""
    scores = Scores(plan, chosen)
    rows = [scores.row(arm.name) for arm in arms]
    rows += [scores.baseline_row(name, rows[0]) for name in scores.baselines]
    curves, rates = curve_rows(scores), rate_rows(plan, arms)
    note = (
        f"validation, {plan.examples} examples, {scores.metrics['n_masked_tokens']:,} hidden tokens "
        f"({scores.metrics['n_masked_bp']:,} bp), 15 %, 80/10/10, seed {plan.examples_seed}; "
        f"{plan.minutes:g} processor minutes per training on one thread. Brackets: 95 % bootstrap "
        "intervals over examples; differences are paired, over the seeds that both arms have. A rate "
        "was chosen on the same examples."
    )
    tables = [Table(rows).to_markdown()] + ([Table(rates).to_markdown()] if rates else [])
    markdown = "\n\n".join("\n".join(table) for table in tables) + f"\n\n{note}\n"
    facts = {"note": note, "rows": rows, "rates": rates, "curves": curves}
    texts = {
        "table.tsv": Table(rows).to_tsv(),
        "table.md": markdown,
        "curves.tsv": Table(curves).to_tsv(),
        "results.json": json_text(facts),
    }
    for name, text in texts.items():
        with atomic_path(plan.folder / name) as path:
            path.write_text(text)
    draw(scores, curves, picture or plan.folder / "curves.png")
    return markdown.splitlines()


def draw(scores: Scores, curves: Sequence[dict], path: Path) -> None:
    """Draw bits per base over processor seconds: a line per training, baselines as level lines."""
    from dna_bigbird.core.figures import style as house

    colours = [house.MODEL, house.KMER, house.GREEN, house.PURPLE, house.SKY, house.DARK]
    arms = list(dict.fromkeys(row["arm"] for row in curves))
    assembly = TokenStore(Path(scores.plan.corpus["validation"])).assembly
    with house.style():
        tag = "semi-synthetic" if is_semi_synthetic(assembly) else ""
        figure = house.new_figure(8.0, 4.4, tag)
        axes = figure.subplots()
        for arm, colour, line in zip(
            arms, cycle(colours), cycle(["-", "--", "-.", ":", (0, (5, 1))])
        ):
            for seed in scores.seeds(arm):
                points = [r for r in curves if (r["arm"], r["seed"]) == (arm, seed)]
                axes.plot(
                    [r["processor_s"] for r in points], [r[BITS] for r in points],
                    color=colour, ls=line, lw=1.5, label=arm.replace("_", " ") if seed == 0 else None,
                )  # fmt: skip
        for name, nats in scores.baselines.items():
            level = nats.sum() / np.log(2) / scores.base_pairs.sum()
            axes.axhline(level, color=house.GREY, lw=0.9, ls=":")
            text = DRAWN.get(name, name.removesuffix("_masked").replace("_", " "))
            axes.annotate(text, (1.0, level), xycoords=("axes fraction", "data"), fontsize=7,
                          ha="right", va="bottom", color=house.GREY)  # fmt: skip
        axes.set(xlabel="processor seconds of training", ylabel="bits per masked base, validation")
        axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    with atomic_path(path) as out:
        out.write_bytes(house.save(figure, "png"))
