"""Vectors as AnnData. anndata is optional: only this module imports it, when an object is made."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from dna_bigbird.core.dataframes import DataFrame, dataframe
from dna_bigbird.core.errors import errors_for_reader
from dna_bigbird.prediction.result_frames import vector_rows

if TYPE_CHECKING:
    from anndata import AnnData
else:
    AnnData = Any
"""Type of an annotated matrix."""


def vectors_anndata(result: Any) -> AnnData:
    """Return the vectors of `Embeddings` as `X`, their windows as `obs` and how they were made in `uns`.

    Raises:
        MissingExtraError: Without anndata; it names the command that installs it.
    """
    with errors_for_reader():
        import anndata

    rows = dataframe(vector_rows(result))
    width = result.vectors.shape[1]
    return anndata.AnnData(
        X=np.asarray(result.vectors, np.float32),
        obs=_plain(rows, map(str, range(len(rows)))),
        var=_plain(dataframe({"dimension": np.arange(width)}), (f"v{i}" for i in range(width))),
        uns=asdict(result.settings) if result.settings else {},
    )


def _plain(rows: DataFrame, names: Iterable[str]) -> DataFrame:
    """Name rows, with texts that are Python objects: not every anndata can write those of pandas 3."""
    texts = dict.fromkeys(rows.select_dtypes(exclude="number"), object)
    named = dataframe({"name": list(names)}).astype(object).set_index("name").index
    return rows.astype(texts).set_axis(named.rename(None))
