"""Chunked matrices of Dask, in threads and on a cluster of processes on loopback. Skipped where there is no Dask."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import TYPES, assert_within_bound, dense, random

dask = pytest.importorskip("dask")

import dask.array as da  # noqa: E402
import nnz.dask  # noqa: E402


def stack_of(shape: tuple[int, ...], char: str) -> np.ndarray:
    return np.where(np.random.default_rng(5).random(shape) < 0.3, dense(shape, char), 0).astype(char)


def chunked(a: np.ndarray, *chunks: int) -> da.Array:
    return da.from_array(a, chunks=chunks)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, protocol="tcp"
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.mark.parametrize("char", TYPES)
def test_a_matrix_is_compressed_and_multiplied_by_rows(ours, char):
    a = stack_of((23, 9), char)
    with ours():
        chunks = nnz.dask.compress(chunked(a, 5, 4))
        whole = chunks.compute()
    assert (chunks.shape, chunks.ndim, chunks.dtype) == ((23, 9), 2, np.dtype(char))
    assert chunks.chunks == ((5, 5, 5, 5, 3), (9,))
    assert type(whole) is nnz.csr_array
    assert whole.nnz == np.count_nonzero(a)
    np.testing.assert_array_equal(whole.toarray(), a)
    for shape in [(9,), (9, 4)]:
        x = dense(shape, char)
        for operand in (x, da.from_array(x, chunks=2)):
            y = chunks @ operand
            assert y.chunks[0] == chunks.chunks[0]
            assert_within_bound(y.compute(), a @ x, abs(a) @ abs(x), 9)
    for shape in [(23,), (4, 23)]:
        x = dense(shape, char)
        for operand in (x, da.from_array(x, chunks=2)):
            assert_within_bound((operand @ chunks).compute(), x @ a, abs(x) @ abs(a), 23)


@pytest.mark.parametrize("char", TYPES)
def test_a_batch_is_compressed_and_multiplied_by_matrices(ours, char):
    stack = stack_of((7, 6, 5), char)
    stack[2] = 0
    with ours():
        chunks = nnz.dask.compress(chunked(stack, 3, 2, 5))
        whole = chunks.compute()
    assert chunks.chunks == ((3, 3, 1), (6,), (5,))
    assert (type(whole), whole.shape, whole.nnz) == (nnz.BatchCsr, (7, 6, 5), np.count_nonzero(stack))
    for found, expected in zip(whole, stack, strict=True):
        np.testing.assert_array_equal(found.toarray(), expected)
    for shape in [(7, 5), (5,), (7, 5, 3), (5, 3)]:
        x = dense(shape, char)
        expected = nnz.compress(stack) @ x
        for operand in (x, da.from_array(x, chunks=2)):
            found = (chunks @ operand).compute()
            np.testing.assert_array_equal(found, expected)


def test_chunks_come_from_scipy_and_from_tasks():
    a = random((10, 6), 0.4, "d")
    x = np.arange(6.0)
    chunks = nnz.dask.from_scipy(a, 4)
    assert chunks.chunks == ((4, 4, 2), (6,))
    np.testing.assert_allclose((chunks @ x).compute(), a @ x)
    read = [dask.delayed(a[start : start + 5].tocoo()) for start in (0, 5)]
    chunks = nnz.dask.from_delayed(read, [5, 5], 6, "d")
    assert (chunks.compute() != a).nnz == 0
    with pytest.raises(ValueError, match=r"shape \(5, 6\) where \(4, 6\)"):
        nnz.dask.from_delayed(read, [5, 4], 6, "d").compute()


def test_it_is_a_collection_of_dask():
    a = stack_of((8, 4), "d")
    chunks = nnz.dask.compress(chunked(a, 3, 4))
    assert dask.is_dask_collection(chunks)
    matrix, y = dask.compute(chunks, chunks @ np.ones(4))
    np.testing.assert_array_equal(matrix.toarray(), a)
    np.testing.assert_allclose(y, a.sum(axis=1))
    stored = chunks.persist()
    assert (type(stored), stored.chunks) == (nnz.dask.ChunkedCsr, chunks.chunks)
    np.testing.assert_allclose((stored @ np.ones(4)).compute(), y)
    assert len(chunks.to_delayed()) == 3
    assert repr(chunks) == "<ChunkedCsr: 8 x 4 in 3 chunks, float64>"


def test_integers_become_floats_and_small_elements_are_dropped():
    chunks = nnz.dask.compress(chunked(np.eye(6, dtype="i"), 2, 6))
    assert chunks.dtype == chunks.compute().dtype == np.float64
    assert nnz.dask.compress(da.from_array(np.array([[1.0, 1e-9]])), tolerance=1e-6).compute().nnz == 1


def test_wrong_operands_say_what_is_right():
    chunks = nnz.dask.compress(da.eye(6, chunks=2))
    batch = nnz.dask.compress(da.ones((2, 3, 4), chunks=(1, 3, 4), dtype="f"))
    for product in (lambda: chunks @ np.ones(5), lambda: np.ones(5) @ chunks, lambda: batch @ np.ones(3, "f")):
        with pytest.raises(ValueError, match="the operand has shape"):
            product()
    with pytest.raises(TypeError, match="cast one of them"):
        batch @ np.ones(4)
    with pytest.raises(TypeError, match="where a dense array is right"):
        chunks @ sp.eye_array(6)
    with pytest.raises(ValueError, match="rows, columns"):
        nnz.dask.compress(da.ones(3))
    unknown = da.eye(6, chunks=2)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        nnz.dask.compress(unknown[unknown.sum(axis=1) > 0])
    with pytest.raises(ValueError, match="1 or more"):
        nnz.dask.from_scipy(sp.eye_array(3), 0)


def test_processes_of_a_cluster_send_chunks(ours, cluster):
    a, stack = stack_of((40, 9), "d"), stack_of((6, 5, 4), "f")
    chunks = nnz.dask.compress(chunked(a, 8, 9)).persist()
    x = dense((9, 3), "d")
    assert_within_bound((chunks @ x).compute(), a @ x, abs(a) @ abs(x), 9)
    # What came over a network may be unaligned, which nnz has to put right.
    whole = chunks.compute()
    with ours():
        assert_within_bound(whole @ x, a @ x, abs(a) @ abs(x), 9)
    batch = nnz.dask.compress(chunked(stack, 2, 5, 4)).persist()
    np.testing.assert_array_equal([member.toarray() for member in batch.compute()], stack)
    assert len(cluster.has_what()) == 2
    assert all(cluster.has_what().values()), "both processes have chunks"


def test_chunked_matrices_are_pickled():
    a = stack_of((23, 9), "d")
    chunks = nnz.dask.compress(chunked(a, 5, 4))
    parts = nnz.dask.from_delayed([dask.delayed(sp.csr_array)(a)], [23], 9, "d")
    for matrix in (chunks, parts, nnz.dask.compress(chunked(a.reshape(23, 3, 3), 5, 3, 3))):
        copied = pickle.loads(pickle.dumps(matrix))
        assert (copied.compute() if matrix.ndim == 3 else copied).shape == matrix.shape
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(chunks)).compute().toarray(), a)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(chunks @ np.ones(9))).compute(), a.sum(axis=1))
