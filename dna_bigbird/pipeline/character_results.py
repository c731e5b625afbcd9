"""Scores and history of a staged training, as its folder has them."""

from collections.abc import Sequence

from dna_bigbird.datasets.characters import Characters
from dna_bigbird.evaluation.rounding import rounded
from dna_bigbird.pipeline.character_phases import FinishedPhase


def metrics_of(
    finished: Sequence[FinishedPhase], characters: Characters, seed: int
) -> dict[str, object]:
    """Return metrics.json: the best validation of each phase, windows one after another."""
    phases = [
        {
            "phase": each.phase.number + 1,
            "characters": each.phase.max_tokens,
            "windows": each.windows,
            "step": each.result.best_step,
            "bits_per_character": each.result.best_metrics["bits_per_character"],
        }
        for each in finished
    ]
    return {
        **rounded({"bits_per_character": phases[-1]["bits_per_character"]}),
        "n_characters": {name: len(part) for name, part in characters.parts.items()},
        "phases": [rounded(phase) for phase in phases],
        "seed": seed,
        "split": "validation",
    }


def history_of(finished: Sequence[FinishedPhase]) -> str:
    """Return history.tsv: that of each phase, with its number in the first column."""
    lines = []
    for each in finished:
        head, *rows = each.result.history.splitlines()
        lines += [f"phase\t{head}"] if not lines else []
        lines += [f"{each.phase.number + 1}\t{row}" for row in rows]
    return "\n".join(lines) + "\n"
