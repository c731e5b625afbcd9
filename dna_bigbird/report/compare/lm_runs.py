"""Several pretrained models beside each other: what is known of each, and who is ahead."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.errors import InputError
from dna_bigbird.files import read_json
from dna_bigbird.report.model_results import HistoryRow, count_parameters, read_history
from dna_bigbird.report.words import Score, clarity, score_of, winner


@dataclass(frozen=True)
class Run:
    """One pretraining with its scores on the test split."""

    name: str
    config: dict
    metrics: dict
    history: tuple[HistoryRow, ...]
    parameters: int | None

    @property
    def encoder(self) -> dict:
        """Settings of the encoder."""
        return self.config["encoder"]

    @property
    def max_steps(self) -> int:
        """Optimizer steps of the whole run."""
        return self.config["training"]["max_steps"]

    @property
    def tokens_per_step(self) -> int:
        """Most tokens that one optimizer step reads: examples times their greatest length."""
        return self.config["examples_per_step"] * self.encoder["max_tokens"]


def read_run(folder: Path) -> Run:
    """Read the folder of a variant: `model/` (a scored bundle) and `trained/history.tsv`.

    Raises:
        InputError: If a file is missing or damaged, or the scores are not of the test split.
    """
    folder = Path(folder)
    found = {}
    for name in ("config", "metrics"):
        path = folder / "model" / f"{name}.json"
        if not path.is_file():
            raise InputError(f"{path}: no such file; the rule evaluate_lm_variant makes it")
        found[name] = read_json(path)
    split = found["metrics"].get("split")
    if split != "test" or "bits_per_base_masked" not in found["metrics"]:
        raise InputError(
            f"{folder / 'model' / 'metrics.json'}: scores of the split {split!r}; expected bits per "
            "base on the test split, as dna-bigbird evaluate-lm writes them"
        )
    return Run(
        name=folder.name,
        history=read_history(folder / "trained" / "history.tsv"),
        parameters=count_parameters(folder / "model" / "model.safetensors"),
        **found,
    )


def uneven(runs: Sequence[Run]) -> list[str]:
    """Say in what the runs differ though a fair comparison has it equal.

    Tokens a step count examples at their greatest length; an example of a short document has fewer.
    """
    facts = {
        "tokens a step": [run.tokens_per_step for run in runs],
        "steps": [run.max_steps for run in runs],
        "seed": [run.config.get("seed") for run in runs],
        "assembly": [run.config.get("assembly") for run in runs],
    }
    return [
        f"Not equal for all: {what} ("
        + ", ".join(f"{run.name} {value}" for run, value in zip(runs, values, strict=True))
        + ")."
        for what, values in facts.items()
        if len(set(values)) > 1
    ]


def ranking(named: Sequence[tuple[str, Score]], what: str, *, higher_is_better: bool) -> list[str]:
    """Compare the best of some scores with each of the others; overlapping intervals decide nothing.

    Example:
        >>> scores = [("a", Score(1.9, 1.85, 1.95)), ("b", Score(1.7, 1.65, 1.75))]
        >>> ranking(scores, "bits per base", higher_is_better=False)
        ['b is ahead of a: bits per base 1.700 against 1.900, and their 95 % intervals do not overlap.']
    """
    known = [(name, score) for name, score in named if score.value is not None]
    if len(known) < 2:
        return []
    sign = -1 if higher_is_better else 1
    (best, top), *others = sorted(known, key=lambda pair: sign * pair[1].value)
    sentences = []
    for name, score in others:
        pair = f"{what} {top.value:.3f} against {score.value:.3f}"
        found = clarity(top, score, Score(None))
        if winner(top, score, higher_is_better=higher_is_better) == "tie":
            sentences.append(f"{best} and {name} are equal: {pair}.")
        elif found.clear:
            sentences.append(f"{best} is ahead of {name}: {pair}{found.why}.")
        else:
            sentences.append(f"{best} and {name} are not told apart: {pair}{found.why}.")
    return sentences


def bits(metrics: dict) -> Score:
    """Return the bits per base of masked tokens."""
    return score_of(metrics, "bits_per_base_masked")


def accuracy(metrics: dict) -> Score:
    """Return the share of masked tokens that are named exactly."""
    return score_of(metrics, "mlm_accuracy")


def cells(name: str, score: Score) -> dict[str, float | None]:
    """Return a score as three columns of a table."""
    return {name: score.value, f"{name}_low": score.low, f"{name}_high": score.high}
