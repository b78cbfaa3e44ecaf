"""The command against SciPy, on every real matrix that is there, and on random ones in every format and type.

`convert`, `compress`, `add`, `multiply`, `slice`, `transpose` and `spgemm` of integers must give SciPy's arrays to the
bit. `spmv` and `spmm` must be within the componentwise bound around a product in extended precision, `trisolve` within
Higham's. `solve` must reach the residual that it promises, and the solution that follows from it.

    python3 crates/sparse-cli/tests/compare_with_scipy --nnz target/release/nnz
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import random_matrices
import real_matrices
import scipy.io
import scipy.sparse as sp
from command import Command

CORPUS = Path(__file__).resolve().parents[4] / "../shared/data/matrices"


def own_matrices(folder):
    """Matrices of this script's own, so that it checks something where the corpus is not."""
    rng = np.random.default_rng(7)
    skewed = sp.random(700, 300, 0.02, random_state=rng).tolil()
    skewed[13, :] = 1.5
    skewed[400:420, :] = 0
    matrices = {
        "random": sp.random(500, 500, 0.02, random_state=rng),
        "skewed": skewed.tocoo(),
        "complex": sp.random(90, 120, 0.1, random_state=rng) * (1 - 2j),
        "laplacian": sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(1000, 1000)),
    }
    for name, matrix in matrices.items():
        path = folder / f"{name}.mtx"
        scipy.io.mmwrite(path, sp.coo_matrix(matrix), symmetry="general", precision=17)
        yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nnz", type=Path, required=True, help="the command under test")
    parser.add_argument("--matrix", help="only matrices whose name contains this")
    arguments = parser.parse_args()
    failed, failed_random = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        paths = [*own_matrices(folder), *sorted(CORPUS.glob("*.mtx*"))]
        paths = [path for path in paths if (arguments.matrix or "") in path.name]
        for path in paths:
            try:
                real_matrices.compare(Command(arguments.nnz, folder), path)
            except AssertionError as error:
                failed += 1
                print(f"{path.name}: FAILED: {error}")
            else:
                print(f"{path.name}: ok")
        if not arguments.matrix:
            real_matrices.compare_methods(Command(arguments.nnz, folder))
            failed_random = random_matrices.compare_all(arguments.nnz, folder)
    print(f"{len(paths) - failed} passed, {failed} failed")
    return 1 if failed or failed_random or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
