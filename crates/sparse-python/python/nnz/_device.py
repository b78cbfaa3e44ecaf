"""Matrices in the memory of a device."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

from . import _dlpack, _native
from ._arrays import TYPES, coo_array, csc_array, csr_array, plain_arrays
from ._element_functions import ElementFunctions
from ._picture import html_of


@dataclass(frozen=True)
class DeviceInfo:
    """A device that computes: its name here, the backend and what is known of it."""

    name: str
    backend: str
    device: str
    compute_units: int
    memory_bytes: int | None
    float64: bool


def devices() -> list[DeviceInfo]:
    """The devices of this machine; `cpu` is always among them. GPU libraries are loaded by this call, not by the import."""
    return [DeviceInfo(**about) for about in _native.devices()]


_Self = TypeVar("_Self", bound="DeviceMatrix")
_SelfCompressed = TypeVar("_SelfCompressed", bound="_Compressed")

#: The array of the host for each format.
_ON_HOST = {"csr": csr_array, "csc": csc_array, "coo": coo_array}


def to_native(matrix: Any, device: str | None) -> Any:
    """A copy of SciPy's CSR, CSC or COO on a device, in its format; None is the server of `NNZ_SERVER`, or `cpu`."""
    if matrix.ndim != 2:
        raise ValueError(f"the matrix has shape {matrix.shape} where two dimensions are right")
    arrays = (matrix.shape, *plain_arrays(matrix))
    if device is None and os.environ.get("NNZ_SERVER"):
        # Only programs that use it import the client.
        from . import _remote

        return _remote.Matrix.from_arrays(matrix.format, arrays)
    return _native.Matrix.from_arrays(matrix.format, arrays, device or "cpu")


def native_of(A: Any) -> _native.Matrix:
    """The matrix on a device that is there already, or a copy of a sparse array of the host."""
    if isinstance(A, DeviceMatrix):
        if A.is_remote:
            raise TypeError(f"A is on the server {A.device}, which makes no plans and preconditioners: get() makes SciPy's array")
        return A._native
    if not sp.issparse(A) or A.ndim != 2:
        raise TypeError(f"A is {type(A).__name__} where a sparse array of two dimensions or a matrix on a device is needed")
    if A.dtype not in TYPES:
        raise TypeError(f"A has values of {A.dtype} where float32, float64, complex64 or complex128 is needed")
    return to_native(A if A.format in ("csr", "csc", "coo") else A.tocsr(), "cpu")


