"""Direct solvers, preconditioners, and systems on devices."""

import multiprocessing
import os
import signal
import sys
import threading

import nnz
import nnz.linalg
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as scipy_linalg
from conftest import TYPES, dense, device_names, laplace, random


def general(n: int, char: str) -> sp.csr_array:
    """A regular matrix without symmetry."""
    return sp.csr_array((random((n, n), 0.2, char) + 3 * sp.eye_array(n)).astype(char))


MATRICES = {"lu": general(30, "D"), "cholesky": laplace(6, "d")}


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("method", MATRICES)
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_factors_solve_every_system(ours, format, method, char):
    complete = MATRICES[method]
    matrix = sp.csr_array(complete if char in "FD" else complete.real).astype(char)
    n = matrix.shape[0]
    with ours():
        factors = nnz.linalg.splu(matrix.asformat(format))
    assert (factors.shape, factors.dtype, factors.method) == ((n, n), np.dtype(char), method)
    tolerance = 1e-5 if char in "fF" else 1e-12
    for trans, a in {"N": matrix, "T": matrix.T, "H": matrix.conj().T}.items():
        for shape in [(n,), (n, 1), (n, 3), (n, 0)]:
            x = dense(shape, char)
            with ours():
                found = factors.solve((a @ x).astype(char), trans)
            assert (found.dtype, found.shape) == (np.dtype(char), shape)
            np.testing.assert_allclose(found, x, rtol=0, atol=tolerance * 30)


def test_right_hand_sides_have_their_own_type():
    matrix = general(20, "f")
    factors = nnz.linalg.splu(matrix)
    for char, result in {"d": "d", "D": "D", "F": "F", "l": "d", "e": "f"}.items():
        b = np.arange(20).astype(char)
        found = factors.solve(np.asfortranarray(np.stack([b, b], axis=1)))
        assert found.dtype == np.dtype(result)
        np.testing.assert_allclose(matrix.astype("D") @ found[:, 1], b, atol=1e-4)
    with pytest.raises(ValueError, match=r"rhs has shape \(3,\) where \(20\[, k\]\)"):
        factors.solve(np.ones(3))
    with pytest.raises(ValueError, match="trans is 'X'"):
        factors.solve(np.ones(20), "X")
    with pytest.raises(TypeError, match="rhs is <U1"):
        factors.solve(np.full(20, "a"))


def test_one_analysis_serves_all_values_of_a_pattern(ours):
    matrix = general(30, "d")
    factors = nnz.linalg.splu(matrix)
    b = dense((30,), "d")
    with ours():
        factors.update(-2 * matrix)
    np.testing.assert_allclose(factors.solve(b), scipy_linalg.spsolve(-2 * matrix, b), rtol=1e-10)
    with pytest.raises(ValueError, match="another pattern"):
        factors.update(matrix + sp.eye_array(30, k=3))
    with pytest.raises(RuntimeError, match="singular"):
        factors.update(0 * matrix)
    with pytest.raises(TypeError, match="A is complex128, the factors float64"):
        factors.update(1j * matrix)
    np.testing.assert_allclose(factors.solve(b), scipy_linalg.spsolve(-2 * matrix, b), rtol=1e-10)


@pytest.mark.parametrize("method", MATRICES)
def test_factors_show_l_u_and_permutations(method):
    matrix = MATRICES[method]
    factors = nnz.linalg.splu(matrix)
    ones, all_of_them = np.ones(matrix.shape[0]), np.arange(matrix.shape[0])
    for factor in (1, 2):
        rows = sp.csc_array((ones, (factors.perm_r, all_of_them)))
        columns = sp.csc_array((ones, (all_of_them, factors.perm_c)))
        product = factors.L @ factors.U
        np.testing.assert_allclose((rows @ (factor * matrix) @ columns).toarray(), product.toarray(), atol=1e-12)
        assert factors.nnz == scipy_linalg.splu(sp.csc_array(factor * matrix)).nnz
        factors.update(2 * matrix)


