"""Solvers, batches and device matrices."""

import pickle

import nnz
import nnz.linalg
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as scipy_linalg
from conftest import TYPES, assert_within_bound, dense, device_names, laplace, random
from scipy.sparse import csgraph


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres", "minres"])
def test_solvers(ours, method, char):
    a = laplace(12, char)
    b = dense(a.shape[:1], char)
    solve = getattr(nnz.linalg, method)
    with ours():
        x, info = solve(a, b, rtol=1e-4)
    assert info == 0
    assert x.dtype == np.dtype(char)
    assert np.linalg.norm(b - a @ x) <= 1.01e-4 * np.linalg.norm(b)
    _, info = solve(a, b, rtol=1e-7, maxiter=1)
    assert info > 0
    x, info = solve(a, 0 * b)
    assert info == 0
    assert not x.any()


def test_solvers_stop_where_scipys_do():
    line = nnz.csr_array(sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(200, 200)))
    ones = np.ones(200)
    assert nnz.linalg.gmres(line, ones)[1] == 0
    assert nnz.linalg.gmres(line, ones, maxiter=3)[1] == 3
    assert nnz.linalg.gmres(line, ones, maxiter=0)[1] > 0
    for method in ("cg", "bicgstab", "minres"):
        ours, scipys = (getattr(module, method) for module in (nnz.linalg, scipy_linalg))
        assert ours(line, ones, maxiter=0)[1] == scipys(line, ones, maxiter=0)[1]
    for diagonal in ([-1, -2, -3], [1, -1, 2, -2, 3]):
        b = np.ones(len(diagonal))
        x, info = nnz.linalg.cg(nnz.csr_array(np.diag(np.array(diagonal, "d"))), b)
        assert info == 0
        np.testing.assert_allclose(x, b / diagonal, rtol=1e-4)


@pytest.mark.parametrize("wrong", [{"x0": np.ones((1, 8))}, {"atol": None}])
def test_arguments_that_scipy_refuses_are_refused(wrong):
    with pytest.raises(ValueError):
        nnz.linalg.cg(nnz.csr_array(np.eye(8)), np.ones(8), **wrong)


def test_solvers_of_scipy_take_over():
    a = laplace(8)
    b = dense(a.shape[:1], "d")
    seen = []
    preconditioner = sp.diags_array(1 / a.diagonal())
    for options in ({"M": preconditioner}, {"callback": lambda x: seen.append(x)}):
        x, info = nnz.linalg.cg(a, b, rtol=1e-8, **options)
        assert info == 0
        np.testing.assert_allclose(a @ x, b, rtol=1e-6, atol=1e-6)
    assert seen


