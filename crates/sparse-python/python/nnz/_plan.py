"""Plans: products with one pattern, whose preparation is done once."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _dlpack, _native
from ._device import native_of
from ._product import converted, product, wrong_shape


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
        on_gpu = _dlpack.is_on_gpu(values)
        values = values if on_gpu else converted("values", values, "plan", self.dtype)
        if tuple(values.shape) != (self._matrix.nnz,):
            raise wrong_shape("values", tuple(values.shape), f"({self._matrix.nnz},)")
        if on_gpu:
            self._native.update_values(_dlpack.take(values, self.device))
            _native.synchronize(self.device)
        else:
            self._native.update_values(values)

    def _run(
        self, name: str, b: Any, shapes: tuple[tuple[int, ...], ...], out: Any, alpha: complex, beta: complex, stream: Any
    ) -> Any:
        """Runs with an operand of the first of two shapes, into `out` or a new array of the second."""
        b = b if _dlpack.is_on_gpu(b) else converted(name, b, "plan", self.dtype)
        if tuple(b.shape) != shapes[0]:
            raise wrong_shape(name, tuple(b.shape), str(shapes[0]))
        factors = _factor("alpha", alpha), _factor("beta", beta)
        if out is None and beta != 0:
            raise ValueError(f"beta is {beta} without out: there is nothing that it could scale")
        return product(
            lambda inputs, target: self._native.run(inputs, target, *factors),
            b,
            out,
            shapes[1],
            self.dtype,
            self.device,
            stream,
        )

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<{type(self).__name__} of {rows} x {cols} {self.dtype} on {self.device}: {self.algorithm}>"


def _factor(name: str, value: complex) -> complex:
    if isinstance(value, str):
        # `complex` would read it.
        raise TypeError(f"{name} is {value!r} where a number is right")
    return complex(value)


class SpmvPlan(_Plan):
    """A plan of y ← alpha·op(A)·x + beta·y; :func:`plan_spmv` makes one."""

    _name = "spmv"

    def run(self, x: Any, out: Any = None, alpha: complex = 1.0, beta: complex = 0.0, stream: Any = None) -> Any:
        """alpha·op(A)·x + beta·out, in `out` if there is one, else in a new array.

        `stream` is as in :meth:`nnz.DeviceCsr.dot`.
        """
        rows, cols = self.shape
        return self._run("x", x, ((cols,), (rows,)), out, alpha, beta, stream)


class SpmmPlan(_Plan):
    """A plan of C ← alpha·op(A)·B + beta·C; :func:`plan_spmm` makes one."""

    _name = "spmm"

    def __init__(self, matrix: _native.Matrix, native: _native.Plan, op: str, columns: int) -> None:
        super().__init__(matrix, native, op)
        #: The number of columns of B and C.
        self.columns = columns

    def run(self, B: Any, out: Any = None, alpha: complex = 1.0, beta: complex = 0.0, stream: Any = None) -> Any:
        """alpha·op(A)·B + beta·out, in `out` if there is one, else in a new array in C order.

        `stream` is as in :meth:`nnz.DeviceCsr.dot`.
        """
        rows, cols = self.shape
        return self._run("B", B, ((cols, self.columns), (rows, self.columns)), out, alpha, beta, stream)


def plan_spmv(A: Any, *, op: str = "N", algorithm: str | None = None) -> SpmvPlan:
    """A plan of products of a vector with A, Aᵀ (`op="T"`) or Aᴴ (`op="H"`).

    A is a sparse array of the host, whose arrays are copied, or a matrix on a device. `algorithm` forces one by its name.
    """
    matrix = native_of(A)
    return SpmvPlan(matrix, _native.Plan.spmv(matrix, op, algorithm), op)


def plan_spmm(A: Any, k: int, *, op: str = "N", algorithm: str | None = None) -> SpmmPlan:
    """A plan of products of a dense matrix of `k` columns with A, Aᵀ or Aᴴ; see :func:`plan_spmv`."""
    if k < 0:
        raise ValueError(f"k is {k} where a number of columns, 0 or more, is right")
    matrix = native_of(A)
    return SpmmPlan(matrix, _native.Plan.spmm(matrix, op, k, algorithm), op, k)