def test_duplicates_are_added():
    twice = sp.csc_array((np.array([1.0, 2, 4, 1]), np.array([1, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 2))
    np.testing.assert_allclose(nnz.linalg.splu(twice).solve(np.array([6.0, 3])), [1, 2])
    assert twice.nnz == 4


@pytest.mark.parametrize("char", TYPES)
def test_spsolve(ours, char):
    matrix = general(30, char)
    for shape in [(30,), (30, 1), (30, 4)]:
        b = dense(shape, char)
        with ours():
            found = nnz.linalg.spsolve(matrix, b)
        expected = scipy_linalg.spsolve(matrix, b)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-3 if char in "fF" else 1e-10)
    with ours():
        np.testing.assert_allclose(nnz.linalg.factorized(matrix)(b), expected, rtol=1e-3 if char in "fF" else 1e-10)
    with ours():
        nnz.linalg.spsolve(nnz.DeviceCsr.from_scipy(matrix), b)
    integers = sp.csr_array(np.array([[2, 0], [1, 4]]))
    np.testing.assert_allclose(nnz.linalg.spsolve(integers, np.array([2, 5])), [1, 1])


def test_what_faer_does_not_take_is_scipys():
    matrix = general(20, "d").tocsc()
    b = dense((20,), "d")
    expected = scipy_linalg.spsolve(matrix, b)
    for options in ({"diag_pivot_thresh": 0.5}, {"permc_spec": "MMD_AT_PLUS_A"}, {"options": {"SymmetricMode": True}}):
        assert not isinstance(nnz.linalg.splu(matrix, **options), nnz.linalg.Factors)
    for options in ({"permc_spec": "COLAMD"}, {"diag_pivot_thresh": 1.0, "options": {}}, {"relax": 1, "panel_size": 10}):
        assert isinstance(nnz.linalg.splu(matrix, **options), nnz.linalg.Factors)
    np.testing.assert_allclose(nnz.linalg.spsolve(matrix, b, permc_spec="NATURAL"), expected)
    solved = nnz.linalg.spsolve(matrix, sp.csc_array(np.stack([b, b], axis=1)))
    np.testing.assert_allclose(solved.toarray()[:, 1], expected)
    assert nnz.linalg.spilu is scipy_linalg.spilu
    with pytest.raises(ValueError, match="square"):
        nnz.linalg.splu(sp.csc_array(np.ones((2, 3))))


@pytest.mark.parametrize("solve", [nnz.linalg.spsolve, lambda a, b: nnz.linalg.splu(a).solve(b)])
@pytest.mark.parametrize("error", [RuntimeError("too late"), RecursionError("too deep")])
def test_errors_of_handlers_are_not_those_of_singular_matrices(monkeypatch, solve, error):
    class Interrupted:
        def of(self, *_):
            raise error

    monkeypatch.setattr(nnz._factor._native, "Factors", Interrupted())
    with pytest.raises(type(error), match=f"^{error}$"):
        solve(sp.csc_array(np.eye(2)), np.ones(2))


def test_singular_matrices_are_scipys_errors():
    singular = sp.csc_array(np.array([[1.0, 2], [2, 4]]))
    empty_column = sp.csc_array(np.array([[1.0, 0], [2, 0]]))
    for matrix in (singular, empty_column):
        with pytest.raises(RuntimeError, match="^Factor is exactly singular"):
            nnz.linalg.splu(matrix)
        with pytest.warns(scipy_linalg.MatrixRankWarning):
            assert np.isnan(nnz.linalg.spsolve(matrix, np.ones(2))).all()


def test_what_is_not_finite_is_solved_by_scipy():
    matrix, b = laplace(4).tocsc(), np.ones(16)
    matrix[3, 3] = np.inf  # a penalty
    for solve in (
        lambda linalg: linalg.spsolve(matrix, b),
        lambda linalg: linalg.splu(matrix).solve(b),
        lambda linalg: linalg.factorized(matrix)(b),
    ):
        assert np.isfinite(solve(nnz.linalg)).all()
        np.testing.assert_array_equal(solve(nnz.linalg), solve(scipy_linalg))
    matrix[3, 3] = np.nan
    with pytest.raises(RuntimeError, match="exactly singular"):
        nnz.linalg.splu(matrix)
    with pytest.warns(scipy_linalg.MatrixRankWarning):
        assert np.isnan(nnz.linalg.spsolve(matrix, b)).all()


def test_arguments_that_are_no_arrays_are_type_errors():
    factors = nnz.linalg.splu(laplace(3).tocsc())
    for rhs in (None, "x", sp.csc_array(np.ones((9, 1))), np.ones(9, object)):
        with pytest.raises(TypeError):
            factors.solve(rhs)
    for method in (nnz.linalg.gmres, nnz.linalg.cg, nnz.linalg.minres):
        with pytest.raises(TypeError):
            method(None, np.ones(9))


PRECONDITIONERS = {
    "jacobi": nnz.linalg.jacobi,
    "blocks": lambda A: nnz.linalg.jacobi(A, block=4),
    "ilu0": nnz.linalg.ilu0,
    "ic0": nnz.linalg.ic0,
}


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("name", PRECONDITIONERS)
def test_preconditioners_are_linear_operators(ours, name, char):
    # Without fill-in the incomplete factors are the factors.
    matrix = sp.csr_array(sp.diags_array([-1.0, 4.0, -1.0], offsets=[-1, 0, 1], shape=(20, 20))).astype(char)
    k = PRECONDITIONERS[name](matrix)
    assert (k.shape, k.dtype) == ((20, 20), np.dtype(char))
    elements = matrix.toarray()
    blocks = np.arange(20) // {"jacobi": 1, "blocks": 4}.get(name, 20)
    elements[blocks[:, None] != blocks] = 0
    x = dense((20, 2), char)
    for of_vectors in (lambda b: np.stack([k.solve(column) for column in b.T], axis=1), lambda b: k @ b):
        with ours():
            found = of_vectors(elements @ x)
        np.testing.assert_allclose(found, x, atol=1e-5 if char in "fF" else 1e-13)
    np.testing.assert_allclose(k @ (elements @ x).astype("D"), x, atol=1e-5)


@pytest.mark.parametrize("name", PRECONDITIONERS)
def test_preconditioners_take_integers_as_solvers_do(name):
    matrix = sp.csr_array(sp.diags_array([-1, 4, -1], offsets=[-1, 0, 1], shape=(20, 20), dtype=int))
    k, same = PRECONDITIONERS[name](matrix), PRECONDITIONERS[name](matrix.astype(float))
    assert k.dtype == np.float64
    np.testing.assert_array_equal(k @ np.arange(20.0), same @ np.arange(20.0))
    x, info = nnz.linalg.cg(matrix, np.ones(20), M=k)
    assert info == 0
    np.testing.assert_allclose(matrix @ x, np.ones(20), atol=1e-4)


@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres", "minres"])
def test_solutions_have_scipys_type(ours, method):
    # SciPy's minres warns of complex numbers, and has x in double precision.
    complex_types = "" if method == "minres" else "FD"
    for char in "?bilfd" + complex_types:
        matrix = sp.eye_array(9, format="csr", dtype=char) if char in "?bil" else laplace(3, char)
        for other in "?bilefd" + complex_types:
            b = np.arange(9).astype(other)
            with ours():
                found = getattr(nnz.linalg, method)(matrix, b)[0]
            expected = getattr(scipy_linalg, method)(matrix, b)[0]
            single = method == "minres" and char == other == "f"
            assert found.dtype == (np.float32 if single else expected.dtype), (char, other)
    for char in "?bil":
        assert nnz.linalg.jacobi(sp.eye_array(9, format="csr", dtype=char)).dtype == np.float64


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("name", PRECONDITIONERS)
@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres", "minres"])
def test_solvers_take_preconditioners(ours, method, name, char):
    a = laplace(12, char)
    b = dense(a.shape[:1], char)
    k = PRECONDITIONERS[name](a)
    solve = getattr(nnz.linalg, method)
    for _ in range(2):
        before = nnz._native.calls()
        x, info = solve(a, b, rtol=1e-4, M=k)
        # The copy of the matrix and the solution: SciPy would apply the preconditioner once for each iteration.
        assert nnz._native.calls() - before == 2
        assert info == 0
        assert np.linalg.norm(b - a @ x) <= 1.01e-4 * np.linalg.norm(b)
    if name.startswith("i"):
        few = solve(a, b, rtol=1e-4, M=k, maxiter=18)[1]
        assert few == 0
        assert solve(a, b, rtol=1e-4, maxiter=1 if method == "gmres" else 12)[1] > 0


@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres", "minres"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_right_side_that_is_not_finite_has_no_solution(method, bad):
    a = laplace(3, "d")
    b = np.ones(9)
    b[4] = bad
    with np.errstate(all="ignore"):
        x, info = getattr(nnz.linalg, method)(a, b)
    assert info != 0 and np.isnan(x).any()


@pytest.mark.parametrize("char", ["f", "F"])
@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres"])
def test_a_small_right_side_is_solved_in_double_precision(method, char):
    a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(200, 200)).tocsr().astype(char)
    b = (1e-25 * dense((200,), "d")).astype(char)
    x, info = getattr(nnz.linalg, method)(a, b, maxiter=2000)
    assert (info, x.dtype) == (0, np.dtype(char))
    # SciPy's x is 0, which it claims to be a solution: the squares of b's elements underflow.
    assert np.linalg.norm(1e25 * (b - a.astype("D") @ x)) <= 1e-4 * np.linalg.norm(1e25 * b)


