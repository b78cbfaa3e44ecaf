"""The functions of :mod:`scipy.sparse`, with results of nnz's classes."""

from __future__ import annotations

import functools
from typing import Any

from ._arrays import ours


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
