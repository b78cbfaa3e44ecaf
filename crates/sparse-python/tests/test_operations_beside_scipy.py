"""Operations of arrays as SciPy's and as ours: classes, types, indices, values, layouts, warnings and errors.

Each row of a table is an operation; it runs with each of the operands that its table has.
"""

from __future__ import annotations

import itertools
import pickle
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import nnz
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as linalg

FORMATS = ("csr", "csc", "coo")
SCIPY = SimpleNamespace(**{f"{format}_array": getattr(sp, f"{format}_array") for format in FORMATS})
BROADCAST = np.random.default_rng(7)
VECTORS = {
    "vector": np.linspace(-1, 1, 4),
    "column": BROADCAST.random((4, 1)),
    "wide": BROADCAST.random((4, 3)),
    "Fortran order": np.asfortranarray(BROADCAST.random((4, 3))),
    "gaps": BROADCAST.random((8, 6))[::2, ::-2],
    "float32": np.ones((4, 2), "f"),
    "complex64": np.ones(4, "F"),
    "half": np.ones(4, "e"),
    "long double": np.ones(4, "g"),
    "integers": np.arange(4),
    "booleans": np.ones((4, 2), bool),
    "big endian": np.ones(4, ">f8"),
    "objects": np.ones(4, object),
    "texts": np.array(["a"] * 4),
    "a matrix of NumPy": np.ones((4, 2)).view(np.matrix),
    "no columns": np.ones((4, 0)),
    "three dimensions": BROADCAST.random((2, 4, 3)),
    "a list": [1, 2, 3, 4],
    "infinities": np.array([np.inf, 0, -np.inf, np.nan]),
    "too long": np.ones(5),
}


def random(module: Any, format: str = "csr", char: str = "d", shape: tuple[int, int] = (5, 4), seed: int = 0) -> Any:
    made = sp.random_array(shape, density=0.35, rng=np.random.default_rng(seed), format="csr")
    return getattr(module, f"{format}_array")(made if char == "d" else (20 * made).astype(char))


def unsorted(module: Any, format: str, char: str) -> Any:
    """Entries out of order, twice, and zero; sums of duplicates are zero, too."""
    data = np.array([1, 2, -2, 0, 3, 3, 1, 1]).astype(char)
    return getattr(module, f"{format}_array")((data, [3, 1, 1, 0, 2, 2, 0, 3], [0, 3, 5, 5, 8, 8]), shape=(5, 4))


def special(module: Any, format: str, char: str) -> Any:
    values = np.array([[np.nan, 0, 1, 0], [np.inf, -np.inf, 0, 2], [-0.0, 5e-324, 1e30, 0], [0, 0, 0, 0], [1, -1, 0, 0]])
    return getattr(module, f"{format}_array")(values.astype(char))


def wide(module: Any, format: str, char: str) -> Any:
    made = random(module, format, char)
    if format == "coo":
        made.coords = tuple(each.astype(np.int64) for each in made.coords)
    else:
        made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


def read_only(module: Any, format: str, char: str) -> Any:
    made = random(module, format, char)
    for name in ("data",) if format == "coo" else ("data", "indices", "indptr"):
        getattr(made, name).setflags(write=False)
    return made


def foreign(module: Any, format: str, char: str) -> Any:
    """Values in the other order of bytes, from the last to the first."""
    made = random(module, format, char)
    made.data = made.data.astype(made.dtype.newbyteorder())[::-1]
    return made


#: What makes an operand, with the formats and types that it has.
OPERANDS: dict[str, tuple[Callable[[Any, str, str], Any], tuple[str, ...], str]] = {
    "random": (random, FORMATS, "?BhilefdgFD"),
    "empty": (lambda module, format, char: getattr(module, f"{format}_array")((5, 4), dtype=char), FORMATS, "fdl"),
    "no rows": (lambda module, format, char: getattr(module, f"{format}_array")((0, 4), dtype=char), FORMATS, "fd"),
    "no columns": (lambda module, format, char: getattr(module, f"{format}_array")((5, 0), dtype=char), FORMATS, "fd"),
    "unsorted": (unsorted, ("csr",), "fdDl"),
    "special": (special, FORMATS, "fdD"),
    "wide": (wide, FORMATS, "fdl"),
    "read-only": (read_only, FORMATS, "fdl"),
    "foreign": (foreign, ("csr", "csc"), "fdD"),
}

