"""Operations of matrices on devices, which run there unless they say otherwise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Complex
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from . import _dlpack, _native
from ._index import chosen
from ._native import Matrix
from ._product import converted, product, wrong_shape

_Self = TypeVar("_Self", bound="Operations")


class Operations(ABC):
    """The operations of a matrix in the memory of a device.

    Operands and results that are sparse are on the same device, with the same type of values.
    """

    _native: Matrix

    @property
    def _engine(self) -> Any:
        """The functions for the matrix: those of `nnz._native`, or of `nnz._remote` for one on a server."""
        return getattr(self._native, "engine", _native)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]: ...

    @property
    @abstractmethod
    def nnz(self) -> int: ...

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]: ...

    @property
    @abstractmethod
    def device(self) -> str: ...

    @abstractmethod
    def _made(self: _Self, native: Matrix) -> _Self: ...

    def _check_not_on_host(self, other: Any) -> None:
        """Fails for a sparse operand of the host, which NumPy would make an array of one object of."""
        if sp.issparse(other):
            name = type(self).__name__
            raise TypeError(
                f"the operand is a {type(other).__name__} of the host, the matrix is on {self.device}: "
                f"{name}.from_scipy copies the operand there"
            )

    def dot(self, other: Any, out: Any = None, stream: Any = None) -> Any:
        """A·x, A·B, or the sparse product with a matrix on the device.

        An array on the matrix's GPU stays there, and so does the result, which is an array of the same library; it is in
        order with that library's current stream, or with `stream`: its address, or an object of CuPy, of PyTorch or with
        `__cuda_stream__`. An array of NumPy is copied to the device, and the result back. The result is in `out`, if there
        is one.
        """
        self._check_not_on_host(other)
        if not isinstance(other, Operations):
            return self._dense_product("N", other, out, stream)
        if out is not None or stream is not None:
            raise ValueError("a sparse product makes a new matrix, in the stream of its device: without out and stream")
        return self._sparse_product(other)

    def __matmul__(self, other: Any) -> Any:
        return self.dot(other)

    def __rmatmul__(self, other: Any) -> Any:
        """x·A, for a vector, or a dense matrix of NumPy."""
        if len(np.shape(other)) == 2:
            return self._dense_product("T", np.asarray(other).T, None, None).T
        return self._dense_product("T", other, None, None)

    def _dense_product(self, op: str, other: Any, out: Any, stream: Any) -> Any:
        rows, cols = self.shape if op == "N" else self.shape[::-1]
        on_gpu = _dlpack.is_on_gpu(other)
        other = other if on_gpu else np.asarray(other)
        shape = tuple(other.shape)
        if len(shape) not in (1, 2) or shape[0] != cols:
            raise wrong_shape("the operand", shape, f"({cols}[, k])")
        b = other if on_gpu else converted("the operand", other, "matrix", self.dtype)

        def run(inputs: list[Any], target: Any) -> None:
            self._native.multiply(inputs, target, op)

        return product(run, b, out, (rows, *shape[1:]), self.dtype, self.device, stream)

    def _sparse_product(self: _Self, other: Operations) -> _Self:
        return self._made(self._engine.multiply_sparse(*self._in_one_format(other)))

    def _in_one_format(self, other: Operations) -> tuple[Any, Any]:
        """Both matrices in this one's format; coordinates become CSR."""
        a, b = self._native, other._native
        format = "csr" if a.format == "coo" else a.format
        a, b = (each if each.format == format else self._engine.convert(each, format) for each in (a, b))
        return a, b

    def matvec(self, x: Any) -> Any:
        """A·x, as linear operators of SciPy have it: its functions take the matrix as one."""
        return self.dot(x)

    def rmatvec(self, x: Any) -> Any:
        """Aᴴ·x."""
        return self._dense_product("H", x, None, None)

    def aslinearoperator(self) -> LinearOperator:
        """The matrix as a linear operator of SciPy, whose products run on the device."""
        by = {"matvec": self.dot, "matmat": self.dot, "rmatvec": self.rmatvec, "rmatmat": self.rmatvec}
        return LinearOperator(self.shape, dtype=self.dtype, **by)

    def __add__(self: _Self, other: Any) -> _Self:
        return self._sum(other, 1)

    def __sub__(self: _Self, other: Any) -> _Self:
        return self._sum(other, -1)

    def __radd__(self: _Self, other: Any) -> _Self:
        return self._sum(other, 1)

    def __rsub__(self: _Self, other: Any) -> _Self:
        return (-self)._sum(other, 1)

    def _sum(self: _Self, other: Any, beta: int) -> _Self:
        """A + beta·B; B is a matrix on the device, or 0, with which `sum` of a list begins."""
        self._check_not_on_host(other)
        if isinstance(other, Operations):
            return self._made(self._engine.add(self._native, other._native, complex(1), complex(beta)))
        if isinstance(other, Complex) and other == 0:
            return self.copy()
        if isinstance(other, Complex) or np.ndim(other) > 0:
            what = "an array" if np.ndim(other) else "a number that is not 0"
            raise TypeError(f"a sum with {what} is dense: toarray() makes an array of the matrix")
        return NotImplemented

    def __mul__(self: _Self, other: Any) -> _Self:
        return self.multiply(other)

    def __rmul__(self: _Self, other: Any) -> _Self:
        return self.multiply(other)

    def __truediv__(self: _Self, other: Any) -> _Self:
        # Sparse operands have zeros to divide by nearly everywhere.
        if isinstance(other, Operations):
            return NotImplemented
        self._check_not_on_host(other)
        # As SciPy: a zero of Python is an error, one of NumPy makes infinities.
        return self.multiply(1 / other)

    def __neg__(self: _Self) -> _Self:
        return self.multiply(-1)

    def multiply(self: _Self, other: Any) -> _Self:
        """The products of elements with those of a matrix on the device, with a number, or with an array of one row or one
        column, which scales the columns or the rows."""
        if isinstance(other, Operations):
            return self._made(self._engine.multiply_elements(self._native, other._native))
        # An array without dimensions is a number, also on a GPU.
        if getattr(other, "ndim", None) == 0:
            other = other.item()
        if isinstance(other, Complex) and other != 0:
            return self._made(self._engine.scale(self._native, complex(other)))
        if isinstance(other, Complex):
            # A factor of 0 would not read the values, and SciPy's product of 0 and an infinity is NaN.
            other = np.full((1, self.shape[1]), other, self.dtype)
        self._check_not_on_host(other)
        on_gpu = _dlpack.is_on_gpu(other)
        other = other if on_gpu else converted("the operand", other, "matrix", self.dtype)
        (rows, cols), shape = self.shape, tuple(other.shape)
        if shape not in ((cols,), (1, cols), (rows, 1)):
            raise wrong_shape("the operand", shape, f"({cols},), (1, {cols}) or ({rows}, 1)")
        factors = other.reshape(-1)
        factors = _dlpack.take(factors, self.device) if on_gpu else factors
        of_rows = shape == (rows, 1) and shape != (1, cols)
        lines = (factors, None) if of_rows else (None, factors)
        scaled = self._engine.scale_lines(self._native, *lines)
        if on_gpu:
            _dlpack.release(other, self.device)
        return self._made(scaled)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Operations, Complex, np.ndarray)) or sp.issparse(other):
            raise TypeError(f"a {type(self).__name__} is not compared on its device: get() makes SciPy's array, which compares elements")
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        if self.shape == (1, 1):
            return bool(self.sum())
        raise ValueError("a matrix of several elements is neither true nor false: its nnz says whether it has entries")

    def copy(self: _Self) -> _Self:
        """A copy on the same device."""
        return self._made(self._engine.copy(self._native))

    def __copy__(self: _Self) -> _Self:
        return self.copy()

    def __deepcopy__(self: _Self, _: Any) -> _Self:
        return self.copy()

    def eliminate_zeros(self) -> None:
        """Removes the entries of this matrix that are zero."""
        self._native = self._made(self._engine.prune(self._native))._native

    def astype(self: _Self, dtype: Any, copy: bool = True) -> _Self:
        """The matrix with its values as another type, each rounded to nearest; by way of the host.

        Without `copy` it is the matrix itself where its values have the type.
        """
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return self._made(self._engine.cast(self._native, np.dtype(dtype).char))

    def __getitem__(self: _Self, key: Any) -> Any:
        """The matrix of the chosen rows and columns, `A[i0:i1, j0:j1]`, `A[rows]`, `A[:, columns]`; of two numbers an
        element. A row or a column is a matrix, too."""
        rows, columns, is_element = chosen(key, self.shape)
        made = self._made(self._engine.select(self._native, rows, columns))
        return made.sum() if is_element else made

    def getrow(self: _Self, i: int) -> _Self:
        """A row, as a matrix of one row."""
        return self._line(i, slice(None))

    def getcol(self: _Self, j: int) -> _Self:
        """A column, as a matrix of one column."""
        return self._line(slice(None), j)

    def _line(self: _Self, row: Any, column: Any) -> _Self:
        made: _Self = self[row, column]
        return made

    def diagonal(self, k: int = 0) -> Any:
        """The elements (i, i + k), as an array of NumPy."""
        return self._engine.diagonal(self._native, k)

    def trace(self, offset: int = 0) -> Any:
        """The sum of the elements (i, i + offset)."""
        return self.diagonal(offset).sum()

    def sum(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """The sums of columns (`axis=0`) or rows (`axis=1`), as an array of NumPy, or the sum of all elements."""
        a = self if dtype is None else self.astype(dtype, copy=False)
        return _in(out, a._each("sum", axis) if axis is not None else a._each("sum", 1).sum())

    def mean(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """The means of columns or rows, or of all elements; those that are not stored are zeros, and count."""
        a = self if dtype is None else self.astype(dtype, copy=False)
        rows, cols = self.shape
        return _in(out, a._each("mean", axis) if axis is not None else a.sum() / a.dtype.type(rows * cols))

    def min(self, axis: int | None = None, out: Any = None) -> Any:
        """The least elements of columns or rows, or of all, of real numbers; those that are not stored are zeros."""
        return _in(out, self._each("min", axis) if axis is not None else self._each("min", 1).min())

    def max(self, axis: int | None = None, out: Any = None) -> Any:
        """The largest elements of columns or rows, or of all; see :meth:`min`."""
        return _in(out, self._each("max", axis) if axis is not None else self._each("max", 1).max())

    def _each(self, by: str, axis: int) -> Any:
        if axis not in (0, 1, -1, -2):
            raise ValueError(f"axis is {axis} where 0, 1 or None is right")
        return self._engine.reduce(self._native, axis in (1, -1), by)


def _in(out: Any, found: Any) -> Any:
    """A result, in `out` where there is one: NumPy's functions of the same names pass it."""
    if out is None:
        return found
    out[...] = found
    return out
