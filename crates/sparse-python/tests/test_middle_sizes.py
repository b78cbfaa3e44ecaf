"""Products and conversions of matrices of up to 50 000 entries as SciPy's: of integers, so that all sums are exact."""

from __future__ import annotations

from typing import Any

import nnz
import numpy as np
import pytest
import scipy.sparse as sp

#: Rows, columns, entries, and the type of the values.
SHAPES = {
    "rows of 5": (3000, 2000, 15_000, "d"),
    "rows of 2 in few columns": (5000, 10, 10_000, "f"),
    "most rows empty": (9000, 9000, 900, "d"),
    "one column": (6000, 1, 3000, "D"),
    "one row": (1, 6000, 3000, "d"),
    "long rows": (40, 3000, 50_000, "F"),
    "no entries": (200, 300, 0, "d"),
}


def coordinates(name: str, index: str) -> tuple[Any, tuple[Any, Any], tuple[int, int]]:
    """Values, coordinates in any order with duplicates, and the shape."""
    rows, cols, entries, char = SHAPES[name]
    rng = np.random.default_rng(len(name))
    places = rng.integers(0, rows, entries).astype(index), rng.integers(0, cols, entries).astype(index)
    return rng.integers(-3, 4, entries).astype(char), places, (rows, cols)


def unsorted(module: Any, entries: tuple[Any, tuple[Any, Any], tuple[int, int]]) -> Any:
    """CSR with entries out of order and duplicates."""
    data, (row, col), shape = entries
    order = np.argsort(row, kind="stable")
    indptr = np.searchsorted(row[order], np.arange(shape[0] + 1)).astype(row.dtype)
    return module.csr_array((data[order], col[order], indptr), shape=shape)


def assert_same(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if sp.issparse(expected):
        assert found.format == expected.format and found.indices.dtype == expected.indices.dtype
        found.check_format()
        assert (sp.csr_array(found) - sp.csr_array(expected)).count_nonzero() == 0
    else:
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("index", ["i", "l"])
@pytest.mark.parametrize("name", SHAPES)
def test_conversions(name, index):
    entries = coordinates(name, index)
    ours, theirs = (module.coo_array(entries[:2], shape=entries[2]) for module in (nnz, sp))
    for format in ("csr", "csc"):
        assert_same(ours.asformat(format), theirs.asformat(format))
        assert ours.asformat(format).has_canonical_format
    ours, theirs = (unsorted(module, entries) for module in (nnz, sp))
    assert_same(ours.tocsc(), theirs.tocsc())
    assert_same(ours.tocsc().tocsr(), theirs.tocsc().tocsr())
    assert_same(ours.toarray(), theirs.toarray())
    ours.sort_indices()
    theirs.sort_indices()
    assert ours.indices.tolist() == theirs.indices.tolist()


@pytest.mark.parametrize("index", ["i", "l"])
@pytest.mark.parametrize("name", SHAPES)
def test_products(name, index):
    entries = coordinates(name, index)
    (rows, cols), char = entries[2], entries[0].dtype
    rng = np.random.default_rng(1)
    ours, theirs = (unsorted(module, entries) for module in (nnz, sp))
    calls = nnz._native.calls()
    for a, b in ((ours, theirs), (ours.tocsc(), theirs.tocsc())):
        for columns in ((), (2,), (8,), (32,), (45,)):
            right = rng.integers(-3, 4, (cols, *columns)).astype(char)
            left = rng.integers(-3, 4, (rows, *columns)).astype(char)
            assert_same(a @ right, b @ right)
            assert_same(a.T @ left, b.T @ left)
    if name != "long rows":
        assert_same(ours @ ours.T, theirs @ theirs.T) if cols > 100 else assert_same(ours.T @ ours, theirs.T @ theirs)
    assert nnz._native.calls() > calls + 20
