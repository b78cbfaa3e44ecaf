"""Matrices of a server (`nnz serve`), used as local ones.

>>> import nnz.client, numpy as np, scipy.sparse as sp
>>> c = nnz.client.connect("http://127.0.0.1:8700")
>>> h = c.put(sp.eye_array(3, format="csr"), "identity")
>>> h @ np.ones(3)
array([1., 1., 1.])

Arrays are sent from the memory where they lie and received into that of the result. Requests that were refused because
the server is busy, or whose connection broke, are sent again after a while where that has no effect a second time.
"""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import os
import random
import select
import ssl
import threading
import time
import urllib.parse
import uuid
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

__all__ = [
    "AsyncClient",
    "AsyncJob",
    "AsyncMatrix",
    "Client",
    "IncompleteListWarning",
    "Job",
    "Listing",
    "Matrix",
    "ServerError",
    "connect",
    "connect_async",
]

NPY, NPZ = "application/x-npy", "application/x-npz"

#: Bytes from which a body is a file where files are shared.
LARGE_BODY = 1 << 16


class ServerError(Exception):
    """A request that the server refused: `status`, and the `problem` document with `type` and `detail`."""

    def __init__(self, status: int, problem: dict[str, Any]):
        super().__init__(f"{status}: {problem.get('detail', 'no reason given')}")
        self.status = status
        self.problem = problem


class IncompleteListWarning(UserWarning):
    """A list lacks what is on devices whose worker processes do not answer."""


class Listing(list):
    """A list of matrices or jobs.

    `unavailable` has the `device` and the `detail` of each device of the server that did not answer, and whose matrices
    or jobs are missing.
    """

    def __init__(self, items: Iterable[Any], unavailable: list[dict[str, Any]]):
        super().__init__(items)
        self.unavailable = unavailable


def connect(url: str | None = None, *, token: str | None = None, **options: Any) -> Client:
    """A client of the server at `url`, or that of the variable `NNZ_SERVER`; the options are those of :class:`Client`."""
    url = url or os.environ.get("NNZ_SERVER")
    if not url:
        raise ValueError("a URL such as http://127.0.0.1:8700 is needed, here or in NNZ_SERVER")
    return Client(url, token=token or os.environ.get("NNZ_TOKEN"), **options)


def connect_async(url: str | None = None, **options: Any) -> AsyncClient:
    """As :func:`connect`, for asyncio. SciPy's operators call the server and wait: `sync` of the client has them."""
    return AsyncClient(connect(url, **options))


