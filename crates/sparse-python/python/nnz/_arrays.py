"""SciPy's sparse arrays, whose products and conversions nnz computes on all cores.

Each class is SciPy's of the same name with some methods replaced. A method computes here where the types are those of nnz
(float32, float64, complex64, complex128; indices of one type), and is SciPy's otherwise: the results are the same. SciPy's
matrices (`csr_matrix`) are in `_matrices.py`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _native

#: The types of values that nnz computes with.
TYPES = frozenset(np.dtype(char) for char in "fdFD")

_REAL = frozenset(np.dtype(char) for char in "fd")

#: The types of values that a constructor takes without SciPy's checks of types.
_NUMBERS = frozenset(np.dtype(char) for char in "?bBhHiIlLfdgFDG")

#: Entries per row from which on NumPy adds the values of rows in less time than a product takes, which reads columns too.
_LONG_ROWS = 64

#: Bytes from which on the C library maps new pages for every array, which takes longer than most products: with PyTorch, of a
#: grid of 700² points and 32 columns 26 ms in place of 6.
MAPPED_BYTES = 32 << 20


def contiguous(array: Any, dtype: Any = None) -> Any:
    """`array` in C order, its elements aligned: those that came over a network may not be."""
    found = np.ascontiguousarray(array, dtype)
    return found if found.flags.aligned else found.copy()


def plain_arrays(matrix: Any) -> tuple[Any, Any, Any]:
    """The arrays of SciPy's CSR or CSC (indptr, indices, data) or COO (row, col, data), without gaps, indices of one type."""
    if matrix.format == "coo":
        first, second = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    else:
        first, second = matrix.indptr, matrix.indices
    width = np.int32 if first.dtype == second.dtype == np.int32 else np.int64
    return contiguous(first, width), contiguous(second, width), contiguous(matrix.data)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An array whose elements are not set: a large one in memory of the library, which reuses it once it is freed."""
    is_mapped = math.prod(shape) * dtype.itemsize >= MAPPED_BYTES and dtype in TYPES
    return _native.empty(shape, dtype.char) if is_mapped else np.empty(shape, dtype)


def operand(dtype: np.dtype[Any], other: Any) -> Any:
    """`other` in C order as `dtype`, or None where NumPy would compute in another type."""
    return contiguous(other, dtype) if _computes_in(dtype, other.dtype) else None


@functools.lru_cache
def _computes_in(dtype: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """True if `dtype` is one of nnz's, and products with `other` have it."""
    return dtype in TYPES and np.result_type(dtype, other) == dtype


