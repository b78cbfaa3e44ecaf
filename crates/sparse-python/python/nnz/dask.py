"""Sparse matrices in chunks that Dask computes, on one machine or many.

>>> import dask.array as da, nnz.dask
>>> A = nnz.dask.compress(da.eye(6, chunks=2))
>>> A
<ChunkedCsr: 6 x 6 in 3 chunks, float64>
>>> (A @ da.ones(6)).compute()
array([1., 1., 1., 1., 1., 1.])

A chunk has whole rows and is an :class:`nnz.csr_array`, or some matrices of a batch as a :class:`nnz.BatchCsr`. Where and
when a chunk is computed is Dask's to say: nothing here runs before `compute()` or `persist()`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import dask
import dask.array as da
import dask.threaded
import numpy as np
import scipy.sparse as sp
from dask.base import DaskMethodsMixin
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from ._arrays import TYPES, csr_array
from ._batch import BatchCsr
from ._batch import compress as compress_stack

__all__ = ["ChunkedBatch", "ChunkedCsr", "compress", "from_delayed", "from_scipy"]


class _Chunked(DaskMethodsMixin):
    """A collection of Dask whose chunks, one after the other along the first dimension, are objects of nnz."""

    #: NumPy and Dask leave `array @ chunked` to this class.
    __array_ufunc__ = None
    #: Threads, where there is no cluster: nnz computes without Python's lock.
    __dask_scheduler__ = staticmethod(dask.threaded.get)
    #: All tasks of the graph are needed.
    __dask_optimize__ = None

    def __init__(
        self, parts: Iterable[Delayed], lengths: Iterable[int], rest: Iterable[int], dtype: np.dtype[Any]
    ) -> None:
        self._parts, self._lengths, self._rest = tuple(parts), tuple(lengths), tuple(rest)
        self._dtype = np.dtype(dtype)
        if len(self._parts) != len(self._lengths) or not self._parts:
            raise ValueError(f"{len(self._lengths)} lengths for {len(self._parts)} chunks, of which one is needed at least")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole."""
        return (sum(self._lengths), *self._rest)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return 1 + len(self._rest)

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """The extents of the chunks along each dimension, as Dask's arrays have them."""
        return (self._lengths, *((extent,) for extent in self._rest))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self._dtype

    def to_delayed(self) -> tuple[Delayed, ...]:
        """The chunks."""
        return self._parts

    def __repr__(self) -> str:
        extents = " x ".join(map(str, self.shape))
        return f"<{type(self).__name__}: {extents} in {len(self._parts)} chunks, {self.dtype}>"

    def __dask_graph__(self) -> Any:
        return HighLevelGraph.merge(*(part.__dask_graph__() for part in self._parts))

    def __dask_keys__(self) -> list[Any]:
        return [part.key for part in self._parts]

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self.__dask_keys__(), self._lengths

    def __dask_postcompute__(self) -> Any:
        return type(self)._join, ()

    def __dask_postpersist__(self) -> Any:
        return self._with_graph, ()

    def _with_graph(self, graph: Any, *, rename: dict[str, str] | None = None) -> Any:
        names = rename or {}
        parts = (Delayed(names.get(part.key, part.key), graph) for part in self._parts)
        return type(self)(parts, self._lengths, self._rest, self._dtype)

    @staticmethod
    def _join(parts: Any) -> Any:
        """The whole of its chunks."""
        raise NotImplementedError


class ChunkedCsr(_Chunked):
    """A CSR matrix in chunks of rows; :func:`compress`, :func:`from_scipy` and :func:`from_delayed` make one.

    `compute()` returns it as one :class:`nnz.csr_array`.
    """

    def __matmul__(self, other: Any) -> da.Array:
        """A·x or A·B, in chunks of rows; each chunk's task needs the whole vector or dense matrix."""
        other = _dense(other)
        if other.ndim not in (1, 2) or other.shape[0] != self.shape[1]:
            raise ValueError(f"the operand has shape {other.shape} where ({self.shape[1]}[, k]) is right")
        whole = other.rechunk(-1).to_delayed().item()
        dtype = np.result_type(self.dtype, other.dtype)
        products = [
            da.from_delayed(_product(part, whole), (length, *other.shape[1:]), dtype)
            for part, length in zip(self._parts, self._lengths, strict=True)
        ]
        return da.concatenate(products)

    def __rmatmul__(self, other: Any) -> da.Array:
        """x·A or B·A: the sum of what each chunk of rows makes of its part of the vector, or of the columns of B."""
        other = _dense(other)
        if other.ndim not in (1, 2) or other.shape[-1] != self.shape[0]:
            raise ValueError(f"the operand has shape {other.shape} where ([k, ]{self.shape[0]}) is right")
        extents = {axis: -1 for axis in range(other.ndim - 1)}
        pieces = other.rechunk({**extents, other.ndim - 1: self._lengths}).to_delayed().ravel()
        dtype, shape = np.result_type(self.dtype, other.dtype), (*other.shape[:-1], self.shape[1])
        products = [
            da.from_delayed(_product(piece, part), shape, dtype)
            for piece, part in zip(pieces, self._parts, strict=True)
        ]
        return da.stack(products).sum(axis=0, dtype=dtype)

    @staticmethod
    def _join(parts: Any) -> csr_array:
        return csr_array(sp.vstack(list(parts), format="csr"))


