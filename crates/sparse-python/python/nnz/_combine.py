"""Functions of :mod:`scipy.sparse` that make one matrix of several, also of matrices on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._arrays import ours
from ._device import DeviceMatrix


def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """:func:`scipy.sparse.vstack`: the matrices below each other."""
    return _of_blocks("vstack", blocks, format, dtype)


def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Any:
    """:func:`scipy.sparse.hstack`: the matrices beside each other."""
    return _of_blocks("hstack", blocks, format, dtype)


def block_diag(mats: Any, format: str | None = None, dtype: Any = None) -> Any:
    """:func:`scipy.sparse.block_diag`: the matrices along the diagonal of a larger one."""
    return _of_blocks("block_diag", mats, format, dtype)


def kron(A: Any, B: Any, format: str | None = None) -> Any:
    """:func:`scipy.sparse.kron`: the Kronecker product, with the block `A[i, j]·B` at (i, j)."""
    if isinstance(A, DeviceMatrix) or isinstance(B, DeviceMatrix):
        return _on_device("kron", [A, B]).asformat(format)
    return ours(sp.kron(A, B, format=format))


def _of_blocks(by: str, blocks: Any, format: str | None, dtype: Any) -> Any:
    if isinstance(blocks, (list, tuple)) and any(isinstance(block, DeviceMatrix) for block in blocks):
        return _on_device(by, blocks, dtype).asformat(format)
    return ours(getattr(sp, by)(blocks, format=format, dtype=dtype))


def _on_device(by: str, blocks: Any, dtype: Any = None) -> DeviceMatrix:
    """The matrix of those on a device, there, in the format of the first, and in `dtype` or the type of all values."""
    for place, block in enumerate(blocks):
        if not isinstance(block, DeviceMatrix):
            raise TypeError(f"block {place} is {type(block).__name__} where a matrix on a device is needed, as others are: from_scipy makes one")
    dtype = np.result_type(*(block.dtype for block in blocks)) if dtype is None else dtype
    first, *others = (block.astype(dtype, copy=False) for block in blocks)
    return first._made(first._engine.combine(by, [block._native for block in (first, *others)]))
