"""The host arrays beside SciPy's."""

import multiprocessing
import pickle
import sys
import threading

import nnz
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import TYPES, assert_within_bound, dense, device_names, random

CONTAINERS = {"csr": nnz.csr_array, "csc": nnz.csc_array}


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("format", CONTAINERS)
@pytest.mark.parametrize("shape", [(40, 60), (1, 7), (5, 0), (0, 5), (2500, 900)])
def test_products(ours, shape, format, char, index):
    theirs = random(shape, 0.02 if shape[0] > 1000 else 0.3, char, index)
    terms = int(np.diff(theirs.indptr).max(initial=0))
    a = CONTAINERS[format](theirs)
    for columns in [(), (1,), (5,), (16,)]:
        b = dense((shape[1], *columns), char)
        with ours():
            found = a @ b
        assert_within_bound(found, theirs @ b, abs(theirs) @ abs(b), terms)
    x = dense(shape[:1], char)
    with ours():
        found = x @ a
    assert_within_bound(found, x @ theirs, abs(x) @ abs(theirs), shape[0])


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("format", CONTAINERS)
def test_sparse_products(ours, format, char):
    left, right = random((40, 60), 0.2, char), random((60, 30), 0.2, char, seed=2)
    with ours():
        found = CONTAINERS[format](left) @ CONTAINERS[format](right)
    assert type(found) is CONTAINERS[format]
    assert found.has_canonical_format
    bound = (abs(left) @ abs(right)).toarray()
    assert_within_bound(found.toarray(), (left @ right).toarray(), bound, 60)
    mixed = CONTAINERS[format](left) @ sp.coo_array(right.astype("D"))
    assert mixed.dtype == np.dtype("D")
    assert_within_bound(mixed.toarray(), (left @ right.astype("D")).toarray(), bound, 60)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("char", TYPES)
def test_conversions(ours, char, index):
    theirs = random((50, 30), 0.2, char, index)
    csr, csc = nnz.csr_array(theirs), nnz.csc_array(theirs.tocsc())
    with ours():
        assert (csr.tocsc() != theirs).nnz == 0
    with ours():
        assert (csc.tocsr() != theirs).nnz == 0
    for made in (csr, csc):
        with ours():
            np.testing.assert_array_equal(made.toarray(), theirs.toarray())
        assert made.toarray().flags["C_CONTIGUOUS" if made is csr else "F_CONTIGUOUS"]
        np.testing.assert_array_equal(made.toarray(order="C"), theirs.toarray())
    # Each entry twice, in no order.
    order = np.random.default_rng(3).permutation(2 * theirs.nnz)
    row, col = (np.tile(part, 2)[order].astype(index) for part in theirs.tocoo().coords)
    coo = nnz.coo_array((np.tile(theirs.data, 2)[order], (row, col)), shape=theirs.shape)
    for target in CONTAINERS:
        with ours():
            made = coo.asformat(target)
        assert type(made) is CONTAINERS[target]
        np.testing.assert_array_equal(made.toarray(), 2 * theirs.toarray())


@pytest.mark.parametrize("char", TYPES)
def test_sorting_and_sums(ours, char):
    theirs = random((50, 30), 0.2, char)
    backwards = sp.csr_array((theirs.data[::-1].copy(), theirs.indices[::-1].copy(), theirs.indptr), shape=(50, 30))
    a = nnz.csr_array((backwards.data.copy(), backwards.indices.copy(), backwards.indptr), shape=(50, 30))
    shared = a.indices
    with ours():
        a.sort_indices()
    backwards.sort_indices()
    assert a.indices is shared
    np.testing.assert_array_equal(a.indices, backwards.indices)
    np.testing.assert_array_equal(a.data, backwards.data)
    for format, container in CONTAINERS.items():
        made = container(theirs)
        axis = 1 if format == "csr" else 0
        if char in "fd":
            with ours():
                found = made.sum(axis=axis)
        else:
            found = made.sum(axis=axis)
        assert_within_bound(found, theirs.sum(axis=axis), abs(theirs).sum(axis=axis), 50)


def test_sums_of_infinities_are_not_nan():
    infinite = np.array([[np.inf, 1], [0, 2]])
    for values in (infinite, infinite.astype(complex)):
        assert nnz.csr_array(values).sum(axis=1).tolist() == [np.inf, 2]
        assert nnz.csc_array(values).sum(axis=0).tolist() == [np.inf, 3]


def test_products_of_indices_of_two_types_are_scipys():
    wide = nnz.csr_array((np.ones(2), np.arange(2), np.arange(3)), shape=(2, 2))
    narrow = nnz.csr_array(np.eye(2))
    assert {wide.indices.dtype, narrow.indices.dtype} == {np.dtype(np.int64), np.dtype(np.int32)}
    for format in ("csr", "csc", "coo"):
        for a, b in [(wide, narrow), (narrow, wide)]:
            assert (a.asformat(format) @ b.asformat(format)).toarray().tolist() == [[1, 0], [0, 1]]


