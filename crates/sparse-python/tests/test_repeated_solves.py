"""Solvers and preconditioners that take other values of the same pattern."""

import subprocess
import sys
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


def test_limits_beyond_all_numbers_of_iterations_are_taken():
    a, b = laplace(4), np.ones(16)
    for method in ("cg", "gmres"):
        for count in (10**30, np.int64(2**62)):
            assert nnz.linalg.Solver(a, method, maxiter=count, restart=count).solve(b)[1] == 0
        assert getattr(nnz.linalg, method)(a, b, maxiter=10**30)[1] == 0
    # Products of these wrap in their own type.
    for counts in ({"maxiter": np.int32(2**30)}, {"maxiter": np.uint8(20), "restart": np.uint8(20)}):
        assert nnz.linalg.gmres(a, b, **counts)[1] == 0
    assert nnz.linalg.lsqr(a, b, iter_lim=10**30)[1] in (1, 2)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize(
    ("make", "most"),
    [("nnz.linalg.jacobi(a)", 0.5), ("updated(nnz.linalg.jacobi(a))", 0.5), ("nnz.linalg.Solver(a)", 1.7), ("updated(nnz.linalg.Solver(a))", 1.7)],
)
def test_the_first_matrix_does_not_stay(make, most):
    # In a process of its own, whose memory nobody else used before.
    code = f"""
import nnz, nnz.linalg, numpy as np, os, scipy.sparse as sp

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def updated(made):
    made.update(2 * a)
    return made

n = 100_000
a = sp.diags_array([np.ones(n)] * 12, offsets=range(12), shape=(n, n), format="csr")
size = a.data.nbytes + a.indices.nbytes + a.indptr.nbytes
alive = [{make}]
before = resident()
alive += [{make} for _ in range(12)]
print((resident() - before) / size / 12)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < most


def test_jacobi_takes_other_patterns_of_as_many_entries():
    a = sp.csr_array([[2.0, 1, 0], [0, 2, 0], [0, 0, 2]])
    b = sp.csr_array([[4.0, 0, 0], [0, 5, 0], [1, 0, 8]])
    for block in (1, 2):
        jacobi = nnz.linalg.jacobi(a, block)
        jacobi.update(b)
        np.testing.assert_array_equal(jacobi.solve(np.ones(3)), nnz.linalg.jacobi(b, block).solve(np.ones(3)))
    with pytest.raises(ValueError, match="another pattern"):
        nnz.linalg.ilu0(a).update(b)


def test_what_does_not_fit_is_named():
    a = laplace(4)
    solver, preconditioner = nnz.linalg.Solver(a), nnz.linalg.ilu0(a)
    wider = sp.csr_array(a + sp.eye_array(16, k=5))
    for made in (solver, preconditioner):
        with pytest.raises(ValueError, match="has another pattern"):
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
    with pytest.raises(ValueError, match="rtol=-1 where a number that is not negative is right"):
        nnz.linalg.Solver(a, rtol=-1)
    for limits in ({"maxiter": 0}, {"restart": 0}, {"maxiter": 2.5}):
        ((name, count),) = limits.items()
        with pytest.raises(ValueError, match=f"^{name}={count} where a whole number of at least 1 is right$"):
            nnz.linalg.Solver(a, **limits)
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


#: A system that takes as many iterations as it has rows.
LONG = """
import os, signal, threading, time
import nnz.linalg, numpy as np, scipy.sparse as sp
a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(300_000, 300_000), format="csr")
b, solver = np.ones(300_000), nnz.linalg.Solver(a, rtol=1e-14, maxiter=10**9)
"""

#: A handler calls the solver that is at work.
REENTRY = """
def handler(*_):
    for call in (lambda: solver.solve(b), lambda: solver.update(a)):
        try:
            call()
        except RuntimeError as error:
            assert "at work in this thread" in str(error), error
        else:
            raise AssertionError("the solver solves twice")
    raise InterruptedError
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    solver.solve(b)
except InterruptedError:
    print("ended")
solver.update(a)
"""

#: A thread that waits for another's solve gets Ctrl-C.
WAIT = """
other = threading.Thread(target=solver.solve, args=(b,), daemon=True)
other.start()
time.sleep(0.2)
signal.signal(signal.SIGINT, signal.default_int_handler)
for call in (lambda: solver.solve(b), lambda: solver.update(a)):
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        call()
    except KeyboardInterrupt:
        print("ended", other.is_alive(), flush=True)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize(("program", "expected"), [(REENTRY, ["ended"]), (WAIT, ["ended", "True"] * 2)])
def test_handlers_of_signals_and_threads_that_wait_are_not_locked_out(program, expected):
    # A process of its own: what is tested would hang.
    ran = subprocess.run([sys.executable, "-c", LONG + program], capture_output=True, text=True, timeout=100)
    assert (ran.returncode, ran.stdout.split()) == (0, expected), ran.stderr