def test_a_claim_of_scipy_that_does_not_hold_is_none_of_ours():
    a = sp.eye_array(3, format="csr", dtype="f") / np.float32(0.7)
    b = np.array([1e-44, 2e-44, 3e-44], "f")
    for method in ("cg", "bicgstab", "gmres", "minres"):
        x, info = getattr(nnz.linalg, method)(a, b)
        residual = np.linalg.norm(1e44 * (b.astype("d") - a.astype("d") @ x))
        assert info > 0 or residual <= 1.01e-5 * np.linalg.norm(1e44 * b.astype("d"))


@pytest.mark.parametrize(("method", "options"), [("minres", {"maxiter": 2.5}), ("gmres", {"maxiter": np.int64(2)})])
def test_numbers_of_iterations_are_read_as_scipy_reads_them(method, options):
    a, b = laplace(5, "d"), np.arange(25.0)
    x, info = getattr(nnz.linalg, method)(a, b, **options)
    expected, theirs = getattr(scipy_linalg, method)(a, b, **options)
    assert info == theirs
    np.testing.assert_allclose(x, expected)


@pytest.mark.parametrize("atol", [-1.0, None, "legacy"])
def test_a_tolerance_that_scipy_refuses_is_refused(atol):
    with pytest.raises(ValueError, match="atol"):
        nnz.linalg.cg(laplace(3, "d"), np.ones(9), atol=atol)


