"""Sparse matrices whose rows are divided over the ranks of MPI, with mpi4py.

    mpirun -n 4 python3 program.py

    from mpi4py import MPI
    import nnz.mpi
    A = nnz.mpi.scatter(matrix if MPI.COMM_WORLD.rank == 0 else None)
    x, info = nnz.mpi.cg(A, A.part(b))

A vector is divided, too: each rank has its part of it, and a product gives each rank its part of the result. Ranks multiply
by :class:`nnz.csr_array`, and send each other the elements that they need. All functions are collective: every rank of
the communicator calls them, in the same order.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from mpi4py import MPI
from mpi4py.util import pkl5

from ._arrays import csr_array

__all__ = ["DistributedCsr", "bicgstab", "cg", "scatter"]


class DistributedCsr:
    """A sparse matrix of which each rank has some rows; :func:`scatter` makes one of a whole matrix.

    `rows` are those of this rank, with all columns, as any sparse array; those of rank 0 are the first ones. The columns,
    and with them x of `A @ x`, are divided as the rows are where the matrix is square, else evenly.
    """

    #: NumPy leaves `array @ matrix` to this class, which has no such product.
    __array_ufunc__ = None

    def __init__(self, rows: Any, comm: Any = None) -> None:
        self.comm = MPI.COMM_WORLD if comm is None else comm
        rows = csr_array(rows)
        # Errors of one rank reach all, so that none waits for another.
        known = self.comm.allgather((rows.shape[1], rows.dtype.char, rows.shape[0]))
        if len({(columns, char) for columns, char, _ in known}) > 1:
            different = ", ".join(f"{columns} of {np.dtype(char)}" for columns, char, _ in known)
            raise ValueError(f"the ranks have columns {different} where one number and one type are right")
        self._rows = _starts([count for _, _, count in known])
        self.shape = (int(self._rows[-1]), rows.shape[1])
        self.dtype = rows.dtype
        is_square = self.shape[0] == self.shape[1]
        self._columns = self._rows if is_square else _even(self.shape[1], self.comm.size)
        self._connect(rows)

    def _connect(self, rows: Any) -> None:
        """Numbers the columns that this rank needs without gaps, and tells their owners."""
        needed, indices = np.unique(rows.indices, return_inverse=True)
        bounds = np.searchsorted(needed, self._columns)
        wanted = [needed[bounds[rank] : bounds[rank + 1]] for rank in range(self.comm.size)]
        asked = pkl5.Intracomm(self.comm).alltoall(wanted)
        self._received = np.diff(bounds)
        self._sent = np.array([len(columns) for columns in asked])
        self._gathered = np.concatenate(asked) - self._columns[self.comm.rank]
        indices = indices.astype(rows.indices.dtype).reshape(-1)
        #: The rows of this rank over the columns that have entries there.
        self._local = csr_array((rows.data, indices, rows.indptr), shape=(rows.shape[0], len(needed)))

    @property
    def nnz(self) -> int:
        """The number of entries on all ranks."""
        return sum(self.comm.allgather(self._local.nnz))

    @property
    def rows(self) -> tuple[int, int]:
        """The first row of this rank, and the row behind its last."""
        return int(self._rows[self.comm.rank]), int(self._rows[self.comm.rank + 1])

    @property
    def columns(self) -> tuple[int, int]:
        """The first element of x that this rank has, and the element behind its last."""
        return int(self._columns[self.comm.rank]), int(self._columns[self.comm.rank + 1])

    def part(self, x: Any) -> Any:
        """This rank's part of a whole x of `A @ x`; of b in A·x = b, too, where A is square."""
        if np.shape(x)[:1] != self.shape[1:]:
            raise ValueError(f"the vector has shape {np.shape(x)} where ({self.shape[1]}[, k]) is right")
        return np.asarray(x)[slice(*self.columns)]

    def gather(self, y: Any) -> Any:
        """The whole, on every rank, of a vector or dense matrix of which each rank has a part."""
        return np.concatenate(pkl5.Intracomm(self.comm).allgather(np.asarray(y)))

    def __matmul__(self, x: Any) -> Any:
        """This rank's part of A·x or A·B, of its part of x or B, which has the same type and columns on all ranks."""
        x = np.asarray(x)
        first, end = self.columns
        if x.ndim not in (1, 2) or x.shape[0] != end - first:
            raise ValueError(f"rank {self.comm.rank}'s part has shape {x.shape} where ({end - first}[, k]) is right")
        width = math.prod(x.shape[1:])
        given = np.ascontiguousarray(x[self._gathered])
        needed = np.empty((self._local.shape[1], *x.shape[1:]), x.dtype)
        self.comm.Alltoallv([given, self._sent * width], [needed, self._received * width])
        return self._local @ needed

    def __repr__(self) -> str:
        first, end = self.rows
        rows, columns = self.shape
        return f"<DistributedCsr: {rows} x {columns}, rows {first}..{end} on rank {self.comm.rank} of {self.comm.size}>"