def test_a_failed_sort_changes_nothing():
    values = np.array([1.0, 2.0])
    values.flags.writeable = False
    a = nnz.csr_array((values, np.array([1, 0], "i"), np.array([0, 2], "i")), shape=(1, 2))
    with pytest.raises(ValueError, match="read-only"):
        a.sum_duplicates()
    assert a.toarray().tolist() == [[2, 1]]


def test_sums_of_wide_rows_take_no_dense_row():
    a = nnz.csr_array((np.ones(2), np.array([0, 5]), np.array([0, 2])), shape=(1, 10**12))
    assert a.sum(axis=1).tolist() == [2]


def test_indices_without_entries_have_scipys_type():
    empty = np.zeros(0, np.int64)
    a, b = (kind((np.zeros(0), (empty, empty)), shape=(3, 2)) for kind in (nnz.coo_array, sp.coo_array))
    assert a.tocsr().indices.dtype == b.tocsr().indices.dtype


def test_classes_are_kept():
    a = nnz.csr_array(random((6, 4), 0.5, "d"))
    assert type(a.T) is nnz.csc_array
    assert type(a.tocoo()) is nnz.coo_array
    assert type(a + a) is type(2 * a) is type(a[1:3]) is type(pickle.loads(pickle.dumps(a))) is nnz.csr_array
    assert isinstance(a, sp.csr_array)


@pytest.mark.skipif(not hasattr(sp.coo_array, "__getitem__"), reason="SciPy has no indices of coordinates")
def test_slices_of_coordinates_keep_their_class():
    theirs = random((6, 4), 0.5, "d").tocoo()
    a = nnz.coo_array(theirs)
    for key in (slice(1, 4), 2, (slice(None), [3, 0]), (slice(None, None, -1), slice(1, 3))):
        assert type(a[key]) is nnz.coo_array
        assert (a[key].toarray() == theirs[key].toarray()).all()
    assert a[2, 3] == theirs[2, 3]


def test_other_types_are_left_to_scipy():
    for char in "bilgB?":
        theirs = random((8, 5), 0.5, "d").astype(char)
        a = nnz.csr_array(theirs)
        np.testing.assert_array_equal((a @ np.arange(5)), theirs @ np.arange(5))
        np.testing.assert_array_equal(a.tocsc().toarray(), theirs.toarray())
    single = nnz.csr_array(random((8, 5), 0.5, "f"))
    assert (single @ np.ones(5)).dtype == np.float64
    assert (nnz.csr_array(random((8, 5), 0.5, "d")) @ np.ones(5, int)).dtype == np.float64
    gaps = random((8, 5), 0.5, "d")
    gaps.data = np.repeat(gaps.data, 2)[::2]
    np.testing.assert_array_equal(nnz.csr_array(gaps) @ np.ones(5), gaps @ np.ones(5))
    line = nnz.csr_array(np.array([0.0, 2.0, 3.0]))
    assert line @ np.ones(3) == 5


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_operands_of_all_shapes_are_those_of_scipy(format: str) -> None:
    theirs = random((7, 5), 0.5, "d").asformat(format)
    a = CONTAINERS[format](theirs)
    for shape in [(5,), (5, 0), (5, 1), (5, 2), (5, 5)]:
        x = np.arange(np.prod(shape), dtype="d").reshape(shape)
        found, expected = a @ x, theirs @ x
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected)
    for shape in [(4,), (7,), (1, 5), (4, 2), ()]:
        with pytest.raises(ValueError):
            a @ np.ones(shape)


@pytest.mark.parametrize(
    ("array", "at", "value"),
    [("indices", 4, -1), ("indices", -1, 10**6), ("indptr", 1, -1), ("indptr", 2, 10**6), ("indptr", -1, 10**6)],
)
@pytest.mark.parametrize("format", CONTAINERS)
@pytest.mark.parametrize("shape", [(6, 5), (2000, 60)])
def test_a_matrix_that_was_written_is_checked_again(shape, format, array, at, value):
    a = CONTAINERS[format](np.ones(shape))
    x, b = np.ones(shape[1]), np.ones((shape[1], 3))
    np.testing.assert_array_equal(a @ x, np.full(shape[0], shape[1]))
    getattr(a, array)[at] = value
    a.has_sorted_indices = False
    convert = a.tocsc if format == "csr" else a.tocsr
    for use in (lambda: a @ x, lambda: a @ b, a.toarray, a.sort_indices, convert):
        with pytest.raises(ValueError, match="csr"):
            use()


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("format", CONTAINERS)
def test_both_sums_and_products_from_the_left_run_here(ours, format, char, index):
    theirs = random((40, 60), 0.2, char, index)
    a, x = CONTAINERS[format](theirs), dense((40,), char)
    for axis in (0, 1, -1, -2):
        with ours():
            found = a.sum(axis=axis)
        assert_within_bound(found, theirs.sum(axis=axis), abs(theirs).sum(axis=axis), 60)
        with ours():
            found = a.mean(axis=axis)
        assert_within_bound(found, theirs.mean(axis=axis), abs(theirs).mean(axis=axis), 60)
    with ours():
        found = x @ a
    assert_within_bound(found, x @ theirs, abs(x) @ abs(theirs), 40)


