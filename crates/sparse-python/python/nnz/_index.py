"""The rows and columns of a matrix, and the matrices of a batch, that `A[…]` chooses."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

#: The chosen lines in their order, from the first on; None for all of them.
Lines = np.ndarray[Any, np.dtype[np.int64]] | range | None

#: Chosen matrices: a slice, a list of numbers, or a mask.
Members = slice | Sequence[int] | Sequence[bool] | np.ndarray[Any, np.dtype[Any]]


def chosen(key: Any, shape: tuple[int, int]) -> tuple[Lines, Lines, bool]:
    """Rows, columns, and whether both are numbers, so that they choose one element."""
    keys = key if isinstance(key, tuple) else (key,)
    at = next((at for at, key in enumerate(keys) if key is Ellipsis), len(keys))
    keys = (*keys[:at], *[slice(None)] * (2 - len(keys) + (at < len(keys))), *keys[at + 1 :])
    if len(keys) != 2:
        raise IndexError(f"{len(keys)} indices where a matrix has two dimensions")
    first, second = keys
    if _are_grid(first, second):
        first, second = np.ravel(first), np.ravel(second)
    elif not any(isinstance(key, slice) or _is_number(key) for key in keys):
        reason = "two lists choose single elements, as in NumPy: A[rows][:, columns] or A[numpy.ix_(rows, columns)] chooses lines"
        raise IndexError(reason)
    rows, columns = _lines(first, shape[0]), _lines(second, shape[1])
    return rows, columns, _is_number(first) and _is_number(second)


def chosen_members(key: Any, count: int) -> int | list[int]:
    """The number of one of `count` matrices, or the numbers of those that are chosen."""
    if isinstance(key, tuple):
        raise IndexError(f"{len(key)} indices where one chooses matrices: M[k][i, j] is an element of matrix k")
    lines = _lines(key, count)
    if lines is None:
        return list(range(count))
    return int(lines[0]) if _is_number(key) else [int(line) for line in lines]


def _is_number(key: Any) -> bool:
    return hasattr(key, "__index__") and np.ndim(key) == 0


def _are_grid(first: Any, second: Any) -> bool:
    """True for a column and a row of numbers, which `numpy.ix_` makes."""
    first, second = np.shape(first), np.shape(second)
    return len(first) == len(second) == 2 and first[1] == second[0] == 1


def _lines(key: Any, extent: int) -> Lines:
    if isinstance(key, slice):
        numbers = range(*key.indices(extent))
        return None if numbers == range(extent) else numbers
    if _is_number(key):
        return _in_range(np.array([operator.index(key)]), extent)
    lines = np.asarray(key)
    if lines.size and lines.dtype.kind not in "biu":
        raise IndexError(f"the indices are {lines.dtype} where integers, a mask or a slice are right")
    if lines.ndim != 1:
        raise IndexError(f"the indices have shape {lines.shape} where one dimension is right")
    if lines.dtype == bool:
        if len(lines) != extent:
            raise IndexError(f"the mask has {len(lines)} elements where {extent} are right")
        return np.flatnonzero(lines).astype(np.int64)
    return _in_range(lines, extent)


def _in_range(lines: Any, extent: int) -> Lines:
    """Negative indices count from the end."""
    least, largest = (lines.min(), lines.max()) if lines.size else (0, -1)
    if least < -extent or largest >= extent:
        outside = (lines < -extent) | (lines >= extent)
        raise IndexError(f"index {lines[outside][0]} is out of range for {extent}")
    lines = lines.astype(np.int64, copy=False)
    return np.where(lines < 0, lines + extent, lines) if least < 0 else lines
