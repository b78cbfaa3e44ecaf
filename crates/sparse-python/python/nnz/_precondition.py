"""Preconditioners, which solvers of nnz apply on the device of the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from . import _dlpack, _native
from ._arrays import solution_type
from ._device import native_of
from ._product import converted, product, wrong_shape


class Preconditioner(LinearOperator):
    """An approximate inverse K⁻¹ of a matrix, on its device.

    It is a linear operator of SciPy, for the `M` of any solver. Those of :mod:`nnz.linalg` run in nnz with it, if it has the
    type and the device of the matrix. Integers become floating-point numbers, as in solvers.
    """

    def __init__(self, A: Any, by: str) -> None:
        self._native = _native.Preconditioner.of(floating(A), by)
        super().__init__(np.dtype(self._native.dtype), self._native.shape)

    @property
    def device(self) -> str:
        """The device's name."""
        return self._native.device

    def update(self, A: Any) -> None:
        """Takes the values of another matrix with the same pattern, type and device, without another analysis.

        All solvers that were made with the preconditioner have them, too. After an error the old values remain. Incomplete
        factors compare the patterns; :func:`jacobi`, also of blocks, takes any matrix of the same format, shape and `nnz`.
        """
        self._native.update(floating(A))

    def solve(self, rhs: Any, out: Any = None, stream: Any = None) -> Any:
        """K⁻¹·rhs of a vector; one on the GPU stays there."""
        on_gpu = _dlpack.is_on_gpu(rhs)
        rhs = rhs if on_gpu else converted("rhs", rhs, "preconditioner", self.dtype)
        shape = self.shape[:1]
        if tuple(rhs.shape) != shape:
            raise wrong_shape("rhs", tuple(rhs.shape), str(shape))
        return product(self._native.apply, rhs, out, shape, self.dtype, self.device, stream)

    def _matvec(self, x: Any) -> Any:
        # SciPy's solvers may iterate in another type: an approximation need not have it.
        if np.iscomplexobj(x) and self.dtype.kind == "f":
            return self._matvec(x.real) + 1j * self._matvec(x.imag)
        return self.solve(np.asarray(x).reshape(-1).astype(self.dtype))


def floating(A: Any) -> _native.Matrix:
    """The matrix on a device, of a sparse array of the host a copy; integers become floating-point numbers."""
    if sp.issparse(A) and A.dtype.kind in "biu":
        A = A.astype(solution_type(A.dtype))
    return native_of(A)


def jacobi(A: Any, block: int = 1) -> Preconditioner:
    """The inverse of the diagonal of A, or of its diagonal blocks of `block` rows."""
    return Preconditioner(A, "jacobi" if block == 1 else f"block-jacobi:{block}")


def ilu0(A: Any) -> Preconditioner:
    """The incomplete LU factors of A with its own pattern: L·U is A wherever A has an entry.

    A is a sparse array of the host, or a matrix on a device, whose diagonal is stored. The host factorizes, without pivoting;
    the device of A solves with the factors. A pivot of zero is a `ValueError` that names its row.
    """
    return Preconditioner(A, "ilu0")


def ic0(A: Any) -> Preconditioner:
    """The incomplete Cholesky factors of a Hermitian positive definite A with its own pattern; see :func:`ilu0`."""
    return Preconditioner(A, "ic0")
