"""The result arrays of products with dense operands: those of plans, of batches and of matrices on devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _dlpack
from ._arrays import empty, operand


def converted(name: str, array: Any, owner: str, dtype: np.dtype[Any]) -> Any:
    """An array of the host in C order as `dtype`, the type of `owner`; an error where NumPy would compute in another."""
    array = np.asarray(array)
    found = operand(dtype, array)
    if found is None:
        raise TypeError(f"{name} is {array.dtype}, the {owner} {dtype}: cast one of them")
    return found


def product(
    run: Callable[[list[Any], Any], None],
    b: Any,
    out: Any,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    device: str,
    stream: Any = None,
) -> Any:
    """Runs `run([b], out)` into `out`, or into a new array of `shape` where `b` is, and returns it."""
    if _dlpack.is_on_gpu(b):
        with _dlpack.in_stream(b, stream):
            if out is None:
                out = _dlpack.like(b, shape, device)
            elif tuple(out.shape) != shape:
                raise wrong_shape("out", tuple(out.shape), str(shape))
            _dlpack.product(run, b, out, device)
        return out
    if stream is not None:
        raise ValueError("stream is given for an operand of the host, which is in no stream")
    if out is None:
        out = empty(shape, dtype)
    elif not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        found = (getattr(out, "shape", type(out).__name__), getattr(out, "dtype", None))
        raise wrong_shape("out", found, f"{shape} of {dtype}")
    elif np.may_share_memory(out, b):
        raise ValueError("out shares memory with the operand: the product would read what it has written")
    run([b], out)
    return out


def wrong_shape(name: str, found: Any, right: str) -> ValueError:
    """The error of an array of another shape."""
    return ValueError(f"{name} has shape {found} where {right} is right")
