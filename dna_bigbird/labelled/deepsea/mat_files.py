"""The .mat files of the DeepSEA bundle: one-hot windows and labels, in slices of rows.

`train.mat` is MATLAB 7.3, which is HDF5 with the axes of MATLAB reversed: the sample axis is
last. `valid.mat` and `test.mat` are of the older format, which only scipy reads, and only whole.
Either format is taken for every file.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import h5py
import scipy.io
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.hdf5 import read_hdf5

WINDOW_BP = 1000
CHANNELS = "AGCT"
"""Order of the one-hot channels; N is a column of zeros."""
_SLAB_BYTES = 1 << 26


class MatFile:
    """One split of the bundle: `rows` forward windows, then their reverse complements."""

    # Its data are called `NAMExdata` (n, 4, 1000) and `NAMEdata` (n, L).

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        if not path.is_file():
            raise InputError(
                f"{path}: no such file; expected an unpacked bundle with train.mat, valid.mat and "
                "test.mat"
            )
        self._hdf5 = h5py.is_hdf5(path)
        self._arrays = self._open(f"{name}xdata", f"{name}data")
        sequences, labels = (array.shape for array in self._arrays)
        count, letters, length = sequences[::-1] if self._hdf5 else sequences
        labels = labels[::-1] if self._hdf5 else labels
        if (letters, length) != (len(CHANNELS), WINDOW_BP) or labels[0] != count or count % 2:
            axes = "with the sample axis last" if self._hdf5 else "with the sample axis first"
            raise InputError(
                f"{path}: {name}xdata is {sequences} and {name}data {self._arrays[1].shape}; "
                f"expected 4 channels of {WINDOW_BP} bases and equally many labels, {axes}, an "
                "even number of samples (every window and its reverse complement)"
            )
        self.rows: int = count // 2
        self.labels: int = labels[1]

    def _open(self, *names: str) -> tuple:
        with self._readable():
            contents = read_hdf5(self.path) if self._hdf5 else self._load(names)
            missing = [name for name in names if name not in contents]
            if missing:
                all_names = contents if self._hdf5 else [x[0] for x in scipy.io.whosmat(self.path)]
                there = ", ".join(all_names) or "nothing"
                raise InputError(f"{self.path}: no {missing[0]} in it (there is {there})")
            arrays = tuple(contents[name] for name in names)
            if [array.ndim for array in arrays] != [3, 2]:
                raise InputError(f"{self.path}: {' and '.join(names)} must have 3 and 2 axes")
            return arrays

    def _load(self, names: tuple[str, ...]) -> dict:
        contents = {}
        for name in names:
            contents |= scipy.io.loadmat(self.path, variable_names=[name])
        return contents

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        """Turn what scipy and h5py raise for a file that is damaged or no MATLAB file into one line."""
        try:
            yield
        except (InputError, MemoryError):
            raise
        except Exception as error:  # nearly anything
            raise InputError(
                f"{self.path}: cannot read it as a MATLAB file, it may be cut short or damaged "
                f"({' '.join(str(error).split())[:200]}). Unpack the bundle again"
            ) from error

    def slabs(self) -> Iterator[tuple[int, int]]:
        """Yield slices [start, end) of the forward rows, along the file's own chunks."""
        step = _SLAB_BYTES // (len(CHANNELS) * WINDOW_BP)
        if self._hdf5 and self._arrays[0].chunks:
            chunk = self._arrays[0].chunks[-1]
            step = chunk * max(1, step // chunk) if chunk <= 4 * step else step
        for start in range(0, self.rows, step):
            yield start, min(self.rows, start + step)

    def read(self, start: int, end: int) -> tuple[NDArray, NDArray]:
        """Return windows (rows, 4, 1000) and labels (rows, L) of the rows [start, end)."""
        with self._readable():
            if self._hdf5:
                return self._arrays[0][..., start:end].T, self._arrays[1][:, start:end].T
            return self._arrays[0][start:end], self._arrays[1][start:end]
