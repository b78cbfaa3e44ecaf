"""The client against a server: matrices, operations, batches, jobs and programs."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import nnz.client
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
from nnz import _remote
from nnz.client import _cuda
from serving import COMMAND, matrix, needs_command, serve, stop

pytestmark = needs_command


@pytest.mark.skipif("opencl" not in {device.backend for device in nnz.devices()}, reason="there is no OpenCL device")
@pytest.mark.parametrize("workers", ["off", "on"])
def test_a_compiler_of_kernels_takes_no_signal(tmp_path, workers):
    process, url = serve(tmp_path, "127.0.0.1:0", "--workers", workers, backend="opencl")
    with nnz.client.connect(url) as client:
        np.testing.assert_array_equal(client.put(sp.eye_array(3, format="csr"), name="a") @ np.ones(3), np.ones(3))
    stop(process)


@pytest.mark.parametrize("char", "fdFD")
def test_matrices_come_back_and_multiply(client, char):
    a = matrix(char)
    h = client.put(a, f"a-{char}")
    assert (h.shape, h.nnz, h.dtype) == (a.shape, a.nnz, a.dtype)
    back = h.to_scipy()
    assert back.dtype == a.dtype and (back != a).nnz == 0
    rng = np.random.default_rng(2)
    x, b = rng.random(50).astype(char), np.asfortranarray(rng.random((50, 3)).astype(char))
    tolerance = {"rtol": 1e-5 if char in "fF" else 1e-12}
    np.testing.assert_allclose(h @ x, a @ x, **tolerance)
    for operand in (b, np.ascontiguousarray(b), b[::-1]):
        np.testing.assert_allclose(h @ operand, a @ operand, **tolerance)
    np.testing.assert_allclose(h.operation("spmv", x, op="c", alpha=2), 2 * (a.conj().T @ x), **tolerance)
    np.testing.assert_allclose((h @ h).toarray(), (a @ a).toarray(), **tolerance)


def test_matrices_are_listed_by_labels(client):
    h = client.put(matrix(), "labelled", durable=True, labels={"project": "pde", "run": 7})
    client.put(matrix(), "labelled-too", labels={"project": "pde"})
    names = lambda labels: [found.name for found in client.list(labels)]  # noqa: E731
    assert h.labels == {"project": "pde", "run": "7"}
    assert names({"project": "pde"}) == ["labelled", "labelled-too"]
    assert names({"project": "pde", "run": None}) == ["labelled"]
    h.set_labels({"user": "ada"})
    assert (h.labels, names({"run": 7})) == ({"user": "ada"}, [])
    assert client.get("labelled").labels == {"user": "ada"}
    with pytest.raises(nnz.client.ServerError, match="letters"):
        h.set_labels({"a b": 1})
    with pytest.raises(ValueError, match="are right"):
        h.set_labels({"a": "1,b=2"})


def test_an_alias_moves_from_one_matrix_to_another(client):
    first, second = client.put(matrix(), "aliased"), client.put(2 * matrix(), "aliased")
    client.alias("best", first, durable=True)
    assert client.aliases()["best"] == "aliased@1"
    np.testing.assert_allclose(client.get("best") @ np.ones(50), matrix() @ np.ones(50))
    with pytest.raises(nnz.client.ServerError, match="If-Match: the alias points to `aliased@1`"):
        client.alias("best", "aliased", expected=second)
    client.alias("best", "aliased", expected=first)
    assert client.get("best").version == second.version
    with pytest.raises(nnz.client.ServerError, match="is an alias of"):
        client.put(matrix(), "best")
    client.delete_alias("best")
    assert "best" not in client.aliases() and client.get("aliased").version == 2


def program() -> list[np.ndarray]:
    """Computes with a matrix on the device that there is."""
    theirs = matrix()
    a = nnz.DeviceCsr.from_scipy(theirs)
    x = np.arange(50.0)
    results = [a @ x, a.T @ x, x @ a, a @ np.eye(50)[:, :3], a.rmatvec(x)]
    results += [a.sum(), a.sum(0), a.mean(1), a.max(0), a.diagonal(), a.diagonal(-2), a[3, 4]]
    made = [a @ a, a + a.T.tocsr(), 2 * a, a - a / 2, a.multiply(x), a.multiply(x[:, None]), a.multiply(a), -a]
    made += [a[2:9, ::-1], a[[3, 0, 3]], a[:, 5], a[[]], a.tocsc(), a.tocoo(), a.astype("F")]
    without_zeros = 0 * a + a.tocsc()
    without_zeros.eliminate_zeros()
    made += [abs(a), a**2, a.copy(), a.H, a / x[:, None].clip(1), without_zeros]
    made += [nnz.vstack([a, a]), nnz.hstack([a, a.tocsc()]), nnz.block_diag([a, 2 * a]), nnz.kron(a[:3, :2], a)]
    results += [each.toarray() for each in made]
    results += [a.get().toarray(), a.aslinearoperator() @ x]
    normal = a @ a.T.tocsr()
    for solver in (nnz.linalg.cg, nnz.linalg.gmres, nnz.linalg.bicgstab):
        for options in ({}, {"x0": np.ones(50), "maxiter": 300}):
            y, info = solver(normal, x, rtol=1e-9, **options)
            assert info == 0
            results.append(y)
    assert isinstance(a, nnz.DeviceCsr) and isinstance(a.T, nnz.DeviceCsc) and (a.shape, a.nnz) == ((50, 50), theirs.nnz)
    return results


def test_a_program_runs_here_and_on_the_server_that_the_environment_names(client, monkeypatch):
    here = program()
    before = [found.label for found in client.list()]
    monkeypatch.setenv("NNZ_SERVER", client.url)
    there = program()
    for k, (found, expected) in enumerate(zip(there, here, strict=True)):
        assert found.dtype == expected.dtype, k
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-4, err_msg=str(k))
    a = nnz.DeviceCsr.from_scipy(matrix())
    assert a.is_remote and a.device == client.url and not nnz.DeviceCsr.from_scipy(matrix(), "cpu").is_remote
    lines = np.arange(5000) % 50
    for key in (lines, np.s_[:, lines[::-1]]):
        np.testing.assert_array_equal(a[key].toarray(), matrix().toarray()[key])
    for wrong, reason in [(lambda: a + nnz.DeviceCsr.from_scipy(matrix(), "cpu"), "one on cpu"), (lambda: nnz.plan_spmv(a), "no plans")]:
        with pytest.raises(TypeError, match=reason):
            wrong()
    with pytest.raises(ValueError, match="50"):
        a + nnz.DeviceCsr.from_scipy(sp.eye_array(3, format="csr"))
    # What Python has no use for is deleted, and what a program has at its end, too.
    del a
    gc.collect()
    _remote._collect()
    assert [found.label for found in client.list()] == before
    code = "import nnz, scipy.sparse as sp; a = nnz.DeviceCsr.from_scipy(sp.eye_array(3, format='csr')); b = a @ a; print(b.sum())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("3.0\n", "")
    assert [found.label for found in client.list()] == before


class Gpu:
    """An array of a library of GPUs."""

    def __init__(self, shape, strides=None):
        self.shape, self.ndim = shape, len(shape)
        about = {"shape": shape, "typestr": "<f8", "data": (4096, False), "version": 3, "strides": strides}
        self.__cuda_array_interface__ = about


def test_zeros_scale_entries_here_and_on_a_server(client, monkeypatch):
    theirs = sp.csr_array(np.array([[1.0, np.inf], [2.0, 0.0]]))
    for url in (None, client.url):
        if url:
            monkeypatch.setenv("NNZ_SERVER", url)
        a = nnz.DeviceCsr.from_scipy(theirs)
        assert a.is_remote == bool(url)
        for factors, expected in (([1.0, 0.0], [[1.0, np.nan], [2.0, 0.0]]), ([[0.0], [1.0]], [[0.0, np.nan], [2.0, 0.0]])):
            scaled = a.multiply(np.array(factors))
            assert scaled.nnz == 3
            np.testing.assert_array_equal(scaled.toarray(), expected)
        with pytest.raises(ValueError, match="^spgemm: (the number of rows of B is 3|A has 2 columns and `other` 3 rows)"):
            a @ nnz.DeviceCsr.from_scipy(sp.eye_array(3, format="csr"))


def test_arrays_of_gpus_are_named_and_not_sent(client, monkeypatch):
    asked = []
    driver = type("Driver", (), {"share": lambda self, address: asked.append(address) or (bytes(range(64)), 16)})
    monkeypatch.setattr(_cuda, "_driver", driver)
    monkeypatch.setattr(_cuda, "empty_beside", lambda a, shape, dtype: Gpu(shape))
    h = client.put(matrix(), "gpu")
    with pytest.raises(nnz.client.ServerError, match="--cuda-ipc on"):
        h @ Gpu((50,))
    assert asked == [4096, 4096]
    named = _cuda.describe(Gpu((4, 2), (16, 8)))
    assert named == {"handle": bytes(range(64)).hex(), "offset": 16, "shape": [4, 2], "dtype": "<f8"}
    assert _cuda.describe(Gpu((0, 2), (8, 8)))["shape"] == [0, 2]
    (body,) = _cuda.csr_body((1, 2), {"indptr": Gpu((2,)), "indices": Gpu((1,)), "data": Gpu((1,))})
    assert json.loads(body)["shape"] == [1, 2] and json.loads(body)["data"]["shape"] == [1]
    with pytest.raises(ValueError, match="C order"):
        _cuda.describe(Gpu((4, 2), (8, 32)))
    assert not _cuda.is_on_gpu(np.ones(3)) and not _cuda.is_on_gpu([1.0]) and _cuda.csr_arrays(matrix()) is None


def test_a_program_is_one_request(client):
    a, x = matrix(), np.random.default_rng(3).random(50)
    h = client.put(a, "program")
    squared = {"name": "squared", "operation": "spgemm", "matrix": h, "other": h}
    product = {"operation": "spmv", "matrix": "$squared", "operand": "$body", "parameters": {"op": "t"}}
    np.testing.assert_allclose(client.program([squared, product], x), (a @ a).T @ x, rtol=1e-12)
    before = client.list()
    norm = client.program([squared, {"operation": "norm", "matrix": "$squared"}])
    assert norm["norm"] == pytest.approx(scipy.sparse.linalg.norm(a @ a))
    assert [found.label for found in client.list()] == [found.label for found in before]
    stored = client.program([squared, {"operation": "transpose", "matrix": "$squared"}], into="program-t")
    np.testing.assert_allclose(stored.to_numpy(), (a @ a).T.toarray(), rtol=1e-12)
    with pytest.raises(nnz.client.ServerError, match="step 2 .norm.: `.cubed`"):
        client.program([squared, {"operation": "norm", "matrix": "$cubed"}])


def test_matrices_are_put_together_on_the_server(client, monkeypatch):
    theirs = [matrix(char, n) for char, n in (("d", 30), ("f", 30), ("F", 30), ("d", 30), ("f", 30))]
    here = [nnz.DeviceCsr.from_scipy(each, "cpu") for each in theirs]
    monkeypatch.setenv("NNZ_SERVER", client.url)
    there = [nnz.DeviceCsr.from_scipy(each) for each in theirs]
    with monkeypatch.context() as patched:
        patched.setattr(nnz.client.Matrix, "to_scipy", None)  # nothing is copied from the server
        made = [getattr(nnz, name)(there[:count]) for name in ("vstack", "hstack", "block_diag") for count in (1, 2, 5)]
        made += [nnz.kron(there[0], there[1]), nnz.vstack(there[:2], dtype="f")]
    expected = [getattr(nnz, name)(here[:count]) for name in ("vstack", "hstack", "block_diag") for count in (1, 2, 5)]
    expected += [nnz.kron(here[0], here[1]), nnz.vstack(here[:2], dtype="f")]
    for found, right in zip(made, expected, strict=True):
        assert found.is_remote and (type(found), found.dtype) == (type(right), right.dtype)
        np.testing.assert_array_equal(found.toarray(), right.toarray())


def test_matrices_of_two_servers_are_not_combined(client, tmp_path, monkeypatch):
    process, other = serve(tmp_path)
    pair = []
    for url in (client.url, other):
        monkeypatch.setenv("NNZ_SERVER", url)
        pair.append(nnz.DeviceCsr.from_scipy(matrix()))
    a, b = pair
    reason = f"one matrix is on the server {client.url} and one on {other}: copy one"
    for combine in (lambda: nnz.vstack([a, b]), lambda: nnz.kron(a, b), lambda: a @ b, lambda: a + b, lambda: a * b):
        with pytest.raises(TypeError, match=reason):
            combine()
    # Factors and chosen lines go to the server of the matrix, whichever the environment names.
    np.testing.assert_array_equal(a.multiply(np.arange(50.0)).toarray(), matrix().multiply(np.arange(50.0)).toarray())
    lines = np.arange(5000) % 50
    np.testing.assert_array_equal(a[lines].toarray(), matrix().toarray()[lines])
    del a, b, pair
    gc.collect()
    _remote._collect()
    _remote._clients.pop((os.getpid(), other, os.environ.get("NNZ_TOKEN"))).close()
    stop(process)


def test_operations_store_and_answer_numbers(client):
    a = matrix()
    h = client.put(a, "numbers", durable=True)
    assert h.view["durable"] and client.get("numbers").version == h.version
    assert h.operation("norm")["norm"] == pytest.approx(scipy.sparse.linalg.norm(a))
    stored = h.operation("transpose", into="numbers-t")
    assert isinstance(stored, nnz.client.Matrix)
    np.testing.assert_array_equal(stored.to_numpy(), a.toarray().T)
    assert {"numbers", "numbers-t"} <= {found.name for found in client.list()}
    stored.delete()
    with pytest.raises(nnz.client.ServerError, match="no matrix `numbers-t`") as caught:
        client.get("numbers-t")
    assert caught.value.status == 404
    with pytest.raises(nnz.client.ServerError, match="50 is needed"):
        h @ np.ones(3)
    with pytest.raises(TypeError, match="put"):
        h @ a


def test_parameters_are_as_python_has_them(client):
    a = matrix("D")
    h = client.put(a, "parameters")
    np.testing.assert_allclose(h.operation("scale", alpha=1j).toarray(), 1j * a.toarray())
    rows, columns = [3, np.int64(0)], np.array([1, 2])
    selected = h.operation("select", rows=rows, columns=columns)
    np.testing.assert_array_equal(selected.toarray(), a.toarray()[rows][:, columns])
    mask = np.arange(50) % 3 == 0
    for rows in (mask, mask.tolist(), [], np.array([], int)):
        found = h.operation("select", rows=rows).toarray()
        np.testing.assert_array_equal(found, a.toarray()[np.flatnonzero(mask) if len(rows) else []])
    for lines in (slice(3), slice(2, 9), slice(1, 9, 3), slice(9, 2, -2), slice(4, 4), range(7), range(9, 2, -3)):
        found = h.operation("select", rows=lines).toarray()
        np.testing.assert_array_equal(found, a.toarray()[np.arange(50)[lines] if isinstance(lines, slice) else lines])
    for lines, message in ((slice(3, None), "with a stop"), (slice(None, 2, -1), "with a stop"), (slice(0, 5, 0), "zero")):
        with pytest.raises(ValueError, match=message):
            h.operation("select", rows=lines)
    assert h.operation("norm", ord=None) == h.operation("norm")
    np.testing.assert_allclose(h.operation("add", other=h, alpha=np.float32(2)).toarray(), 3 * a.toarray())
    step = {"operation": "scale", "matrix": h, "parameters": {"alpha": 2j}}
    np.testing.assert_allclose(client.program([step]).toarray(), 2j * a.toarray())


def test_operands_are_numbers(client):
    a = matrix()
    h, half = client.put(a, "operands"), np.arange(50, dtype=np.float16)
    np.testing.assert_allclose(h @ half, a @ half)
    np.testing.assert_array_equal(client.put(np.eye(3, dtype=np.float16), "half").to_numpy(), np.eye(3))
    for wrong in (None, np.array([None] * 50), np.array(["a"] * 50)):
        with pytest.raises(TypeError, match="where numbers are right"):
            h @ wrong
    with pytest.raises(TypeError, match="to_numpy"):
        np.asarray(h)
    for copied in (h, client):
        with pytest.raises(TypeError, match="neither pickled nor copied"):
            pickle.dumps(copied)


def test_a_real_matrix_multiplies_complex_numbers(client):
    a, x = matrix(), np.exp(1j * np.arange(100.0)).reshape(50, 2)
    h = client.put(a, "real")
    np.testing.assert_allclose(h @ x, a @ x)
    np.testing.assert_allclose(h @ x[:, 0], a @ x[:, 0])
    np.testing.assert_allclose(h.T @ x[:, 0], a.T @ x[:, 0])


def test_a_real_matrix_solves_for_complex_numbers_by_parts(client):
    a = matrix("d")
    h, b = client.put(a, "a"), np.outer(np.linspace(1, 2, 50), [1, 1j, 2 - 1j])
    for method in ("gmres", "lsqr", "lsmr"):
        np.testing.assert_allclose(a @ h.solve(b, method=method, tol=1e-12), b, atol=1e-6)
    x, report = h.solve_with_report(b[:, 2], method="gmres", tol=1e-12)
    np.testing.assert_allclose(a @ x, b[:, 2], atol=1e-6)
    assert report["converged"] and report["relative_residual"] <= 1e-12
    with pytest.raises(nnz.client.ServerError, match="real and imaginary parts"):
        h.operation("solve", b)


def test_a_solution_that_has_not_converged_is_told(client):
    a, b = matrix("d"), np.linspace(1, 2, 50)
    h = client.put(a, "slow")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        h.solve(b, method="gmres", tol=1e-8)
        report = h.solve_with_report(b, method="gmres", tol=1e-12, max_iterations=2)[1]
        assert not report["converged"]
        h.solve(b, method="gmres", dry_run=1)
    for right in (b, 1j * b):
        with pytest.warns(nnz.client.ConvergenceWarning, match=r"slow@1: not converged in 2 iterations") as seen:
            h.solve(right, method="gmres", tol=1e-12, max_iterations=2)
        assert seen[0].filename == __file__


def test_scipy_solves_with_the_operator_of_a_server(client):
    a = matrix()
    a = sp.csr_array(a @ a.T)
    h, b = client.put(a, "spd"), np.ones(50)
    for operator in (h.aslinearoperator(), h):
        x, info = scipy.sparse.linalg.cg(operator, b, rtol=1e-10)
        assert info == 0
        np.testing.assert_allclose(a @ x, b, atol=1e-7)
    np.testing.assert_allclose(h.T @ b, a.T @ b)
    np.testing.assert_allclose(a @ h.solve(b, method="cg", tol=1e-10), b, atol=1e-7)


@pytest.mark.parametrize("char", "fdFD")
def test_transposes_multiply_on_the_server(client, char):
    a = matrix(char)
    b = sp.csr_array(a[:, :30])
    h, g, tolerance = client.put(a, "a"), client.put(b, "b"), {"rtol": 1e-4 if char in "fF" else 1e-12}
    for product in (lambda a, b: a @ a.T, lambda a, b: b.T @ a, lambda a, b: b.T @ a.T, lambda a, b: b.T.T @ b.T):
        found, expected = product(h, g), product(a, b)
        assert (type(found), found.shape) == (type(expected), expected.shape)
        np.testing.assert_allclose(found.toarray(), expected.toarray(), **tolerance)
    x = np.outer(np.linspace(1, 2, 50), [1, -1]).astype(char) * (1 + 1j if char in "FD" else 1)
    products = (lambda a, x: a.T @ x, lambda a, x: x.T @ a, lambda a, x: x.T @ a.T, lambda a, x: a.T.dot(x))
    for product in products:
        np.testing.assert_allclose(product(h, x), product(a, x), **tolerance)
        np.testing.assert_allclose(product(h, x[:, 0]), product(a, x[:, 0]), **tolerance)
    np.testing.assert_allclose(h.T.H @ x, a.conj() @ x, **tolerance)
    assert isinstance(h.T @ h.aslinearoperator(), scipy.sparse.linalg.LinearOperator)
    for product in (lambda: h.T @ a, lambda: a @ h.T, lambda: h @ a):
        with pytest.raises(TypeError, match="not on the server: put"):
            product()
    with pytest.raises(TypeError, match="aslinearoperator"):
        h @ g.aslinearoperator()


def test_transposes_of_a_batch_multiply_on_the_server(client):
    stack = np.arange(24.0).reshape(2, 3, 4)
    h = client.compress(stack, "batch")
    for found, member in zip(h @ h.T, stack, strict=True):
        np.testing.assert_array_equal(found.toarray(), member @ member.T)


def test_a_batch_multiplies_by_a_vector_for_each_member(client):
    rng = np.random.default_rng(3)
    stack = rng.random((4, 5, 6)) * (rng.random((4, 5, 6)) < 0.4)
    h = client.compress(stack, "batch")
    assert h.members == 4
    x = rng.random((4, 6))
    np.testing.assert_allclose(h @ x, np.einsum("brc,bc->br", stack, x))
    for k, member in enumerate(h.to_scipy()):
        np.testing.assert_array_equal(member.toarray(), stack[k])
    np.testing.assert_array_equal(h.operation("transpose")[1].toarray(), stack[1].T)
    with pytest.raises(ValueError, match="3 are right"):
        client.compress(stack[0], "batch")


def test_an_operation_applies_to_each_matrix_of_a_batch(client):
    rng = np.random.default_rng(5)
    stack = rng.random((4, 5, 5)) * (rng.random((4, 5, 5)) < 0.4) + 5 * np.eye(5)
    h, b = client.compress(stack, "each"), rng.random((4, 5, 2))
    np.testing.assert_allclose(h @ b, stack @ b)
    np.testing.assert_allclose(h.each("solve", b[..., 0], method="gmres", tol=1e-12), np.linalg.solve(stack, b)[..., 0])
    np.testing.assert_array_equal(h.each("dense"), stack)
    np.testing.assert_allclose([norm["norm"] for norm in h.each("norm")], np.linalg.norm(stack, axis=(1, 2)))
    for product, expected in zip(h @ h, stack @ stack, strict=True):
        np.testing.assert_allclose(product.toarray(), expected)
    one = client.put(sp.csr_array(np.eye(5)), "one")
    shifted = h.each("add", other=one, beta=-5, into="shifted")
    np.testing.assert_allclose(shifted.each("dense"), stack - 5 * np.eye(5))
    with pytest.raises(nnz.client.ServerError, match="no batch"):
        one.each("norm")


def test_jobs_end_and_are_cancelled(client):
    h = client.put(matrix(), "jobs")
    job = h.job("spmm", np.eye(50))
    np.testing.assert_allclose(job.result(), matrix().toarray())
    assert job.view["state"] == "done"
    assert h.job("scale", alpha=2, into="twice").result().name == "twice"
    with pytest.raises(nnz.client.ServerError, match="50 is needed"):
        h.job("spmv", np.ones(3)).result()
    slow = client.put(sp.diags_array([1.0, 1e6], format="csr"), "slow")
    endless = slow.job("solve", np.array([1e3, 1.0]), method="gmres", restart=1, tol=0, max_iterations=10**12)
    assert endless.refresh(wait=0.5)["state"] == "running"
    endless.cancel()
    assert endless.id not in [job.id for job in client.jobs()]


def test_many_threads_and_tasks_share_a_client(client):
    a = matrix()
    h = client.put(a, "shared")
    xs = np.random.default_rng(4).random((40, 50))
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda x: h @ x, xs))
    np.testing.assert_allclose(results, xs @ a.toarray().T)

    async def together() -> list[np.ndarray]:
        c = nnz.client.AsyncClient(client)
        shared = await c.get("shared")
        return await asyncio.gather(*(shared @ x for x in xs[:10]))

    np.testing.assert_array_equal(asyncio.run(together()), results[:10])


def test_asyncio_has_what_threads_have(client):
    a = matrix()

    async def use() -> None:
        c = nnz.client.AsyncClient(client)
        h = await c.put(a, "async")
        assert (h.name, h.shape, h.nnz, h.label) == ("async", a.shape, a.nnz, "async@1")
        np.testing.assert_array_equal(await h.to_numpy(), a.toarray())
        np.testing.assert_allclose(a @ await h.solve(np.ones(50), method="gmres"), np.ones(50), atol=1e-6)
        job = await h.job("scale", alpha=2, into="async-twice")
        assert (await job.result()).name == "async-twice"
        assert job.id in [other.id for other in await c.jobs()]
        await h.delete()
        with pytest.raises(AttributeError, match="sync"):
            _ = h.aslinearoperator

    asyncio.run(use())


def test_a_matrix_in_parts_is_multiplied_on_several_devices(tmp_path):
    arguments = ["--listen", "127.0.0.1:0", "--data", str(tmp_path), "--memory", "64M", "--devices", "cpu,cpu"]
    with subprocess.Popen([COMMAND, "serve", *arguments], stdout=subprocess.PIPE, text=True) as process:
        with nnz.client.connect(process.stdout.readline().strip()) as client:
            a = matrix()
            h = client.put(sp.csc_array(a), "a", parts=2)
            assert (h.shape, h.nnz, h.dtype, len(h.view["parts"])) == (a.shape, a.nnz, a.dtype, 2)
            x, b = np.arange(50.0), np.asfortranarray(np.arange(150.0).reshape(50, 3))
            np.testing.assert_allclose(h @ x, a @ x, rtol=1e-12)
            np.testing.assert_allclose(h @ b, a @ b, rtol=1e-12)
            with pytest.raises(nnz.client.ServerError, match="`a@1` is in parts"):
                h.operation("norm")
            assert [listed.label for listed in client.list()] == ["a@1"]
            client.delete("a")
            assert client.list() == []
        process.terminate()
        assert process.wait(timeout=60) == 0