MASK = np.array([True, False, True, True, False])
UNARY: dict[str, Callable[[Any], object]] = {
    **{name: (lambda a, name=name: getattr(a, name)()) for name in "tocsr tocsc tocoo toarray copy todok tolil todia nonzero count_nonzero diagonal trace".split()},
    **{name: (lambda a, name=name: getattr(a, name)()) for name in "sqrt sin expm1 log1p rint sign trunc floor conj __neg__ __abs__ __pos__".split()},
    **{f"{name}, axis {axis}": (lambda a, name=name, axis=axis: getattr(a, name)(axis=axis)) for name in "sum mean max min nanmax nanmin argmax argmin".split() for axis in (None, 0, 1, -1, 2)},
    "parts": lambda a: [a.real, a.imag, a.T, a.T.toarray(), a.nnz, a.dtype, a.format, a.shape],
    "sum as": lambda a: [a.sum(axis=0, dtype="D"), a.sum(axis=1, out=np.zeros(a.shape[0], "D"))],
    "toarray, out": lambda a: [a.toarray("F"), a.toarray("C"), a.toarray(out=np.zeros(a.shape, a.dtype)), a.todense()],
    "astype": lambda a: [a.astype("f"), a.astype("D"), a.astype(bool)],
    "pickle": lambda a: pickle.loads(pickle.dumps(a)),
    "made again": lambda a: [type(a)(a), type(a)(a, copy=True), type(a)(a, dtype="f"), type(a)(a.toarray())],
    "reshape": lambda a: [a.reshape(-1, 2), a.reshape((4, 5), order="F")],
    "resize": lambda a: [a.resize(7, 2), a.copy()],
    "setdiag": lambda a: [a.setdiag(3), a.setdiag([1, 2], 1), a.copy()],
    "duplicates and zeros": lambda a: [a.sum_duplicates(), a.copy(), a.eliminate_zeros(), a],
    "power": lambda a: [a.power(2), a.power(0.5), a**2],
    "scalars": lambda a: [2 * a, a * 2.5, a * 1j, a / 2, a * np.float32(2), a * True, a * 0, a * np.inf],
    "divided by zero": lambda a: a / 0,
    "plus 1": lambda a: a + 1,
    "compared": lambda a: [a > 0.5, a < -1, a >= 1, a != 0, a == 1, a <= -0.5],
    "compared, dense": lambda a: [a == 0, a < 1],
    "maximum": lambda a: [a.maximum(0.3), a.minimum(0)],
    "triangles": lambda a: [sp.tril(a), sp.triu(a, 1, format="csc"), sp.find(a)],
    "stacked": lambda a: [sp.vstack([a, a]), sp.hstack([a, a], format="csr"), sp.block_array([[a, None], [None, a]]), sp.kron(a, a)],
    "norms": lambda a: [linalg.norm(a), linalg.norm(a, 1), linalg.norm(a, axis=0)],
    "rows": lambda a: [a[1], a[-1], a[1:4], a[::-2], a[MASK], a[[3, 0, 3]], a[[]], a[np.array([], int)]],
    "columns": lambda a: [a[:, 1], a[:, 1:3], a[:, ::-1], a[:, [2, 0, 2]]],
    "elements": lambda a: [a[1, 2], a[[1, 2], [3, 0]], a[np.ix_([0, 2], [1, 3])], a[MASK][:, [0, 1]], a[a > 0.5], a[2, 1:], a[..., 0]],
    "outside": lambda a: a[9],
    "assigned": lambda a: [assigned(a, (0, 0), 7), assigned(a, slice(1, 3), 1), assigned(a, (slice(None), 2), 0), assigned(a, ([1, 2], [3, 0]), [5, 6])],
    "of rows": lambda a: [row for row in a],
    **{f"product, {name}": (lambda a, x=x: a @ x) for name, x in VECTORS.items()},
    "products from the left": lambda a: [np.ones(5) @ a, np.ones((2, 5), "f") @ a, [1, 2, 3, 4, 5] @ a],
    "broadcast": lambda a: [a.multiply(np.ones(4)), a.multiply(BROADCAST_COLUMN), a + np.ones((5, 4)), a / np.full((5, 4), 2.0), np.ones(4) * a],
}
BROADCAST_COLUMN = np.arange(5.0)[:, None]

