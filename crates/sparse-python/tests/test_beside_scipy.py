"""Programs of SciPy's users with SciPy's classes and with ours: values, types, order of indices, warnings and errors."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import nnz
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph
import scipy.sparse.linalg as linalg
from conftest import laplace

Program = Callable[[Any], object]

FORMATS = ("csr", "csc", "coo")
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Adds a program, which gets the module whose classes it uses, and returns its results."""
    PROGRAMS[function.__name__] = function
    return function


def made(module: Any, matrix: Any, format: str = "csr") -> Any:
    return getattr(module, f"{format}_array")(matrix)


def random(module: Any, shape: tuple[int, int], format: str = "csr", density: float = 0.3, seed: int = 0) -> Any:
    return made(module, sp.random_array(shape, density=density, rng=seed, format="csr"), format)


@program
def eigenvalues_of_a_laplacian(module):
    a = random(module, (90, 90), density=0.05)
    normed, degrees = csgraph.laplacian(a + a.T, normed=True, return_diag=True)
    start = np.arange(1.0, 91)
    values = linalg.eigsh(made(module, normed), 4, v0=start, return_eigenvectors=False)
    return normed, degrees, np.sort(values), linalg.svds(a, 2, v0=start, return_singular_vectors=False)


@program
def pagerank(module):
    links = random(module, (90, 90), density=0.05)
    out = links.sum(axis=1)
    out[out > 0] = 1 / out[out > 0]
    transition, rank = sp.diags_array(out) @ links, np.full(90, 1 / 90)
    for _ in range(20):
        rank = 0.85 * (rank @ transition) + 0.15 / 90
    return transition, links.multiply(out[:, None]), rank


@program
def label_propagation(module):
    weights = random(module, (60, 60), density=0.1)
    weights = weights.maximum(weights.T)
    scale = sp.diags_array(1 / np.sqrt(np.maximum(weights.sum(axis=1), 1e-9)))
    labels = start = np.eye(60, 3)
    for _ in range(10):
        labels = 0.9 * (scale @ weights @ scale @ labels) + 0.1 * start
    return labels, weights.argmax(axis=1), weights.max(axis=0), weights.nonzero()


@program
def finite_differences(module):
    line = made(module, sp.diags_array([1.0, -2, 1], offsets=[-1, 0, 1], shape=(9, 9)))
    eye = made(module, sp.eye_array(9))
    plane = sp.kron(line, eye) + sp.kron(eye, line)
    blocks = sp.block_array([[plane, None], [sp.eye_array(81), plane.T]], format="csc")
    return plane, blocks, sp.kronsum(line, line), sp.vstack([line, eye]), sp.tril(line), linalg.spsolve(plane.tocsc(), np.ones(81))


@program
def graph_algorithms(module):
    a = random(module, (40, 40), density=0.1)
    return (
        *csgraph.connected_components(a, directed=False),
        csgraph.dijkstra(a),
        csgraph.minimum_spanning_tree(a),
        csgraph.breadth_first_order(a, 0),
        csgraph.reverse_cuthill_mckee(made(module, a + a.T)),
        csgraph.maximum_bipartite_matching(a),
    )


@program
def exponentials(module):
    a = random(module, (40, 40), density=0.1)
    return linalg.expm_multiply(a, np.ones((40, 3))), linalg.expm(a.tocsc()), linalg.onenormest(a), linalg.norm(a, axis=0)


@program
def solvers(module):
    a, b = made(module, laplace(8)), np.arange(64.0)
    iterative = [solver(a, b, rtol=1e-10)[0] for solver in (linalg.cg, linalg.bicgstab, linalg.gmres, linalg.minres)]
    return iterative, linalg.lsqr(a, b, atol=1e-12, btol=1e-12)[0], linalg.splu(a.tocsc()).solve(b), linalg.spsolve_triangular(sp.tril(a, format="csr"), b)


@program
def copies(module):
    matrices = [random(module, (12, 9), format) for format in FORMATS]
    return [[pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a), a.copy(), made(module, a, a.format)] for a in matrices]


@program
def chosen_elements(module):
    rows, columns = np.arange(12) % 3 == 0, np.array([8, 0, 8])
    results = []
    for format in ("csr", "csc"):
        a = random(module, (12, 9), format)
        results += [a[rows], a[:, columns], a[rows][:, columns], a[np.ix_(rows, columns)], a[[1, 2], [3, 4]], a[::-2, ::3]]
        results += [a[3], a[:, 4], a[2, 3], a[2:2], a[a > 0.5], a[..., 2], a > 0.5, a != 0, a == 0.5, a.count_nonzero(axis=0)]
    return results


@program
def assignments(module):
    results = []
    for format in ("csr", "csc"):
        a = random(module, (12, 12), format)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
            a[0] = 1.0
            a[:, 2] = 0
            a[[1, 2], [3, 4]] = [7, 8]
            a[a > 0.9] = 0.0
            a.setdiag(3)
        results.append(a.copy())
        a.eliminate_zeros()
        a *= 2
        a /= 3
        a.resize(15, 6)
        results += [a, a @ np.ones(6), a.reshape(6, 15), a.trace(), a.T @ np.ones(15)]
    return results


