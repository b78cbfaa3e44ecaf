"""The functions of :mod:`scipy.sparse`, with results of nnz's classes."""

from __future__ import annotations

import functools
from typing import Any

import scipy.sparse as sp

from . import _arrays, _matrices

_FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")

#: nnz's class in place of each of SciPy's.
CLASSES = {
    getattr(sp, name): getattr(module, name)
    for kind, module in (("array", _arrays), ("matrix", _matrices))
    for name in (f"{format}_{kind}" for format in _FORMATS)
}


def of_scipy(module: Any, name: str) -> Any:
    """A name of `scipy.sparse` or a module in it; of a function one whose sparse results are ours."""
    found = getattr(module, name)
    # Those that begin with `is` answer yes or no.
    if isinstance(found, type) or not callable(found) or name.startswith("is"):
        return found

    @functools.wraps(found)
    def call(*arguments: Any, **options: Any) -> Any:
        return ours(found(*arguments, **options))

    # For pickles, which name a function.
    call.__module__, call.__qualname__ = module.__name__.replace("scipy.sparse", "nnz"), name
    return call


def ours(result: Any) -> Any:
    """A sparse array or matrix of SciPy's as nnz's, without a copy; everything else as it is."""
    container = CLASSES.get(type(result))
    return result if container is None else _arrays.retyped(result, container)
