"""The data frames of predictions, vectors, variants, substitutions and effects of bases; and files read back."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dna_bigbird.core.dataframes import DataFrame, dataframe, read_table, with_values
from dna_bigbird.core.errors import InputError, errors_for_reader

# n windows, T tokens, E hidden size, P positions, L labels


LETTERS = "ACGT"
"""The bases of an axis of length 4 of `Mutagenesis`, in order."""
EFFECTS = ("diff", "log_odds")
Result = Any
"""A class of `results`, which imports this module."""


def predictions_frame(result: Result) -> DataFrame:
    """Return sequence, start, end, a column per label, and the names of BED rows if there are any."""
    names = {} if result.name is None else {"name": result.name}
    return with_values(_windows(result), result.label_names, result.probabilities, names)


def vectors_frame(result: Result) -> DataFrame:
    """Return a row per vector: its window, with tokens also their bases, then v0, v1, ..."""
    names = [f"v{i}" for i in range(result.vectors.shape[1])]
    return with_values(vector_rows(result), names, result.vectors)


def vector_rows(result: Result) -> dict[str, np.ndarray]:
    """Return the columns of the window of each vector: sequence, start, end, name, bases of a token."""
    columns = _windows(result) | ({} if result.name is None else {"name": result.name})
    if result.offset is None:
        return columns
    window = np.repeat(np.arange(len(result.start)), np.diff(result.offset))
    columns = {name: values[window] for name, values in columns.items()}
    return columns | {"token_start": result.token_start, "token_end": result.token_end}


def variants_frame(result: Result, effect: str | None, probabilities: bool) -> DataFrame:
    """Return chrom, pos, id, ref, alt and the scores, see `VariantScores.to_dataframe`."""
    alleles = {name: getattr(result, name) for name in ("chrom", "pos", "id", "ref", "alt")}
    if effect is not None and not probabilities:
        return with_values(alleles, result.label_names, getattr(result, effect))
    chosen = EFFECTS if effect is None else (effect,)
    tables = {name: getattr(result, name) for name in chosen}
    if probabilities:
        tables |= {"ref": result.ref_probability, "alt": result.alt_probability}
    names = [f"{label}_{name}" for label in result.label_names for name in tables]
    values_nLS = np.stack(list(tables.values()), axis=-1)
    return with_values(alleles, names, values_nLS.reshape(len(values_nLS), len(names)))


def zero_shot_frame(result: Result) -> DataFrame:
    """Return chrom, pos, id, ref, alt and the score."""
    alleles = {name: getattr(result, name) for name in ("chrom", "pos", "id", "ref", "alt")}
    return dataframe(alleles | {result.name: result.score})


def substitutions_frame(result: Result) -> DataFrame:
    """Return a row per substitution and label."""
    labels = np.array(result.label_names, np.str_)
    reference = np.array(list(result.reference), np.str_)
    is_changed_PB = reference[:, None] != np.array(list(LETTERS))
    position, base = np.nonzero(is_changed_PB)
    row = np.repeat(np.arange(len(position)), len(labels))
    return dataframe(
        {
            "chrom": [result.chrom] * len(row),
            "pos": result.start + position[row] + 1,
            "ref": reference[position[row]],
            "alt": np.array(list(LETTERS))[base[row]],
            "label": np.tile(labels, len(position)),
            **{name: getattr(result, name)[position, base].ravel() for name in EFFECTS},
        }
    )


def attributions_frame(result: Result) -> DataFrame:
    """Return sequence, pos, base and a column per label, a row per base of each window."""
    window, offset = np.nonzero(result.bases <= len(LETTERS))
    columns = {
        "sequence": result.sequence[window],
        "pos": result.start[window] + offset + 1,
        "base": np.array([*LETTERS, "N"])[result.bases[window, offset]],
    }
    return with_values(columns, result.label_names, result.effects[window, offset])


def read_predictions(output: str) -> DataFrame:
    """Read a file of `predict` with rows of windows.

    Raises:
        InputError: If it is a track, or was written to standard output.
    """
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


def _windows(result: Result) -> dict[str, np.ndarray]:
    return {"sequence": result.sequence, "start": result.start, "end": result.end}


# The first rows of the data frames of results, without making all rows: for notebooks.
#
# Each function takes a result and a number of rows, and returns a data frame of at most so many rows and
# the number of all rows.

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


# Vectors as AnnData. anndata is optional: only this module imports it, when an object is made.

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