def scatter(matrix: Any, comm: Any = None, root: int = 0) -> DistributedCsr:
    """Divides the sparse matrix of rank `root` by rows, so that ranks have about as many entries each.

    The other ranks pass None.
    """
    comm = MPI.COMM_WORLD if comm is None else comm
    is_matrix = comm.bcast(sp.issparse(matrix) and matrix.ndim == 2, root)
    if not is_matrix:
        raise TypeError(f"rank {root} has no sparse matrix")
    parts = None
    if comm.rank == root:
        whole = csr_array(matrix)
        ends = [whole.nnz * rank // comm.size for rank in range(1, comm.size)]
        starts = [0, *np.searchsorted(whole.indptr, ends), whole.shape[0]]
        parts = [whole[starts[rank] : starts[rank + 1]] for rank in range(comm.size)]
    return DistributedCsr(pkl5.Intracomm(comm).scatter(parts, root), comm)


def cg(
    A: DistributedCsr,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
) -> tuple[Any, int]:
    """This rank's part of x with A·x = b by conjugate gradients: A is Hermitian and positive definite.

    `b` and `x0` are this rank's parts. The criterion and the second result are those of :func:`scipy.sparse.linalg.cg`.
    """
    solver = _Solver(A, b, x0, rtol, atol, maxiter)
    x, r = solver.x, solver.r
    p, rho = r.copy(), solver.square(r)
    for _ in range(solver.maxiter):
        if solver.is_small(rho):
            return x, 0
        q = A @ p
        curvature = solver.dot(p, q)
        if curvature == 0 or not math.isfinite(rho):
            break
        alpha = rho / curvature
        x += alpha * p
        r -= alpha * q
        rho, previous = solver.square(r), rho
        p *= rho / previous
        p += r
    return x, 0 if solver.is_small(rho) else solver.maxiter


def bicgstab(
    A: DistributedCsr,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
) -> tuple[Any, int]:
    """This rank's part of x with A·x = b by stabilised biconjugate gradients: A is any square matrix.

    As :func:`cg`; a breakdown is -10 or -11, as SciPy's.
    """
    solver = _Solver(A, b, x0, rtol, atol, maxiter)
    x, r = solver.x, solver.r
    shadow, p = r.copy(), r.copy()
    rho = solver.dot(shadow, r)
    for _ in range(solver.maxiter):
        if solver.is_small(solver.square(r)):
            return x, 0
        v = A @ p
        projected = solver.dot(shadow, v)
        if projected == 0 or not cmath.isfinite(projected):
            return x, -11
        alpha = rho / projected
        x += alpha * p
        r -= alpha * v
        t = A @ r
        length = solver.square(t)
        if length == 0:
            break
        omega = solver.dot(t, r) / length
        x += omega * r
        r -= omega * t
        rho, previous = solver.dot(shadow, r), rho
        if rho == 0 or omega == 0:
            return x, 0 if solver.is_small(solver.square(r)) else -10
        p -= omega * v
        p *= (rho / previous) * (alpha / omega)
        p += r
    return x, 0 if solver.is_small(solver.square(r)) else solver.maxiter


class _Solver:
    """The start of an iteration, and the sums over ranks."""

    def __init__(self, A: DistributedCsr, b: Any, x0: Any, rtol: float, atol: float, maxiter: int | None) -> None:
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"the matrix is {A.shape[0]} x {A.shape[1]} where a square one is right")
        self._comm = A.comm
        dtype = np.result_type(A.dtype, np.asarray(b).dtype, np.float32)
        b = np.array(b, dtype)
        self.maxiter = 10 * A.shape[0] if maxiter is None else maxiter
        self._tolerance = max(rtol * math.sqrt(self.square(b)), atol)
        self.x = np.zeros_like(b) if x0 is None else np.array(x0, dtype)
        self.r = b if x0 is None else b - A @ self.x

    def dot(self, x: Any, y: Any) -> Any:
        """xᴴ·y, with the same bits on all ranks, so that they decide alike."""
        return sum(self._comm.allgather(np.vdot(x, y).item()))

    def square(self, x: Any) -> float:
        """‖x‖²."""
        return self.dot(x, x).real

    def is_small(self, square: float) -> bool:
        """True if a residual of this square ends the iteration."""
        return math.sqrt(square) <= self._tolerance


def _starts(counts: list[int]) -> Any:
    """Where each rank's elements start, and the end of all."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _even(count: int, parts: int) -> Any:
    """Where each of `parts` parts of about one size starts, and the end of all."""
    return np.array([count * part // parts for part in range(parts + 1)])
