"""Outputs of a model, row by row and in the order of the rows."""

from collections.abc import Sequence

from numpy.typing import NDArray
from torch import Tensor

Outputs = dict[str, NDArray]
"""What the model gave for one row, or for the rows of a batch, by name."""


def as_arrays(outputs: dict[str, Tensor]) -> Outputs:
    """Return the outputs of a batch as arrays of float32 or integers."""
    return {
        name: (value.float() if value.is_floating_point() else value).detach().cpu().numpy()
        for name, value in outputs.items()
    }


def split_rows(arrays: Outputs, rows: Sequence[int]) -> list[tuple[int, Outputs]]:
    """Return the outputs of a batch row by row, with the rows' numbers.

    They are copies: a view would keep its whole batch in memory.
    """
    return [
        (number, {name: array[i].copy() for name, array in arrays.items()})
        for i, number in enumerate(rows)
    ]


def in_order(numbered: list[tuple[int, Outputs]], count: int) -> list[Outputs]:
    """Return the outputs of rows 0 … count - 1.

    Raises:
        ValueError: If a row is missing or there twice.
    """
    by_row = dict(numbered)
    if len(numbered) != count or by_row.keys() != set(range(count)):
        raise ValueError(f"{len(numbered)} outputs of {len(by_row)} rows, expected {count}")
    return [by_row[i] for i in range(count)]
