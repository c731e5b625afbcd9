"""Scores and history of a staged training, as its folder has them."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.rounding import rounded
from dna_bigbird.corpus.characters import Characters
from dna_bigbird.metrics.language import interval
from dna_bigbird.training.character_phases import FinishedPhase

PIECE = 10_000
"""Characters that the bootstrap draws together: neighbours are not independent."""


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


def predictor_rows(
    nats: Mapping[str, NDArray[np.float64]],
    characters: NDArray[np.uint8],
    unscored: int | None,
    seed: int,
) -> list[dict[str, object]]:
    """Return bits per character of each predictor, all on the same characters.

    Those are the ones that every predictor gives a number for, without `unscored`; n counts them. There is
    no interval if all are in one piece.

    Args:
        nats: Of each character, (N,); NaN where there is none.
        seed: Of the bootstrap over pieces of `PIECE` characters.
    """
    is_scored = np.all([np.isfinite(values) for values in nats.values()], axis=0)
    if unscored is not None:
        is_scored &= characters != unscored
    piece = np.flatnonzero(is_scored) // PIECE
    counts = np.bincount(piece)
    rows = []
    for name, values in nats.items():
        bits = np.bincount(piece, values[is_scored] / np.log(2))
        value, low, high = interval("bits", bits[counts > 0], counts[counts > 0], seed).values()
        if len(counts) < 2:  # one piece gives no interval
            low = high = None
        rows.append(
            {"predictor": name, "bits": value, "low": low, "high": high, "n": int(is_scored.sum())}
        )
    return rows
