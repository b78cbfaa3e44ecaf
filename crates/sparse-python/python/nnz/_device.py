"""Matrices in the memory of a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from . import _native
from ._arrays import coo_array, csc_array, csr_array, operand


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


_Self = TypeVar("_Self", bound="_DeviceMatrix")


class _DeviceMatrix:
    """A sparse matrix that stays on its device; vectors and dense matrices come from NumPy and go back to it."""

    #: NumPy leaves `array @ matrix` and its kin to this class, which has none of them.
    __array_ufunc__ = None
    _format: ClassVar[str]

    def __init__(self, native: _native.Matrix) -> None:
        self._native = native

    @classmethod
    def from_scipy(cls: type[_Self], matrix: Any, device: str = "cpu") -> _Self:
        """A copy of a sparse array or matrix on a device: `cpu`, `cuda`, `opencl:1`, or what :func:`devices` names."""
        matrix = matrix.asformat(cls._format)
        if cls._format == "coo":
            arrays = (matrix.row, matrix.col, matrix.data)
        else:
            arrays = (matrix.indptr, matrix.indices, matrix.data)
        return cls(_native.Matrix.from_arrays(cls._format, (matrix.shape, *arrays), device))

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
        """A·x or A·B with an array of NumPy, which is copied to the device, and the result back."""
        other = np.asarray(other)
        if other.ndim not in (1, 2) or other.shape[0] != self.shape[1]:
            raise ValueError(f"the operand has shape {other.shape} where ({self.shape[1]}[, k]) is right")
        x = operand(self.dtype, other)
        if x is None:
            raise TypeError(f"the operand is {other.dtype}, the matrix {self.dtype}: cast one of them")
        return self._native.matvec(x) if x.ndim == 1 else self._native.matmat(x)

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<{type(self).__name__} on {self.device}: {rows} x {cols}, {self.nnz} entries of {self.dtype}>"


class DeviceCsr(_DeviceMatrix):
    """CSR in the memory of a device."""

    _format = "csr"

    @property
    def T(self) -> DeviceCsc:
        """The transpose, in CSC."""
        return DeviceCsc(self._native.transpose())


class DeviceCsc(_DeviceMatrix):
    """CSC in the memory of a device."""

    _format = "csc"

    @property
    def T(self) -> DeviceCsr:
        """The transpose, in CSR."""
        return DeviceCsr(self._native.transpose())


class DeviceCoo(_DeviceMatrix):
    """Coordinates in the memory of a device."""

    _format = "coo"

    @property
    def T(self) -> DeviceCoo:
        """The transpose."""
        return DeviceCoo(self._native.transpose())
