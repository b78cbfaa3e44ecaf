"""Arrays of other libraries on a GPU, handed over by DLPack: without a copy, and in the order of their streams."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _native

#: DLPack's number of CUDA.
CUDA = 2


def is_on_gpu(array: Any) -> bool:
    """True for an array of any library that is in the memory of a CUDA GPU."""
    device = getattr(array, "__dlpack_device__", None)
    return device is not None and not isinstance(array, np.ndarray) and device()[0] == CUDA


def device_of(array: Any) -> str:
    """nnz's name of the GPU of an array."""
    return f"cuda:{array.__dlpack_device__()[1]}"


def take(array: Any, device: str) -> _native.DeviceArray:
    """The array on `device`, whose stream waits for the work of the array's library. It keeps the array alive."""
    if getattr(array, "requires_grad", False):
        raise TypeError("the tensor requires gradients: nnz.torch has operators with gradients, detach() gives it without")
    return _native.DeviceArray.from_dlpack(device, array.__dlpack__(stream=_native.stream(device)))


def like(array: Any, shape: tuple[int, ...], device: str) -> Any:
    """A new array of the library of `array`, and of its type; of an unknown library one of nnz."""
    library = _library(array)
    if library == "torch":
        return array.new_empty(shape)
    if library == "cupy":
        import cupy

        return cupy.empty(shape, array.dtype)
    return _native.DeviceArray.zeros(device, list(shape), np.dtype(str(array.dtype)).char)


def product(run: Callable[[list[Any], Any], None], b: Any, out: Any, device: str) -> None:
    """Runs a product of `b` into `out`, both on the GPU; later work of their library waits for it."""
    source, target = take(b, device), take(out, device)
    if source.shares_memory(target):
        raise ValueError("out shares memory with the operand: the product would read what it has written")
    run([source], target)
    release(b, device)


def release(array: Any, device: str) -> None:
    """Makes later work of the array's library wait for the work that was enqueued on the device."""
    stream = _current_stream(array)
    if stream is None:
        _native.synchronize(device)
    else:
        _native.delay(device, stream)


@contextmanager
def in_stream(array: Any, stream: Any) -> Iterator[None]:
    """Makes `stream` the current one of the array's library, CuPy or PyTorch, if it is given.

    An array of another library says itself which work comes before it, and its products are waited for.
    """
    library = _library(array)
    if stream is None or library not in ("cupy", "torch"):
        yield
    elif library == "torch":
        import torch

        with torch.cuda.stream(torch.cuda.ExternalStream(address_of(stream), device=array.device)):
            yield
    else:
        import cupy

        with cupy.cuda.ExternalStream(address_of(stream)):
            yield


def address_of(stream: Any) -> int:
    """The address of a stream: a number, or an object of CuPy, of PyTorch or with `__cuda_stream__`."""
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return getattr(stream, name)
    return operator.index(stream)


def _library(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def _current_stream(array: Any) -> int | None:
    """The stream in which the array's library works now; None where that is unknown."""
    library = _library(array)
    if library == "torch":
        import torch

        return torch.cuda.current_stream(array.device).cuda_stream
    if library == "cupy":
        import cupy

        return cupy.cuda.get_current_stream().ptr
    return None