@program
def wide_indices(module):
    a = random(module, (12, 9))
    wide = made(module, (a.data, a.indices.astype(np.int64), a.indptr.astype(np.int64)))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return wide @ np.ones(9), wide @ np.ones((9, 3)), wide @ a.T, a @ wide.T, wide + a, wide.tocsc(), wide.toarray(), wide.sum(axis=0)


@program
def types_of_values(module):
    results = []
    for char in "?bBhilLfdFDgG":
        for format in FORMATS:
            a = made(module, (10 * random(module, (6, 5))).astype(char), format)
            results += [a, a @ np.arange(5), a @ np.ones((5, 2), "f"), np.arange(6) @ a, a.sum(), a.sum(axis=0), a.mean(axis=1)]
            results += [a.toarray(), a.tocsc(), a @ a.T, a + a, 2 * a, abs(a), a.astype("f"), a.multiply(a), a.power(2), a.real]
    return results


@program
def vectors_and_arrays_of_three_dimensions(module):
    v, a = module.csr_array(np.array([0, 1.0, 0, 2])), random(module, (5, 4))
    cube = module.coo_array(np.arange(24.0).reshape(2, 3, 4))
    return (v @ np.ones(4), a @ v, v @ a.T, v + v, v.sum(), v[1:3], v.reshape(2, 2), v.tocoo(), a[2], a.multiply(v), v @ v), cube.reshape(6, 4), cube.toarray()


@program
def matrices_of_the_old_class(module):
    a = random(module, (6, 6))
    old = sp.csr_matrix(a)
    return a @ old, old @ a, a + old, old + a, a.multiply(old), sp.hstack([old, a]), made(module, old), sp.csr_matrix(a), sp.bsr_array(a) @ a, a @ sp.dia_array(a)


@program
def rows_out_of_order_with_duplicates(module):
    data, indices, indptr = np.arange(1.0, 9), np.array([3, 1, 1, 0, 2, 2, 0, 3]), np.array([0, 3, 5, 8])
    results = []
    for format, shape in (("csr", (3, 4)), ("csc", (4, 3))):
        a = getattr(module, f"{format}_array")((data, indices, indptr), shape=shape)
        results += [a.has_canonical_format, a @ np.ones(shape[1]), a.toarray(), a.T, a.tocsc(), a.tocsr(), a + a, a[0:2], a.max(axis=0), a.diagonal()]
        results += [a.sorted_indices(), a.sum(axis=0), a.count_nonzero(), a.nonzero(), a[1, 1]]
    coo = module.coo_array((data, (indices % 3, indices)), shape=(3, 4))
    return [*results, coo.tocsr(), coo.tocsc(), coo.toarray(), coo @ np.ones(4), coo.T]


@program
def operands_that_do_not_fit(module):
    a = module.csr_array((2, 3))
    eye = module.csr_array(np.eye(2))
    calls = [
        lambda: a @ np.ones(4),
        lambda: a @ a,
        lambda: a + 1,
        lambda: a + a.T,
        lambda: bool(a),
        lambda: len(a),
        lambda: a[5],
        lambda: a**0,
        lambda: a @ 3,
        lambda: a / 0,
        lambda: eye // 2,
        lambda: a @ np.array(["a"] * 3),
        lambda: a @ np.ones((3, 2, 2)),
        lambda: a.sum(axis=3),
        lambda: a.asformat("xyz"),
        lambda: module.csr_array("abc"),
        lambda: module.csr_array([[1, 2], [3]]),
        lambda: module.csr_array((np.ones(3), np.arange(3), np.array([0, 1])), shape=(2, 3)),
        lambda: module.coo_array(([1.0], ([-1], [0])), shape=(2, 2)),
        lambda: module.csr_array(np.zeros((2, 2), [("a", "i4")])),
    ]
    return [raised(call) for call in calls]


def raised(call: Callable[[], object]) -> str:
    with pytest.raises(Exception) as error:
        call()
    return f"{error.type.__name__}: {error.value}".replace("nnz._arrays", "scipy.sparse")


def assert_alike(found: Any, expected: Any) -> None:
    """Both have the same type, apart from the package, and the same elements."""
    assert type(found).__name__ == type(expected).__name__
    if sp.issparse(found):
        assert (found.dtype, found.shape, found.nnz) == (expected.dtype, expected.shape, expected.nnz)
        # Ours sorts the indices of a sparse product.
        assert getattr(found, "has_sorted_indices", True) or not expected.has_sorted_indices
        found, expected = found.toarray(), expected.toarray()
    if isinstance(found, (list, tuple)):
        assert len(found) == len(expected)
        for each, other in zip(found, expected, strict=True):
            assert_alike(each, other)
    elif isinstance(found, (np.ndarray, np.generic, float)):
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        tolerance = 1e-5 if np.asarray(found).dtype.char in "fF" else 1e-9
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    else:
        assert found == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    results = []
    for module in (nnz, SimpleNamespace(**{f"{format}_array": getattr(sp, f"{format}_array") for format in FORMATS})):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            results.append((PROGRAMS[name](module), {(warning.category, str(warning.message)) for warning in seen}))
    (found, warned), (expected, as_scipy) = results
    assert_alike(found, expected)
    assert warned == as_scipy
