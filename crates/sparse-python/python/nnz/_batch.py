"""Batches: matrices of one shape and unequal numbers of entries in one allocation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _native
from ._arrays import TYPES, contiguous, csr_array, operand
from ._picture import html_of


class BatchCsr:
    """CSR matrices of one shape, whose numbers of entries differ; :func:`compress` makes one."""

    #: NumPy leaves `array @ batch` and its kin to this class, which has none of them.
    __array_ufunc__ = None

    def __init__(self, native: _native.Matrix) -> None:
        self._native = native

    @property
    def shape(self) -> tuple[int, int, int]:
        """(matrices, rows, columns)."""
        return (len(self), *self._native.member_shape)

    @property
    def nnz(self) -> int:
        """The number of entries of all matrices."""
        return self._native.nnz

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return np.dtype(self._native.dtype)

    def __len__(self) -> int:
        return self._native.members or 0

    def __getitem__(self, k: int) -> csr_array:
        """A copy of matrix `k`; a negative `k` counts from the end."""
        count = len(self)
        if not -count <= k < count:
            raise IndexError(f"{k} is out of range for a batch of {count}")
        member = self._native.member(k % count)
        indptr, indices, data = member.arrays()
        return csr_array((data, indices, indptr), shape=member.shape)

    def __iter__(self) -> Iterator[csr_array]:
        return (self[k] for k in range(len(self)))

    def to_list(self) -> list[csr_array]:
        """Copies of all matrices."""
        return list(self)

    def to_block_diagonal(self) -> csr_array:
        """The matrix with copies of all matrices as blocks on its diagonal."""
        whole = self._native.to_block_diagonal()
        indptr, indices, data = whole.arrays()
        return csr_array((data, indices, indptr), shape=whole.shape)

    @staticmethod
    def from_block_diagonal(matrix: Any, count: int) -> BatchCsr:
        """The `count` blocks, all of one shape, on the diagonal of a sparse matrix; entries elsewhere are an error."""
        native = _native.Matrix.from_arrays("csr", csr_array(matrix)._csr(), "cpu")
        return BatchCsr(native.to_batch(count))

    def __reduce__(self) -> Any:
        """Pickled as a block-diagonal matrix, which says nothing of the shape where there are no blocks."""
        if not len(self):
            return compress, (np.zeros(self.shape, self.dtype),)
        return BatchCsr.from_block_diagonal, (self.to_block_diagonal(), len(self))

    def __matmul__(self, other: Any) -> Any:
        """The products of each matrix with a vector, or with a dense matrix of its own.

        `other` has shape (matrices, columns) or (matrices, columns, k), or without the first dimension is the same for all.
        """
        count, rows, cols = self.shape
        other = np.asarray(other)
        if other.shape[:1] == (cols,) and other.ndim < 3 and other.shape[:2] != (count, cols):
            other = np.broadcast_to(other, (count, *other.shape))
        if other.ndim not in (2, 3) or other.shape[:2] != (count, cols):
            raise ValueError(f"the operand has shape {other.shape} where ({count}, {cols}[, k]) or ({cols}[, k]) is right")
        x = operand(self.dtype, other)
        if x is None:
            raise TypeError(f"the operand is {other.dtype}, the batch {self.dtype}: cast one of them")
        if x.ndim == 2:
            return self._native.matvec(x.reshape(-1)).reshape(count, rows)
        columns = x.shape[2]
        return self._native.matmat(x.reshape(count * cols, columns)).reshape(count, rows, columns)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self._native.nbytes

    @property
    def device(self) -> str:
        """The device's name."""
        return self._native.device

    def _repr_html_(self) -> str:
        return html_of(self)

    def __repr__(self) -> str:
        count, rows, cols = self.shape
        return f"<BatchCsr: {count} matrices of {rows} x {cols}, {self.nnz} entries of {self.dtype}>"


def compress(stack: Any, *, tolerance: float | None = None) -> BatchCsr:
    """The elements of a stack of matrices that are not zero, or whose magnitude is above `tolerance`.

    `stack` is an array of shape (matrices, rows, columns), or (rows, columns) for one matrix.
    """
    stack = np.asarray(stack)
    if stack.ndim == 2:
        stack = stack[np.newaxis]
    if stack.ndim != 3:
        raise ValueError(f"the stack has shape {stack.shape} where (matrices, rows, columns) is right")
    if stack.dtype not in TYPES:
        stack = stack.astype(np.result_type(stack.dtype, np.float32))
    stack = contiguous(stack)
    # Offsets count the entries of one matrix.
    wide = stack.shape[1] * stack.shape[2] > np.iinfo(np.int32).max
    return BatchCsr(_native.Matrix.compress(stack, tolerance, wide, "cpu"))
