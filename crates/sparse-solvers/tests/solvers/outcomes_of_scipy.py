"""SciPy's outcomes on the systems of hard_systems.rs, as the rows of its tables: those that are made here, then those of
the matrices in a folder. Run with SciPy 1.17.1 and NumPy 2.4.6:

    python3 crates/sparse-solvers/tests/solvers/outcomes_of_scipy.py FOLDER
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.io
from scipy.sparse import csr_array
from scipy.sparse.linalg import bicgstab, cg, gmres, minres

N, TOLERANCE = 60, 1e-10
WAVE = np.array([(k * 37 % 101) / 50 - 1 for k in range(N)])
ONES = np.ones(N)


def matrix(element):
    return np.array([[float(element(i, j)) for j in range(N)] for i in range(N)])


def tridiagonal(below, diagonal, above):
    return matrix(lambda i, j: {-1: below, 0: diagonal, 1: above}.get(j - i, 0.0))


def neumann():
    a = tridiagonal(-1.0, 2.0, -1.0)
    a[0, 0] = a[-1, -1] = 1.0
    return a


def scaled(a, spread):
    d = np.array([10.0 ** (spread * (k % 3)) for k in range(N)])
    return d[:, None] * a * d[None, :]


laplacian = tridiagonal(-1.0, 2.0, -1.0)
half_zero = matrix(lambda i, j: 1.0 + i if i == j and i % 2 == 0 else 0.0)
saddle = matrix(lambda i, j: 2.0 if i == j < 40 else float((i >= 40) != (j >= 40) and (i + j) % 20 < 2))
SYSTEMS = {
    "laplacian": (laplacian, WAVE),
    "scaled_1e4": (scaled(laplacian, 1), WAVE),
    "scaled_1e12": (scaled(laplacian, 3), WAVE),
    "scaled_1e32": (scaled(laplacian, 8), WAVE),
    "graded_diagonal": (matrix(lambda i, j: 10.0 ** (-(i // 4)) if i == j else 0.0), ONES),
    "hilbert": (matrix(lambda i, j: 1.0 / (i + j + 1)), ONES),
    "tiny": (laplacian * 1e-180, WAVE * 1e-180),
    "huge": (laplacian * 1e140, WAVE * 1e180),
    "indefinite_laplacian": (tridiagonal(-1.0, 0.5, -1.0), WAVE),
    "alternating_signs": (matrix(lambda i, j: (1.0 + i) * (-1.0) ** i if i == j else 0.0), ONES),
    "saddle_point": (saddle, WAVE),
    "negative_definite": (-laplacian, WAVE),
    "skew_symmetric": (tridiagonal(-1.0, 0.0, 1.0), WAVE),
    "cyclic_shift": (matrix(lambda i, j: 1.0 if j == (i + 1) % N else 0.0), WAVE),
    "nearly_jordan": (tridiagonal(0.0, 1.0, 2.0), WAVE),
    "strong_convection": (tridiagonal(-11.0, 2.0, 9.0), WAVE),
    "neumann_consistent": (neumann(), neumann() @ WAVE),
    "neumann_inconsistent": (neumann(), WAVE),
    "neumann_null_vector": (neumann(), ONES),
    "zero_rows_consistent": (half_zero, half_zero @ ONES),
    "zero_rows_inconsistent": (half_zero, ONES),
    "rank_one_consistent": (np.ones((N, N)), ONES),
    "rank_one_inconsistent": (np.ones((N, N)), WAVE),
    "zero": (np.zeros((N, N)), ONES),
}


FILES = """494_bus.mtx bcsstk26.mtx lund_a.mtx hangGlider_2.mtx zenios.mtx QSHIP12L_P.mtx.gz chesapeake.mtx
adder_dcop_05.mtx mahindas.mtx olm1000.mtx plskz362.mtx west0067.mtx west0479.mtx isooctane_A0.mtx 2dcyl1.mtx.gz""".split()


def outcome(method, a, b, tolerance, most_iterations):
    """Whether the method says that it has converged, and the true residual."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        absolute = {} if method is minres else {"atol": 0.0}
        # GMRES counts cycles of 20 iterations.
        limit = most_iterations // 20 if method is gmres else most_iterations
        x, info = method(a, b, rtol=tolerance, maxiter=limit, **absolute)
        scale = np.abs(b).max()
        residual = np.linalg.norm((b - a @ x) / scale) / np.linalg.norm(b / scale)
    number = "f64::NAN" if np.isnan(residual) else f"{residual:.1e}"
    return f"scipy({str(info == 0).lower()}, {number})"


def row(name, a, b, tolerance, most_iterations):
    found = [outcome(method, a, b, tolerance, most_iterations) for method in [cg, bicgstab, gmres, minres]]
    print(f'("{name}", {", ".join(found)}),')


for name, (a, b) in SYSTEMS.items():
    row(name, csr_array(a), b, TOLERANCE, 10 * N)
for name in FILES:
    a = csr_array(scipy.io.mmread(Path(sys.argv[1]) / name)).astype(float)
    row(name, a, a @ np.ones(a.shape[1]), 1e-8, 500)