class Client:
    """Connections to a server, from any number of threads.

    `timeout` is the time in seconds that the server may send nothing, `attempts` how often a request is sent at most,
    and `context` an :class:`ssl.SSLContext` for certificates of one's own. `shared` is the tenant's folder in that of the
    server's `--shared` on the same machine: large bodies and their results are files there, and no bytes of a connection.
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
    ):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise ValueError(f"{url!r} where http://HOST:PORT or https://HOST:PORT is right")
        if token and parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
            raise ValueError("a token is not sent without TLS: https:// is needed")
        self._address = (parts.scheme, parts.hostname, parts.port)
        self._context = context or (ssl.create_default_context() if parts.scheme == "https" else None)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout, self._attempts = timeout, attempts
        self._shared = None if shared is None else Path(shared)
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        scheme, host, port = self._address
        return f"<nnz.client.Client of {scheme}://{host}:{port}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections that are not in use."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def put(
        self,
        a: Any,
        name: str,
        *,
        durable: bool = False,
        pinned: bool = False,
        replace: bool = False,
        ttl: int | None = None,
        labels: dict[str, Any] | None = None,
        device: int | None = None,
    ) -> Matrix:
        """Stores a sparse matrix, or a dense one of two dimensions, as a new version of `name`.

        A `durable` one survives the server, a `pinned` one stays in the device's memory, `replace` drops all
        earlier versions, one with a `ttl` is deleted after so many seconds, and :meth:`list` finds it by its `labels`.
        `device` is the number of the device that has it, where the server has several.
        """
        query = {"durable": int(durable), "pinned": int(pinned), "replace": int(replace)}
        query |= {} if ttl is None else {"ttl": ttl}
        query |= {} if device is None else {"device": device}
        query |= {"labels": _labels(labels)} if labels else {}
        if sp.issparse(a):
            a = a if a.format in ("csr", "csc", "coo") else a.tocsr()
            file = io.BytesIO()
            sp.save_npz(file, a, compressed=False)
            body, media = [file.getbuffer()], NPZ
        else:
            body, media = _npy(np.asarray(a)), NPY
        view = self._request("PUT", f"/v1/matrices/{_quote(name)}", query, body, media)
        return Matrix(self, view)

    def compress(self, stack: Any, name: str, **options: Any) -> Matrix:
        """Stores dense matrices of one shape, `(members, rows, cols)`, as a batch of sparse ones."""
        stack = np.asarray(stack)
        if stack.ndim != 3:
            raise ValueError(f"an array of {stack.ndim} dimensions where 3 are right")
        return self.put(stack, name, **options)

    def get(self, name: str) -> Matrix:
        """The matrix `name`, or `name@version`."""
        return Matrix(self, self._request("GET", f"/v1/matrices/{_quote(name)}"))

    def list(self, labels: dict[str, Any] | None = None) -> Listing:
        """The newest and older versions of all matrices, or of those with all of these labels; None is any value.

        Devices that do not answer are in `unavailable` of the list, with an :class:`IncompleteListWarning`.
        """
        query = {"label": _labels(labels)} if labels else None
        return self._listing("matrices", Matrix, query)

    def delete(self, name: str) -> None:
        """Deletes all versions of `name`, or that of `name@version`."""
        self._request("DELETE", f"/v1/matrices/{_quote(name)}")

    def program(self, steps: list[dict[str, Any]], body: Any = None, **parameters: Any) -> Any:
        """The result of the last of several operations, in one request; the other results stay on the server until then.

        A step has an `operation` and a `matrix`, and may have a `name`, `other`, `operand` and `parameters`. Matrices
        are those of the server, or `"$name"` for the result of an earlier step; the operand is `"$body"` or `"$name"`.
        """
        named = [
            {key: _query(value) if key == "parameters" else _plain(value) for key, value in step.items()}
            for step in steps
        ]
        query = {"program": json.dumps(named, separators=(",", ":"))} | _query(parameters)
        array = None if body is None else _npy(np.asarray(body))
        return _result(self, self._request("POST", "/v1/programs", query, array, NPY))

    def jobs(self) -> Listing:
        """The jobs whose results have not expired, as :meth:`list` has matrices."""
        return self._listing("jobs", Job)

    def _listing(self, kind: str, of: type, query: dict[str, Any] | None = None) -> Listing:
        answer = self._request("GET", f"/v1/{kind}", query)
        unavailable = answer.get("unavailable", [])
        for missing in unavailable:
            message = f"{kind} of device {missing['device']} are missing: {missing['detail']}"
            warnings.warn(message, IncompleteListWarning, stacklevel=3)
        return Listing([of(self, view) for view in answer[kind]], unavailable)

    def status(self) -> dict[str, Any]:
        """The device, its memory and the caller's part of it."""
        return self._request("GET", "/v1/status")

    def _request(
        self,
        method: str,
        path: str,
        query: dict[str, Any] | None = None,
        body: list[Any] | None = None,
        media: str | None = None,
        accept: str = "*/*",
    ) -> Any:
        """The answer, decoded; what may be sent again is."""
        if query:
            path += "?" + urllib.parse.urlencode(query)
        headers = self._headers | {"Accept": accept, "Content-Length": str(sum(map(len, body or [])))}
        if media:
            headers["Content-Type"] = media
        stores = method == "PUT" or "into" in (query or {})
        if stores:
            # The server lets a request with a key take effect once.
            headers["Idempotency-Key"] = uuid.uuid4().hex
        has_effect = method == "DELETE" or ("async" in (query or {}) and not stores)
        for attempt in range(1, self._attempts + 1):
            is_last = attempt == self._attempts
            try:
                if self._shared and sum(map(len, body or [])) >= LARGE_BODY:
                    return self._send_file(self._shared, method, path, headers, body or [])
                return self._send(method, path, headers, body)
            except ServerError as error:
                # Refused requests had no effect; one whose worker process ended may have, and its key is gone.
                may_repeat = error.status == 429 or (error.status == 503 and not has_effect and not stores)
                if not may_repeat or is_last:
                    raise
            except (TimeoutError, ssl.SSLCertVerificationError):
                # The next attempt would take as long, or find the same certificate.
                raise
            except (OSError, http.client.HTTPException):
                if has_effect or is_last:
                    raise
            time.sleep(min(0.05 * 2**attempt, 5.0) * random.uniform(0.5, 1.5))
        raise AssertionError("unreachable")

    def _send_file(self, folder: Path, method: str, path: str, headers: dict[str, str], body: list[Any]) -> Any:
        """As :meth:`_send`, with files in place of the bodies; the result of an operation is mapped."""
        operand, result = (folder / f"{uuid.uuid4().hex}.{kind}" for kind in ("body", "result"))
        try:
            with operand.open("xb") as file:
                file.writelines(body)
            files = {"nnz-body-file": operand.name, "Content-Length": "0"}
            files |= {"nnz-result-file": result.name} if method == "POST" else {}
            answer = self._send(method, path, headers | files, None)
            if not (isinstance(answer, dict) and answer.get("file") == result.name):
                return answer
            if answer["media_type"] == NPY:
                # The array has its memory after the name of the file is gone, too.
                return np.asarray(np.load(result, mmap_mode="c"))
            with result.open("rb") as file:
                return _read_npz(file)
        finally:
            operand.unlink(missing_ok=True)
            result.unlink(missing_ok=True)

    def _send(self, method: str, path: str, headers: dict[str, str], body: list[Any] | None) -> Any:
        connection = self._connection()
        try:
            try:
                connection.request(method, path, body=iter(body or []), headers=headers)
            except (BrokenPipeError, ConnectionResetError):
                # The server may have refused the header: its answer says why.
                pass
            response = connection.getresponse()
            decoded = _decode(response)
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.append(connection)
        if isinstance(decoded, ServerError):
            raise decoded
        return decoded

    def _connection(self) -> http.client.HTTPConnection:
        """An idle connection that the server has not closed, or a new one."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            if connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()
        scheme, host, port = self._address
        if scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._context)
        return http.client.HTTPConnection(host, port, timeout=self._timeout)


class Matrix:
    """One version of a matrix of a server, which never changes."""

    #: NumPy leaves `x @ h` to this class, which refuses it.
    __array_ufunc__ = None

    def __init__(self, client: Client, view: dict[str, Any]):
        self._client = client
        self.view = view
        self.name, self.version = view["name"], view["version"]
        self.nnz, self.members = view["nnz"], view.get("members")
        self.dtype = np.dtype({"f32": "f", "f64": "d", "c32": "F", "c64": "D"}[view["dtype"]])
        #: Of a batch that of all members as blocks of a diagonal.
        self.shape = (view["rows"], view["cols"])

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<{self.label}: {rows} x {cols} of {self.dtype} with {self.nnz} entries on {self._client!r}>"

    @property
    def label(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"

    @property
    def labels(self) -> dict[str, str]:
        """The labels that the matrix had when it was described."""
        return self.view.get("labels", {})

    def set_labels(self, labels: dict[str, Any]) -> None:
        """Gives the matrix these labels in place of those that it has."""
        self.view = self._client._request("PUT", f"{self._path}/labels", {"labels": _labels(labels)})

    @property
    def T(self) -> LinearOperator:  # noqa: N802
        """The transpose, as an operator."""
        return self.aslinearoperator().T

    def __matmul__(self, other: Any) -> Any:
        """The product with a vector or dense columns; with another matrix of the server, one that is fetched."""
        if isinstance(other, Matrix):
            return self.operation("spgemm", other=other)
        if sp.issparse(other):
            raise TypeError("a sparse matrix that is not on the server: put() it there, or to_scipy() this one")
        other = np.asarray(other)
        if self.members and other.ndim == 2 and other.shape[0] == self.members:
            return self._product("spmv", other.reshape(-1)).reshape(self.members, -1)
        return self._product("spmv" if other.ndim == 1 else "spmm", other)

    def _product(self, name: str, x: np.ndarray, **parameters: Any) -> np.ndarray:
        """A product; of a real matrix with complex numbers those of their parts."""
        if np.iscomplexobj(x) and self.dtype.kind != "c":
            real, imaginary = (self.operation(name, part, **parameters) for part in (x.real, x.imag))
            return real + 1j * imaginary
        return self.operation(name, x, **parameters)

    def operation(self, name: str, operand: Any = None, **parameters: Any) -> Any:
        """The result of an operation of the server, such as `norm`, `solve` or `select`, with its parameters.

        Parameters are as Python has them: `alpha=1j`, `rows=[0, 1]`, `other=h`; one that is None is left out.
        An array is a result of NumPy's, a matrix one of SciPy's; with `into="b"` it stays on the server.
        """
        return _result(self._client, self._post(name, operand, parameters))

    def job(self, name: str, operand: Any = None, **parameters: Any) -> Job:
        """As :meth:`operation`, without waiting for the result."""
        return Job(self._client, self._post(name, operand, parameters | {"async": 1}))

    def solve(self, b: Any, **parameters: Any) -> np.ndarray:
        """The solution of `A @ x = b` by iteration: `method`, `tol`, `max_iterations`, `restart`, `preconditioner`."""
        return self.operation("solve", b, **parameters)

    def to_scipy(self) -> Any:
        """The matrix as one of SciPy's; a batch as a list of them."""
        return self._client._request("GET", f"{self._path}/data", accept=NPZ)

    def to_numpy(self) -> np.ndarray:
        """The matrix as a dense array."""
        return self.operation("dense")

    toarray = to_numpy

    def aslinearoperator(self) -> LinearOperator:
        """An operator for SciPy's solvers, whose products the server computes."""
        return LinearOperator(
            self.shape,
            matvec=lambda x: self._product("spmv", x.reshape(-1)),
            rmatvec=lambda x: self._product("spmv", x.reshape(-1), op="c"),
            matmat=lambda x: self._product("spmm", x),
            rmatmat=lambda x: self._product("spmm", x, op="c"),
            dtype=self.dtype,
        )

    def delete(self) -> None:
        """Deletes this version."""
        self._client.delete(self.label)

    @property
    def _path(self) -> str:
        return f"/v1/matrices/{_quote(self.label)}"

    def _post(self, name: str, operand: Any, parameters: dict[str, Any]) -> Any:
        query = _query(parameters)
        body = None if operand is None else _npy(np.asarray(operand))
        return self._client._request("POST", f"{self._path}/{_quote(name)}", query, body, NPY)