class DeviceMatrix(ElementFunctions):
    """A sparse matrix that stays on its device."""

    #: NumPy leaves `array @ matrix` and its kin to this class.
    __array_ufunc__ = None
    _format: ClassVar[str]

    def __init__(self, native: _native.Matrix) -> None:
        if not isinstance(native, _native.Matrix) and not hasattr(native, "engine"):
            name = type(self).__name__
            raise TypeError(f"a {name} is made by {name}.from_scipy(A, device), not of {type(native).__name__}")
        self._native = native

    def __array__(self, *_: Any, **__: Any) -> Any:
        # NumPy would make an array of one object of it, on which SciPy's errors say nothing about devices.
        raise TypeError(f"a {type(self).__name__} is not copied to the host by itself: get() makes SciPy's array of it")

    def __reduce__(self) -> Any:
        name = type(self).__name__
        raise TypeError(f"a {name} is not pickled: get() makes SciPy's array of it, and {name}.from_scipy copies that back")

    @classmethod
    def from_scipy(cls: type[_Self], matrix: Any, device: str | None = None) -> _Self:
        """A copy of a sparse array or matrix on a device: `cpu`, `cuda`, `opencl:1`, or what :func:`devices` names.

        Without a device it is on the server of the variable `NNZ_SERVER`, if that is set, and else on `cpu`.
        """
        if not sp.issparse(matrix):
            raise TypeError(f"the matrix is {type(matrix).__name__} where a sparse array of SciPy is needed")
        return cls(to_native(matrix.asformat(cls._format), device))

    def get(self) -> Any:
        """A copy as an array of the host."""
        first, second, data = self._native.arrays()
        if self._format == "coo":
            return coo_array((data, (first, second)), shape=self.shape)
        return _ON_HOST[self._format]((data, second, first), shape=self.shape)

    def matmul_to_npz(self, other: DeviceMatrix, path: str | PathLike[str], memory_limit: int | None = None) -> None:
        """Writes the sparse product A·B to an `.npz` file, chunk of rows by chunk of rows; of CSC, by columns.

        So it may be larger than the memory of the device, and of the host: :func:`nnz.io.load_npz`, or SciPy's, reads it.
        A chunk takes at most `memory_limit` bytes of the device, or what there is.
        """
        if self.is_remote or not isinstance(other, DeviceMatrix) or other.is_remote:
            raise TypeError("both matrices of a product that becomes a file are needed on devices of this machine")
        _native.multiply_sparse_to_npz(*self._in_one_format(other), path, memory_limit)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self._native.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions: 2."""
        return 2

    @property
    def format(self) -> str:
        """The name of the format, as SciPy has it: `csr`, `csc` or `coo`."""
        return self._format

    @property
    def nnz(self) -> int:
        """The number of entries."""
        return self._native.nnz

    @property
    def size(self) -> int:
        """The number of entries, as SciPy has it."""
        return self.nnz

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self._native.nbytes

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return np.dtype(self._native.dtype)

    @property
    def device(self) -> str:
        """The device's name, or the address of the server."""
        return self._native.device

    @property
    def is_remote(self) -> bool:
        """True for a matrix on the server of `NNZ_SERVER`."""
        return self._engine is not _native

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """All elements, zeros included, as an array of NumPy: a new one in C or F `order`, or `out`."""
        dense = np.empty(self.shape, self.dtype)
        self._native.todense(dense)
        if out is None:
            return np.asarray(dense, order=order)
        out[...] = dense
        return out

    todense = toarray

    def tocsr(self) -> DeviceCsr:
        """The matrix in CSR; of coordinates, those of one place are added."""
        return DeviceCsr(self._engine.convert(self._native, "csr"))

    def tocsc(self) -> DeviceCsc:
        """The matrix in CSC; of coordinates, those of one place are added."""
        return DeviceCsc(self._engine.convert(self._native, "csc"))

    def tocoo(self) -> DeviceCoo:
        """The matrix as coordinates."""
        return DeviceCoo(self._engine.convert(self._native, "coo"))

    def asformat(self, format: str | None) -> DeviceMatrix:
        """The matrix in the format of this name: itself where it is in it, or for None."""
        if format in (None, self._format):
            return self
        if format not in ("csr", "csc", "coo"):
            raise ValueError(f"the format is {format!r} where 'csr', 'csc' or 'coo' is right")
        made: DeviceMatrix = getattr(self, f"to{format}")()
        return made

    @property
    @abstractmethod
    def T(self) -> DeviceMatrix:
        """The transpose."""

    def transpose(self) -> DeviceMatrix:
        """The transpose, :attr:`T`."""
        return self.T

    @property
    def H(self) -> DeviceMatrix:
        """The conjugate transpose."""
        return self.T.conj() if self.dtype.kind == "c" else self.T

    def getH(self) -> DeviceMatrix:  # noqa: N802
        """The conjugate transpose, :attr:`H`."""
        return self.H

    def _by_host(self: _Self, function: Callable[[Any], Any]) -> _Self:
        return self.from_scipy(function(self.get()), None if self.is_remote else self.device)

    def _made(self: _Self, native: _native.Matrix) -> _Self:
        """A result in the format of this matrix."""
        return type(self)(native if native.format == self._format else self._engine.convert(native, self._format))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            reason = f"{type(self).__name__!r} object has no attribute {name!r}"
            if hasattr(_ON_HOST[self._format], name):
                reason += ": get() makes SciPy's array, which has it"
            raise AttributeError(reason, name=name, obj=self)

    def _repr_html_(self) -> str:
        return html_of(self)

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<{type(self).__name__} on {self.device}: {rows} x {cols}, {self.nnz} entries of {self.dtype}>"