START = dense((64,), "d")
PROGRAMS = {
    "cg": lambda a, b: scipy_linalg.cg(a, b, rtol=1e-8)[0],
    "gmres": lambda a, b: scipy_linalg.gmres(a, b, rtol=1e-8)[0],
    "lsqr": lambda a, b: scipy_linalg.lsqr(a, b, atol=1e-9, btol=1e-9)[0],
    "eigsh": lambda a, b: np.sort(scipy_linalg.eigsh(a, 3, v0=START, return_eigenvectors=False)),
    "svds": lambda a, b: np.sort(scipy_linalg.svds(a, 3, v0=START, return_singular_vectors=False)),
    "expm_multiply": scipy_linalg.expm_multiply,
    "spsolve": lambda a, b: scipy_linalg.spsolve(a @ a, b),
    "splu": lambda a, b: scipy_linalg.splu(a.tocsc()).solve(b),
    "connected_components": lambda a, b: csgraph.connected_components(a @ a)[1],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_scipy_run(ours, name):
    theirs = (laplace(8) + sp.diags_array(np.linspace(0, 1, 64))).tocsr()
    b = dense((64,), "d")
    with ours():
        found = PROGRAMS[name](nnz.csr_array(theirs), b)
    np.testing.assert_allclose(found, PROGRAMS[name](theirs, b), rtol=1e-6, atol=1e-6)


def test_functions_of_scipy_have_results_of_nnz():
    for made, name in (
        (nnz.linalg.matrix_power(nnz.csr_array(laplace(3)), 0), "dia_array"),
        (nnz.linalg.inv(nnz.csc_array(laplace(3))), "csc_array"),
        (nnz.block_diag([sp.eye_array(2), sp.eye_array(1)], format="bsr"), "bsr_array"),
    ):
        assert type(made) is getattr(nnz, name), type(made)
    for function in (nnz.eye_array, nnz.linalg.eigsh):
        assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize("char", TYPES)
def test_batches(ours, char):
    stack = np.where(np.random.default_rng(5).random((4, 6, 5)) < 0.4, dense((4, 6, 5), char), 0)
    stack[2] = 0
    with ours():
        batch = nnz.compress(stack)
    assert (len(batch), batch.shape, batch.nnz) == (4, (4, 6, 5), np.count_nonzero(stack))
    for k, member in enumerate(batch):
        np.testing.assert_array_equal(member.toarray(), stack[k])
    np.testing.assert_array_equal(batch[-1].toarray(), stack[3])
    assert [member.nnz for member in batch.to_list()] == [np.count_nonzero(member) for member in stack]
    for shape in [(4, 5), (5,), (4, 5, 3), (5, 3)]:
        x = dense(shape, char)
        of_each = x if shape[0] == 4 else np.broadcast_to(x, (4, *shape))
        subscripts = "kij,kj->ki" if of_each.ndim == 2 else "kij,kjl->kil"
        with ours():
            found = batch @ x
        expected = np.einsum(subscripts, stack, of_each).astype(char)
        absolute = np.einsum(subscripts, abs(stack), abs(of_each))
        assert_within_bound(found, expected, absolute, 5)
    again = pickle.loads(pickle.dumps(batch))
    assert (again.shape, again.dtype) == (batch.shape, batch.dtype)
    np.testing.assert_array_equal([member.toarray() for member in again], stack)
    with pytest.raises(IndexError):
        batch[4]
    with pytest.raises(ValueError, match="shape"):
        batch @ np.ones(4, char)
    assert nnz.compress(np.array([[1.0, 1e-9], [0.0, 2.0]]), tolerance=1e-6).nnz == 2


def test_a_square_operand_of_a_batch_has_a_vector_for_each_matrix():
    stack, b = np.arange(18.0).reshape(3, 2, 3), np.arange(9.0).reshape(3, 3)
    batch = nnz.compress(stack)
    np.testing.assert_array_equal(batch @ b, np.einsum("mrc,mc->mr", stack, b))
    np.testing.assert_array_equal(batch @ b[None].repeat(3, 0), stack @ b)


def test_batches_are_blocks_on_a_diagonal():
    stack = np.arange(12.0).reshape(2, 2, 3)
    whole = nnz.compress(stack).to_block_diagonal()
    np.testing.assert_array_equal(whole.toarray(), sp.block_diag(list(stack)).toarray())
    assert len(nnz.BatchCsr.from_block_diagonal(whole.tocsc(), 2)) == 2
    empty = nnz.compress(np.zeros((0, 2, 3), "f"))
    assert pickle.loads(pickle.dumps(empty)).shape == (0, 2, 3)
    with pytest.raises(ValueError):
        nnz.BatchCsr.from_block_diagonal(whole, 3)


@pytest.mark.parametrize("name", device_names())
@pytest.mark.parametrize("kind", [nnz.DeviceCsr, nnz.DeviceCsc, nnz.DeviceCoo])
def test_device_matrices(ours, kind, name):
    theirs = random((40, 30), 0.2, "f")
    a = kind.from_scipy(theirs, name)
    assert (a.shape, a.nnz, a.dtype) == ((40, 30), theirs.nnz, np.dtype("f"))
    np.testing.assert_array_equal(a.get().toarray(), theirs.toarray())
    np.testing.assert_array_equal(a.T.get().toarray(), theirs.T.toarray())
    for columns in [(), (4,)]:
        x = dense((30, *columns), "f")
        with ours():
            found = a @ x
        assert_within_bound(found, theirs @ x, abs(theirs) @ abs(x), 30)
    with pytest.raises(ValueError, match="shape"):
        a @ np.ones(3, "f")
    with pytest.raises(TypeError, match="cast"):
        a @ np.ones(30)


def test_the_host_is_a_device():
    assert "cpu" in [info.name for info in nnz.devices()]
    with pytest.raises((ValueError, NotImplementedError)):
        nnz.DeviceCsr.from_scipy(random((2, 2), 1.0, "d"), "nonsense")
