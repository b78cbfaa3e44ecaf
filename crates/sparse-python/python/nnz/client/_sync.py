"""The client that waits for its answers."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from typing import Any

from scipy.sparse.linalg import LinearOperator

from ._connections import Connections
from ._methods import ClientMethods, JobMethods, MatrixMethods
from ._transpose import Transpose


class Client(ClientMethods):
    """Connections to a server, from any number of threads.

    `timeout` is the time in seconds that the server may send nothing, `attempts` how often a request is sent at most,
    and `context` an :class:`ssl.SSLContext` for certificates of one's own. `shared` is the tenant's folder in that of the
    server's `--shared` on the same machine: large bodies and their results are files there, and no bytes of a connection.
    `descriptors` is the socket of its `--descriptors` on the same machine: they are in memory that is passed by it.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 660.0,
        attempts: int = 6,
        context: ssl.SSLContext | None = None,
        shared: str | os.PathLike[str] | None = None,
        descriptors: str | os.PathLike[str] | None = None,
    ):
        self._connections = Connections(url, token, timeout, attempts, context, shared, descriptors)

    def __repr__(self) -> str:
        return f"<nnz.client.Client of {self.url}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._connections.url

    def close(self) -> None:
        """Closes the connections that are not in use."""
        self._connections.close()

    def _run(self, call: Callable[[], Any]) -> Any:
        return call()

    def _matrix(self, view: dict[str, Any]) -> Matrix:
        return Matrix(self, view)

    def _job(self, view: dict[str, Any]) -> Job:
        return Job(self, view)


class Matrix(MatrixMethods):
    __doc__ = MatrixMethods.__doc__
    _client: Client

    @property
    def T(self) -> Transpose:  # noqa: N802
        """The transpose, as an operator that multiplies matrices of the server, too."""
        return Transpose(self)

    def aslinearoperator(self) -> LinearOperator:
        """An operator for SciPy's solvers, whose products the server computes."""
        by = {"matvec": self.matvec, "rmatvec": self.rmatvec}
        by |= {"matmat": lambda x: self._product("spmm", x), "rmatmat": lambda x: self._product("spmm", x, op="c")}
        return LinearOperator(self.shape, dtype=self.dtype, **by)

    def matvec(self, x: Any) -> Any:
        """A·x, as linear operators of SciPy have it: its functions take the matrix as one."""
        return self._product("spmv", x.reshape(-1))

    def rmatvec(self, x: Any) -> Any:
        """Aᴴ·x."""
        return self._product("spmv", x.reshape(-1), op="c")


class Job(JobMethods):
    __doc__ = JobMethods.__doc__
