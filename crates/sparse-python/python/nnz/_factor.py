"""Direct solution: factors of a sparse matrix, with SciPy's names and signatures."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as scipy_linalg

from . import _native
from ._arrays import TYPES, contiguous, csc_array, ours, plain_arrays
from ._device import DeviceMatrix
from ._product import converted


class Factors:
    """The factors of a square matrix, in double precision; :func:`nnz.linalg.splu` makes them."""

    def __init__(self, A: Any) -> None:
        self._matrix = _columns(A)
        self._superlu: Any = None
        self._native = _native.Factors.of((self._matrix.shape, *plain_arrays(self._matrix)))

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of A."""
        return self._matrix.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values of A."""
        return self._matrix.dtype

    @property
    def method(self) -> str:
        """`cholesky`, of a Hermitian positive definite matrix, or `lu`."""
        return self._native.method

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """The x of A·x = rhs, of Aᵀ·x = rhs (`trans="T"`) or of Aᴴ·x = rhs (`trans="H"`), for a vector or for columns."""
        if trans not in ("N", "T", "H"):
            raise ValueError(f"trans is {trans!r} where 'N', 'T' or 'H' is right")
        if sp.issparse(rhs):
            raise TypeError(f"rhs is a {type(rhs).__name__} where an array is right")
        rhs = np.asarray(rhs)
        dtype = np.result_type(self.dtype, rhs.dtype)
        if dtype not in TYPES:
            raise TypeError(f"rhs is {rhs.dtype}, the matrix {self.dtype}: cast one of them")
        if rhs.ndim not in (1, 2) or rhs.shape[0] != self.shape[0]:
            raise ValueError(f"rhs has shape {rhs.shape} where ({self.shape[0]}[, k]) is right")
        b = contiguous(rhs, dtype)
        b = b if b.ndim == 2 else b[:, None]
        x = np.empty(b.shape, dtype)
        self._native.solve(trans, b, x)
        return x.reshape(rhs.shape)

    def update(self, A: Any) -> None:
        """Takes the factors of another matrix of the same pattern, whose analysis is not repeated."""
        matrix = _columns(A)
        known = self._matrix
        same = matrix.shape == known.shape and all(
            np.array_equal(getattr(matrix, name), getattr(known, name)) for name in ("indptr", "indices")
        )
        if not same:
            raise ValueError("the matrix has another pattern than the one that was factorized: splu analyses it")
        self._native.update(converted("A", matrix.data, "factors", self.dtype))
        self._matrix, self._superlu = matrix.astype(self.dtype, copy=False), None

    def _shown(self) -> Any:
        """SciPy's factors of the same matrix: faer's cannot be read."""
        if self._superlu is None:
            self._superlu = scipy_linalg.splu(sp.csc_array(self._matrix))
        return self._superlu

    @property
    def L(self) -> Any:
        """The lower triangular factor with a unit diagonal of Pr·A·Pc = L·U, with `U`, `perm_r` and `perm_c`.

        They are computed by SciPy when one of them is first asked for, as :func:`scipy.sparse.linalg.splu` has them.
        """
        return self._shown().L

    @property
    def U(self) -> Any:
        """The upper triangular factor; see :attr:`L`."""
        return self._shown().U

    @property
    def perm_r(self) -> Any:
        """The permutation Pr of the rows; see :attr:`L`."""
        return self._shown().perm_r

    @property
    def perm_c(self) -> Any:
        """The permutation Pc of the columns; see :attr:`L`."""
        return self._shown().perm_c

    @property
    def nnz(self) -> int:
        """The entries of `L` and `U`; see :attr:`L`."""
        return int(self._shown().nnz)

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<Factors of {rows} x {cols} {self.dtype}: {self.method}>"


def _columns(A: Any) -> Any:
    """A copy in CSC, in order and without duplicates, of a type that nnz computes with."""
    A = A.get() if isinstance(A, DeviceMatrix) else A
    # SciPy's constructor takes longer than its conversion of a small matrix.
    matrix = csc_array(A.tocsc(copy=True) if sp.issparse(A) else A)
    matrix = matrix.astype(np.result_type(matrix.dtype, np.float32), copy=False)
    matrix.sum_duplicates()
    return matrix


def _is_ours(A: Any) -> bool:
    """True for a square sparse matrix with values that nnz computes with."""
    if not isinstance(A, DeviceMatrix) and not (sp.issparse(A) and A.ndim == 2):
        return False
    return A.shape[0] == A.shape[1] > 0 and np.result_type(A.dtype, np.float32) in TYPES


def splu(
    A: Any,
    permc_spec: str | None = None,
    diag_pivot_thresh: float | None = None,
    relax: int | None = None,
    panel_size: int | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """:func:`scipy.sparse.linalg.splu`: factors for many right-hand sides.

    They are of Cholesky where A is Hermitian and positive definite, else of LU with partial pivoting and an order by COLAMD, by
    the crate faer. With another order, other pivots or `options`, and of values that are not finite, they are SciPy's, which are
    SuperLU's; `relax` and `panel_size` are SuperLU's alone. A singular matrix is a `RuntimeError`, as there.
    """
    others = {
        "permc_spec": permc_spec,
        "diag_pivot_thresh": diag_pivot_thresh,
        "relax": relax,
        "panel_size": panel_size,
        "options": options,
    }
    given = {name: value for name, value in others.items() if value is not None}
    is_default = permc_spec in (None, "COLAMD") and diag_pivot_thresh in (None, 1) and not options
    if is_default and _is_ours(A):
        try:
            return Factors(A)
        except NotImplementedError:  # of values that are not finite
            A = _columns(A)
        except RuntimeError as error:
            if not _is_of_singular(error):
                raise
            # SciPy's words, which programs look for.
            raise RuntimeError(f"Factor is exactly singular: {error}") from None
    return scipy_linalg.splu(A, **given)


def _is_of_singular(error: RuntimeError) -> bool:
    """True for the error of a singular matrix, not for one that a handler of a signal has raised meanwhile."""
    return type(error) is RuntimeError and "singular" in str(error)


def factorized(A: Any) -> Callable[[Any], Any]:
    """:func:`scipy.sparse.linalg.factorized`: the function that solves A·x = b for a b."""
    return splu(A).solve if _is_ours(A) else scipy_linalg.factorized(A)


def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: bool = True) -> Any:
    """:func:`scipy.sparse.linalg.spsolve`: the x of A·x = b, for a dense b.

    For a sparse b, of values that are not finite, and with another order than `COLAMD`, it is SciPy's. There is no UMFPACK here.
    Of a singular matrix x is NaN, with SciPy's warning.
    """
    if permc_spec in (None, "COLAMD") and _is_ours(A) and not sp.issparse(b):
        rhs = np.asarray(b)
        fits = rhs.ndim in (1, 2) and rhs.shape[0] == A.shape[0]
        if fits and np.result_type(A.dtype, rhs.dtype, np.float32) in TYPES:
            try:
                x = _solution(A, rhs)
            except NotImplementedError:  # of values that are not finite
                A = _columns(A)
            else:
                return x.ravel() if x.ndim == 1 or x.shape[1] == 1 else x
    return ours(scipy_linalg.spsolve(A, b, permc_spec=permc_spec, use_umfpack=use_umfpack))


def _solution(A: Any, b: Any) -> Any:
    try:
        return Factors(A).solve(b)
    except RuntimeError as error:
        if not _is_of_singular(error):
            raise
        warnings.warn("Matrix is exactly singular", scipy_linalg.MatrixRankWarning, stacklevel=3)
        return np.full(b.shape, np.nan, np.result_type(A.dtype, b.dtype, np.float32))