BINARY: dict[str, Callable[[Any, Any], object]] = {
    "sums": lambda a, b: [a + b, a - b, a - a],
    "of elements": lambda a, b: [a * b, a.multiply(b), a.multiply(b[:1]), a.multiply(b[:, :1])],
    "products": lambda a, b: [a @ b.T, a.T @ b, a.dot(b.T), (a @ b.T).T],
    "larger": lambda a, b: [a.maximum(b), a.minimum(b)],
    "compared": lambda a, b: [a != b, a < b, a > b],
    "compared, dense": lambda a, b: [a == b, a <= b, a >= b],
    "divided": lambda a, b: a / b,
    "stacked": lambda a, b: [sp.vstack([a, b]), sp.hstack([a, b]), sp.kron(a, b)],
}


def assigned(a: Any, key: Any, value: Any) -> Any:
    changed = a.copy()
    changed[key] = value
    return changed


def outcome(call: Callable[[], object]) -> object:
    """The result, or the error's type and text."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).replace("nnz._arrays", "scipy.sparse._package")[:60].split(".")[0]


def beside(run: Callable[[Any], object]) -> None:
    """Runs with both modules, and compares results and warnings."""
    results = []
    for module in (nnz, SCIPY):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            results.append((outcome(lambda module=module: run(module)), {(warning.category, str(warning.message)) for warning in seen}))
    (found, warned), (expected, as_scipy) = results
    assert_same(found, expected)
    assert warned == as_scipy


def assert_same(found: Any, expected: Any) -> None:
    """Equal types, shapes, layouts and values, these up to rounding where sums have several terms."""
    assert type(found).__name__ == type(expected).__name__, f"{found!r}, not {expected!r}"
    if isinstance(found, (list, tuple)):
        assert len(found) == len(expected)
        for each, other in zip(found, expected, strict=True):
            assert_same(each, other)
    elif sp.issparse(found):
        assert_same_sparse(found, expected)
    elif isinstance(found, (np.ndarray, np.generic)):
        assert (found.dtype, found.shape, found.flags.c_contiguous, found.flags.writeable) == (expected.dtype, expected.shape, expected.flags.c_contiguous, expected.flags.writeable)
        if found.dtype.kind in "fc":
            tolerance = 4 * float(np.finfo(found.dtype).eps)
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected or (found != found and expected != expected)


def assert_same_sparse(found: Any, expected: Any) -> None:
    assert (found.dtype, found.shape, found.nnz) == (expected.dtype, expected.shape, expected.nnz)
    if found.format in ("csr", "csc"):
        assert (found.indices.dtype, found.indptr.dtype) == (expected.indices.dtype, expected.indptr.dtype)
        # Ours sorts the indices of a sparse product.
        assert found.has_sorted_indices or not expected.has_sorted_indices
        if found.has_sorted_indices == expected.has_sorted_indices:
            np.testing.assert_array_equal(found.indices, expected.indices)
    elif found.format == "coo":
        assert [each.dtype for each in found.coords] == [each.dtype for each in expected.coords]
    if found.dtype != np.float16:
        assert_same(found.toarray(), expected.toarray())


@pytest.mark.parametrize("name", UNARY)
def test_operations_of_one_array(name):
    for kind, (make, formats, chars) in OPERANDS.items():
        for format, char in itertools.product(formats, chars):
            with np.errstate(all="ignore"):
                try:
                    beside(lambda module: UNARY[name](make(module, format, char)))
                except AssertionError as error:
                    raise AssertionError(f"{kind} {format} of {char}: {error}") from error


@pytest.mark.parametrize("name", BINARY)
def test_operations_of_two_arrays(name):
    for formats, chars in itertools.product(itertools.product(FORMATS, FORMATS), itertools.product("?ifdD", "lfdF")):
        with np.errstate(all="ignore"):
            try:
                beside(lambda module: BINARY[name](random(module, formats[0], chars[0]), random(module, formats[1], chars[1], seed=1)))
            except AssertionError as error:
                raise AssertionError(f"{formats} of {chars}: {error}") from error


BLOCK = np.arange(12.0).reshape(3, 4) % 5
FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "made": lambda s: [s.eye_array(4), s.eye_array(3, 4, format="csr"), s.diags_array([1.0, 2, 3]), s.random_array((5, 4), density=0.3, rng=0), s.dok_array((2, 3)), s.csr_matrix(BLOCK)],
    "converted": lambda s: [[made.asformat(format) for format in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")] for made in (s.dia_array(BLOCK), s.lil_array(BLOCK), s.dok_array(BLOCK), s.bsr_array(BLOCK), s.csr_array(BLOCK))],
    "stacked": lambda s: [s.vstack([s.csr_array(BLOCK)] * 2), s.hstack([s.eye_array(3), BLOCK]), s.block_array([[s.csc_array(BLOCK), None], [None, s.eye_array(2)]]), s.block_diag([BLOCK, BLOCK])],
    "products": lambda s: [s.kron(s.csr_array(BLOCK), BLOCK), s.kronsum(s.csr_array(BLOCK[:, :3]), s.eye_array(2)), s.diags_array([1.0, 2, 3]) @ s.csr_array(BLOCK), s.csr_array(BLOCK) @ s.lil_array(BLOCK.T)],
    "of elements": lambda s: [a.multiply(b) for kind in (s.csr_array, s.csc_array, s.coo_array, s.csr_matrix) for a in (kind(BLOCK), kind(BLOCK[:1]), kind(BLOCK[:, :1])) for b in (kind(BLOCK[:, :1]), kind(BLOCK[:1]))],
    "parts": lambda s: [s.tril(s.csr_array(BLOCK)), s.triu(s.lil_array(BLOCK)), s.find(s.csr_array(BLOCK)), s.issparse(s.csr_array(BLOCK)), s.isspmatrix(s.csr_array(BLOCK))],
    "filled": lambda s: filled(s.lil_array((4, 4))),
    "filled by keys": lambda s: filled(s.dok_array((4, 4))),
    "modules": lambda s: [s.linalg.norm(s.csr_array(BLOCK)), s.linalg.onenormest(s.csc_array(BLOCK[:, :3])), s.csgraph.connected_components(s.csr_array(BLOCK[:, :3]))],
    "pickled": lambda s: [pickle.loads(pickle.dumps(made(BLOCK))) for made in (s.dia_array, s.lil_array, s.dok_array, s.bsr_array)],
    "matrices": lambda s: [of_matrices(getattr(s, f"{format}_matrix"), s) for format in FORMATS],
    "made as matrices": lambda s: [s.eye(3), s.identity(3, format="csr"), s.diags([1.0, 2.0]), s.rand(4, 3, 0.5, random_state=0), s.bmat([[s.csr_matrix(BLOCK), None], [None, s.eye(2)]])],
    "graphs": lambda s: [s.csgraph.minimum_spanning_tree(kind(BLOCK[:, :3])) for kind in (s.csr_array, s.csr_matrix)],
    "solved": lambda s: [s.linalg.spsolve(s.csc_array(BLOCK[:, 1:] + 9 * np.eye(3)), kind(np.eye(3))) for kind in (s.csc_array, s.csc_matrix)],
}


def of_matrices(kind: Any, s: Any) -> Any:
    a, square = kind(BLOCK), kind(BLOCK[:, 1:])
    products = [a * np.ones(4), a @ np.ones((4, 2)), np.ones(3) * a, a * a.T, square**2, square**0, a * kind(BLOCK.T), a @ s.csr_array(BLOCK.T)]
    sums = [a.sum(axis=0), a.sum(axis=1), a.sum(), a.mean(axis=0), a.mean(axis=1), a.sum(axis=1, dtype="f"), a.max(axis=0)]
    entries = kind((np.ones(3), (np.array([0, 2, 2]), np.array([1, 1, 1]))), shape=(3, 4))
    return [products, sums, a.todense(), a.toarray(), a.tocsr(), a.tocsc(), a.tocoo(), a.T, 2 * a, a + a, entries.tocsr(), entries.tocsc(), a.getnnz(), pickle.loads(pickle.dumps(a))]


def filled(made: Any) -> Any:
    made[0, 1], made[2, 3] = 1, 2
    made[1] = [0, 1, 0, 3]
    return [made, made.tocsr(), made.tocsc() @ np.ones(4), made.T, made[1:], 2 * made.tocsr()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_package_stands_in_for_scipys(name):
    found, expected = (FUNCTIONS[name](module) for module in (nnz, sp))
    assert_same(found, expected)
    assert_is_ours(found)


def assert_is_ours(found: Any) -> None:
    """No array or matrix is of SciPy's own classes."""
    for each in found if isinstance(found, (list, tuple)) else [found]:
        assert not sp.issparse(each) or type(each).__module__.startswith("nnz."), type(each)
        if isinstance(each, (list, tuple)):
            assert_is_ours(each)


