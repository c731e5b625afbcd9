"""First rows of results of prediction, their files read back, and vectors as AnnData."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dna_bigbird.core.dataframes import DataFrame, dataframe, read_table, with_values
from dna_bigbird.core.errors import InputError, errors_for_reader
from dna_bigbird.core.results import Rows


class FirstRows(Rows):
    """A result with arrays, whose first rows are made without the others."""

    by_row: ClassVar[tuple[str, ...]] = ()
    """Fields with at least one row of the data frame per item; where it is just one, `_num_rows` stays."""

    def _first_rows(self, count: int) -> tuple[DataFrame, int]:
        return first_of(self, count, self.by_row).to_dataframe().head(count), self._num_rows()

    def _num_rows(self) -> int:
        return len(getattr(self, self.by_row[0]))


def first_of(result: Any, count: int, names: Sequence[str]) -> Any:
    """Return a result with the first items only of some fields, where it has them."""
    values = {name: getattr(result, name) for name in names}
    return replace(result, **{k: each[:count] for k, each in values.items() if each is not None})


def read_predictions(output: str) -> DataFrame:
    """Read a table or HDF5 file of `predict`."""
    path, suffix = Path(output), Path(output).suffix.lower()
    if suffix in (".h5", ".hdf5"):
        from dna_bigbird.core.hdf5 import read_hdf5

        with read_hdf5(path) as file:
            columns = _decoded({name: values[:] for name, values in file["rows"].items()})
            names = {"name": columns.pop("name")} if "name" in columns else {}
            ordered = {name: columns[name] for name in ("sequence", "start", "end")}
            labels = [name.decode() for name in file["labels/name"][:].tolist()]
            return with_values(ordered, labels, file["probabilities"][:], names)
    if not path.is_file() or _is_track(path):
        raise InputError(
            f"{output}: to_dataframe() reads tables and HDF5 files of predict; call predict without "
            "output for the probabilities of windows"
        )
    return read_table(path)


def read_vectors(path: Path) -> dict[str, Any]:
    """Return the arrays in a file of `embed`, by their names in `Embeddings`."""
    names = ("sequence", "start", "end", "name", "vectors", "offset", "token_start", "token_end")
    if path.suffix.lower() == ".npz":
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in names if name in file}
    else:
        from dna_bigbird.core.hdf5 import read_hdf5

        with read_hdf5(path) as file:
            arrays = _decoded({name: file[name][:] for name in names if name in file})
    return arrays


def _is_track(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(9) not in (b"sequence\t", b"sequence,")


def _decoded(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return columns with text instead of bytes."""
    return {
        name: np.char.decode(values, "utf-8") if values.dtype.char == "S" else values
        for name, values in columns.items()
    }


if TYPE_CHECKING:
    from anndata import AnnData
else:
    AnnData = Any
"""Type of an annotated matrix."""


def vectors_anndata(
    columns: Mapping[str, np.ndarray], vectors: np.ndarray, settings: Any
) -> AnnData:
    """Return vectors as `X`, the columns of their windows as `obs` and their settings in `uns`."""
    with errors_for_reader():
        import anndata

    rows = dataframe(columns)
    width = vectors.shape[1]
    return anndata.AnnData(
        X=np.asarray(vectors, np.float32),
        obs=_plain(rows, map(str, range(len(rows)))),
        var=_plain(dataframe({"dimension": np.arange(width)}), (f"v{i}" for i in range(width))),
        uns=asdict(settings) if settings else {},
    )


def _plain(rows: DataFrame, names: Iterable[str]) -> DataFrame:
    """Name rows, with texts that are Python objects: not every anndata can write those of pandas 3."""
    texts = dict.fromkeys(rows.select_dtypes(exclude="number"), object)
    named = dataframe({"name": list(names)}).astype(object).set_index("name").index
    return rows.astype(texts).set_axis(named.rename(None))
