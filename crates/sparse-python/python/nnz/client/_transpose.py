"""The transpose of a matrix of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

if TYPE_CHECKING:
    from ._methods import MatrixMethods


class Transpose(LinearOperator):
    """The transpose of a matrix of a server: an operator of SciPy, which multiplies matrices of the server, too."""

    def __init__(self, matrix: MatrixMethods):
        super().__init__(matrix.dtype, matrix.shape[::-1])
        self.matrix = matrix

    @property
    def _client(self) -> Any:
        return self.matrix._client

    @property
    def members(self) -> int | None:
        """The number of matrices of a batch."""
        return self.matrix.members

    def dot(self, x: Any) -> Any:
        """The product with an array, another operator, or a matrix of the server or its transpose."""
        if isinstance(x, Transpose) or hasattr(x, "_operation"):
            return self._client._run(lambda: sparse_product(self, x))
        if sp.issparse(x):
            raise on_host()
        return super().dot(x)

    def __rmatmul__(self, other: Any) -> Any:
        return super().__rmatmul__(other) if isinstance(other, LinearOperator) else (self.matrix @ np.transpose(other)).T

    def _matvec(self, x: Any) -> Any:
        return self.matrix._product("spmv", x.reshape(-1), op="t")

    def _matmat(self, x: Any) -> Any:
        return self.matrix._product("spmm", x, op="t")

    def _rmatvec(self, x: Any) -> Any:
        return np.conj(self.matrix._product("spmv", np.conj(x).reshape(-1)))

    def _rmatmat(self, x: Any) -> Any:
        return np.conj(self.matrix._product("spmm", np.conj(x)))

    def _transpose(self) -> Any:
        return self.matrix


def on_host() -> TypeError:
    """The error of a sparse operand that is not on the server."""
    return TypeError("a sparse matrix that is not on the server: put() it there, or to_scipy() this one")


def sparse_product(first: Any, second: Any) -> Any:
    """The product of two matrices of a server, fetched; it transposes those that are a :class:`Transpose` first."""
    steps: list[dict[str, Any]] = []
    factors = []
    for name, factor in (("first", first), ("second", second)):
        if isinstance(factor, Transpose):
            steps.append({"name": name, "operation": "transpose", "matrix": factor.matrix})
        factors.append(f"${name}" if isinstance(factor, Transpose) else factor)
    of_members = {"member": "all"} if first.members else {}
    product = {"operation": "spgemm", "matrix": factors[0], "other": factors[1], "parameters": of_members}
    if steps:
        return first._client._program([*steps, product], None, {})
    return first._operation("spgemm", other=second, **of_members)