class Job:
    """An operation that goes on without its client."""

    def __init__(self, client: Client, view: dict[str, Any]):
        self._client = client
        self.id = view["id"]
        self.view = view

    def __repr__(self) -> str:
        return f"<job {self.id}: {self.view['operation']} of {self.view['matrix']}, {self.view['state']}>"

    def refresh(self, wait: float = 0.0) -> dict[str, Any]:
        """State, progress and log, at the end of the job or after `wait` seconds."""
        self.view = self._client._request("GET", f"/v1/jobs/{self.id}", {"wait": wait} if wait else None)
        return self.view

    def result(self) -> Any:
        """Waits for the end of the job, and fetches its result."""
        # The server answers at the end of the wait, before the connection times out.
        wait = min(20.0, self._client._timeout / 2)
        while self.refresh(wait=wait)["state"] in ("queued", "running"):
            pass
        return _result(self._client, self._client._request("GET", f"/v1/jobs/{self.id}/result"))

    def cancel(self) -> None:
        """Stops the job, and forgets its result."""
        self._client._request("DELETE", f"/v1/jobs/{self.id}")


class AsyncClient:
    """A :class:`Client` for asyncio: requests run on threads, and others go on meanwhile."""

    def __init__(self, client: Client):
        self.sync = client

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.sync.close()

    async def close(self) -> None:
        """As :meth:`Client.close`."""
        self.sync.close()

    async def put(self, a: Any, name: str, **options: Any) -> AsyncMatrix:
        """As :meth:`Client.put`."""
        return AsyncMatrix(await asyncio.to_thread(self.sync.put, a, name, **options))

    async def compress(self, stack: Any, name: str, **options: Any) -> AsyncMatrix:
        """As :meth:`Client.compress`."""
        return AsyncMatrix(await asyncio.to_thread(self.sync.compress, stack, name, **options))

    async def get(self, name: str) -> AsyncMatrix:
        """As :meth:`Client.get`."""
        return AsyncMatrix(await asyncio.to_thread(self.sync.get, name))

    async def list(self, labels: dict[str, Any] | None = None) -> Listing:
        """As :meth:`Client.list`."""
        found = await asyncio.to_thread(self.sync.list, labels)
        return Listing(map(AsyncMatrix, found), found.unavailable)

    async def delete(self, name: str) -> None:
        """As :meth:`Client.delete`."""
        await asyncio.to_thread(self.sync.delete, name)

    async def program(self, steps: list[dict[str, Any]], body: Any = None, **parameters: Any) -> Any:
        """As :meth:`Client.program`."""
        matrix = lambda value: value.sync if isinstance(value, AsyncMatrix) else value  # noqa: E731
        named = [{key: matrix(value) for key, value in step.items()} for step in steps]
        return _async(await asyncio.to_thread(self.sync.program, named, body, **parameters))

    async def jobs(self) -> Listing:
        """As :meth:`Client.jobs`."""
        found = await asyncio.to_thread(self.sync.jobs)
        return Listing(map(AsyncJob, found), found.unavailable)

    async def status(self) -> dict[str, Any]:
        """As :meth:`Client.status`."""
        return await asyncio.to_thread(self.sync.status)