def test_names_that_nobody_has_are_errors():
    for module in (nnz, nnz.linalg):
        with pytest.raises(AttributeError, match="nonsense"):
            module.nonsense  # noqa: B018


@pytest.mark.parametrize("char", "fdFD")
def test_sparse_products_leave_out_zeros(ours, char):
    boundaries = (np.array([[-1, -1, 0], [1, 0, -1], [0, 1, 1]]), np.array([[1], [-1], [1]]))
    large = np.random.default_rng(0).integers(-1, 2, (300, 200))
    for formats in itertools.product(FORMATS, FORMATS):
        a, b = (getattr(nnz, f"{format}_array")(each.astype(char)) for format, each in zip(formats, boundaries, strict=True))
        with ours():
            assert (a @ b).nnz == 0
    with ours():
        found = nnz.csr_array(large.astype(char)) @ nnz.csr_array(large.T.astype(char))
    assert_same_sparse(found, sp.csr_array(large.astype(char)) @ sp.csr_array(large.T.astype(char)))
    assert found.has_canonical_format


def test_products_without_entries_have_indices_of_scipys_type():
    a, empty = wide(nnz, "csr", "d"), nnz.csr_array((4, 5))
    empty.indices, empty.indptr = empty.indices.astype(np.int64), empty.indptr.astype(np.int64)
    assert (a @ empty).indices.dtype == np.int32 and (a @ a.T).indices.dtype == np.int64


