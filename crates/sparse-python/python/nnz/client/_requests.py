"""Requests as they are described once, and sent by either client: at once, or for asyncio in a thread."""

from __future__ import annotations

import functools
import urllib.parse
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np


class ServerError(Exception):
    """A request that the server refused: `status`, and the `problem` document with `type` and `detail`."""

    def __init__(self, status: int, problem: dict[str, Any]):
        super().__init__(f"{status}: {problem.get('detail', 'no reason given')}")
        self.status = status
        self.problem = problem

    @property
    def is_not_finished(self) -> bool:
        """True if what was asked for is at work."""
        return self.problem.get("type") == "urn:nnz:problem:not-finished"


class IncompleteListWarning(UserWarning):
    """A list lacks what is on devices whose worker processes do not answer."""


class ConvergenceWarning(UserWarning):
    """A solution is the last x of an iteration that has not converged."""


class Listing(list[Any]):
    """A list of matrices or jobs.

    `unavailable` has the `device` and the `detail` of each device of the server that did not answer, and whose matrices
    or jobs are missing.
    """

    def __init__(self, items: Iterable[Any], unavailable: list[dict[str, Any]]):
        super().__init__(items)
        self.unavailable = unavailable


@dataclass
class Request:
    """A request to a server. The body is in parts, each of which stays where it lies."""

    method: str
    path: str
    query: dict[str, Any] = field(default_factory=dict)
    body: list[Any] = field(default_factory=list)
    media: str | None = None
    accept: str = "*/*"
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Path and query."""
        return f"{self.path}?{urllib.parse.urlencode(self.query)}" if self.query else self.path

    @property
    def length(self) -> int:
        """Bytes of the body."""
        return sum(map(len, self.body))

    @property
    def stores(self) -> bool:
        """True if it makes a version of a matrix, once for each key."""
        is_upload = self.method == "PUT" and self.path.startswith("/v1/matrices/")
        return is_upload or "into" in self.query

    @property
    def has_effect(self) -> bool:
        """True if it may not be sent again once the server may have it."""
        is_job = "async" in self.query and not self.stores
        return self.method == "DELETE" or is_job or "If-Match" in self.headers


class _Runs(Protocol):
    """A client, a matrix or a job, which runs what sends requests."""

    def _run(self, call: Callable[[], Any]) -> Any: ...


_Owner = TypeVar("_Owner", bound=_Runs)
_P = ParamSpec("_P")


def exchange(method: Callable[Concatenate[_Owner, _P], Any]) -> Callable[Concatenate[_Owner, _P], Any]:
    """A method that sends requests and waits for their answers. With asyncio it is awaited, and runs in a thread."""

    @functools.wraps(method)
    def call(owner: _Owner, /, *arguments: _P.args, **options: _P.kwargs) -> Any:
        return owner._run(functools.partial(method, owner, *arguments, **options))

    return call


def quote(name: str) -> str:
    """A name as a part of an address."""
    return urllib.parse.quote(name, safe="@")


def query_of(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as the server reads them, without those that are None."""
    return {key: plain(value) for key, value in parameters.items() if value is not None}


def plain(value: Any) -> Any:
    """A parameter as a number or a text: matrices by their labels, lists with commas, complex numbers as `re,im`.

    A mask is the list of its true elements, a list of nothing an empty range, and a slice a range, whose end has to be given.
    """
    if hasattr(value, "_client") and hasattr(value, "label"):
        return value.label
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, complex):
        return f"{value.real!r},{value.imag!r}"
    if isinstance(value, slice):
        step = 1 if value.step is None else value.step
        start = (0 if step > 0 else -1) if value.start is None else value.start
        if value.stop is None or min(start, value.stop) < 0:
            raise ValueError(f"{value} where a slice with a stop, and without negative ends, is right")
        value = range(start, value.stop, step)
    if isinstance(value, range) and value.step == 1 and value.start >= 0:
        return f"{value.start}..{value.stop}" if value else "0..0"
    if isinstance(value, (list, tuple, range, np.ndarray)):
        items = np.flatnonzero(value) if np.asarray(value).dtype == bool else value
        return ",".join(str(plain(item)) for item in items) or "0..0"
    return value


def labels_text(labels: dict[str, Any]) -> str:
    """`key=value,key`, which the server takes apart again."""
    for key, value in labels.items():
        if any(sign in f"{key}{'' if value is None else value}" for sign in ",="):
            raise ValueError(f"label {key!r}: {value!r}: letters, digits, `.`, `_` and `-` are right")
    return ",".join(key if value is None else f"{key}={value}" for key, value in labels.items())
