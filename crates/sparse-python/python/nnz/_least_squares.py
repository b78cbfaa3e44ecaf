"""Least-squares problems, with SciPy's signature."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as scipy_linalg

from . import _dlpack, _native
from ._arrays import TYPES, contiguous
from ._device import DeviceMatrix
from ._iterative import countable, is_count, is_limit, matrix_of


def lsqr(
    A: Any,
    b: Any,
    damp: float = 0.0,
    atol: float = 1e-6,
    btol: float = 1e-6,
    conlim: float = 1e8,
    iter_lim: int | None = None,
    show: bool = False,
    calc_var: bool = False,
    x0: Any = None,
) -> tuple[Any, ...]:
    """:func:`scipy.sparse.linalg.lsqr`: the x that minimizes ‖b − A·x‖² + damp²·‖x − x0‖², for A of any shape.

    With `show` or `calc_var` it is SciPy's, and where precision ends before a criterion holds (`istop` 4 to 6).
    """
    if not show and not calc_var:
        found = _lsqr(A, b, damp, (atol, btol, conlim), iter_lim, x0)
        if found is not None:
            return found
    options = {"conlim": conlim, "iter_lim": iter_lim, "show": show, "calc_var": calc_var, "x0": x0}
    return scipy_linalg.lsqr(A, b, damp, atol, btol, **options)


def _lsqr(A: Any, b: Any, damp: float, criteria: tuple[float, float, float], limit: int | None, x0: Any) -> Any:
    """SciPy's tuple; None where SciPy has to solve."""
    if getattr(A, "is_remote", False):
        return None
    if not isinstance(A, DeviceMatrix) and not (sp.issparse(A) and A.ndim == 2):
        return None
    on_gpu = _dlpack.is_on_gpu(b)
    b = b if on_gpu else np.atleast_1d(b)
    x0 = x0 if on_gpu or x0 is None else np.asarray(x0)
    dtype = A.dtype if on_gpu else np.result_type(A.dtype, b.dtype, np.float32)
    on_device = isinstance(A, DeviceMatrix)
    if dtype == np.float32 and not on_device:
        # As SciPy, which has its vectors in double precision where they are real. A device need not have that.
        dtype = np.dtype(np.float64)
    rows, cols = A.shape
    if dtype not in TYPES or tuple(b.shape) not in ((rows,), (rows, 1)) or not bool((b != 0).any()):
        return None
    if not all(is_limit(number) for number in (damp, *criteria)) or not (limit is None or is_count(limit)):
        return None
    if x0 is not None and tuple(x0.shape) != (cols,):
        return None
    matrix = matrix_of(A, dtype)
    x = _dlpack.like(b, (cols,), matrix.device) if on_gpu else np.empty(cols, dtype)
    x[:] = 0 if x0 is None else x0
    istop, *found = _run(matrix, b, x, (damp, *criteria, None if limit is None else countable(limit)), on_gpu)
    if istop is None:
        return None
    if dtype == np.complex64 and not on_device:
        # SciPy's is a sum with an array in double precision.
        x = x.astype(np.complex128)
    return (x, istop, *found, np.zeros(cols))


def _run(matrix: Any, b: Any, x: Any, limits: Any, on_gpu: bool) -> Any:
    """Runs LSQR from the x that is given, into it."""
    if not on_gpu:
        return _native.lsqr(matrix, contiguous(b.ravel(), x.dtype), x, limits)
    device = matrix.device
    found = _native.lsqr(matrix, _dlpack.take(b.reshape(-1), device), _dlpack.take(x, device), limits)
    _dlpack.release(b, device)
    return found
