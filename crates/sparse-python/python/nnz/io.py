"""Matrix Market and `.npz` files, read and written by all cores."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from . import _native
from ._arrays import TYPES, coo_array, csc_array, csr_array

__all__ = ["load_npz", "mmread", "mmwrite", "save_npz"]


def mmread(source: Any, *, format: str = "coo") -> Any:
    """The matrix of a Matrix Market file: `coo` with the entries in the order of the file, `csr` or `csc`.

    A path is read by nnz, which refuses what breaks the format; another source, and a file of a dense array, by SciPy.
    """
    if format not in ("coo", "csr", "csc"):
        raise ValueError(f"format is {format!r} where 'coo', 'csr' or 'csc' is right")
    if not isinstance(source, (str, os.PathLike)) or scipy.io.mminfo(source)[3] == "array":
        read = scipy.io.mmread(source)
        return coo_array(read).asformat(format) if sp.issparse(read) else read
    return _read(source, format)


def mmwrite(target: Any, a: Any, **options: Any) -> None:
    """Writes a matrix to a Matrix Market file; `options` are those of :func:`scipy.io.mmwrite`, which then writes it."""
    if options or not sp.issparse(a) or not isinstance(target, (str, os.PathLike)) or not _is_ours(a):
        scipy.io.mmwrite(target, a, **options)
        return
    path = os.fspath(target)
    if not path.endswith((".mtx", ".mtx.gz")):
        path += ".mtx"
    matrix = coo_array(a)
    _native.write(path, "coo", (matrix.shape, *matrix.coords, matrix.data))


def load_npz(file: Any) -> Any:
    """The matrix of a file of :func:`scipy.sparse.save_npz`, in its format."""
    if isinstance(file, (str, os.PathLike)):
        with np.load(file) as arrays:
            format, dtype = arrays["format"].item(), arrays["data"].dtype
        format = format.decode() if isinstance(format, bytes) else format
        if format in ("csr", "coo") and dtype in TYPES:
            return _read(file, format)
    matrix = sp.load_npz(file)
    ours = {"csr": csr_array, "csc": csc_array, "coo": coo_array}
    return ours[matrix.format](matrix) if matrix.format in ours else matrix


def save_npz(file: Any, matrix: Any, compressed: bool = True) -> None:
    """:func:`scipy.sparse.save_npz`: a compressed file of a CSR or CSC array by nnz, others by SciPy."""
    if isinstance(file, (str, os.PathLike)) and compressed and matrix.format in ("csr", "csc") and _is_ours(matrix):
        path = os.fspath(file)
        path = path if path.endswith(".npz") else path + ".npz"
        _native.write(path, matrix.format, (matrix.shape, matrix.indptr, matrix.indices, matrix.data))
        return
    sp.save_npz(file, matrix, compressed)


def _is_ours(matrix: Any) -> bool:
    return matrix.dtype in TYPES and matrix.ndim == 2


def _read(path: Any, format: str) -> Any:
    shape, (first, second, data) = _native.read(path, format != "coo")
    if format == "coo":
        return coo_array((data, (first, second)), shape=shape)
    return csr_array((data, second, first), shape=shape).asformat(format)