def test_a_type_of_callback_that_scipy_refuses_is_refused():
    a, b = laplace(3, "d"), np.ones(9)
    for callback_type in ("x", "pr_norm", "legacy"):
        assert nnz.linalg.gmres(a, b, callback_type=callback_type)[1] == 0
    with pytest.raises(ValueError, match="Unknown callback_type: 'z'"):
        nnz.linalg.gmres(a, b, callback_type="z")


def test_foreign_preconditioners_are_applied_by_scipy():
    a = laplace(8, "d")
    b = dense((64,), "d")
    for k in (nnz.linalg.ilu0(a.astype("f")), sp.diags_array(1 / a.diagonal())):
        x, info = nnz.linalg.bicgstab(a, b, rtol=1e-8, M=k)
        assert info == 0
        np.testing.assert_allclose(a @ x, b, atol=1e-6)
    scipys, info = scipy_linalg.cg(a, b, rtol=1e-8, M=nnz.linalg.ic0(a))
    assert info == 0
    np.testing.assert_allclose(a @ scipys, b, atol=1e-6)


@pytest.mark.parametrize("name", ["ilu0", "ic0"])
def test_incomplete_factors_take_rows_in_any_order_with_duplicates(name):
    a, b = laplace(6), dense((36,), "d")
    twice = sp.csr_array((np.repeat(a.data / 2, 2), np.repeat(a.indices, 2), 2 * a.indptr), shape=a.shape)
    backwards = sp.csr_array((a.data[::-1], 35 - a.indices[::-1], a.nnz - a.indptr[::-1]), shape=a.shape)[:, ::-1][::-1]
    assert not backwards.has_sorted_indices and not twice.has_canonical_format
    make = getattr(nnz.linalg, name)
    for matrix in (backwards, twice, twice.T):
        before = matrix.indices.copy()
        for kind in (matrix, nnz.DeviceCsr.from_scipy(matrix, "cpu")):
            np.testing.assert_allclose(make(kind).solve(b), make(a).solve(b), rtol=1e-12)
        np.testing.assert_array_equal(matrix.indices, before)


