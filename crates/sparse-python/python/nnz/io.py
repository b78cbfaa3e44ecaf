"""Matrix Market and `.npz` files, read and written by all cores."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import zipfile
import zlib
from io import BytesIO
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from . import _native
from ._arrays import TYPES, coo_array, csr_array, ours, plain_arrays
from ._device import DeviceMatrix

__all__ = ["load_npz", "mmread", "mmwrite", "save_npz"]


def mmread(source: Any, *, spmatrix: bool = False, format: str = "coo") -> Any:
    """The matrix of a Matrix Market file: `coo` with the entries in the order of the file, `csr` or `csc`; dense if it says so.

    A path that ends in `.mtx` or `.mtx.gz` is read by nnz, which refuses what breaks the format; another source by SciPy.
    With `spmatrix` a sparse one is a `coo_matrix`, `csr_matrix` or `csc_matrix`.
    """
    read = _array_of(source, format)
    return _as_matrix(read) if spmatrix and sp.issparse(read) else read


def _as_matrix(array: Any) -> Any:
    """An array as a matrix of the same format, which shares its memory."""
    return ours(getattr(sp, f"{array.format}_matrix")(array))


def _array_of(source: Any, format: str) -> Any:
    if format not in ("coo", "csr", "csc"):
        raise ValueError(f"format is {format!r} where 'coo', 'csr' or 'csc' is right")
    if not isinstance(source, (str, os.PathLike)) or not os.fspath(source).endswith((".mtx", ".mtx.gz")):
        return _by_scipy(source, format)
    banner = _banner(source)
    if "unsigned-integer" in banner:
        return _by_scipy(_ended(source), format)
    is_dense, are_integers = "array" in banner, "integer" in banner
    matrix = _read(source, "coo" if is_dense or are_integers else format)
    if are_integers:
        if np.abs(matrix.data).max(initial=0) >= _LEAST_ROUNDED:
            return _by_scipy(_ended(source), format)
        # `astype` would add the entries of one place.
        matrix = coo_array((matrix.data.astype(np.int64), matrix.coords), shape=matrix.shape)
    return matrix.toarray() if is_dense else matrix.asformat(format)


#: Integers below it are the same as float64, in which nnz reads them.
_LEAST_ROUNDED = 2.0**53


def _banner(path: Any) -> list[str]:
    """The words of a file's first line, in lower case; none of a damaged archive, which the reader refuses."""
    opened = gzip.open if os.fspath(path).endswith(".gz") else open
    with opened(path, "rb") as file, contextlib.suppress(gzip.BadGzipFile, EOFError, zlib.error):
        return file.readline(1024).decode("utf-8-sig", "replace").lower().split()
    return []


def _ended(path: Any) -> BytesIO:
    """The text of a file, ended by a line feed: SciPy's reader reads beyond a space that is the last character."""
    opened = gzip.open if os.fspath(path).endswith(".gz") else open
    with opened(path, "rb") as file:
        return BytesIO(file.read() + b"\n")


def _by_scipy(source: Any, format: str) -> Any:
    empty = _empty_array(source)
    if empty is not None:
        return empty
    read = scipy.io.mmread(source)
    return coo_array(read).asformat(format) if sp.issparse(read) else read


#: The types of SciPy's arrays.
_FIELDS = {"real": "d", "double": "d", "complex": "D", "integer": "l", "unsigned-integer": "L"}


def _empty_array(source: Any) -> Any:
    """The array of a file that has no rows or no columns, where SciPy's reader ends the process; None for another file."""
    about = source
    if not isinstance(source, (str, os.PathLike)):
        if not (hasattr(source, "seekable") and source.seekable()):
            return None
        about = _header(source)
        if about is None:
            return None
    rows, cols, _, kind, field, _ = scipy.io.mminfo(about)
    return np.zeros((rows, cols), _FIELDS[field]) if kind == "array" and rows * cols == 0 else None


#: The most characters of a line of a header: beyond it a stream may have no lines at all.
_LONGEST_LINE = 1 << 16


def _header(stream: Any) -> BytesIO | None:
    """A copy of the lines up to the sizes, by which a stream is left where it was: SciPy's `mminfo` ends the process where it
    goes back in some files. None if a line is too long."""
    start, lines = stream.tell(), []
    while line := stream.readline(_LONGEST_LINE):
        lines.append(line.encode() if isinstance(line, str) else line)
        if len(line) == _LONGEST_LINE:
            stream.seek(start)
            return None
        if len(lines) > 1 and lines[-1].strip() and not lines[-1].lstrip().startswith(b"%"):
            break
    stream.seek(start)
    return BytesIO(b"".join(lines))


#: SciPy looks for a symmetry in matrices of fewer rows and columns, and writes larger ones as `general`.
_LEAST_GENERAL = 100


def mmwrite(target: Any, a: Any, *arguments: Any, **options: Any) -> None:
    """:func:`scipy.io.mmwrite`, by nnz for 100 rows or columns or more and without further arguments.

    A matrix on a device is copied to the host. Where a path cannot be written there is an error, which SciPy's lacks.
    """
    a = a.get() if isinstance(a, DeviceMatrix) else a
    if sp.issparse(a) and a.format in ("csr", "csc"):
        # SciPy makes coordinates of the arrays without looking at them.
        a.check_format(full_check=True)
    if not isinstance(target, (str, os.PathLike)):
        scipy.io.mmwrite(target, a, *arguments, **options)
        return
    path = os.fspath(target)
    if not path.endswith((".mtx", ".mtx.gz")):
        path += ".mtx"
    is_plain = sp.issparse(a) and _is_ours(a) and not arguments and not options
    if not is_plain or max(a.shape) < _LEAST_GENERAL:
        text = BytesIO()
        scipy.io.mmwrite(text, coo_array(a) if sp.issparse(a) else a, *arguments, **options)
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "wb") as file:
            file.write(text.getbuffer())
        return
    matrix = a if a.format == "csr" else coo_array(a)
    _native.write(path, matrix.format, (matrix.shape, *plain_arrays(matrix)))


