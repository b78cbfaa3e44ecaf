"""Pictures of patterns, and matrices in notebooks."""

import zlib

import nnz
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random


def decoded(png: bytes) -> np.ndarray:
    """The grey values of a PNG file, whose check sums are compared."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(png):
        count = int.from_bytes(png[at : at + 4], "big")
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + count]
        assert int.from_bytes(png[at + 8 + count : at + 12 + count], "big") == zlib.crc32(kind + data)
        chunks[kind], at = data, at + 12 + count
    width, height = (int.from_bytes(chunks[b"IHDR"][k : k + 4], "big") for k in (0, 4))
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:]


@pytest.mark.parametrize("shape", [(40, 30), (3000, 1200), (0, 5), (1, 1)])
def test_every_entry_is_counted(shape):
    theirs = random(shape, 0.01 if shape[0] > 100 else 0.3, "d")
    picture = nnz.spy(theirs, 256)
    assert max(picture.counts.shape) <= 256
    assert picture.counts.sum() == theirs.nnz
    block = -(-max(shape) // 256)
    for row, col in zip(*theirs.tocoo().coords, strict=True):
        assert picture.pixels[row // block, col // block] < 192
    zoom = max(1, 256 // max(picture.pixels.shape))
    np.testing.assert_array_equal(decoded(picture._repr_png_())[::zoom, ::zoom], picture.pixels)


def test_pictures_of_devices_and_files(tmp_path):
    a = nnz.DeviceCsr.from_scipy(sp.eye_array(20, format="csr"))
    picture = nnz.spy(a)
    np.testing.assert_array_equal(picture.pixels < 255, np.eye(20, dtype=bool))
    picture.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == picture._repr_png_()
    with pytest.raises(TypeError, match="A is ndarray"):
        nnz.spy(np.eye(3))
    with pytest.raises(ValueError, match="size is 0"):
        nnz.spy(a, 0)


def test_notebooks_show_a_table():
    a = nnz.DeviceCsr.from_scipy(sp.eye_array(1000, format="csr"))
    html = a._repr_html_()
    for fact in ("DeviceCsr", "1000 × 1000", "1000 (0.1 %)", "float64", "KiB", "cpu"):
        assert fact in html
    assert "3 × 2 × 4" in nnz.compress(np.zeros((3, 2, 4)))._repr_html_()
