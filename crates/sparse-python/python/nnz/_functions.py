"""The functions of :mod:`scipy.sparse`, with results of nnz's classes."""

from __future__ import annotations

import functools
from typing import Any

import scipy.sparse as sp

from . import _arrays

_CLASSES = {getattr(sp, name): getattr(_arrays, name) for name in (f"{format}_array" for format in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"))}


def of_scipy(name: str) -> Any:
    """`scipy.sparse.name`; of a function one whose sparse arrays are ours."""
    found = getattr(sp, name)
    if isinstance(found, type) or not callable(found):
        return found

    @functools.wraps(found)
    def call(*arguments: Any, **options: Any) -> Any:
        return _ours(found(*arguments, **options))

    return call


def _ours(result: Any) -> Any:
    container = _CLASSES.get(type(result))
    return result if container is None else _arrays.retyped(result, container)
