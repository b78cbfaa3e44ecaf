"""Connections to a server, from any number of threads, and what is sent again on another one."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import select
import socket
import ssl
import threading
import time
import urllib.parse
import uuid
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from ._bodies import NPY, decode, from_offset, read_npz
from ._requests import Request, ServerError

#: Bytes from which a body is a file where files are shared.
LARGE_BODY = 1 << 16

#: Errors after which another attempt would take as long, or find the same certificate.
_FINAL = (TimeoutError, ssl.SSLCertVerificationError)


#: The connections of this process.
_all: weakref.WeakSet[Connections] = weakref.WeakSet()


def _begin_all() -> None:
    for connections in _all:
        connections._begin()


if hasattr(os, "register_at_fork"):
    # Two processes that share a connection read each other's answers.
    os.register_at_fork(after_in_child=_begin_all)


class Connections:
    """Connections to the server at `url`; the options are those of :class:`nnz.client.Client`."""

    def __init__(
        self,
        url: str,
        token: str | None,
        timeout: float,
        attempts: int,
        context: ssl.SSLContext | None,
        shared: str | os.PathLike[str] | None,
        descriptors: str | os.PathLike[str] | None,
    ):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise ValueError(f"{url!r} where http://HOST:PORT or https://HOST:PORT is right")
        if token and parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "::1", "localhost"):
            raise ValueError("a token is not sent without TLS: https:// is needed")
        if shared is not None and descriptors is not None:
            raise ValueError("shared and descriptors: one of the two is needed")
        self.scheme, self.host, self.port = parts.scheme, parts.hostname, parts.port
        self.timeout = timeout
        self._context = context or (ssl.create_default_context() if parts.scheme == "https" else None)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._attempts = attempts
        self._shared = None if shared is None else Path(shared)
        self._descriptors = None if descriptors is None else os.fspath(descriptors)
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        """Begins without connections. A process that was forked leaves those that it has to its parent."""
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def __reduce__(self) -> Any:
        raise TypeError("a client and its matrices are neither pickled nor copied: connect() and get() again")

    @property
    def url(self) -> str:
        """`scheme://host:port`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + (f":{self.port}" if self.port else "")

    def close(self) -> None:
        """Closes the connections that are not in use."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def send(self, request: Request) -> Any:
        """The answer, decoded; what may be sent again is."""
        return self.send_for_headers(request)[0]

    def send_for_headers(self, request: Request) -> tuple[Any, Any]:
        """As :meth:`send`: the answer, and its headers."""
        headers = self._headers_of(request)
        if request.stores:
            # The server lets a request with a key take effect once.
            headers["Idempotency-Key"] = uuid.uuid4().hex
        for attempt in range(1, self._attempts + 1):
            is_last = attempt == self._attempts
            try:
                if self._shared and request.length >= LARGE_BODY:
                    return self._send_file(self._shared, request, headers)
                if self._descriptors and request.length >= LARGE_BODY:
                    return self._send_descriptors(self._descriptors, request, headers)
                return self._send_once(request, headers, request.body)
            except ServerError as error:
                # Refused requests had no effect, or an earlier attempt is at work; one whose worker process ended may
                # have had one, and its key is gone.
                may_repeat = error.status == 429 or (request.stores and error.is_not_finished) or (
                    error.status == 503 and not request.has_effect and not request.stores
                )
                if not may_repeat or is_last:
                    raise
            except _FINAL:
                raise
            except (OSError, http.client.HTTPException):
                if request.has_effect or is_last:
                    raise
            _wait(attempt)
        raise AssertionError("unreachable")

    def send_in_parts(self, request: Request) -> Any:
        """As :meth:`send`; where a connection breaks, the body goes on behind the bytes that the server has."""
        begin = Request("POST", "/v1/uploads", headers={"Upload-Length": str(request.length)})
        _, answered = self._repeated(begin)
        path = answered["Location"]
        try:
            self._append_all(request.body, path)
            request.headers["nnz-upload"] = path.rsplit("/", 1)[-1]
            request.body = []
            return self.send(request)
        except ServerError:
            # It would count among the caller's uploads for an hour.
            with contextlib.suppress(OSError, http.client.HTTPException, ServerError):
                self._repeated(Request("DELETE", path))
            raise

    def _append_all(self, body: list[Any], path: str) -> None:
        """Sends a body to the upload at `path`, by as many requests as it takes."""
        length, offset, attempt = sum(map(len, body)), 0, 1
        while offset < length:
            part = Request("PATCH", path, body=from_offset(body, offset), headers={"Upload-Offset": str(offset)})
            try:
                _, answered = self._send_once(part, self._headers_of(part), part.body)
                offset = int(answered["Upload-Offset"])
            except _FINAL:
                raise
            except (OSError, http.client.HTTPException, ServerError) as error:
                if isinstance(error, ServerError) and error.status not in (409, 429, 503):
                    raise
                before, offset = offset, int(self._repeated(Request("HEAD", path))[1]["Upload-Offset"])
                attempt = 1 if offset > before else attempt + 1
                if attempt > self._attempts:
                    raise
                _wait(attempt)

    def _repeated(self, request: Request) -> tuple[Any, Any]:
        """Answer and headers of a small request, which is sent again while connections break."""
        for attempt in range(1, self._attempts + 1):
            try:
                return self._send_once(request, self._headers_of(request), request.body)
            except (*_FINAL, ServerError) as error:
                is_busy = isinstance(error, ServerError) and error.status in (429, 503)
                if not is_busy or attempt == self._attempts:
                    raise
            except (OSError, http.client.HTTPException):
                if attempt == self._attempts:
                    raise
            _wait(attempt)
        raise AssertionError("unreachable")

    def _headers_of(self, request: Request) -> dict[str, str]:
        headers = self._headers | {"Accept": request.accept, "Content-Length": str(request.length)} | request.headers
        return headers | ({"Content-Type": request.media} if request.media else {})

    def _send_file(self, folder: Path, request: Request, headers: dict[str, str]) -> tuple[Any, Any]:
        """As :meth:`_send_once`, with files in place of the bodies; the result of an operation is mapped."""
        operand, result = (folder / f"{uuid.uuid4().hex}.{kind}" for kind in ("body", "result"))
        try:
            with operand.open("xb") as file:
                file.writelines(request.body)
            files = {"nnz-body-file": operand.name, "Content-Length": "0"}
            files |= {"nnz-result-file": result.name} if request.method == "POST" else {}
            answer, answered = self._send_once(request, headers | files, [])
            if not (isinstance(answer, dict) and answer.get("file") == result.name):
                return answer, answered
            return _read_result(result, answer["media_type"]), answered
        finally:
            operand.unlink(missing_ok=True)
            result.unlink(missing_ok=True)

    def _send_descriptors(self, path: str, request: Request, headers: dict[str, str]) -> tuple[Any, Any]:
        """As :meth:`_send_file`, with files in memory that have no name, whose descriptors are passed by a socket."""
        with contextlib.ExitStack() as stack:
            # The server forgets descriptors with the connection that they came by.
            connection = stack.enter_context(socket.socket(socket.AF_UNIX))
            connection.settimeout(self.timeout)
            connection.connect(path)
            operand, result = (
                stack.enter_context(open(os.memfd_create(f"nnz-{kind}"), "w+b")) for kind in ("body", "result")
            )
            operand.writelines(request.body)
            operand.flush()
            passed = {"nnz-body-descriptor": _pass(connection, operand.fileno()), "Content-Length": "0"}
            if request.method == "POST":
                passed["nnz-result-descriptor"] = _pass(connection, result.fileno())
            answer, answered = self._send_once(request, headers | passed, [])
            if not (isinstance(answer, dict) and "descriptor" in answer):
                return answer, answered
            return _read_result(Path(f"/proc/self/fd/{result.fileno()}"), answer["media_type"]), answered

    def _send_once(self, request: Request, headers: dict[str, str], body: list[Any]) -> tuple[Any, Any]:
        """The answer, decoded, and its headers."""
        connection = self._connection()
        try:
            try:
                connection.request(request.method, request.address, body=iter(body), headers=headers)
            except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
                # The server may have refused the header: its answer says why.
                pass
            response = connection.getresponse()
            decoded = decode(response)
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
        return decoded, response.headers

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
        if self.scheme == "https":
            return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self._context)
        return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)


def _pass(connection: socket.socket, descriptor: int) -> str:
    """The id that the server has for a descriptor."""
    socket.send_fds(connection, [b"f"], [descriptor])
    with connection.makefile("r", newline="\n") as lines:
        line = lines.readline().strip()
    if not line or line.startswith("error"):
        raise OSError(f"the server takes no descriptor: {line or 'it has closed the connection'}")
    return line


def _read_result(file: Path, media: str) -> Any:
    """The result in a file, an array mapped."""
    if media == NPY:
        # The array has its memory after the name of the file is gone, too.
        return np.asarray(np.load(file, mmap_mode="c"))
    with file.open("rb") as opened:
        return read_npz(opened)


def _wait(attempt: int) -> None:
    time.sleep(min(0.05 * 2**attempt, 5.0) * random.uniform(0.5, 1.5))