@pytest.mark.parametrize("char", ["l", "f"])
@pytest.mark.parametrize("order", [1, -1])
def test_entries_of_one_place_stay_apart_in_products(ours, char, order):
    # inf·(-1) + inf·0 is NaN, inf·(-1 + 0) is not.
    infinite, twice = [kind_of(np.array([[1], [np.inf]])) for kind_of in (nnz.csr_array, sp.csr_array)], []
    for module in (nnz, sp):
        indices, indptr = np.zeros(2, "i"), np.array([0, 2], "i")
        twice.append(module.csr_array((np.array([-1, 0]).astype(char), indices, indptr), shape=(1, 2)))
    with ours():
        found = twice[0].T @ infinite[0].T if order < 0 else infinite[0] @ twice[0]
    expected = twice[1].T @ infinite[1].T if order < 0 else infinite[1] @ twice[1]
    assert_same_sparse(found, expected)
    assert twice[0].nnz == 2


def test_products_that_cancel_have_indices_of_scipys_type():
    a, b = (wide(module, "csr", "d") for module in (nnz, sp))
    zeros = [each * 0 for each in (a, b)]
    assert_same_sparse(zeros[0] @ a.T, zeros[1] @ b.T)


#: Operations of COO arrays of three dimensions, with another of the same shape.
OF_MORE_DIMENSIONS = {
    "sums": lambda a, b: [a + b, a - b, 2 * a, a.sum(axis=0), a.sum(axis=(0, 2))],
    "products": lambda a, b: [a @ b.transpose((0, 2, 1)), a.multiply(b), a.dot(b.transpose((0, 2, 1)))],
    "tensor products": lambda a, b: [a.tensordot(b, axes=([2], [2])), a.tensordot(b, axes=([0, 1], [0, 1]))],
    "extremes": lambda a, b: [a.max(axis=1), a.min(axis=(0, 2)), a.maximum(b)],
    "shapes": lambda a, b: [a.reshape(2, -1), a.transpose((2, 0, 1)), a.T, a.copy()],
    "parts": lambda a, b: [a[0], a[..., 1], a[::-1, None]],
}


@pytest.mark.parametrize("name", OF_MORE_DIMENSIONS)
def test_arrays_of_more_dimensions(name):
    values = np.random.default_rng(3).integers(-2, 3, (2, 2, 3, 4)).astype("d")

    def run(module: Any) -> Any:
        try:
            return OF_MORE_DIMENSIONS[name](*(module.coo_array(each) for each in values))
        except (AttributeError, NotImplementedError, TypeError, ValueError) as error:  # SciPy 1.15 has some of them
            return [str(error)]

    found, expected = run(nnz), run(sp)
    assert_is_ours(found)
    for ours, theirs in zip(found, expected, strict=True):
        assert sp.issparse(ours) == sp.issparse(theirs)
        if sp.issparse(ours):
            ours, theirs = ours.toarray(), theirs.toarray()
        np.testing.assert_array_equal(ours, theirs)
