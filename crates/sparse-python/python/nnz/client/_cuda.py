"""Arrays in the memory of a GPU, which a server on the same machine reads and writes there (CUDA IPC)."""

from __future__ import annotations

import ctypes
import json
import math
from functools import cache
from typing import Any

import numpy as np

#: The media type of bodies that name arrays, and the header that names the array of a result.
CUDA, RESULT = "application/x-nnz-cuda", "nnz-result-cuda"

_CONTEXT = 1  # CU_POINTER_ATTRIBUTE_CONTEXT


def is_on_gpu(a: Any) -> bool:
    """True for an array in the memory of a GPU, of CuPy, PyTorch or another library with the CUDA array interface."""
    return type(a).__module__.split(".")[0] != "numpy" and hasattr(_detached(a), "__cuda_array_interface__")


def csr_arrays(a: Any) -> dict[str, Any] | None:
    """The arrays in CSR of a sparse matrix of CuPy or PyTorch on a GPU; none for other matrices.

    Those of a matrix in another format are new, and the caller keeps them until the server has answered.
    """
    library = type(a).__module__.split(".")[0]
    if library == "cupyx":
        a = a.tocsr()
        return {"indptr": a.indptr, "indices": a.indices, "data": a.data}
    if library == "torch" and a.is_cuda and a.layout is not _torch().strided:
        a = a.detach().to_sparse_csr()
        return {"indptr": a.crow_indices(), "indices": a.col_indices(), "data": a.values()}
    return None


def csr_body(shape: tuple[int, ...], arrays: dict[str, Any]) -> list[bytes]:
    """The body that names the arrays of a matrix in CSR."""
    named = {key: describe(array) for key, array in arrays.items()}
    return [json.dumps({"shape": list(shape), **named}).encode()]


def array_body(a: Any) -> list[bytes]:
    """The body that names a dense array."""
    return [json.dumps(describe(a)).encode()]


def empty_beside(a: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """An array of the library and on the GPU of `a`."""
    if type(a).__module__.split(".")[0] == "torch":
        return _torch().empty(shape, dtype=getattr(_torch(), dtype.name), device=a.device)
    import cupy

    with cupy.cuda.Device(cupy.asarray(a).device.id):
        return cupy.empty(shape, dtype)


def describe(a: Any) -> dict[str, Any]:
    """The place, shape and type of an array in C order, once all work on its GPU so far is done."""
    about = _detached(a).__cuda_array_interface__
    shape, dtype = tuple(about["shape"]), np.dtype(about["typestr"])
    in_order = tuple(dtype.itemsize * math.prod(shape[k + 1 :]) for k in range(len(shape)))
    if 0 not in shape and about.get("strides") not in (None, in_order):
        raise ValueError("an array on a GPU in C order is needed: a contiguous copy would be")
    address = about["data"][0]
    # No memory has no handle; nothing is read there.
    handle, offset = _driver().share(address) if address else (bytes(64), 0)
    return {"handle": handle.hex(), "offset": offset, "shape": list(shape), "dtype": dtype.str}


def _detached(a: Any) -> Any:
    """A tensor without its history, which has no interface."""
    return a.detach() if hasattr(a, "detach") else a


def _torch() -> Any:
    import torch

    return torch


@cache
def _driver() -> _Driver:
    return _Driver()


class _Driver:
    """CUDA's driver."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'error').decode()} ({code})")

    def share(self, address: int) -> tuple[bytes, int]:
        """The handle of the allocation of an address, and the bytes from its start to there."""
        context, pointer = ctypes.c_void_p(), ctypes.c_uint64(address)
        self._call("cuPointerGetAttribute", ctypes.byref(context), _CONTEXT, pointer)
        if not context:
            raise ValueError("memory of a pool (cudaMallocAsync) is in no context and has no handle: cudaMalloc's has")
        self._call("cuCtxPushCurrent_v2", context)
        try:
            self._call("cuCtxSynchronize")
            start, size, handle = ctypes.c_uint64(), ctypes.c_size_t(), (ctypes.c_ubyte * 64)()
            self._call("cuMemGetAddressRange_v2", ctypes.byref(start), ctypes.byref(size), pointer)
            self._call("cuIpcGetMemHandle", handle, start)
        finally:
            self._library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        return bytes(handle), address - start.value
