"""The requests of a client, a matrix and a job, each described once for both kinds of client."""

from __future__ import annotations

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from . import _cuda
from ._bodies import NPY, NPZ, body_of, npy
from ._connections import Connections
from ._requests import ConvergenceWarning, IncompleteListWarning, Listing, Request, exchange, labels_text, plain, query_of, quote
from ._transpose import Transpose, on_host, sparse_product


class ClientMethods(ABC):
    """The requests of a client."""

    _connections: Connections

    @abstractmethod
    def _run(self, call: Callable[[], Any]) -> Any:
        """The result of a call that waits for the server."""

    @abstractmethod
    def _matrix(self, view: dict[str, Any]) -> MatrixMethods: ...

    @abstractmethod
    def _job(self, view: dict[str, Any]) -> JobMethods: ...

    def _send(self, request: Request) -> Any:
        return self._connections.send(request)

    @exchange
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
        parts: int | None = None,
        resumable: bool = False,
    ) -> MatrixMethods:
        """Stores a sparse matrix, or a dense one of two dimensions, as a new version of `name`.

        A `durable` one survives the server, a `pinned` one stays in the device's memory, `replace` drops all
        earlier versions, one with a `ttl` is deleted after so many seconds, and :meth:`list` finds it by its `labels`.
        `device` is the number of the device that has it, where the server has several, and `parts` divides the rows of
        a sparse one among so many: `@` multiplies it. A `resumable` upload goes on where it was when a connection
        breaks; the server puts it into a file first.

        A sparse matrix of CuPy or PyTorch on a GPU is copied there, where the server runs on the same machine and has
        that GPU (`--cuda-ipc on`).
        """
        query: dict[str, Any] = {"durable": int(durable), "pinned": int(pinned), "replace": int(replace), "ttl": ttl, "device": device}
        query |= {"labels": labels_text(labels) if labels else None, "parts": parts}
        on_gpu = _cuda.csr_arrays(a)
        # Rows are read from a file of CSR alone.
        a = a.tocsr() if parts and sp.issparse(a) else a
        body, media = (_cuda.csr_body(a.shape, on_gpu), _cuda.CUDA) if on_gpu else body_of(a)
        request = Request("PUT", f"/v1/matrices/{quote(name)}", query_of(query), body, media)
        send = self._connections.send_in_parts if resumable else self._send
        return self._matrix(send(request))

    def compress(self, stack: Any, name: str, **options: Any) -> Any:
        """Stores dense matrices of one shape, `(members, rows, cols)`, as a batch of sparse ones."""
        stack = np.asarray(stack)
        if stack.ndim != 3:
            raise ValueError(f"an array of {stack.ndim} dimensions where 3 are right")
        return self.put(stack, name, **options)

    @exchange
    def get(self, name: str) -> MatrixMethods:
        """The matrix of a `name`, a `name@version` or an alias."""
        return self._matrix(self._send(Request("GET", f"/v1/matrices/{quote(name)}")))

    @exchange
    def list(self, labels: dict[str, Any] | None = None) -> Listing:
        """The newest and older versions of all matrices, or of those with all of these labels; None is any value.

        Devices that do not answer are in `unavailable` of the list, with an :class:`IncompleteListWarning`.
        """
        return self._listing("matrices", self._matrix, {"label": labels_text(labels)} if labels else {})

    @exchange
    def delete(self, name: str) -> None:
        """Deletes all versions of `name`, or that of `name@version`."""
        self._send(Request("DELETE", f"/v1/matrices/{quote(name)}"))

    @exchange
    def alias(self, name: str, matrix: Any, *, durable: bool = False, expected: Any = None) -> None:
        """Points the alias `name` to a matrix: `"a"`, whose newest version is meant, `"a@3"`, or a matrix of the server.

        It moves there in one step; with `expected` only if that is the matrix to which it points now. A `durable` alias
        survives the server. :meth:`get` takes an alias for a name.
        """
        headers = {} if expected is None else {"If-Match": f'"{plain(expected)}"'}
        query = {"to": plain(matrix), "durable": int(durable)}
        self._send(Request("PUT", f"/v1/aliases/{quote(name)}", query, headers=headers))

    @exchange
    def aliases(self) -> dict[str, str]:
        """The matrix to which each alias points: `{"best": "a@3"}`."""
        found = self._send(Request("GET", "/v1/aliases"))["aliases"]
        return {alias["name"]: alias["target"] for alias in found}

    @exchange
    def delete_alias(self, name: str) -> None:
        """Forgets an alias; the matrix stays."""
        self._send(Request("DELETE", f"/v1/aliases/{quote(name)}"))

    @exchange
    def program(self, /, steps: Sequence[dict[str, Any]], body: Any = None, **parameters: Any) -> Any:
        """The result of the last of several operations, in one request; the other results stay on the server until then.

        A step has an `operation` and a `matrix`, and may have a `name`, `other`, `operand` and `parameters`. Matrices
        are those of the server, or `"$name"` for the result of an earlier step; the operand is `"$body"` or `"$name"`.
        """
        return self._program(steps, body, parameters)

    def _program(self, steps: Sequence[dict[str, Any]], body: Any, parameters: dict[str, Any]) -> Any:
        named = [
            {key: query_of(value) if key == "parameters" else plain(value) for key, value in step.items()}
            for step in steps
        ]
        query = {"program": json.dumps(named, separators=(",", ":"))} | query_of(parameters)
        array = [] if body is None else npy(np.asarray(body))
        return self._result(self._send(Request("POST", "/v1/programs", query, array, NPY)))

    @exchange
    def jobs(self) -> Listing:
        """The jobs whose results have not expired, as :meth:`list` has matrices."""
        return self._listing("jobs", self._job, {})

    @exchange
    def status(self) -> dict[str, Any]:
        """The device, its memory and the caller's part of it."""
        return self._send(Request("GET", "/v1/status"))

    def _listing(self, kind: str, make: Callable[[dict[str, Any]], Any], query: dict[str, Any]) -> Listing:
        answer = self._send(Request("GET", f"/v1/{kind}", query))
        unavailable = answer.get("unavailable", [])
        for missing in unavailable:
            message = f"{kind} of device {missing['device']} are missing: {missing['detail']}"
            warnings.warn(message, IncompleteListWarning, stacklevel=5)
        return Listing([make(view) for view in answer[kind]], unavailable)

    def _result(self, result: Any) -> Any:
        """A result as it is; of one that was stored, its matrix."""
        is_stored = isinstance(result, dict) and "version" in result and "name" in result
        return self._matrix(result) if is_stored else result