class _Compressed(DeviceMatrix):
    """The common methods of CSR and CSC: their arrays, which other libraries take without a copy."""

    #: Of `cupyx.scipy.sparse` and of `torch`.
    _cupy_class: ClassVar[str]
    _torch_parts: ClassVar[tuple[str, str, str]]

    @classmethod
    def from_dlpack(cls: type[_SelfCompressed], data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> _SelfCompressed:
        """A matrix over arrays on a GPU, of any library with `__dlpack__`.

        They are checked on the GPU, not copied, and kept alive. Who writes `indices` or `indptr` afterwards breaks the
        matrix. Both have one type: int32, or int64.
        """
        device = _dlpack.device_of(data)
        arrays = (_dlpack.take(array, device) for array in (indptr, indices, data))
        return cls(_native.Matrix.from_device_arrays(cls._format, shape, *arrays))

    @classmethod
    def from_cupy(cls: type[_SelfCompressed], matrix: Any) -> _SelfCompressed:
        """The matrix of `cupyx.scipy.sparse`, over its arrays; one of another format is converted there."""
        matrix = matrix.asformat(cls._format)
        return cls.from_dlpack(matrix.data, matrix.indices, matrix.indptr, matrix.shape)

    @classmethod
    def from_torch(cls: type[_SelfCompressed], tensor: Any) -> _SelfCompressed:
        """The sparse tensor of PyTorch, over its arrays; one of another layout is converted there."""
        maker, pointers, indices = cls._torch_parts
        tensor = getattr(tensor.detach(), f"to_{maker}")()
        parts = (tensor.values(), getattr(tensor, indices)(), getattr(tensor, pointers)())
        return cls.from_dlpack(*parts, tuple(tensor.shape))

    @property
    def indptr(self) -> Any:
        """Where the rows (CSR) or columns (CSC) begin: an array on the GPU, or of NumPy."""
        return self._arrays()[0]

    @property
    def indices(self) -> Any:
        """The columns (CSR) or rows (CSC) of the entries."""
        return self._arrays()[1]

    @property
    def data(self) -> Any:
        """The values of the entries."""
        return self._arrays()[2]

    def _arrays(self) -> Any:
        if self.device.startswith("cuda"):
            return self._native.device_arrays()
        return self._native.arrays()

    def to_cupy(self) -> Any:
        """The matrix as one of `cupyx.scipy.sparse`, over the same arrays."""
        import cupy
        import cupyx.scipy.sparse

        indptr, indices, data = map(cupy.from_dlpack, self._native.device_arrays())
        return getattr(cupyx.scipy.sparse, self._cupy_class)((data, indices, indptr), shape=self.shape)

    def to_torch(self) -> Any:
        """The matrix as a sparse tensor of PyTorch, over the same arrays; from the host's memory over copies."""
        import torch

        convert = torch.from_dlpack if self.device.startswith("cuda") else torch.from_numpy
        indptr, indices, data = map(convert, self._arrays())
        return getattr(torch, f"{self._torch_parts[0]}_tensor")(indptr, indices, data, self.shape)


class DeviceCsr(_Compressed):
    """CSR in the memory of a device."""

    _format = "csr"
    _cupy_class = "csr_matrix"
    _torch_parts = ("sparse_csr", "crow_indices", "col_indices")

    @property
    def T(self) -> DeviceCsc:
        """The transpose, in CSC."""
        return DeviceCsc(self._native.transpose())


class DeviceCsc(_Compressed):
    """CSC in the memory of a device."""

    _format = "csc"
    _cupy_class = "csc_matrix"
    _torch_parts = ("sparse_csc", "ccol_indices", "row_indices")

    @property
    def T(self) -> DeviceCsr:
        """The transpose, in CSR."""
        return DeviceCsr(self._native.transpose())


class DeviceCoo(DeviceMatrix):
    """Coordinates in the memory of a device."""

    _format = "coo"

    @property
    def T(self) -> DeviceCoo:
        """The transpose."""
        return DeviceCoo(self._native.transpose())