def test_preconditioners_name_the_row_that_they_cannot_take():
    with pytest.raises(ValueError, match="row 1: a diagonal entry"):
        nnz.linalg.ilu0(sp.csr_array(np.array([[1.0, 1], [1, 0]])))
    with pytest.raises(ValueError, match="row 1"):
        nnz.linalg.ic0(sp.csr_array(np.array([[1.0, 2], [2, 1]])))
    with pytest.raises(TypeError, match="A has values of longdouble|A has values of float128"):
        nnz.linalg.jacobi(sp.csr_array(np.eye(2, dtype=np.longdouble)))
    with pytest.raises(ValueError, match=r"rhs has shape \(3,\) where \(2,\)"):
        nnz.linalg.jacobi(sp.eye_array(2, format="csr")).solve(np.ones(3))


@pytest.mark.parametrize("place", device_names())
@pytest.mark.parametrize("kind", [nnz.DeviceCsr, nnz.DeviceCsc, nnz.DeviceCoo])
def test_systems_on_devices(ours, kind, place):
    theirs = laplace(10, "f")
    a, b = kind.from_scipy(theirs, place), dense((100,), "f")
    for method, make in {"cg": None, "bicgstab": nnz.linalg.ilu0, "minres": nnz.linalg.ic0, "gmres": nnz.linalg.jacobi}.items():
        k = None if make is None else make(a)
        for x0 in (None, np.ones(100, "f")):
            with ours():
                x, info = getattr(nnz.linalg, method)(a, b, x0, rtol=1e-4, M=k)
            assert info == 0
            assert np.linalg.norm(b - theirs @ x) <= 1.1e-4 * np.linalg.norm(b)
    seen = []
    x, info = nnz.linalg.cg(a, b, rtol=1e-4, callback=seen.append)  # by SciPy, with the matrix as an operator
    assert info == 0
    assert seen
    x, info = nnz.linalg.cg(a, 0 * b, b)
    assert info == 0
    assert not x.any()