def load_npz(file: Any) -> Any:
    """The array or matrix of a file of :func:`scipy.sparse.save_npz`, in its format and checked; CSR has its indices sorted."""
    if isinstance(file, (str, os.PathLike)) and os.fspath(file).endswith(".npz"):
        format, headers = _contents(file)
        if _has_our_types(format, headers):
            matrix = _read(file, format, headers["indptr" if format == "csr" else "row"][1])
            if (matrix.nnz,) == headers["data"][0]:
                return matrix if "_is_array" in headers else _as_matrix(matrix)
    matrix = sp.load_npz(file)
    if matrix.format in ("csr", "csc"):
        matrix.check_format(full_check=True)
    return ours(matrix)


#: Shape and type of each array of a `.npz` file.
_Headers = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]


def _contents(file: Any) -> tuple[str, _Headers]:
    """The format of a matrix in a `.npz` file, and the headers of its arrays."""
    headers, format = {}, None
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{os.fspath(file)} is no archive of arrays, as scipy.sparse.save_npz writes it") from error
    with archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                start = _start(member)
                if start is None:
                    continue
                shape, dtype, elements = start
                if name != "format.npy":
                    headers[name.removesuffix(".npy")] = (shape, dtype)
                elif shape == () and dtype.kind in "SU" and dtype.itemsize <= len(elements):
                    format = np.frombuffer(elements, dtype, 1).item()
                else:
                    member.seek(0)
                    format = np.lib.format.read_array(member).item()
    if format is None:
        raise ValueError(f"{os.fspath(file)} has no array `format`, which scipy.sparse.save_npz writes")
    return format.decode() if isinstance(format, bytes) else format, headers


#: The type and the extents of an array whose header is as NumPy writes it.
_HEADER = re.compile(rb"\x93NUMPY\x01\x00..{'descr': '([<|](?:b1|[iu][1248]|f[248]|c8|c16|[SU]\d+))', 'fortran_order': (?:True|False), 'shape': \(([\d, ]*)\), } *\n", re.DOTALL)


def _start(member: Any) -> tuple[tuple[int, ...], np.dtype[Any], bytes] | None:
    """Shape, type and first elements of an array in an archive; None of a version without a reader."""
    start = member.read(256)
    found = _HEADER.match(start)
    if found is not None:
        # NumPy's reader lets Python compile the header, which takes longer than to read a small array.
        shape = tuple(int(extent) for extent in found[2].split(b",") if extent.strip())
        return shape, np.dtype(found[1].decode()), start[found.end() :]
    member.seek(0)
    version = np.lib.format.read_magic(member)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        return None
    shape, _, dtype = readers[version](member)
    return shape, dtype, member.read(256)


def _has_our_types(format: str, headers: _Headers) -> bool:
    """True if nnz reads the arrays of a file: two sizes, values of its types, indices of one type."""
    names = {"csr": ("indices", "indptr"), "coo": ("row", "col")}.get(format)
    if names is None or not {"data", "shape", *names} <= headers.keys():
        return False
    indices = {headers[name][1] for name in names}
    has_sizes = headers["shape"][0] == (2,) and headers["shape"][1] in (_INT32, _INT64)
    return headers["data"][1] in TYPES and has_sizes and indices in ({_INT32}, {_INT64})


_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def save_npz(file: Any, matrix: Any, compressed: bool = True) -> None:
    """:func:`scipy.sparse.save_npz`: a compressed file of a CSR or CSC array by nnz, small ones and others by SciPy.

    A matrix on a device is copied to the host.
    """
    matrix = matrix.get() if isinstance(matrix, DeviceMatrix) else matrix
    # The library writes arrays, which SciPy reads as such.
    ours = isinstance(matrix, sp.sparray) and matrix.format in ("csr", "csc") and _is_ours(matrix) and matrix.nnz >= _LEAST_SAVED
    if isinstance(file, (str, os.PathLike)) and compressed and ours:
        path = os.fspath(file)
        path = path if path.endswith(".npz") else path + ".npz"
        _native.write(path, matrix.format, (matrix.shape, *plain_arrays(matrix)))
        return
    sp.save_npz(file, matrix, compressed)


#: Entries from which on nnz compresses a file in less time than SciPy, which does not wait for the disk: 5000 took 2.8 ms and SciPy
#: 7.5, 30 took 3.9 and SciPy 0.7.
_LEAST_SAVED = 2000


def _is_ours(matrix: Any) -> bool:
    return matrix.dtype in TYPES and matrix.ndim == 2


def _read(path: Any, format: str, index: Any = None) -> Any:
    """The matrix of a file, with indices of the type `index`; without one, of the smallest that counts them."""
    shape, (first, second, data) = _native.read(path, format != "coo")
    if index is not None:
        first, second = first.astype(index, copy=False), second.astype(index, copy=False)
    if format == "coo":
        return coo_array((data, (first, second)), shape=shape)
    return csr_array((data, second, first), shape=shape).asformat(format)
