"""Pictures of patterns, and matrices as notebooks show them."""

from __future__ import annotations

import os
import struct
import zlib
from html import escape
from typing import Any

import numpy as np
import scipy.sparse as sp


class Picture:
    """Where a matrix has entries: a grey pixel for each block of it, darker the more entries it has.

    Notebooks show it; :meth:`save` writes it.
    """

    def __init__(self, counts: np.ndarray[Any, Any], capacity: float) -> None:
        #: The number of entries in the block of each pixel.
        self.counts = counts
        # One entry is seen in a block of millions: shades are those of the logarithm.
        shade = np.log1p(counts) / np.log1p(max(capacity, counts.max(initial=0), 1))
        dark = np.where(counts > 0, 64 + 191 * shade, 0)
        #: Grey values, 255 where there are no entries.
        self.pixels = (255 - dark).astype(np.uint8)

    def _repr_png_(self) -> bytes:
        height, width = self.pixels.shape
        # Small matrices in pixels that can be seen.
        zoom = max(1, 256 // max(height, width, 1))
        pixels = np.kron(self.pixels, np.ones((zoom, zoom), np.uint8))
        lines = b"".join(b"\0" + line.tobytes() for line in pixels)
        header = struct.pack(">IIBBBBB", width * zoom, height * zoom, 8, 0, 0, 0, 0)
        chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as a PNG file."""
        with open(path, "wb") as file:
            file.write(self._repr_png_())


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def spy(A: Any, size: int = 512) -> Picture:
    """The pattern of a sparse matrix of the host or of a device as a picture of at most `size` pixels on each side."""
    matrix = A.get() if hasattr(A, "get") and not sp.issparse(A) else A
    if not sp.issparse(matrix) or matrix.ndim != 2:
        raise TypeError(f"A is {type(A).__name__} where a sparse matrix of two dimensions is needed")
    if size < 1:
        raise ValueError(f"size is {size} where at least one pixel is needed")
    rows, cols = matrix.shape
    # Blocks are squares, so that a diagonal is seen as one.
    block = max(1, -(-max(rows, cols) // size))
    height, width = max(1, -(-rows // block)), max(1, -(-cols // block))
    row, col = matrix.tocoo().coords
    at = (row // block).astype(np.int64) * width + col // block
    counts = np.bincount(at, minlength=height * width).reshape(height, width)
    return Picture(counts, block * block)


def html_of(matrix: Any) -> str:
    """A table of shape, entries and memory."""
    kind = type(matrix).__name__
    *batch, rows, cols = matrix.shape
    cells = rows * cols * (batch[0] if batch else 1)
    facts = {
        "shape": " × ".join(map(str, matrix.shape)),
        "entries": f"{matrix.nnz} ({100 * matrix.nnz / cells:.3g} %)" if cells else "0",
        "values": str(matrix.dtype),
        "memory": _bytes(matrix.nbytes),
        "device": matrix.device,
    }
    lines = "".join(f"<tr><th>{name}</th><td>{escape(fact)}</td></tr>" for name, fact in facts.items())
    return f"<table><caption>{escape(kind)}</caption>{lines}</table>"


def _bytes(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"