def solution_type(*operands: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which SciPy's iterative solvers compute: integers, booleans and half precision count as float64."""
    return np.result_type(*(np.float64 if each.kind in "biu" or each == np.float16 else each for each in operands))


def retyped(found: Any, container: Any) -> Any:
    """An array of SciPy's as one of a subclass, over the same arrays. The constructor would take as long as a short slice."""
    made = container.__new__(container)
    vars(made).update(vars(found))
    return made


#: nnz's class in place of each of SciPy's.
CLASSES: dict[type, Any] = {}


def ours(result: Any) -> Any:
    """A sparse array or matrix of SciPy's as nnz's, without a copy; everything else as it is."""
    container = CLASSES.get(type(result))
    return result if container is None else retyped(result, container)


#: The methods of SciPy's classes, which come after the classes here in the order of resolution; SciPy has no types.
Scipy: Any = object


class Products(Scipy):
    """The products of all arrays and matrices whose results SciPy makes of its own classes."""

    def multiply(self, other: Any) -> Any:
        # With rows and columns to broadcast SciPy's result is of its own class.
        return ours(super().multiply(other))


class _Containers(Products):
    """The classes of the results of SciPy's methods, for all arrays."""

    _csr_container = property(lambda _: csr_array)
    _csc_container = property(lambda _: csc_array)
    _coo_container = property(lambda _: coo_array)
    _bsr_container = property(lambda _: bsr_array)
    _dia_container = property(lambda _: dia_array)
    _dok_container = property(lambda _: dok_array)
    _lil_container = property(lambda _: lil_array)


class _Compressed(_Containers):
    """The common methods of CSR and CSC: CSC of A is CSR of its transpose."""

    #: The largest index of each type that the constructor takes without SciPy's checks.
    _LARGEST = {np.dtype(char): np.iinfo(char).max for char in "il"}

    def __init__(self, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, *, maxprint: int | None = None) -> None:
        if copy or maxprint is not None or not (self._takes(arg1, shape, dtype) or self._takes_entries(arg1, shape, dtype)):
            super().__init__(arg1, shape=shape, dtype=dtype, copy=copy, maxprint=maxprint)

    def _takes(self: Any, arg1: Any, shape: Any, dtype: Any) -> bool:
        """Takes arrays, or those of a matrix of this format, as SciPy's constructor does in 12 us; False where it has to.

        Most operations make a matrix of arrays, and of small matrices they take little longer than its constructor.
        """
        if type(arg1) is tuple and len(arg1) == 3:
            data, indices, indptr = arg1
        elif shape is None and sp.issparse(arg1) and arg1.format == self._format:
            data, indices, indptr, shape = arg1.data, arg1.indices, arg1.indptr, arg1.shape
        else:
            return False
        # What is not an array, has another type, or fails a check is left to SciPy, which converts it or has the error; as are
        # classes with checks of their own.
        if not (_KNOWS_SCIPY and type(self).check_format is _CHECK_FORMAT and type(shape) is tuple and len(shape) == 2):
            return False
        if not type(data) is type(indices) is type(indptr) is np.ndarray:
            return False
        if data.dtype not in _NUMBERS or not (dtype is None or dtype is data.dtype) or indices.dtype is not indptr.dtype:
            return False
        rows, cols = shape
        if not (type(rows) is type(cols) is int and 0 <= rows and 0 <= cols and max(rows, cols) <= self._LARGEST.get(indices.dtype, -1)):
            return False
        lines = self._swap(shape)[0]
        if not (data.ndim == indices.ndim == indptr.ndim == 1 and len(indptr) == lines + 1 and len(data) == len(indices)):
            return False
        end = indptr.item(lines)
        if indptr.item(0) != 0 or not 0 <= end <= len(data):
            return False
        self.data, self.indices, self.indptr = data[:end], indices[:end], indptr
        # SciPy copies what is less than half of an array.
        if end < max(self.data.base.size, self.indices.base.size) // 2:
            return False
        self._shape, self.maxprint = shape, _MAXPRINT
        return True

    def _takes_entries(self: Any, arg1: Any, shape: Any, dtype: Any) -> bool:
        """Takes values and coordinates, with duplicates summed; False where SciPy has to."""
        if not (type(arg1) is tuple and len(arg1) == 2 and type(arg1[0]) is np.ndarray and arg1[0].dtype in TYPES):
            return False
        container = self._csr_container if self._format == "csr" else self._csc_container
        made = self._of_entries(container, arg1, shape) if dtype is None else None
        if made is None:
            made = self._coo_container(arg1, shape=shape, dtype=dtype)._to_compressed(container)
        if made is not None:
            vars(self).update(vars(made))
        return made is not None

    def _of_entries(self: Any, container: Any, arg1: Any, shape: Any) -> Any:
        """The matrix of values and coordinates that need no conversion; None where COO's constructor, which takes 16 us, has to
        look at them."""
        values, coordinates = arg1
        if not (type(coordinates) is tuple and len(coordinates) == 2 and type(shape) is tuple and len(shape) == 2):
            return None
        (row, col), (rows, cols) = coordinates, shape
        if not (type(row) is type(col) is np.ndarray and type(rows) is type(cols) is int and row.dtype is col.dtype):
            return None
        is_in_range = rows >= 0 and cols >= 0 and max(rows, cols, len(values)) <= self._LARGEST.get(row.dtype, -1)
        if not (is_in_range and values.ndim == row.ndim == col.ndim == 1 and 0 < len(values) == len(row) == len(col)):
            return None
        try:
            parts = _native.coo_to_compressed((shape, row, col, values), self._format == "csc")
        except (TypeError, ValueError):  # arrays with gaps, and entries out of range: SciPy has the error
            return None
        return _compressed(container, shape, parts, canonical=True)

    def _csr(self: Any) -> Any:
        """Shape and arrays as CSR: of CSC those of the transpose."""
        return self._swap(self._shape), self.indptr, self.indices, self.data

    def _as_csr(self: Any, other: Any) -> Any:
        """Shape and arrays of a matrix in this one's format, as :meth:`_csr` has them."""
        return self._swap(other.shape), other.indptr, other.indices, other.data

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays = {name: contiguous(state[name]) for name in ("indptr", "indices", "data")}
        self.__dict__.update(state | arrays)

    def __matmul__(self: Any, other: Any) -> Any:
        # What SciPy asks about an operand takes longer than a small product.
        if type(other) is np.ndarray and len(self._shape) == 2 and other.shape[:1] == self._shape[1:]:
            if other.ndim == 1:
                return self._matmul_vector(other)
            if other.ndim == 2:
                # SciPy multiplies one column as a vector.
                is_column = other.shape[1] == 1
                return self._matmul_vector(other.ravel()).reshape(-1, 1) if is_column else self._matmul_multivector(other)
        if isinstance(other, _Compressed) and self._shape[1:] == other._shape[:1] and len(other._shape) == 2:
            return self._matmul_sparse(other)
        return super().__matmul__(other)

    def __rmatmul__(self: Any, other: Any) -> Any:
        if type(other) is np.ndarray and other.ndim == 1 and len(self._shape) == 2 and other.shape == self._shape[:1]:
            product = self._product(other, self._format == "csr")
            if product is not None:
                return product
        return super().__rmatmul__(other)

    def _matmul_vector(self: Any, other: Any) -> Any:
        product = self._product(other, self._format == "csc") if len(self._shape) == 2 else None
        return super()._matmul_vector(other) if product is None else product

    def _product(self: Any, x: Any, transpose: bool) -> Any:
        """The product of what :meth:`_csr` has, or of its transpose, with a vector; None where SciPy has to multiply."""
        x = operand(self.data.dtype, x)
        if x is None:
            return None
        try:
            return _native.csr_matvec(self._csr(), x, transpose)
        except TypeError:  # arrays with gaps, or indices of two types
            return None

    def _matmul_multivector(self: Any, other: Any) -> Any:
        b = operand(self.data.dtype, other)
        if b is not None and len(self._shape) == 2 and b.ndim == 2:
            try:
                return _native.csr_matmat(self._csr(), b, self._format == "csc")
            except TypeError:
                pass
        return super()._matmul_multivector(other)

    def _matmul_sparse(self: Any, other: Any) -> Any:
        dtype = self.dtype if self.dtype is other.dtype else np.result_type(self.dtype, other.dtype)
        if dtype in TYPES and self.ndim == 2 and other.ndim == 2:
            same_format = other.asformat(self.format)
            # (A·B)ᵀ = Bᵀ·Aᵀ
            first, second = self._swap([_with_values_of(dtype, each) for each in (self, same_format)])
            if first.indices.dtype == second.indices.dtype:
                try:
                    parts = _native.csr_multiply(self._as_csr(first), self._as_csr(second))
                except (TypeError, OverflowError):  # indices of two types, or more entries than they can count
                    pass
                else:
                    # Without entries SciPy may choose the type of the indices anew.
                    if len(parts[1]):
                        return _compressed(self.__class__, (self.shape[0], other.shape[1]), parts, canonical=True)
        return super()._matmul_sparse(other)

    def _to_other_axis(self: Any, container: Any) -> Any:
        """The matrix as `container`, CSR of a CSC matrix and CSC of a CSR matrix; None where SciPy has to make it."""
        if self.dtype not in TYPES or self.ndim != 2:
            return None
        try:
            parts = _native.csr_to_csc(self._csr())
        except TypeError:
            return None
        return _compressed(container, self.shape, parts, canonical=False)

    def toarray(self: Any, order: Any = None, out: Any = None) -> Any:
        natural: Any = "C" if self._format == "csr" else "F"
        if out is None and self.data.dtype in TYPES and len(self._shape) == 2 and (order is None or order == natural):
            # The caller's own, not a view of its transpose: NumPy resizes only arrays that own their memory.
            dense = np.zeros(self._shape, self.data.dtype, natural)
            try:
                _native.csr_todense(self._csr(), dense if natural == "C" else dense.T)
            except TypeError:
                pass
            else:
                return dense
        return super().toarray(order=order, out=out)

    def sum(self: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        # The mean asks for a tuple and the type of the values.
        only = axis[0] if type(axis) is tuple and len(axis) == 1 else axis
        is_own = dtype is None or dtype is self.data.dtype or dtype is self.data.dtype.type
        if type(only) is int and -2 <= only < 2 and is_own and out is None and len(self._shape) == 2:
            sums = self._sum_along(only % 2)
            if sums is not None:
                return sums
        return super().sum(axis=axis, dtype=dtype, out=out)

    def _sum_along(self: Any, axis: int) -> Any:
        """Row sums as A·1, column sums as Aᵀ·1; None where SciPy has to add."""
        entries, length = len(self.data), self._shape[axis]
        is_along = axis == self._swap((1, 0))[0]
        # A complex infinity times one is NaN.
        if self.data.dtype not in _REAL or is_along and entries >= _LONG_ROWS * len(self.indptr):
            return None
        # The ones take the memory of a dense row: of a very wide matrix more than the matrix has.
        if length > max(entries, 1 << 20):
            return None
        return self._product(np.ones(length, self.data.dtype), not is_along)

    def sort_indices(self: Any) -> None:
        if self.has_sorted_indices:
            return
        if self.data.dtype in TYPES and len(self._shape) == 2:
            try:
                # In place, as SciPy's: other matrices may share the arrays.
                _native.csr_sort(self._csr())
            except TypeError:
                pass
            except ValueError:
                # SciPy has the error of arrays that are read-only.
                if self.indices.flags.writeable and self.data.flags.writeable:
                    raise
            else:
                self.has_sorted_indices = True
                return
        super().sort_indices()


def _with_values_of(dtype: np.dtype[Any], matrix: Any) -> Any:
    """The matrix with its values in `dtype`, over the same indices: `astype` would add the entries of one place."""
    return matrix if matrix.dtype == dtype else matrix._with_data(matrix.data.astype(dtype), copy=False)


def _compressed(container: Any, shape: tuple[int, int], parts: Any, *, canonical: bool) -> Any:
    """A matrix of arrays of nnz, whose indices are sorted."""
    indptr, indices, data = parts
    made = container((data, indices, indptr), shape=shape)
    made.has_sorted_indices = True
    if canonical:
        made.has_canonical_format = True
    return made


_NEW = vars(sp.csr_array((1, 1)))
#: What SciPy prints at most, and whether its constructor sets what :meth:`_Compressed._takes` does, and no more.
_MAXPRINT = _NEW.get("maxprint")
_CHECK_FORMAT = sp.csr_array.check_format
_KNOWS_SCIPY = _NEW.keys() == {"_shape", "maxprint", "data", "indices", "indptr"}


class Csr(_Compressed):
    """The common methods of `csr_array` and `csr_matrix`."""

    def tocsc(self: Any, copy: bool = False) -> Any:
        made = self._to_other_axis(self._csc_container)
        return super().tocsc(copy=copy) if made is None else made


class Csc(_Compressed):
    """The common methods of `csc_array` and `csc_matrix`."""

    def tocsr(self: Any, copy: bool = False) -> Any:
        made = self._to_other_axis(self._csr_container)
        return super().tocsr(copy=copy) if made is None else made


class Coo(_Containers):
    """The common methods of `coo_array` and `coo_matrix`."""

    def tocsr(self: Any, copy: bool = False) -> Any:
        made = self._to_compressed(self._csr_container)
        return super().tocsr(copy=copy) if made is None else made

    def tocsc(self: Any, copy: bool = False) -> Any:
        made = self._to_compressed(self._csc_container)
        return super().tocsc(copy=copy) if made is None else made

    def _to_compressed(self: Any, container: Any) -> Any:
        # SciPy chooses a type for indices that are none.
        if self.dtype not in TYPES or self.ndim != 2 or self.nnz == 0:
            return None
        row, col = self.coords
        try:
            parts = _native.coo_to_compressed((self.shape, row, col, self.data), container._format == "csc")
        except TypeError:
            return None
        return _compressed(container, self.shape, parts, canonical=True)


class csr_array(Csr, sp.csr_array):
    """:class:`scipy.sparse.csr_array` on all cores."""


class csc_array(Csc, sp.csc_array):
    """:class:`scipy.sparse.csc_array` on all cores."""


class coo_array(Coo, sp.coo_array):
    """:class:`scipy.sparse.coo_array`, which becomes CSR and CSC on all cores."""


#: The methods of SciPy's COO arrays, of some versions, whose results of any number of dimensions are of its own class.
_OF_SCIPYS_COO = (
    "__getitem__",
    "_broadcast_to",
    "_matmul_sparse",
    "_min_or_max_axis_nd",
    "_sparse_dot",
    "_sparse_tensordot",
    "_sub_sparse",
)


def _with_results_of_ours(method: Any) -> Any:
    @functools.wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        return ours(method(*arguments, **options))

    return call


for _name in _OF_SCIPYS_COO:
    if hasattr(sp.coo_array, _name):
        setattr(coo_array, _name, _with_results_of_ours(getattr(sp.coo_array, _name)))


class bsr_array(_Containers, sp.bsr_array):
    """:class:`scipy.sparse.bsr_array`, which becomes the classes here."""


class dia_array(_Containers, sp.dia_array):
    """:class:`scipy.sparse.dia_array`, which becomes the classes here."""


class dok_array(_Containers, sp.dok_array):
    """:class:`scipy.sparse.dok_array`, which becomes the classes here."""


class lil_array(_Containers, sp.lil_array):
    """:class:`scipy.sparse.lil_array`, which becomes the classes here."""


FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
CLASSES |= {getattr(sp, f"{format}_array"): globals()[f"{format}_array"] for format in FORMATS}