class ChunkedBatch(_Chunked):
    """A batch of CSR matrices of one shape in chunks of matrices; :func:`compress` makes one.

    `compute()` returns it as one :class:`nnz.BatchCsr`.
    """

    def __matmul__(self, other: Any) -> da.Array:
        """The products of each matrix with a vector or a dense matrix, as those of :class:`nnz.BatchCsr`."""
        other = _dense(other)
        count, rows, cols = self.shape
        if other.shape[:1] == (cols,) and other.ndim < 3 and other.shape[:2] != (count, cols):
            other = da.broadcast_to(other, (count, *other.shape))
        if other.ndim not in (2, 3) or other.shape[:2] != (count, cols):
            raise ValueError(f"the operand has shape {other.shape} where ({count}, {cols}[, k]) or ({cols}[, k]) is right")
        if np.result_type(self.dtype, other.dtype) != self.dtype:
            raise TypeError(f"the operand is {other.dtype}, the batch {self.dtype}: cast one of them")
        extents = {axis: -1 for axis in range(1, other.ndim)}
        pieces = other.rechunk({0: self._lengths, **extents}).to_delayed().ravel()
        products = [
            da.from_delayed(_product(part, piece), (length, rows, *other.shape[2:]), self.dtype)
            for part, piece, length in zip(self._parts, pieces, self._lengths, strict=True)
        ]
        return da.concatenate(products)

    @staticmethod
    def _join(parts: Any) -> BatchCsr:
        parts = list(parts)
        if len(parts) == 1:
            return parts[0]
        blocks = sp.block_diag([part.to_block_diagonal() for part in parts], format="csr")
        return BatchCsr.from_block_diagonal(blocks, sum(map(len, parts)))


def compress(array: da.Array, *, tolerance: float | None = None) -> ChunkedCsr | ChunkedBatch:
    """The elements of an array of Dask that are not zero, or whose magnitude is above `tolerance`.

    An array of shape (rows, columns) becomes a matrix in its chunks of rows, one of shape (matrices, rows, columns) a batch in
    its chunks of matrices. Chunks along other dimensions are joined first, so that one dense chunk of whole rows, or of whole
    matrices, has to fit the memory of a worker.
    """
    if array.ndim not in (2, 3):
        raise ValueError(f"the array has shape {array.shape} where ([matrices, ]rows, columns) is right")
    if any(math.isnan(extent) for extent in array.shape):
        raise ValueError("the array has chunks of unknown extents: call its compute_chunk_sizes() first")
    array = array.rechunk({axis: -1 for axis in range(1, array.ndim)})
    dtype = array.dtype if array.dtype in TYPES else np.result_type(array.dtype, np.float32)
    of_chunk, kind = (_compressed_matrix, ChunkedCsr) if array.ndim == 2 else (_compressed_batch, ChunkedBatch)
    parts = (of_chunk(chunk, tolerance) for chunk in array.to_delayed().ravel())
    return kind(parts, array.chunks[0], array.shape[1:], dtype)


def from_scipy(matrix: Any, rows: int) -> ChunkedCsr:
    """A sparse matrix of the host in chunks of `rows` rows, the last one of what is left."""
    if rows < 1:
        raise ValueError(f"chunks of {rows} rows where 1 or more are right")
    matrix = csr_array(matrix)
    starts = range(0, max(matrix.shape[0], 1), rows)
    chunks = [matrix[start : start + rows] for start in starts]
    parts = [dask.delayed(chunk, pure=True) for chunk in chunks]
    return ChunkedCsr(parts, [chunk.shape[0] for chunk in chunks], matrix.shape[1:], matrix.dtype)


def from_delayed(parts: Iterable[Delayed], lengths: Iterable[int], columns: int, dtype: Any) -> ChunkedCsr:
    """A matrix of sparse matrices that tasks make, say by reading files: `lengths` are their numbers of rows."""
    lengths = list(lengths)
    parts = [_as_csr(part, length, columns, np.dtype(dtype)) for part, length in zip(parts, lengths, strict=True)]
    return ChunkedCsr(parts, lengths, (columns,), dtype)


def _dense(operand: Any) -> da.Array:
    """An operand as an array of Dask."""
    if sp.issparse(operand) or isinstance(operand, _Chunked):
        raise TypeError(f"a product with {type(operand).__name__}, where a dense array is right")
    return da.asarray(operand)


def _compress_batch(stack: Any, tolerance: float | None) -> Any:
    return compress_stack(stack, tolerance=tolerance)


def _compress_matrix(rows: Any, tolerance: float | None) -> csr_array:
    return compress_stack(rows, tolerance=tolerance)[0]


def _to_csr(matrix: Any, rows: int, columns: int, dtype: np.dtype[Any]) -> csr_array:
    if matrix.shape != (rows, columns):
        raise ValueError(f"a chunk has shape {matrix.shape} where {(rows, columns)} is right")
    return csr_array(matrix).astype(dtype, copy=False)


# The tasks of these functions, which keep their names: graphs are pickled by them.
_product = dask.delayed(operator.matmul, pure=True)
_compressed_batch = dask.delayed(_compress_batch, pure=True)
_compressed_matrix = dask.delayed(_compress_matrix, pure=True)
_as_csr = dask.delayed(_to_csr, pure=True)