class AsyncMatrix:
    """A :class:`Matrix` for asyncio: `await (h @ x)`. What is known of it needs no request: `h.shape`, `h.labels`."""

    __array_ufunc__ = None

    _KNOWN = ("name", "version", "label", "labels", "view", "nnz", "members", "dtype", "shape")

    def __init__(self, matrix: Matrix):
        self.sync = matrix

    def __repr__(self) -> str:
        return repr(self.sync)

    def __getattr__(self, name: str) -> Any:
        if name in self._KNOWN:
            return getattr(self.sync, name)
        raise AttributeError(f"AsyncMatrix has no {name!r}: `sync` has what a Matrix has")

    async def __matmul__(self, other: Any) -> Any:
        return await asyncio.to_thread(self.sync.__matmul__, other.sync if isinstance(other, AsyncMatrix) else other)

    async def operation(self, name: str, operand: Any = None, **parameters: Any) -> Any:
        """As :meth:`Matrix.operation`."""
        return _async(await asyncio.to_thread(self.sync.operation, name, operand, **parameters))

    async def job(self, name: str, operand: Any = None, **parameters: Any) -> AsyncJob:
        """As :meth:`Matrix.job`."""
        return AsyncJob(await asyncio.to_thread(self.sync.job, name, operand, **parameters))

    async def solve(self, b: Any, **parameters: Any) -> np.ndarray:
        """As :meth:`Matrix.solve`."""
        return await asyncio.to_thread(self.sync.solve, b, **parameters)

    async def to_numpy(self) -> np.ndarray:
        """As :meth:`Matrix.to_numpy`."""
        return await asyncio.to_thread(self.sync.to_numpy)

    toarray = to_numpy

    async def delete(self) -> None:
        """As :meth:`Matrix.delete`."""
        await asyncio.to_thread(self.sync.delete)

    async def set_labels(self, labels: dict[str, Any]) -> None:
        """As :meth:`Matrix.set_labels`."""
        await asyncio.to_thread(self.sync.set_labels, labels)

    async def to_scipy(self) -> Any:
        """As :meth:`Matrix.to_scipy`."""
        return await asyncio.to_thread(self.sync.to_scipy)


