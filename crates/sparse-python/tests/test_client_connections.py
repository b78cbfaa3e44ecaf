"""The client and its connections: those that break, files and descriptors in their place, certificates, addresses."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import json
import multiprocessing
import os
import socket
import ssl
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import nnz.client
import numpy as np
import pytest
import scipy.sparse as sp
from serving import matrix, needs_command, serve, stop

pytestmark = needs_command


@contextlib.contextmanager
def breaking_proxy(port: int, breaks: int, after: int) -> Iterator[str]:
    """A way to a server that closes so many connections once more than `after` bytes have come on them."""
    left = [breaks]

    def pump(source: socket.socket, sink: socket.socket, breaks_off: bool) -> None:
        count = 0
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 14):
                sink.sendall(data)
                count += len(data)
                if breaks_off and left[0] and count > after:
                    left[0] -= 1
                    break
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def accept(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, far = listener.accept()[0], socket.create_connection(("127.0.0.1", port))
                threads = [threading.Thread(target=pump, args=ends) for ends in ((near, far, True), (far, near, False))]
                threading.Thread(target=close_behind, args=(threads, near, far)).start()

    def close_behind(threads: list[threading.Thread], *ends: socket.socket) -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for end in ends:
            end.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept, args=(listener,))
        accepting.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()


def test_an_upload_goes_on_where_its_connection_broke(client):
    dense = np.random.default_rng(5).random((200, 300))
    with breaking_proxy(client._connections.port, 3, 100_000) as url, nnz.client.connect(url, attempts=2) as broken:
        h = broken.put(dense, "resumed", resumable=True)
        np.testing.assert_array_equal(h.to_numpy(), dense)
        with pytest.raises(nnz.client.ServerError, match="letters, digits"):
            broken.put(dense, "a b", resumable=True)


def test_a_request_that_times_out_is_not_sent_again(client):
    slow = client.put(sp.diags_array([1.0, 1e6], format="csr"), "late")
    with nnz.client.Client(client.url, timeout=0.3) as hasty:
        h, began = hasty.get("late"), time.monotonic()
        with pytest.raises(TimeoutError):
            h.solve(np.array([1e3, 1.0]), method="gmres", restart=1, tol=0, max_iterations=10**12)
        assert time.monotonic() - began < 2
        np.testing.assert_array_equal(h.job("spmv", np.ones(2)).result(), [1.0, 1e6])
    slow.delete()


def test_a_connection_that_the_server_closed_is_replaced(tmp_path):
    process, url = serve(tmp_path)
    client = nnz.client.connect(url, attempts=2)
    client.put(matrix(), "kept", durable=True)
    stop(process)
    with pytest.raises(OSError):
        client.put(matrix(), "lost")
    process, _ = serve(tmp_path, url.removeprefix("http://"))
    assert client.get("kept").nnz == matrix().nnz
    client.close()
    stop(process)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forked_processes_have_connections_of_their_own(client):
    a = matrix()
    h = client.put(a, "forked")
    h @ np.ones(50)

    def products(first: int) -> bool:
        vectors = (np.full(50, first + k, float) for k in range(50))
        return all(np.allclose(h @ x, a @ x) for x in vectors)

    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        # That a process with threads is forked is what the test is of.
        warnings.simplefilter("ignore", DeprecationWarning)
        children = [context.Process(target=lambda k=k: sys.exit(not products(1000 * k))) for k in range(1, 4)]
        for child in children:
            child.start()
    assert products(0)
    for child in children:
        child.join(60)
        assert child.exitcode == 0


def test_wrong_addresses_say_what_is_right(monkeypatch):
    with pytest.raises(ValueError, match="http://HOST:PORT"):
        nnz.client.connect("127.0.0.1:8700")
    with pytest.raises(ValueError, match="without TLS"):
        nnz.client.connect("http://lab.example:8700", token="nnz_0")
    monkeypatch.delenv("NNZ_SERVER", raising=False)
    with pytest.raises(ValueError, match="NNZ_SERVER"):
        nnz.client.connect()


def test_the_address_of_a_client_is_one_that_it_could_be_made_of():
    for url in ("http://127.0.0.1:8700", "https://lab.example", "http://[::1]:8700"):
        assert nnz.client.connect(url).url == url


def test_large_bodies_are_files_where_files_are_shared(tmp_path):
    shared = tmp_path / "shared" / "default"
    shared.mkdir(parents=True)
    process, url = serve(tmp_path / "data", "127.0.0.1:0", "--shared", str(shared.parent))
    a, x = sp.random_array((20_000, 20_000), density=1e-3, rng=np.random.default_rng(3), format="csr"), np.ones(20_000)
    with nnz.client.connect(url, shared=shared) as client, nnz.client.connect(url) as other:
        h = client.put(a, "a")
        product = h @ x
        np.testing.assert_array_equal(product, other.get("a") @ x)
        assert type(product) is np.ndarray and h.operation("norm") == other.get("a").operation("norm")
        with pytest.raises(nnz.client.ServerError, match="20000 is needed"):
            _ = h @ np.ones(30_000)
        assert list(shared.iterdir()) == []
    stop(process)


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="there is no memfd")
def test_large_bodies_are_passed_as_descriptors_where_the_server_takes_them(tmp_path):
    path = tmp_path / "descriptors"
    process, url = serve(tmp_path / "data", "127.0.0.1:0", "--descriptors", str(path))
    a, x = sp.random_array((20_000, 20_000), density=1e-3, rng=np.random.default_rng(3), format="csr"), np.ones(20_000)
    with nnz.client.connect(url, descriptors=path) as client, nnz.client.connect(url) as other:
        h = client.put(a, "a")
        expected = other.get("a") @ x
        before = os.listdir("/proc/self/fd")
        product = h @ x
        np.testing.assert_array_equal(product, expected)
        assert type(product) is np.ndarray and h.operation("norm") == other.get("a").operation("norm")
        del product
        assert os.listdir("/proc/self/fd") == before
        with pytest.raises(nnz.client.ServerError, match="20000 is needed"):
            _ = h @ np.ones(30_000)
    with pytest.raises(ValueError, match="one of the two"):
        nnz.client.connect(url, shared=tmp_path, descriptors=path)
    stop(process)


def test_certificates_are_those_that_the_environment_names(tmp_path, monkeypatch):
    certificates = Path(__file__).parents[2] / "sparse-server/tests/tls"
    files = ["--tls-cert", str(certificates / "server.pem"), "--tls-key", str(certificates / "server.key")]
    process, url = serve(tmp_path, "127.0.0.1:0", *files)
    monkeypatch.setenv("NNZ_SERVER", url)
    monkeypatch.setenv("NNZ_SERVER_CA", str(certificates / "authority.pem"))
    with nnz.client.connect() as client:
        np.testing.assert_array_equal(client.put(matrix(), "a").to_numpy(), matrix().toarray())
    monkeypatch.setenv("NNZ_SERVER_CA", str(certificates / "stranger.pem"))
    with nnz.client.connect() as client, pytest.raises(ssl.SSLCertVerificationError):
        client.status()
    stop(process)


def test_a_certificate_of_the_client_is_that_which_the_environment_names(tmp_path, monkeypatch):
    certificates = Path(__file__).parents[2] / "sparse-server/tests/tls"
    files = ["--tls-cert", "server.pem", "--tls-key", "server.key", "--tls-client-ca", "authority.pem"]
    files = [str(certificates / name) if "." in name else name for name in files]
    process, url = serve(tmp_path, "127.0.0.1:0", *files)
    monkeypatch.setenv("NNZ_SERVER", url)
    monkeypatch.setenv("NNZ_SERVER_CA", str(certificates / "authority.pem"))
    for name, is_known in [(None, False), ("stranger", False), ("client", True)]:
        if name:
            monkeypatch.setenv("NNZ_SERVER_CERT", str(certificates / f"{name}.pem"))
            monkeypatch.setenv("NNZ_SERVER_KEY", str(certificates / f"{name}.key"))
        with nnz.client.connect() as client:
            if is_known:
                assert client.put(matrix(), "a").nnz == matrix().nnz
            else:
                with pytest.raises(OSError):
                    client.status()
    stop(process)


def test_certificates_are_those_that_are_given(tmp_path, monkeypatch):
    certificates = Path(__file__).parents[2] / "sparse-server/tests/tls"
    files = ["--tls-cert", "server.pem", "--tls-key", "server.key", "--tls-client-ca", "authority.pem"]
    files = [str(certificates / name) if "." in name else name for name in files]
    process, url = serve(tmp_path, "127.0.0.1:0", *files)
    monkeypatch.setenv("NNZ_SERVER_CA", str(certificates / "stranger.pem"))
    authority, cert = certificates / "authority.pem", (certificates / "client.pem", certificates / "client.key")
    both = tmp_path / "client.pem"
    both.write_bytes(cert[0].read_bytes() + cert[1].read_bytes())
    for given in (cert, both):
        with nnz.client.connect(url, verify=authority, cert=given) as client:
            assert client.put(matrix(), "a").nnz == matrix().nnz
    with nnz.client.connect(url, cert=cert) as client, pytest.raises(ssl.SSLCertVerificationError):
        client.status()
    with nnz.client.connect(url, verify=str(authority)) as client, pytest.raises(OSError):
        client.status()
    for options, reason in [
        ({"verify": False}, "a PEM file of authorities is needed"),
        ({"verify": authority, "context": ssl.create_default_context()}, "one of the two"),
    ]:
        with pytest.raises(ValueError, match=reason):
            nnz.client.connect(url, **options)
    with pytest.raises(ValueError, match="https:// is needed"):
        nnz.client.connect("http://127.0.0.1:1", verify=authority)
    stop(process)


def test_devices_that_do_not_answer_are_named():
    view = {"name": "a", "version": 1, "nnz": 0, "dtype": "f64", "rows": 1, "cols": 1}
    unavailable = [{"device": 1, "detail": "the worker process of device 1 did not answer within 5s"}]

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            kind = self.path.rsplit("/")[-1]
            items = {"matrices": [view], "jobs": []}[kind]
            body = json.dumps({kind: items, "unavailable": unavailable}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            with nnz.client.connect(f"http://127.0.0.1:{server.server_port}") as client:
                with pytest.warns(nnz.client.IncompleteListWarning, match="matrices of device 1 are missing"):
                    found = client.list()
                assert [matrix.label for matrix in found] == ["a@1"] and found.unavailable == unavailable
                with pytest.warns(nnz.client.IncompleteListWarning):
                    found = asyncio.run(nnz.client.AsyncClient(client).jobs())
                assert found == [] and found.unavailable == unavailable
        finally:
            server.shutdown()
