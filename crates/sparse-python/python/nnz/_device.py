"""Matrices in the memory of a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from . import _dlpack, _native
from ._arrays import coo_array, csc_array, csr_array, operand, plain_arrays
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


def to_native(matrix: Any, device: str) -> _native.Matrix:
    """A copy of SciPy's CSR, CSC or COO on a device, in its format."""
    return _native.Matrix.from_arrays(matrix.format, (matrix.shape, *plain_arrays(matrix)), device)


class DeviceMatrix:
    """A sparse matrix that stays on its device."""

    #: NumPy leaves `array @ matrix` and its kin to this class, which has none of them.
    __array_ufunc__ = None
    _format: ClassVar[str]

    def __init__(self, native: _native.Matrix) -> None:
        self._native = native

    @classmethod
    def from_scipy(cls: type[_Self], matrix: Any, device: str = "cpu") -> _Self:
        """A copy of a sparse array or matrix on a device: `cpu`, `cuda`, `opencl:1`, or what :func:`devices` names."""
        return cls(to_native(matrix.asformat(cls._format), device))

    def get(self) -> Any:
        """A copy as an array of the host."""
        first, second, data = self._native.arrays()
        if self._format == "coo":
            return coo_array((data, (first, second)), shape=self.shape)
        container = csr_array if self._format == "csr" else csc_array
        return container((data, second, first), shape=self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self._native.shape

    @property
    def nnz(self) -> int:
        """The number of entries."""
        return self._native.nnz

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
        """The device's name."""
        return self._native.device

    def __matmul__(self, other: Any) -> Any:
        """A·x or A·B.

        An array on the matrix's GPU stays there, and so does the result, which is an array of the same library; it is in
        order with that library's current stream. An array of NumPy is copied to the device, and the result back.
        """
        on_gpu = _dlpack.is_on_gpu(other)
        other = other if on_gpu else np.asarray(other)
        if len(other.shape) not in (1, 2) or other.shape[0] != self.shape[1]:
            raise ValueError(f"the operand has shape {tuple(other.shape)} where ({self.shape[1]}[, k]) is right")
        if on_gpu:
            out = _dlpack.like(other, (self.shape[0], *other.shape[1:]), self.device)
            _dlpack.product(self._native.multiply, other, out, self.device)
            return out
        x = operand(self.dtype, other)
        if x is None:
            raise TypeError(f"the operand is {other.dtype}, the matrix {self.dtype}: cast one of them")
        return self._native.matvec(x) if x.ndim == 1 else self._native.matmat(x)

    def _repr_html_(self) -> str:
        return html_of(self)

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<{type(self).__name__} on {self.device}: {rows} x {cols}, {self.nnz} entries of {self.dtype}>"


class _Compressed(DeviceMatrix):
    """What CSR and CSC have in common: their arrays, which other libraries can have without a copy."""

    #: Of `cupyx.scipy.sparse` and of `torch`.
    _cupy_class: ClassVar[str]
    _torch_parts: ClassVar[tuple[str, str, str]]

    @classmethod
    def from_dlpack(cls: type[_Self], data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> _Self:
        """A matrix over arrays on a GPU, of any library with `__dlpack__`.

        They are checked on the GPU, not copied, and kept alive. Who writes `indices` or `indptr` afterwards breaks the
        matrix. Both have one type: int32, or int64.
        """
        device = _dlpack.device_of(data)
        arrays = (_dlpack.take(array, device) for array in (indptr, indices, data))
        return cls(_native.Matrix.from_device_arrays(cls._format, shape, *arrays))

    @classmethod
    def from_cupy(cls: type[_Self], matrix: Any) -> _Self:
        """The matrix of `cupyx.scipy.sparse`, over its arrays; one of another format is converted there."""
        matrix = matrix.asformat(cls._format)
        return cls.from_dlpack(matrix.data, matrix.indices, matrix.indptr, matrix.shape)

    @classmethod
    def from_torch(cls: type[_Self], tensor: Any) -> _Self:
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