def test_threads_multiply_with_one_matrix():
    theirs = random((300, 300), 0.1, "d")
    a, x = nnz.csr_array(theirs), dense((300,), "d")
    expected = a @ x
    found = []
    threads = [threading.Thread(target=lambda: found.extend((a @ x) for _ in range(20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(np.array_equal(y, expected) for y in found)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is kept on Linux")
def test_freed_results_lend_their_memory_to_the_next_ones():
    import resource

    a, b = nnz.csr_array(sp.eye_array(40_000, format="csr")), dense((40_000, 32), "d")
    living = a @ b
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for factor in range(1, 30):
        found = a @ (b * factor)
        assert not np.shares_memory(found, living)
        np.testing.assert_array_equal(found, b * factor)
        del found
    np.testing.assert_array_equal(living, b)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    # NumPy's own arrays take fresh pages too, but huge ones.
    assert faults * resource.getpagesize() < 29 * living.nbytes


def _products_in_child(operands, x, path, results):
    products = [a @ x for a in operands]
    results.put([*products, nnz.io.mmread(path, format="csr") @ x])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(tmp_path):
    a, x, path = nnz.csr_array(random((400, 400), 0.2, "d")), dense((400,), "d"), tmp_path / "a.mtx"
    nnz.io.mmwrite(path, a)
    # The pools of the arrays, of matrices on a device, and of files have worked before the fork.
    on_device = nnz.DeviceCsr.from_scipy(a, "cpu")
    expected = [a @ x, on_device @ x, nnz.io.mmread(path, format="csr") @ x]
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_products_in_child, args=((a, on_device), x, path, results))
    child.start()
    np.testing.assert_array_equal(results.get(timeout=20), expected)
    child.join()


def _error_in_child(matrix, x, results):
    try:
        matrix @ x
    except NotImplementedError as error:
        results.put(str(error))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("place", [name for name in device_names() if name != "cpu"])
def test_a_forked_process_is_refused_the_devices_of_its_parent(place):
    matrix = nnz.DeviceCsr.from_scipy(random((4, 4), 0.5, "f"), place)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_error_in_child, args=(matrix, np.ones(4, "f"), results))
    child.start()
    assert "before the fork" in results.get(timeout=20)
    child.join()


def test_products_with_sparse_rows_and_columns_store_no_zeros():
    theirs = random((6, 4), 0.6, "d")
    row, column = sp.csr_array(np.array([[0.0, 1, 0, 2]])), sp.csr_array(np.array([[0.0], [1], [0], [2], [0], [0]]))
    for kind in (nnz.csr_array, nnz.csc_array, nnz.coo_array):
        for factor in (row, column, nnz.coo_array(np.array([0.0, 1, 0, 2])), sp.coo_array(np.array([[3.0]]))):
            found, expected = kind(theirs).multiply(factor), theirs.multiply(factor)
            assert found.nnz == expected.nnz
            np.testing.assert_array_equal(found.toarray(), expected.toarray())


@pytest.mark.parametrize("suffix", ["array", "matrix"])
@pytest.mark.parametrize("format", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_products_of_elements_are_of_our_classes(format, suffix):
    made = random((6, 4), 0.6, "d")
    theirs, ours = (getattr(module, f"{format}_{suffix}")(made) for module in (sp, nnz))
    row, column = made[[0]], made[:, [0]]
    for factor in (2.0, made, row, column, made.toarray(), np.ones(4), np.ones((6, 1)), np.array([[3.0]])):
        found, expected = ours.multiply(factor), theirs.multiply(factor)
        assert (type(found).__module__.startswith("nnz."), type(found).__name__) == (True, type(expected).__name__)
        np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_dense_copies_own_their_memory():
    for format in ("csr", "csc"):
        dense = random((6, 4), 0.6, "d").asformat(format)
        found, expected = getattr(nnz, f"{format}_array")(dense).toarray(), dense.toarray()
        assert found.flags.owndata and found.flags.c_contiguous == expected.flags.c_contiguous
        np.testing.assert_array_equal(found, expected)
