"""The client for asyncio: requests run on threads, and others go on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ._methods import ClientMethods, JobMethods, MatrixMethods
from ._sync import Client, Job, Matrix


class AsyncClient(ClientMethods):
    """A :class:`Client` whose requests are awaited; `sync` is that client."""

    def __init__(self, client: Client):
        self.sync = client
        self._connections = client._connections

    def __repr__(self) -> str:
        return f"<nnz.client.AsyncClient of {self.sync.url}>"

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """As :meth:`Client.close`."""
        self.sync.close()

    async def _run(self, call: Callable[[], Any]) -> Any:
        return await asyncio.to_thread(call)

    def _matrix(self, view: dict[str, Any]) -> AsyncMatrix:
        return AsyncMatrix(self, view)

    def _job(self, view: dict[str, Any]) -> AsyncJob:
        return AsyncJob(self, view)


class AsyncMatrix(MatrixMethods):
    """A :class:`Matrix` whose requests are awaited: `await (h @ x)`. What is known of it needs none: `h.shape`."""

    _client: AsyncClient

    @property
    def sync(self) -> Matrix:
        """The matrix with what SciPy calls and waits for: `T` and `aslinearoperator`."""
        return Matrix(self._client.sync, self.view)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"AsyncMatrix has no {name!r}: `sync` has what a Matrix has")


class AsyncJob(JobMethods):
    """A :class:`Job` whose requests are awaited."""

    _client: AsyncClient

    @property
    def sync(self) -> Job:
        """The job, which waits."""
        return Job(self._client.sync, self.view)
