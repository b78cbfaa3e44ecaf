"""What each rank of test_mpi.py runs: `mpi_program.py RANKS`, which are compared with those there are."""

import sys

import nnz.mpi
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import TYPES, assert_within_bound, dense, random
from mpi4py import MPI
from nnz import _native

COMM = MPI.COMM_WORLD
RTOL = {"f": 1e-4, "F": 1e-4, "d": 1e-10, "D": 1e-10}


def of_root(matrix, root: int = 0):
    return matrix if COMM.rank == root else None


def products(char: str) -> None:
    """Square, wide and tall matrices, and one with fewer rows than ranks."""
    for shape in [(40, 40), (30, 50), (50, 30), (1, 5), (2, 2)]:
        theirs = random(shape, 0.2, char)
        A = nnz.mpi.scatter(of_root(theirs))
        assert (A.shape, A.dtype, A.nnz) == (theirs.shape, theirs.dtype, theirs.nnz)
        for columns in [(), (3,)]:
            x = dense((shape[1], *columns), char)
            before = _native.calls()
            y = A @ A.part(x)
            assert _native.calls() > before, "nnz computed nothing"
            assert len(y) == A.rows[1] - A.rows[0]
            assert_within_bound(A.gather(y), theirs @ x, abs(theirs) @ abs(x), shape[1])


def solvers(char: str) -> None:
    line = sp.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(60, 60))
    theirs = sp.csr_array(line).astype(char)
    if char in "FD":
        theirs = theirs + sp.diags_array([0.3j, -0.3j], offsets=[-1, 1], shape=(60, 60)).astype(char)
    b, rtol = dense((60,), char), RTOL[char]
    for solve, matrix in [
        (nnz.mpi.cg, theirs),
        (nnz.mpi.bicgstab, theirs + sp.diags_array([0.5], offsets=[2], shape=(60, 60)).astype(char)),
    ]:
        A = nnz.mpi.scatter(of_root(matrix))
        part = A.part(b)
        x, info = solve(A, part, rtol=rtol)
        assert info == 0
        assert x.dtype == np.dtype(char)
        whole = A.gather(x)
        assert np.linalg.norm(b - matrix @ whole) <= 5 * rtol * np.linalg.norm(b)
        again, info = solve(A, part, x, rtol=2 * rtol)
        assert info == 0
        np.testing.assert_allclose(A.gather(again), whole, rtol=100 * rtol, atol=100 * rtol)
        _, info = solve(A, part, rtol=rtol, maxiter=2)
        assert info == 2
        x, info = solve(A, 0 * part)
        assert info == 0
        assert not x.any()


def rows_of_ranks_and_other_roots() -> None:
    rows = sp.csr_array(np.full((2, 3), COMM.rank + 1.0))
    A = nnz.mpi.DistributedCsr(rows, COMM)
    assert A.rows == (2 * COMM.rank, 2 * COMM.rank + 2)
    y = A.gather(A @ A.part(np.ones(3)))
    np.testing.assert_array_equal(y, 3.0 * np.repeat(np.arange(COMM.size) + 1, 2))
    last = COMM.size - 1
    A = nnz.mpi.scatter(of_root(sp.eye_array(5, format="coo"), last), COMM, last)
    np.testing.assert_array_equal(A.gather(A @ A.part(np.arange(5.0))), np.arange(5.0))


def faults_reach_all_ranks() -> None:
    with pytest.raises(TypeError, match="rank 0 has no sparse matrix"):
        nnz.mpi.scatter(np.eye(3))
    if COMM.size > 1:
        with pytest.raises(ValueError, match="one number and one type"):
            nnz.mpi.DistributedCsr(sp.csr_array(np.ones((2, 3 + COMM.rank))))
    A = nnz.mpi.scatter(of_root(sp.csr_array(np.ones((6, 4)))))
    with pytest.raises(ValueError, match="'s part has shape"):
        A @ np.ones(9)
    with pytest.raises(ValueError, match="the vector has shape"):
        A.part(np.ones(9))
    with pytest.raises(ValueError, match="where a square one is right"):
        nnz.mpi.cg(A, np.ones(6))


assert COMM.size == int(sys.argv[1])
for char in TYPES:
    products(char)
    solvers(char)
rows_of_ranks_and_other_roots()
faults_reach_all_ranks()
if len(COMM.allgather("passed")) == COMM.size and COMM.rank == 0:
    print("passed on", COMM.size)
