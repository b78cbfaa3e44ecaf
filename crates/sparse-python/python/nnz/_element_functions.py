"""Functions of each element of a matrix on a device, by SciPy's names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ._operations import Operations

_Self = TypeVar("_Self", bound="ElementFunctions")


def _on_host(operand: Any) -> Any:
    return operand.get() if isinstance(operand, ElementFunctions) else operand


class ElementFunctions(Operations):
    """Functions of the elements, which SciPy computes: the matrix is copied to the host, and a matrix that results back."""

    @abstractmethod
    def _by_host(self: _Self, function: Callable[[Any], Any]) -> _Self:
        """The result of a function of SciPy's array, on this matrix's device."""

    @abstractmethod
    def get(self) -> Any:
        """A copy as an array of the host."""

    def maximum(self: _Self, other: Any) -> _Self:
        """The larger of each element and that of a matrix on the device, or a number."""
        return self._by_host(lambda a: a.maximum(_on_host(other)))

    def minimum(self: _Self, other: Any) -> _Self:
        """The smaller of each element and that of a matrix on the device, or a number."""
        return self._by_host(lambda a: a.minimum(_on_host(other)))

    def argmax(self, axis: int | None = None) -> Any:
        """The index of the largest element of each column (`axis=0`) or row, or of all, as an array of NumPy or a number."""
        return self.get().argmax(axis=axis)

    def argmin(self, axis: int | None = None) -> Any:
        """The index of the least element; see :meth:`argmax`."""
        return self.get().argmin(axis=axis)

    def count_nonzero(self, axis: int | None = None) -> Any:
        """The elements that are not zero, of each column (`axis=0`) or row, or of all."""
        return self.get().count_nonzero(axis=axis)

    def getnnz(self, axis: int | None = None) -> Any:
        """The entries, those that are zero among them, of each column (`axis=0`) or row, or of all."""
        if axis is None:
            return self.nnz
        if axis not in (0, 1, -1, -2):
            raise ValueError(f"axis is {axis} where 0, 1 or None is right")
        line = 1 - axis % 2
        return np.bincount(self.get().tocoo().coords[line], minlength=self.shape[line])

    def __abs__(self: _Self) -> _Self:
        return self._by_host(abs)

    def __pow__(self: _Self, exponent: Any) -> _Self:
        return self.power(exponent)

    def power(self: _Self, n: Any, dtype: Any = None) -> _Self:
        """Each element to the power of `n`, which is a number and not 0."""
        return self._by_host(lambda a: a.power(n, dtype))

    def conj(self: _Self) -> _Self:
        """The conjugates of the elements; of real ones a copy."""
        return self._by_host(lambda a: a.conj()) if self.dtype.kind == "c" else self.copy()

    def conjugate(self: _Self) -> _Self:
        """See :meth:`conj`."""
        return self.conj()

    @property
    def real(self: _Self) -> _Self:
        """The real parts; of real elements a copy."""
        return self._by_host(lambda a: a.real) if self.dtype.kind == "c" else self.copy()

    @property
    def imag(self: _Self) -> _Self:
        """The imaginary parts; of real elements zeros that are stored."""
        return self._by_host(lambda a: a.imag)

    def sqrt(self: _Self) -> _Self:
        """Square roots."""
        return self._by_host(lambda a: a.sqrt())

    def sign(self: _Self) -> _Self:
        """Signs: -1, 0 or 1, of complex elements on the unit circle."""
        return self._by_host(lambda a: a.sign())

    def expm1(self: _Self) -> _Self:
        """exp(a) - 1."""
        return self._by_host(lambda a: a.expm1())

    def log1p(self: _Self) -> _Self:
        """log(1 + a)."""
        return self._by_host(lambda a: a.log1p())

    def floor(self: _Self) -> _Self:
        """The largest integers that are not larger."""
        return self._by_host(lambda a: a.floor())

    def ceil(self: _Self) -> _Self:
        """The least integers that are not smaller."""
        return self._by_host(lambda a: a.ceil())

    def trunc(self: _Self) -> _Self:
        """The elements without their fractions."""
        return self._by_host(lambda a: a.trunc())

    def rint(self: _Self) -> _Self:
        """The nearest integers; of two, the even one."""
        return self._by_host(lambda a: a.rint())

    def sin(self: _Self) -> _Self:
        """Sines."""
        return self._by_host(lambda a: a.sin())

    def sinh(self: _Self) -> _Self:
        """Hyperbolic sines."""
        return self._by_host(lambda a: a.sinh())

    def tan(self: _Self) -> _Self:
        """Tangents."""
        return self._by_host(lambda a: a.tan())

    def tanh(self: _Self) -> _Self:
        """Hyperbolic tangents."""
        return self._by_host(lambda a: a.tanh())

    def arcsin(self: _Self) -> _Self:
        """Inverse sines."""
        return self._by_host(lambda a: a.arcsin())

    def arcsinh(self: _Self) -> _Self:
        """Inverse hyperbolic sines."""
        return self._by_host(lambda a: a.arcsinh())

    def arctan(self: _Self) -> _Self:
        """Inverse tangents."""
        return self._by_host(lambda a: a.arctan())

    def arctanh(self: _Self) -> _Self:
        """Inverse hyperbolic tangents."""
        return self._by_host(lambda a: a.arctanh())

    def deg2rad(self: _Self) -> _Self:
        """Degrees as radians."""
        return self._by_host(lambda a: a.deg2rad())

    def rad2deg(self: _Self) -> _Self:
        """Radians as degrees."""
        return self._by_host(lambda a: a.rad2deg())
