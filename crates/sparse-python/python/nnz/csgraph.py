"""The graph algorithms of :mod:`scipy.sparse.csgraph`, whose sparse results are of nnz's classes."""

from __future__ import annotations

from typing import Any

import scipy.sparse.csgraph as _scipy_csgraph

from ._functions import of_scipy

__all__ = list(_scipy_csgraph.__all__)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in __all__:
        return globals().setdefault(name, of_scipy(_scipy_csgraph, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
