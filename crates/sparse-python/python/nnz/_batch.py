"""Batches: matrices of one shape and unequal numbers of entries in one allocation."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, SupportsIndex, overload

import numpy as np
import scipy.sparse as sp

from . import _dlpack, _native
from ._arrays import TYPES, contiguous, csr_array
from ._device import to_native
from ._index import Members, chosen_members
from ._matrix_set import MatrixSet, compress_set
from ._picture import html_of
from ._product import converted, product, wrong_shape
from ._progress import Callback


class BatchCsr:
    """CSR matrices of one shape, whose numbers of entries differ; :func:`compress` makes one."""

    #: NumPy leaves `array @ batch` and its kin to this class, which has none of them.
    __array_ufunc__ = None

    def __init__(self, native: _native.Matrix) -> None:
        if not isinstance(native, _native.Matrix):
            raise TypeError(f"a BatchCsr is made by nnz.compress or BatchCsr.from_block_diagonal, not of {type(native).__name__}")
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

    @overload
    def __getitem__(self, key: SupportsIndex) -> csr_array: ...
    @overload
    def __getitem__(self, key: Members) -> BatchCsr: ...
    def __getitem__(self, key: Any) -> csr_array | BatchCsr:
        """A copy of one matrix by its number, or a batch of those of a slice, a list or a mask.

        Negative numbers count from the end.
        """
        members = chosen_members(key, len(self))
        if isinstance(members, int):
            member = self._native.member(members)
            indptr, indices, data = member.arrays()
            return csr_array((data, indices, indptr), shape=member.shape)
        if not members:
            none = np.zeros((0, *self._native.member_shape), self.dtype)
            return BatchCsr(_native.Matrix.compress(none, None, False, self.device))
        return BatchCsr(self._native.choose_members(members))

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
        return BatchCsr(to_native(csr_array(matrix), "cpu").to_batch(count))

    def __reduce__(self) -> Any:
        """Pickled as a block-diagonal matrix, which says nothing of the shape where there are no blocks."""
        if not len(self):
            return compress, (np.zeros(self.shape, self.dtype),)
        return BatchCsr.from_block_diagonal, (self.to_block_diagonal(), len(self))

    def __matmul__(self, other: Any) -> Any:
        """The products of each matrix with a vector, or with a dense matrix of its own.

        `other` has shape (matrices, columns) or (matrices, columns, k), or without the first dimension is the same for all.
        A square array with as many rows as there are matrices and columns has a vector for each matrix; NumPy's stacks take
        it as one dense matrix for all.
        An array on the batch's GPU has the first dimension; the result stays there.
        """
        count, rows, cols = self.shape
        on_gpu = _dlpack.is_on_gpu(other)
        other = other if on_gpu else np.asarray(other)
        if not on_gpu and other.shape[:1] == (cols,) and other.ndim < 3 and other.shape[:2] != (count, cols):
            other = np.broadcast_to(other, (count, *other.shape))
        shape = tuple(other.shape)
        if len(shape) not in (2, 3) or shape[:2] != (count, cols):
            right = f"({count}, {cols}[, k])" if on_gpu else f"({count}, {cols}[, k]) or ({cols}[, k])"
            raise wrong_shape("the operand", shape, right)
        x = other if on_gpu else converted("the operand", other, "batch", self.dtype)
        x, one_below_the_other = x.reshape(count * cols, *shape[2:]), (count * rows, *shape[2:])
        y = product(self._native.multiply, x, None, one_below_the_other, self.dtype, self.device)
        return y.reshape(count, rows, *shape[2:])

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


def compress(
    stack: Any,
    *,
    tolerance: float | None = None,
    devices: Sequence[str] | None = None,
    progress: bool | Callback | None = None,
) -> BatchCsr | MatrixSet:
    """The elements of dense matrices that are not zero, or whose magnitude is above `tolerance`.

    An array of shape (matrices, rows, columns), or (rows, columns) for one matrix, becomes a :class:`BatchCsr`: one on a GPU
    stays there, and is not copied. So does a list of arrays of NumPy of one shape. A list of arrays of several shapes, a
    path of a `.npy` file and a list of paths become a :class:`MatrixSet`.

    `devices` are those that share the work, by the names of :func:`nnz.devices`; the result of an array then is in the
    memory of the first. `progress` is True for a bar of tqdm, where that is installed, or a function of (matrices that are
    done, matrices): an exception of its ends the call.
    """
    _check_dense(stack)
    if isinstance(stack, (str, os.PathLike)):
        stack = [stack]
    if isinstance(stack, (list, tuple)) and stack and _is_set(stack):
        return compress_set(stack, tolerance, devices, progress)
    on_gpu = _dlpack.is_on_gpu(stack)
    if not on_gpu:
        stack = np.asarray(stack)
        if stack.dtype not in TYPES:
            stack = stack.astype(np.result_type(stack.dtype, np.float32))
    shape = tuple(stack.shape)
    if len(shape) not in (2, 3):
        raise ValueError(f"the stack has shape {shape} where (matrices, rows, columns) is right")
    stack = stack if len(shape) == 3 else stack[None]
    if devices is not None or progress:
        whole = compress_set([stack], tolerance, devices, progress)
        place = devices[0] if devices else _dlpack.device_of(stack) if on_gpu else "cpu"
        return BatchCsr(whole._native.to_batch(place))
    # Offsets count the entries of one matrix.
    wide = shape[-2] * shape[-1] > np.iinfo(np.int32).max
    if not on_gpu:
        return BatchCsr(_native.Matrix.compress(contiguous(stack), tolerance, wide, "cpu"))
    device = _dlpack.device_of(stack)
    compressed = _native.Matrix.compress(_dlpack.take(stack, device), tolerance, wide, device)
    _dlpack.release(stack, device)
    return BatchCsr(compressed)


def _check_dense(stack: Any) -> None:
    """Fails for sparse matrices, which NumPy would make arrays of objects of."""
    if sp.issparse(stack):
        raise TypeError(f"the stack is a {type(stack).__name__}, which is sparse already: nnz.csr_array takes it")
    if isinstance(stack, (list, tuple)) and any(map(sp.issparse, stack)):
        raise TypeError(
            "the stack has matrices that are sparse already: "
            "BatchCsr.from_block_diagonal(scipy.sparse.block_diag(matrices), len(matrices)) takes them"
        )


def _is_set(dense: Sequence[Any]) -> bool:
    """True for paths, for arrays on GPUs, and for arrays of several shapes."""
    if any(isinstance(each, (str, os.PathLike)) or _dlpack.is_on_gpu(each) for each in dense):
        return True
    return len({np.shape(each) for each in dense}) > 1
