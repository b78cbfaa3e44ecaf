"""Compressed matrices of any shapes, which the engine makes of dense ones on one device or several."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, SupportsIndex, overload

import numpy as np

from . import _dlpack, _native
from ._arrays import TYPES, contiguous, csr_array
from ._index import Members, chosen_members
from ._progress import Callback, reporter


class MatrixSet:
    """CSR matrices of any shapes; :func:`compress` makes one of a list of arrays or of `.npy` files."""

    def __init__(self, native: _native.MatrixSet, dtype: np.dtype[Any]) -> None:
        self._native = native
        #: The type of the values.
        self.dtype = dtype

    def __len__(self) -> int:
        return len(self._native)

    @overload
    def __getitem__(self, key: SupportsIndex) -> csr_array: ...
    @overload
    def __getitem__(self, key: Members) -> list[csr_array]: ...
    def __getitem__(self, key: Any) -> csr_array | list[csr_array]:
        """A copy of one matrix by its number, or those of a slice, a list or a mask. Negative numbers count from the end."""
        members = chosen_members(key, len(self))
        return self._copy(members) if isinstance(members, int) else [self._copy(k) for k in members]

    def _copy(self, k: int) -> csr_array:
        matrix = self._native.get(k, "cpu")
        indptr, indices, data = matrix.arrays()
        return csr_array((data, indices, indptr), shape=matrix.shape)

    def __iter__(self) -> Iterator[csr_array]:
        return (self[k] for k in range(len(self)))

    def to_list(self) -> list[csr_array]:
        """Copies of all matrices."""
        return list(self)

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """(rows, columns) of each matrix."""
        return [self._native.shape(k) or (0, 0) for k in range(len(self))]

    @property
    def nnz(self) -> int:
        """The number of entries of all matrices."""
        return sum(self._native.nnz(k) or 0 for k in range(len(self)))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self._native.nbytes

    @property
    def devices(self) -> list[str | None]:
        """The device that has each matrix."""
        return [self._native.placement(k) for k in range(len(self))]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes all matrices to a folder of `.npz` files with a manifest, which the command `nnz` reads."""
        self._native.write(folder)

    def __repr__(self) -> str:
        return f"<MatrixSet: {len(self)} matrices, {self.nnz} entries of {self.dtype}>"


def compress_set(
    dense: Sequence[Any], tolerance: float | None, devices: Sequence[str] | None, progress: bool | Callback | None
) -> MatrixSet:
    """The set of the matrices of arrays, each of two or three dimensions, or of `.npy` files."""
    if all(isinstance(each, (str, os.PathLike)) for each in dense):
        dtype = np.result_type(np.float32, *(np.load(path, mmap_mode="r").dtype for path in dense))
        arrays, used = list(dense), devices or ["cpu"]
    else:
        arrays, dtype, used = _arrays(dense, devices)
    if dtype not in TYPES:
        raise TypeError(f"the matrices are {dtype} where float32, float64, complex64 or complex128 is needed")
    with reporter(progress, "compress", " matrices") as report:
        return MatrixSet(_native.MatrixSet.compress(arrays, dtype.char, tolerance, list(used), report), dtype)


def _arrays(dense: Sequence[Any], devices: Sequence[str] | None) -> tuple[list[Any], np.dtype[Any], Sequence[str]]:
    """The arrays as the library takes them, the type of all of them, and the devices."""
    on_gpu = [each for each in dense if _dlpack.is_on_gpu(each)]
    if on_gpu and len(on_gpu) < len(dense):
        raise TypeError("some arrays are on a GPU and some are not: move them to one place")
    if not on_gpu:
        host = [np.asarray(each) for each in dense]
        dtype = np.result_type(np.float32, *(each.dtype for each in host))
        return [contiguous(each, dtype) for each in host], dtype, devices or ["cpu"]
    taken = [_dlpack.take(each, _dlpack.device_of(each)) for each in on_gpu]
    types = {each.dtype for each in taken}
    if len(types) > 1:
        raise TypeError(f"the arrays on the GPU have several types, {', '.join(sorted(types))}: cast them to one")
    return taken, np.dtype(types.pop()), devices or sorted({each.device for each in taken})
