"""Operators of PyTorch that compute products of sparse matrices, with the patterns that they have seen.

They are registered with :mod:`torch.library` as `torch.ops.nnz`. :mod:`nnz.torch` gives them gradients and the rules of
:mod:`torch.func`.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import TensorWeakRef, WeakTensorKeyDictionary

from . import _native
from ._arrays import MAPPED_BYTES

_CHARS = {
    torch.float16: "e",
    torch.float32: "f",
    torch.float64: "d",
    torch.complex64: "F",
    torch.complex128: "D",
    torch.int32: "i",
    torch.int64: "l",
}


#: The plans of a pattern that stay, those of the last products: a plan of Aᵀ has the transposed pattern, and a program may have
#: batches of any number of columns.
_MOST_PLANS = 16


class _Pattern:
    """A pattern that was checked, and the plans of its products."""

    def __init__(self, indptr: Tensor, indices: Tensor, values: Tensor, shape: Sequence[int], stream: int) -> None:
        self.stream = stream
        self.indices = TensorWeakRef(indices)
        self.versions = _versions(indptr, indices)
        self.plans: dict[tuple[Any, ...], _native.Plan] = {}
        rows, cols = shape
        most = max(rows, cols, len(indices))
        # On a GPU the matrix uses them where they lie: their memory lives as long as the pattern.
        self.positions = [_prepared(_positions(array, most, values.dtype)) for array in (indptr, indices)]
        arrays = [_operand(array, stream) for array in (*self.positions, values)]
        if values.is_cuda:
            self.matrix = _native.Matrix.from_device_arrays("csr", (rows, cols), *arrays)
        else:
            self.matrix = _native.Matrix.from_arrays("csr", ((rows, cols), *arrays), "cpu")

    def is_of(self, indptr: Tensor, indices: Tensor) -> bool:
        """True if the tensors are those that were checked, and were not written since."""
        return self.indices() is indices and self.versions == _versions(indptr, indices)

    def plan(self, kind: str, *arguments: Any) -> _native.Plan:
        key = (kind, *arguments)
        with _LOCK:
            found = self.plans.pop(key, None)
            if found is not None:
                # The last in the order is the one that was used last.
                self.plans[key] = found
                return found
        found = getattr(_native.Plan, kind)(self.matrix, *arguments)
        with _LOCK:
            self.plans[key] = found
            while len(self.plans) > _MOST_PLANS:
                del self.plans[next(iter(self.plans))]
        return found

    def run(self, plan: _native.Plan, inputs: Sequence[Tensor], out: Tensor, values: Tensor | None = None) -> Tensor:
        """Writes `out`; `values` are prepared."""
        # They live until the work was enqueued; PyTorch reuses their memory in the order of the stream.
        prepared = [_prepared(tensor) for tensor in inputs]
        operands = [_operand(tensor, self.stream) for tensor in prepared]
        given = None if values is None else _operand(values, self.stream)
        plan.run(operands, _operand(out, self.stream), 1 + 0j, 0j, given)
        return out


#: The patterns by their `indptr`, for each shape, type and stream. A backward pass runs in threads of its own, and a handler of
#: a signal in a thread that has the lock.
_PATTERNS = WeakTensorKeyDictionary()
_LOCK = threading.RLock()


def _renew_lock() -> None:
    """In a forked process the thread that had the lock may be no longer there."""
    global _LOCK
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def _pattern(indptr: Tensor, indices: Tensor, values: Tensor, shape: Sequence[int]) -> _Pattern:
    """The checked pattern; `values` name the type and the device."""
    for name, array in (("indices", indices), ("indptr", indptr)):
        if array.device != values.device:
            raise ValueError(f"{name} is on {array.device}, the values are on {values.device}: move one of them")
    stream = torch.cuda.current_stream(values.device).cuda_stream if values.is_cuda else 0
    if None in _versions(indptr, indices):
        return _Pattern(indptr, indices, values, shape, stream)
    key = (tuple(shape), values.dtype, stream)
    with _LOCK:
        of_pointers = _PATTERNS.get(indptr)
        if of_pointers is None:
            of_pointers = _PATTERNS[indptr] = {}
        found = of_pointers.get(key)
        if found is None or not found.is_of(indptr, indices):
            found = of_pointers[key] = _Pattern(indptr, indices, values, shape, stream)
        return found


def _versions(*tensors: Tensor) -> tuple[tuple[int, int] | None, ...]:
    """Where each is and how often it was written; None of a tensor of inference mode, which does not count."""
    return tuple(None if tensor.is_inference() else (tensor.data_ptr(), tensor._version) for tensor in tensors)


def _positions(positions: Tensor, largest: int, dtype: torch.dtype) -> Tensor:
    """The row pointers or columns in the type that a matrix of `dtype` has: those of float16 are int32."""
    if dtype != torch.float16 or positions.dtype == torch.int32:
        return positions
    if largest > torch.iinfo(torch.int32).max:
        raise ValueError(f"a matrix of float16 has at most {torch.iinfo(torch.int32).max} rows, columns and entries: cast the values")
    return positions.to(torch.int32)


def _operand(tensor: Tensor, stream: int) -> Any:
    """The elements where they lie: an array of NumPy, or one on the GPU, whose work goes to the stream."""
    char = _CHARS.get(tensor.dtype)
    if char is None:
        right = "float16, float32, float64, complex64 or complex128 with int32 or int64"
        raise TypeError(f"a tensor is {tensor.dtype} where {right} is needed: cast it")
    if not tensor.is_cuda:
        return tensor.numpy()
    return _native.DeviceArray.at(tensor.device.index, stream, tensor.data_ptr(), list(tensor.shape), char)


def _prepared(tensor: Tensor) -> Tensor:
    """The tensor without gradients, in C order from a word on."""
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return tensor.clone() if tensor.is_cuda and tensor.data_ptr() % 16 else tensor


def _check(name: str, tensor: Tensor, shape: tuple[Any, ...], values: Tensor) -> None:
    found = tuple(tensor.shape)
    if len(found) != len(shape) or any(right not in (-1, extent) for extent, right in zip(found, shape, strict=True)):
        right = ", ".join("k" if extent == -1 else str(extent) for extent in shape) + "," * (len(shape) == 1)
        raise ValueError(f"{name} has shape {found} where ({right}) is right")
    if tensor.dtype != values.dtype or tensor.device != values.device:
        have = f"{name} is {tensor.dtype} on {tensor.device}, the others are {values.dtype} on {values.device}"
        raise TypeError(f"{have}: cast or move one of them")


def _new(like: Tensor, *shape: int) -> Tensor:
    """A tensor of the type and the device of another, whose elements are not set."""
    char = _CHARS.get(like.dtype, "")
    if like.is_cuda or char not in ("f", "d", "F", "D") or math.prod(shape) * like.itemsize < MAPPED_BYTES:
        return like.new_empty(shape)
    return torch.from_numpy(_native.empty(shape, char))


def _op(transpose: bool) -> str:
    return "T" if transpose else "N"


@torch.library.custom_op("nnz::spmm", mutates_args=())
def spmm(
    indptr: Tensor, indices: Tensor, values: Tensor, shape: Sequence[int], b: Tensor, transpose: bool
) -> Tensor:
    rows, inner = (shape[1], shape[0]) if transpose else (shape[0], shape[1])
    _check("values", values, (indices.shape[0],), values)
    _check("B", b, (inner, -1), values)
    given = _prepared(values)
    pattern = _pattern(indptr, indices, given, shape)
    out = _new(b, rows, b.shape[1])
    return pattern.run(pattern.plan("spmm", _op(transpose), b.shape[1]), [b], out, given)


@spmm.register_fake
def _(indptr: Tensor, indices: Tensor, values: Tensor, shape: Sequence[int], b: Tensor, transpose: bool) -> Tensor:
    return b.new_empty((shape[1] if transpose else shape[0], b.shape[1]))


@torch.library.custom_op("nnz::spmv", mutates_args=())
def spmv(
    indptr: Tensor, indices: Tensor, values: Tensor, shape: Sequence[int], x: Tensor, transpose: bool
) -> Tensor:
    rows, inner = (shape[1], shape[0]) if transpose else (shape[0], shape[1])
    _check("values", values, (indices.shape[0],), values)
    _check("x", x, (inner,), values)
    given = _prepared(values)
    pattern = _pattern(indptr, indices, given, shape)
    return pattern.run(pattern.plan("spmv", _op(transpose)), [x], _new(x, rows), given)


@spmv.register_fake
def _(indptr: Tensor, indices: Tensor, values: Tensor, shape: Sequence[int], x: Tensor, transpose: bool) -> Tensor:
    return x.new_empty(shape[1] if transpose else shape[0])


@torch.library.custom_op("nnz::sddmm", mutates_args=())
def sddmm(indptr: Tensor, indices: Tensor, shape: Sequence[int], u: Tensor, v: Tensor) -> Tensor:
    _check("U", u, (shape[0], -1), u)
    _check("V", v, (shape[1], u.shape[1]), u)
    out = _new(u, indices.shape[0])
    pattern = _pattern(indptr, indices, out, shape)
    return pattern.run(pattern.plan("sddmm", u.shape[1]), [u, v], out)


@sddmm.register_fake
def _(indptr: Tensor, indices: Tensor, shape: Sequence[int], u: Tensor, v: Tensor) -> Tensor:
    return u.new_empty(indices.shape[0])


@torch.library.custom_op("nnz::to_dense", mutates_args=())
def to_dense(indptr: Tensor, indices: Tensor, values: Tensor, shape: Sequence[int]) -> Tensor:
    _check("values", values, (indices.shape[0],), values)
    given = _prepared(values)
    out = _new(values, *shape)
    pattern = _pattern(indptr, indices, given, shape)
    pattern.matrix.todense(_operand(out, pattern.stream), _operand(given, pattern.stream))
    return out


@to_dense.register_fake
def _(indptr: Tensor, indices: Tensor, values: Tensor, shape: Sequence[int]) -> Tensor:
    return values.new_empty(tuple(shape))


if hasattr(spmm, "register_autocast"):  # older versions have none
    # Layers before an operator have results of half precision, the values are float32.
    for _operator in (spmm, spmv, sddmm, to_dense):
        for _device in ("cpu", "cuda"):
            _operator.register_autocast(_device, torch.float32)
