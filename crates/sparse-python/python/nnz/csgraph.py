"""The graph algorithms of :mod:`scipy.sparse.csgraph`, whose sparse results are nnz's arrays."""

from __future__ import annotations

from typing import Any

import scipy.sparse.csgraph as _scipy_csgraph

from ._functions import of_scipy


def __getattr__(name: str) -> Any:
    if name in _scipy_csgraph.__all__:
        return globals().setdefault(name, of_scipy(_scipy_csgraph, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