def assert_as_scipys_lsqr(found, expected) -> None:
    """The tuples of two runs that stop at the same criterion."""
    x, istop, iterations, *norms = found
    assert istop == expected[1]
    assert abs(iterations - expected[2]) <= 1
    np.testing.assert_allclose(x, expected[0], rtol=0, atol=1e-3 * np.linalg.norm(expected[0]))
    for k, name in enumerate(["r1norm", "r2norm", "anorm", "acond", "arnorm", "xnorm"]):
        np.testing.assert_allclose(norms[k], expected[3 + k], rtol=0.05, atol=5e-3, err_msg=name)
    assert norms[6].tolist() == [0.0] * len(x)


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("shape", [(60, 20), (20, 60), (30, 30)])
def test_lsqr(ours, shape, char):
    rows, cols = shape
    a = sp.csr_array((random(shape, 0.3, char) + 2 * sp.eye_array(rows, cols)).astype(char))
    b, x0 = dense((rows,), char), dense((cols,), char)
    for options in ({}, {"damp": 0.5}, {"atol": 1e-4, "btol": 1e-4}, {"iter_lim": 3}):
        expected = scipy_linalg.lsqr(a, b, **options)
        assert nnz.linalg.lsqr(a, b, **options)[0].dtype == expected[0].dtype
        for matrix in (a, nnz.csc_array(a), nnz.DeviceCsr.from_scipy(a)):
            before = nnz._native.calls()
            found = nnz.linalg.lsqr(matrix, b, **options)
            assert nnz._native.calls() - before <= 3
            assert_as_scipys_lsqr(found, expected)
    # SciPy measures x from x0 then, and stops at another iterate.
    x, istop, *_, xnorm, _ = nnz.linalg.lsqr(a, b, x0=x0)
    assert istop == scipy_linalg.lsqr(a, b, x0=x0)[1]
    np.testing.assert_allclose(x, scipy_linalg.lsqr(a, b, x0=x0)[0], atol=1e-3)
    np.testing.assert_allclose(xnorm, np.linalg.norm(x), rtol=1e-5)


@pytest.mark.skipif(sys.platform == "win32", reason="a process sends itself no Ctrl-C there")
@pytest.mark.parametrize("solve", [nnz.linalg.cg, nnz.linalg.gmres, nnz.linalg.lsqr])
def test_a_signal_ends_a_solver(solve):
    # It takes as many iterations as there are rows.
    a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(30_000, 30_000), format="csr")
    options = {"btol": 0, "conlim": 0} if solve is nnz.linalg.lsqr else {"rtol": 1e-14}
    # Where a shell started the tests in the background, the signal is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            solve(a, np.ones(30_000), atol=0.0, **options)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def _solution_in_child(a, b, results):
    results.put(nnz.linalg.spsolve(a, b))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_solves_directly():
    a, b = general(600, "d"), dense((600,), "d")
    nnz.linalg.spsolve(a, b)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_solution_in_child, args=(a, b, results))
    child.start()
    np.testing.assert_allclose(a @ results.get(timeout=20), b, rtol=0, atol=1e-8)
    child.join()


def test_what_lsqr_leaves_to_scipy():
    a, b = random((20, 8), 0.5, "d"), dense((20,), "d")
    np.testing.assert_allclose(nnz.linalg.lsqr(a, b, calc_var=True)[9], scipy_linalg.lsqr(a, b, calc_var=True)[9])
    assert nnz.linalg.lsqr(a, 0 * b)[1] == scipy_linalg.lsqr(a, 0 * b)[1] == 0
    np.testing.assert_allclose(nnz.linalg.lsqr(a.toarray(), b)[0], scipy_linalg.lsqr(a, b)[0])
    for options in ({"atol": 0, "btol": 0}, {"atol": np.nan}, {"iter_lim": 2.5}):
        assert nnz.linalg.lsqr(a, b, **options)[1:3] == scipy_linalg.lsqr(a, b, **options)[1:3]


def test_lsqr_of_a_solution_says_so():
    a, b = sp.csr_array((4, 3)), np.ones(4)
    assert nnz.linalg.lsqr(a, b)[1:3] == scipy_linalg.lsqr(a, b)[1:3] == (0, 0)
    a = sp.csr_array(np.eye(3))
    assert nnz.linalg.lsqr(a, np.ones(3), x0=np.ones(3))[1:3] == (0, 0)


@pytest.mark.parametrize("place", device_names())
def test_lsqr_on_devices(place):
    a, b = random((40, 12), 0.4, "f"), dense((40,), "f")
    found = nnz.linalg.lsqr(nnz.DeviceCsc.from_scipy(a, place), b, damp=0.1)
    assert_as_scipys_lsqr(found, scipy_linalg.lsqr(a, b, damp=0.1))
