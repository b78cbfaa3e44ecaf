"""Heat in a square plate by finite elements: `python3 finite_elements.py [--points N] [--scipy]`.

Assembles bilinear elements as coordinates with duplicates, solves for the steady state directly and by conjugate gradients,
steps through time with factors whose values change, and finds the slowest modes. With `--scipy` the same program runs with
SciPy's classes and solvers: the two differ in the module alone.
"""

import argparse
import time
from typing import Any

import nnz
import numpy as np
import scipy.sparse

#: Of one element: the products of gradients, and those of the functions.
STIFFNESS = np.array([[4, -1, -2, -1], [-1, 4, -1, -2], [-2, -1, 4, -1], [-1, -2, -1, 4]]) / 6
MASS = np.array([[4, 2, 1, 2], [2, 4, 2, 1], [1, 2, 4, 2], [2, 1, 2, 4]]) / 36


def assemble(sparse: Any, points: int) -> tuple[Any, Any]:
    """Stiffness and mass of the inner points of a unit square with `points` points a side."""
    number = np.arange(points * points).reshape(points, points)
    corners = (number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1])
    elements = np.stack(corners, axis=-1).reshape(-1, 4)
    rows, cols = np.repeat(elements, 4, axis=1).ravel(), np.tile(elements, (1, 4)).ravel()
    inner = number[1:-1, 1:-1].ravel()
    size, area = number.size, 1 / (points - 1) ** 2
    # Entries of elements that share corners have one place: conversion adds them.
    whole = [
        sparse.coo_array((np.tile(block.ravel(), len(elements)), (rows, cols)), shape=(size, size)).tocsr()
        for block in (STIFFNESS, area * MASS)
    ]
    stiffness, mass = (matrix[inner][:, inner] for matrix in whole)
    return stiffness, mass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=200, help="points a side")
    parser.add_argument("--scipy", action="store_true", help="SciPy in place of nnz")
    arguments = parser.parse_args()
    sparse = scipy.sparse if arguments.scipy else nnz
    start = time.perf_counter()

    stiffness, mass = assemble(sparse, arguments.points)
    heat = mass @ np.ones(len(mass.indptr) - 1)
    print(f"{time.perf_counter() - start:6.2f} s: {stiffness.shape[0]} unknowns, {stiffness.nnz} entries")

    steady = sparse.linalg.spsolve(stiffness.tocsc(), heat)
    iterated, info = sparse.linalg.cg(stiffness, heat, rtol=1e-10)
    assert info == 0 and np.allclose(iterated, steady, rtol=1e-6)
    print(f"{time.perf_counter() - start:6.2f} s: steady state, at most {steady.max():.5f} (of a fine grid 0.07367)")

    temperature, step = np.zeros_like(steady), 0.01
    factors = sparse.linalg.splu((mass + step * stiffness).tocsc())
    for _ in range(50):
        temperature = factors.solve(mass @ temperature + step * heat)
    print(f"{time.perf_counter() - start:6.2f} s: at most {temperature.max():.5f} after 50 steps")

    modes = sparse.linalg.eigsh(stiffness.tocsc(), 3, M=mass.tocsc(), sigma=0, return_eigenvectors=False)
    expected = np.pi**2 * np.array([2, 5, 5])
    assert np.allclose(np.sort(modes), expected, rtol=30 / arguments.points**2)
    print(f"{time.perf_counter() - start:6.2f} s: slowest modes {np.sort(modes).round(3)}")


if __name__ == "__main__":
    main()