class AsyncJob:
    """A :class:`Job` for asyncio."""

    def __init__(self, job: Job):
        self.sync = job

    def __repr__(self) -> str:
        return repr(self.sync)

    @property
    def id(self) -> str:
        """The job's id."""
        return self.sync.id

    async def refresh(self, wait: float = 0.0) -> dict[str, Any]:
        """As :meth:`Job.refresh`."""
        return await asyncio.to_thread(self.sync.refresh, wait)

    async def result(self) -> Any:
        """As :meth:`Job.result`."""
        return _async(await asyncio.to_thread(self.sync.result))

    async def cancel(self) -> None:
        """As :meth:`Job.cancel`."""
        await asyncio.to_thread(self.sync.cancel)


def _async(result: Any) -> Any:
    return AsyncMatrix(result) if isinstance(result, Matrix) else result


def _quote(name: str) -> str:
    return urllib.parse.quote(name, safe="@")


def _query(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as the server reads them, without those that are None."""
    return {key: _plain(value) for key, value in parameters.items() if value is not None}


def _plain(value: Any) -> Any:
    """A parameter as a number or a text: matrices by their labels, lists with commas, complex numbers as `re,im`."""
    if isinstance(value, AsyncMatrix):
        value = value.sync
    if isinstance(value, Matrix):
        return value.label
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, complex):
        return f"{value.real!r},{value.imag!r}"
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return ",".join(str(_plain(item)) for item in value)
    return value


def _result(client: Client, result: Any) -> Any:
    """A result as it is; of one that was stored, its matrix."""
    is_stored = isinstance(result, dict) and "version" in result and "name" in result
    return Matrix(client, result) if is_stored else result


def _labels(labels: dict[str, Any]) -> str:
    """`key=value,key`, which the server takes apart again."""
    for key, value in labels.items():
        if any(sign in f"{key}{'' if value is None else value}" for sign in ",="):
            raise ValueError(f"label {key!r}: {value!r}: letters, digits, `.`, `_` and `-` are right")
    return ",".join(key if value is None else f"{key}={value}" for key, value in labels.items())


def _npy(a: np.ndarray) -> list[Any]:
    """The parts of an `.npy` file: the header, and the array's own memory where it is contiguous."""
    if not (a.flags.c_contiguous or a.flags.f_contiguous):
        a = np.ascontiguousarray(a)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(a))
    flat = a.reshape(-1, order="A" if a.flags.c_contiguous else "F")
    return [header.getvalue(), *([flat.view(np.uint8).data] if a.size else [])]


