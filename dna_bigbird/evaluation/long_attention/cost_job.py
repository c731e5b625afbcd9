"""The job `cost`: exactness, pattern statistics, time and memory of every core and length."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from dna_bigbird.core.limits import usable_processors
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.evaluation.long_attention.cost import measure_cost
from dna_bigbird.evaluation.long_attention.layers import LayerSizes
from dna_bigbird.evaluation.long_attention.pattern_facts import exactness, pattern_facts

EXACTNESS_TOKENS = 1024
"""Longest sequence that is compared with a dense reference."""


def cost_job(settings: Mapping[str, Any]) -> dict:
    """Return the rows, and the machine that they were measured on.

    Args:
        settings: cores, lengths in tokens, and rounds.
    """
    rows = cost_rows(settings["cores"], settings["lengths"], settings["rounds"])
    machine = {
        "processors": usable_processors(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    return {"machine": machine, "rows": rows}


def cost_rows(cores: Sequence[str], lengths: Sequence[int], rounds: int) -> list[dict]:
    """Return one row per length and core."""
    sizes = LayerSizes()
    rows = []
    with progress_bar(total=len(lengths), desc="cost", unit="length") as bar:
        for tokens in lengths:
            for row in measure_cost(cores, tokens, sizes, rounds):
                core = str(row["core"])
                exact = exactness(core, min(tokens, EXACTNESS_TOKENS), sizes)
                rows.append(row | pattern_facts(core, tokens, sizes) | exact)
            bar.update()
    return rows