class MatrixMethods:
    """One version of a matrix of a server, which never changes."""

    #: NumPy leaves `x @ h` to this class.
    __array_ufunc__ = None

    def __init__(self, client: ClientMethods, view: dict[str, Any]):
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

    def __array__(self, *_: Any, **__: Any) -> Any:
        # NumPy would make an array of one object of it.
        raise TypeError("the matrix is on the server, and not copied by itself: to_numpy() or to_scipy() does it")

    def _run(self, call: Callable[[], Any]) -> Any:
        return self._client._run(call)

    @property
    def label(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"

    @property
    def labels(self) -> dict[str, str]:
        """The labels that the matrix had when it was described."""
        return self.view.get("labels", {})

    @exchange
    def set_labels(self, labels: dict[str, Any]) -> None:
        """Gives the matrix these labels in place of those that it has."""
        self.view = self._client._send(Request("PUT", f"{self._path}/labels", {"labels": labels_text(labels)}))

    @exchange
    def __matmul__(self, other: Any) -> Any:
        """The product with a vector or dense columns; with another matrix of the server, one that is fetched.

        Each matrix of a batch is multiplied by its row of `(members, n)`, its matrix of `(members, n, columns)`, or its
        matrix of another batch. An array on a GPU is read there, and so is the result, one of the same library: see
        :meth:`put`.
        """
        if isinstance(other, (MatrixMethods, Transpose)):
            return sparse_product(self, other)
        if sp.issparse(other):
            raise on_host()
        if isinstance(other, LinearOperator):
            raise TypeError("an operator, whose product is an operator: aslinearoperator() @ it makes one")
        if _cuda.is_on_gpu(other):
            return self._product_on_gpu(other)
        other = np.asarray(other)
        if self.members and other.ndim == 2 and other.shape[0] == self.members:
            return self._product("spmv", other.reshape(-1)).reshape(self.members, -1)
        if self.members and other.ndim == 3:
            return self._product("spmm", other, member="all")
        return self._product("spmv" if other.ndim == 1 else "spmm", other)

    def dot(self, other: Any) -> Any:
        """`@`, by its name in NumPy."""
        return self @ other

    @exchange
    def __rmatmul__(self, other: Any) -> Any:
        """The product of a vector or dense rows with the matrix; see :meth:`__matmul__`."""
        if sp.issparse(other):
            raise on_host()
        other = np.asarray(other)
        return self._product("spmv", other, op="t") if other.ndim == 1 else self._product("spmm", other.T, op="t").T

    def _product(self, name: str, x: np.ndarray, **parameters: Any) -> np.ndarray:
        """A product; of a real matrix with complex numbers those of their parts."""
        if self._is_in_parts(x):
            real, imaginary = (self._operation(name, part, **parameters) for part in real_and_imaginary(x))
            return real + 1j * imaginary
        return self._operation(name, x, **parameters)

    def _product_on_gpu(self, x: Any) -> Any:
        """A product with an array on the GPU of the server, written to another there."""
        name, result = "spmv" if x.ndim == 1 else "spmm", _cuda.empty_beside(x, (self.shape[0], *x.shape[1:]), self.dtype)
        request = Request("POST", f"{self._path}/{name}", {}, _cuda.array_body(x), _cuda.CUDA)
        request.headers[_cuda.RESULT] = json.dumps(_cuda.describe(result))
        self._client._send(request)
        return result

    @exchange
    def operation(self, /, name: str, operand: Any = None, **parameters: Any) -> Any:
        """The result of an operation of the server, such as `norm`, `solve` or `select`, with its parameters.

        Parameters are as Python has them: `alpha=1j`, `rows=[0, 1]`, `other=h`; one that is None is left out.
        An array is a result of NumPy's, a matrix one of SciPy's; with `into="b"` it stays on the server.
        """
        return self._operation(name, operand, **parameters)

    def each(self, name: str, operand: Any = None, **parameters: Any) -> Any:
        """As :meth:`operation`, for each matrix of a batch in one request.

        The first dimension of `operand` is that of the batch, or 1 for one that all have. Arrays of the results have
        that dimension, too; matrices and numbers are lists. `other` is a batch, too, or one matrix for all.
        """
        return self.operation(name, operand, member="all", **parameters)

    @exchange
    def job(self, /, name: str, operand: Any = None, **parameters: Any) -> JobMethods:
        """As :meth:`operation`, without waiting for the result."""
        return self._client._job(self._post(name, operand, parameters | {"async": 1}))

    @exchange
    def solve(self, /, b: Any, **parameters: Any) -> Any:
        """The solution of `A @ x = b` by iteration: `method`, `tol`, `max_iterations`, `restart`, `preconditioner`.

        Where the iteration ends before it has converged, x is its last one, with a :class:`ConvergenceWarning`. Of a real
        matrix and complex numbers the solutions for their parts, one after the other.
        """
        x, report = self._solve(b, parameters)
        # A dry run has none.
        if not report.get("converged", True):
            message = f"{self.label}: not converged in {report['iterations']} iterations, residual {report['relative_residual']} of b"
            warnings.warn(message, ConvergenceWarning, stacklevel=5)
        return x

    @exchange
    def solve_with_report(self, /, b: Any, **parameters: Any) -> tuple[np.ndarray, dict[str, Any]]:
        """As :meth:`solve`, without the warning: `converged`, `iterations` and `relative_residual` of the worst column."""
        return self._solve(b, parameters)

    @exchange
    def to_scipy(self) -> Any:
        """The matrix as one of SciPy's; a batch as a list of them."""
        return self._client._send(Request("GET", f"{self._path}/data", accept=NPZ))

    def to_numpy(self) -> Any:
        """The matrix as a dense array."""
        return self.operation("dense")

    toarray = to_numpy

    def delete(self) -> Any:
        """Deletes this version."""
        return self._client.delete(self.label)

    @property
    def _path(self) -> str:
        return f"/v1/matrices/{quote(self.label)}"

    def _is_in_parts(self, x: Any) -> bool:
        """True for complex numbers of which a real matrix takes the real and the imaginary parts by themselves."""
        return np.iscomplexobj(x) and self.dtype.kind != "c"

    def _solve(self, b: Any, parameters: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        if self._is_in_parts(b):
            (real, first), (imaginary, second) = (self._solve(part, parameters) for part in real_and_imaginary(b))
            return real + 1j * imaginary, worse(first, second)
        x, headers = self._client._connections.send_for_headers(self._request("solve", b, parameters))
        return x, json.loads(headers.get("nnz-solution", "{}"))

    def _operation(self, name: str, operand: Any = None, **parameters: Any) -> Any:
        return self._client._result(self._post(name, operand, parameters))

    def _post(self, name: str, operand: Any, parameters: dict[str, Any]) -> Any:
        return self._client._send(self._request(name, operand, parameters))

    def _request(self, name: str, operand: Any, parameters: dict[str, Any]) -> Request:
        body = [] if operand is None else npy(np.asarray(operand))
        return Request("POST", f"{self._path}/{quote(name)}", query_of(parameters), body, NPY)


def real_and_imaginary(x: Any) -> tuple[np.ndarray, np.ndarray]:
    """The real and the imaginary parts of an array."""
    return np.real(x), np.imag(x)


def worse(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The end of two iterations, as that of the worse one."""
    # NaN, which is a text in JSON, is worse than any number.
    residuals = (first["relative_residual"], second["relative_residual"])
    return first | {
        "converged": first["converged"] and second["converged"],
        "iterations": max(first["iterations"], second["iterations"]),
        "relative_residual": max(residuals, key=lambda residual: (np.isnan(float(residual)), float(residual))),
    }


class JobMethods:
    """An operation that goes on without its client."""

    def __init__(self, client: ClientMethods, view: dict[str, Any]):
        self._client = client
        self.id = view["id"]
        self.view = view

    def __repr__(self) -> str:
        return f"<job {self.id}: {self.view['operation']} of {self.view['matrix']}, {self.view['state']}>"

    def _run(self, call: Callable[[], Any]) -> Any:
        return self._client._run(call)

    @exchange
    def refresh(self, wait: float = 0.0) -> dict[str, Any]:
        """State, progress and log, at the end of the job or after `wait` seconds."""
        return self._refresh(wait)

    @exchange
    def result(self) -> Any:
        """Waits for the end of the job, and fetches its result."""
        # The server answers at the end of the wait, before the connection times out.
        wait = min(20.0, self._client._connections.timeout / 2)
        while self._refresh(wait)["state"] in ("queued", "running"):
            pass
        return self._client._result(self._client._send(Request("GET", f"/v1/jobs/{self.id}/result")))

    @exchange
    def cancel(self) -> None:
        """Stops the job, and forgets its result."""
        self._client._send(Request("DELETE", f"/v1/jobs/{self.id}"))

    def _refresh(self, wait: float) -> dict[str, Any]:
        self.view = self._client._send(Request("GET", f"/v1/jobs/{self.id}", {"wait": wait} if wait else {}))
        return self.view
