"""Progress of long calls: a bar of tqdm where it is installed, or a function of the caller's."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

#: Called with what is done and with the whole, which is None where it is not known.
Callback: TypeAlias = Callable[[int, "int | None"], None]


@contextmanager
def reporter(progress: bool | Callback | None, what: str, unit: str) -> Iterator[Callback | None]:
    """The function that a call reports to: None for `None` and `False`, and for `True` where there is no tqdm."""
    if callable(progress):
        yield progress
        return
    if not progress or importlib.util.find_spec("tqdm") is None:
        yield None
        return
    from tqdm.auto import tqdm

    with tqdm(desc=what, unit=unit, unit_scale=True) as bar:

        def show(done: int, total: int | None) -> None:
            if bar.total != total:
                bar.reset(total)
            bar.update(done - bar.n)

        yield show
