"""Bodies of requests and answers: arrays from and into the memory where they lie, matrices as `.npz` files."""

from __future__ import annotations

import http.client
import io
import json
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from ._requests import ServerError

NPY, NPZ = "application/x-npy", "application/x-npz"


def body_of(a: Any) -> tuple[list[Any], str]:
    """The parts of the body of a sparse or dense matrix, and their media type."""
    if not sp.issparse(a):
        return npy(np.asarray(a)), NPY
    a = a if a.format in ("csr", "csc", "coo") else a.tocsr()
    file = io.BytesIO()
    sp.save_npz(file, a, compressed=False)
    return [file.getbuffer()], NPZ


def npy(a: np.ndarray) -> list[Any]:
    """The parts of an `.npy` file: the header, and the array's own memory where it is contiguous."""
    if a.dtype.kind not in "biufc":
        raise TypeError(f"the array has elements of {a.dtype} where numbers are right")
    if a.dtype == np.float16:
        # The server reads none; float32 has all of its numbers.
        a = a.astype(np.float32)
    if not (a.flags.c_contiguous or a.flags.f_contiguous):
        a = np.ascontiguousarray(a)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(a))
    flat = a.reshape(-1, order="A" if a.flags.c_contiguous else "F")
    return [header.getvalue(), *([flat.view(np.uint8).data] if a.size else [])]


def from_offset(parts: list[Any], offset: int) -> list[Any]:
    """The bytes of a body from `offset` on."""
    rest = []
    for part in parts:
        view = memoryview(part).cast("B")
        rest += [view[offset:]] if offset < len(view) else []
        offset = max(0, offset - len(view))
    return rest


def decode(response: http.client.HTTPResponse) -> Any:
    """The value of an answer: an array, a matrix, or what JSON says; of a refusal the error, not raised."""
    media = response.headers.get_content_type()
    if response.status >= 400:
        text = response.read()
        problem = json.loads(text) if media == "application/problem+json" else {"detail": text.decode(errors="replace")}
        return ServerError(response.status, problem)
    if media == NPY:
        return _read_npy(response)
    if media == NPZ:
        return read_npz(io.BytesIO(response.read()))
    text = response.read()
    return json.loads(text) if text else None


def read_npz(file: IO[bytes]) -> Any:
    """A matrix of SciPy's, or a list of those of a batch."""
    with np.load(file) as arrays:
        make = {b"batch_csr": sp.csr_array, b"batch_csc": sp.csc_array}.get(arrays["format"].item())
        if make is None:
            file.seek(0)
            return sp.load_npz(file)
        count, *shape = arrays["shape"].tolist()
        starts, offsets = arrays["member_ptr"].tolist(), arrays["indptr"].reshape(count, -1)
        members = [slice(*ends) for ends in zip(starts, starts[1:], strict=False)]
        data, indices = arrays["data"], arrays["indices"]
    return [make((data[at], indices[at], offsets[k]), shape=tuple(shape)) for k, at in enumerate(members)]


def _read_npy(response: http.client.HTTPResponse) -> np.ndarray:
    """An array whose bytes are received into its own memory."""
    np.lib.format.read_magic(response)
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(response)
    flat = np.empty(int(np.prod(shape)), dtype)
    view, received = flat.view(np.uint8).data, 0
    while received < len(view):
        read = response.readinto(view[received:])
        if not read:
            raise http.client.IncompleteRead(b"", len(view) - received)
        received += read
    response.read()
    return flat.reshape(shape, order="F" if is_fortran else "C")
