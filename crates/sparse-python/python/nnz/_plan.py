"""Plans: products with one pattern, whose preparation is done once."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _dlpack, _native
from ._arrays import TYPES, operand
from ._device import DeviceMatrix, to_native


class _Plan:
    """A plan and a matrix of its own, whose values can change."""

    _name: str

    def __init__(self, matrix: _native.Matrix, native: _native.Plan, op: str) -> None:
        self._matrix = matrix
        self._native = native
        rows, cols = matrix.shape
        #: (rows, columns) of op(A).
        self.shape = (rows, cols) if op == "N" else (cols, rows)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return np.dtype(self._matrix.dtype)

    @property
    def device(self) -> str:
        """The device's name."""
        return self._matrix.device

    @property
    def algorithm(self) -> str:
        """The name of the algorithm."""
        return self._native.choice()[0]

    def explain(self) -> str:
        """The algorithm, why it was chosen, and what it needs."""
        algorithm, reason, workspace = self._native.choice()
        return f"{self._name} on {self.device}: {algorithm}, for {reason}; {workspace} bytes of workspace"

    def update_values(self, values: Any) -> None:
        """Copies new values for the entries of A, in their order; the pattern stays."""
        if _dlpack.is_on_gpu(values):
            if tuple(values.shape) != (self._matrix.nnz,):
                raise ValueError(self._wrong("values", tuple(values.shape), f"({self._matrix.nnz},)"))
            self._native.update_values(_dlpack.take(values, self.device))
            _native.synchronize(self.device)
            return
        values = self._host("values", values)
        if values.shape != (self._matrix.nnz,):
            raise ValueError(self._wrong("values", values.shape, f"({self._matrix.nnz},)"))
        self._native.update_values(values)

    def _run(self, b: Any, shape: tuple[int, ...], out: Any, alpha: complex, beta: complex) -> Any:
        """Runs into `out`, or a new array of `shape`."""
        if out is None and beta != 0:
            raise ValueError(f"beta is {beta} without out: there is nothing that it could scale")
        factors = complex(alpha), complex(beta)
        if _dlpack.is_on_gpu(b):
            if out is None:
                out = _dlpack.like(b, shape, self.device)
            elif tuple(out.shape) != shape:
                raise ValueError(self._wrong("out", tuple(out.shape), str(shape)))
            _dlpack.product(lambda inputs, target: self._native.run(inputs, target, *factors), b, out, self.device)
            return out
        if out is None:
            out = np.empty(shape, self.dtype)
        elif not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != self.dtype:
            found = (getattr(out, "shape", type(out).__name__), getattr(out, "dtype", None))
            raise ValueError(self._wrong("out", found, f"{shape} of {self.dtype}"))
        elif np.may_share_memory(out, b):
            raise ValueError("out shares memory with the operand: the product would read what it has written")
        self._native.run([b], out, *factors)
        return out

    def _host(self, name: str, array: Any) -> Any:
        array = np.asarray(array)
        converted = operand(self.dtype, array)
        if converted is None:
            raise TypeError(f"{name} is {array.dtype}, the plan {self.dtype}: cast one of them")
        return converted

    def _operand(self, name: str, b: Any, shape: tuple[int, ...]) -> Any:
        b = b if _dlpack.is_on_gpu(b) else self._host(name, b)
        if tuple(b.shape) != shape:
            raise ValueError(self._wrong(name, tuple(b.shape), str(shape)))
        return b

    def _wrong(self, name: str, found: Any, right: str) -> str:
        return f"{name} has shape {found} where {right} is right"

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<{type(self).__name__} of {rows} x {cols} {self.dtype} on {self.device}: {self.algorithm}>"


class SpmvPlan(_Plan):
    """A plan of y ← alpha·op(A)·x + beta·y; :func:`plan_spmv` makes one."""

    _name = "spmv"

    def run(self, x: Any, out: Any = None, alpha: complex = 1.0, beta: complex = 0.0) -> Any:
        """alpha·op(A)·x + beta·out, in `out` if there is one, else in a new array."""
        rows, cols = self.shape
        return self._run(self._operand("x", x, (cols,)), (rows,), out, alpha, beta)


class SpmmPlan(_Plan):
    """A plan of C ← alpha·op(A)·B + beta·C; :func:`plan_spmm` makes one."""

    _name = "spmm"

    def __init__(self, matrix: _native.Matrix, native: _native.Plan, op: str, columns: int) -> None:
        super().__init__(matrix, native, op)
        #: The number of columns of B and C.
        self.columns = columns

    def run(self, B: Any, out: Any = None, alpha: complex = 1.0, beta: complex = 0.0) -> Any:
        """alpha·op(A)·B + beta·out, in `out` if there is one, else in a new array in C order."""
        rows, cols = self.shape
        b = self._operand("B", B, (cols, self.columns))
        return self._run(b, (rows, self.columns), out, alpha, beta)


def plan_spmv(A: Any, *, op: str = "N", algorithm: str | None = None) -> SpmvPlan:
    """A plan of products of a vector with A, Aᵀ (`op="T"`) or Aᴴ (`op="H"`).

    A is a sparse array of the host, whose arrays are copied, or a matrix on a device. `algorithm` forces one by its name.
    """
    matrix = _matrix(A)
    return SpmvPlan(matrix, _native.Plan.spmv(matrix, op, algorithm), op)


def plan_spmm(A: Any, k: int, *, op: str = "N", algorithm: str | None = None) -> SpmmPlan:
    """A plan of products of a dense matrix of `k` columns with A, Aᵀ or Aᴴ; see :func:`plan_spmv`."""
    matrix = _matrix(A)
    return SpmmPlan(matrix, _native.Plan.spmm(matrix, op, k, algorithm), op, k)


def _matrix(A: Any) -> _native.Matrix:
    if isinstance(A, DeviceMatrix):
        return A._native
    if not sp.issparse(A) or A.ndim != 2:
        raise TypeError(f"A is {type(A).__name__} where a sparse array of two dimensions or a matrix on a device is needed")
    if A.dtype not in TYPES:
        raise TypeError(f"A has values of {A.dtype} where float32, float64, complex64 or complex128 is needed")
    return to_native(A if A.format in ("csr", "csc", "coo") else A.tocsr(), "cpu")