def _decode(response: http.client.HTTPResponse) -> Any:
    """The value of an answer: an array, a matrix, or what JSON says; of a refusal the error, not raised."""
    media = response.headers.get_content_type()
    if response.status >= 400:
        text = response.read()
        problem = json.loads(text) if media == "application/problem+json" else {"detail": text.decode(errors="replace")}
        return ServerError(response.status, problem)
    if media == NPY:
        return _read_npy(response)
    if media == NPZ:
        return _read_npz(io.BytesIO(response.read()))
    text = response.read()
    return json.loads(text) if text else None


def _read_npz(file: IO[bytes]) -> Any:
    """A matrix of SciPy's, or a list of those of a batch."""
    with np.load(file) as arrays:
        make = {b"batch_csr": sp.csr_array, b"batch_csc": sp.csc_array}.get(arrays["format"].item())
        if make is None:
            file.seek(0)
            return sp.load_npz(file)
        count, *shape = arrays["shape"].tolist()
        starts, offsets = arrays["member_ptr"].tolist(), arrays["indptr"].reshape(count, -1)
        members = [slice(*ends) for ends in zip(starts, starts[1:], strict=False)]
        data, indices = arrays["data"], arrays["indices"]
    return [make((data[at], indices[at], offsets[k]), shape=tuple(shape)) for k, at in enumerate(members)]


def _read_npy(response: http.client.HTTPResponse) -> np.ndarray:
    """An array whose bytes are received into its own memory."""
    np.lib.format.read_magic(response)
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(response)
    flat = np.empty(int(np.prod(shape)), dtype)
    view, received = memoryview(flat.view(np.uint8)), 0
    while received < len(view):
        read = response.readinto(view[received:])
        if not read:
            raise http.client.IncompleteRead(b"", len(view) - received)
        received += read
    response.read()
    return flat.reshape(shape, order="F" if is_fortran else "C")
