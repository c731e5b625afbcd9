"""The first rows of the data frames of results, without making all rows: for notebooks.

Each function takes a result and a number of rows, and returns a data frame of at most so many rows and
the number of all rows.
"""

from dataclasses import replace
from typing import Any

from dna_bigbird.core.dataframes import DataFrame
from dna_bigbird.prediction.result_frames import LETTERS

Result = Any
"""A class of `results`, which imports this module."""
First = tuple[DataFrame, int]
WINDOWS = ("sequence", "start", "end", "name")
TOKENS = ("vectors", "token_start", "token_end")
ALLELES = ("chrom", "pos", "id", "ref", "alt")
SCORES = ("diff", "log_odds", "ref_probability", "alt_probability")


def first_predictions(result: Result, count: int) -> First:
    """Return the first windows of `Predictions`."""
    return _first(result, count, (*WINDOWS, "probabilities")), len(result.start)


def first_vectors(result: Result, count: int) -> First:
    """Return the first vectors of `Embeddings`, with tokens those of the first windows."""
    if result.offset is None:
        return _first(result, count, (*WINDOWS, "vectors")), len(result.vectors)
    stop = int(result.offset[: count + 1][-1])
    windows = replace(result, **_cut(result, count, WINDOWS), offset=result.offset[: count + 1])
    return _first(windows, stop, TOKENS).head(count), len(result.vectors)


def first_alleles(result: Result, count: int) -> First:
    """Return the first alleles of `VariantScores`."""
    return _first(result, count, (*ALLELES, *SCORES)), len(result.pos)


def first_zero_shot(result: Result, count: int) -> First:
    """Return the first alleles of `ZeroShotScores`."""
    return _first(result, count, (*ALLELES, "score")), len(result.pos)


def first_substitutions(result: Result, count: int) -> First:
    """Return the first substitutions of `Mutagenesis`: a base has at least three."""
    per_base = (len(LETTERS) - (base in LETTERS) for base in result.reference)
    frame = _first(result, count, ("reference", "diff", "log_odds"))
    return frame.head(count), sum(per_base) * len(result.label_names)


def first_bases(result: Result, count: int) -> First:
    """Return the first bases of `Attributions`; a window has at least one."""
    names = (*WINDOWS, "bases", "effects")
    return _first(result, count, names).head(count), int((result.bases <= len(LETTERS)).sum())


def _first(result: Result, count: int, names: tuple[str, ...]) -> DataFrame:
    return replace(result, **_cut(result, count, names)).to_dataframe()


def _cut(result: Result, count: int, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(result, name) for name in names}
    return {name: each[:count] for name, each in values.items() if each is not None}
