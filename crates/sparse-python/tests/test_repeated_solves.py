"""Solvers and preconditioners that take other values of the same pattern."""

import threading

import nnz
import nnz.linalg
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import TYPES, dense, device_names, laplace

KINDS = {"csr": nnz.DeviceCsr, "csc": nnz.DeviceCsc, "coo": nnz.DeviceCoo}


def residual(a, x, b) -> float:
    return float(np.linalg.norm(b - a @ x) / np.linalg.norm(b))


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("method", ["cg", "enqueued-cg", "bicgstab", "gmres", "minres"])
def test_one_plan_serves_all_values_of_a_pattern(ours, method, char):
    a = laplace(8, char)
    b = dense((64,), char)
    solver = nnz.linalg.Solver(a, method, rtol=1e-4)
    assert (solver.shape, solver.dtype, solver.device) == ((64, 64), np.dtype(char), "cpu")
    for factor in (1, 3, 0.5):
        changed = (factor * a).astype(char)
        with ours():
            solver.update(changed)
        for right in (b, 2 * b, b[:, None]):
            with ours():
                x, info = solver.solve(right)
            assert (info, x.dtype, x.shape) == (0, np.dtype(char), (64,))
            assert residual(changed, x, right.ravel()) <= 1.1e-4


@pytest.mark.parametrize("name", ["jacobi", "ilu0", "ic0"])
def test_preconditioners_take_other_values(ours, name):
    a, b = laplace(8), dense((64,), "d")
    make = getattr(nnz.linalg, name)
    preconditioner = make(a)
    solver = nnz.linalg.Solver(a, rtol=1e-10, M=preconditioner)
    other = sp.csr_array(a + sp.diags_array(np.arange(64.0)))
    assert np.array_equal(other.indices, a.indices)
    with ours():
        preconditioner.update(other)
    np.testing.assert_array_equal(preconditioner.solve(b), make(other).solve(b))
    solver.update(other)
    x, info = solver.solve(b)
    assert info == 0
    assert residual(other, x, b) <= 1.1e-10
    assert nnz.linalg.cg(other, b, rtol=1e-10, M=preconditioner)[1] == 0


def test_integers_are_solved_as_numbers():
    a = laplace(4)
    solver = nnz.linalg.Solver(sp.csr_array((np.ones(a.nnz, int), a.indices, a.indptr)), maxiter=1)
    solver.update((10 * a).astype(int))
    b = np.arange(16)
    x, info = nnz.linalg.Solver((10 * a).astype(int), "bicgstab").solve(b, x0=b)
    assert (info, x.dtype, solver.dtype) == (0, np.float64, np.float64)


def test_limits_and_first_solutions():
    a, b = laplace(12), dense((144,), "d")
    assert nnz.linalg.Solver(a, rtol=1e-12, maxiter=3).solve(b)[1] == 3
    assert nnz.linalg.Solver(a, "gmres", rtol=1e-12, maxiter=2, restart=4).solve(b)[1] == 8
    solver = nnz.linalg.Solver(a, rtol=1e-8)
    x, _ = solver.solve(b)
    again, info = solver.solve(b, x0=x)
    assert info == 0
    np.testing.assert_array_equal(again, x)
    assert not solver.solve(0 * b, x0=x)[0].any()


def test_what_does_not_fit_is_named():
    a = laplace(4)
    solver, preconditioner = nnz.linalg.Solver(a), nnz.linalg.ilu0(a)
    wider = sp.csr_array(a + sp.eye_array(16, k=5))
    for made in (solver, preconditioner):
        with pytest.raises(ValueError, match="has another pattern than the one before"):
            made.update(wider)
        with pytest.raises(ValueError, match="f32"):
            made.update(a.astype("f"))
        with pytest.raises(TypeError, match="A is ndarray"):
            made.update(a.toarray())
    with pytest.raises(ValueError, match="another pattern"):
        solver.update(a.tocsc())
    b = np.ones(16)
    assert solver.solve(b)[1] == 0
    with pytest.raises(ValueError, match=r"b has shape \(3,\) where \(16,\)"):
        solver.solve(b[:3])
    with pytest.raises(TypeError, match="b is complex128, the solver float64"):
        solver.solve(1j * b)
    with pytest.raises(ValueError, match="the method is 'lu' where one of cg"):
        nnz.linalg.Solver(a, "lu")
    with pytest.raises(ValueError, match="rtol=-1"):
        nnz.linalg.Solver(a, rtol=-1)
    with pytest.raises(TypeError, match="M is csr_array"):
        nnz.linalg.Solver(a, M=a)
    with pytest.raises(ValueError):
        nnz.linalg.Solver(a[:, :3])


@pytest.mark.parametrize("place", device_names())
@pytest.mark.parametrize("format", KINDS)
def test_matrices_on_devices(ours, format, place):
    host = laplace(6)
    a = KINDS[format].from_scipy(host, place)
    b = dense((36,), "d")
    preconditioner = nnz.linalg.jacobi(a)
    solver = nnz.linalg.Solver(a, rtol=1e-9, M=preconditioner)
    for changed, factor in ((2 * a, 2), (KINDS[format].from_scipy(3 * host, place), 3)):
        with ours():
            solver.update(changed)
            preconditioner.update(changed)
        x, info = solver.solve(b)
        assert info == 0
        assert residual(factor * host, x, b) <= 1.1e-9


def test_threads_take_turns():
    a = laplace(30)
    solver = nnz.linalg.Solver(a, rtol=1e-10)
    rights = [dense((900,), "d", seed) for seed in range(6)]
    found = [None] * len(rights)

    def solve(k: int) -> None:
        found[k] = solver.solve(rights[k])

    threads = [threading.Thread(target=solve, args=(k,)) for k in range(len(rights))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (x, info), b in zip(found, rights, strict=True):
        assert info == 0
        np.testing.assert_array_equal(x, solver.solve(b)[0])
