"""Functions of SciPy with matrices on devices: stacks, eigenvalues and files."""

import nnz
import nnz.io
import nnz.linalg
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as scipy_linalg
from conftest import TYPES, device_names, laplace, random

KINDS = {"csr": nnz.DeviceCsr, "csc": nnz.DeviceCsc, "coo": nnz.DeviceCoo}


@pytest.fixture(params=device_names())
def place(request):
    """A device."""
    return request.param


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("format", KINDS)
def test_matrices_are_put_together(ours, format, char, place):
    left, right = random((6, 5), 0.4, char), random((6, 5), 0.3, char, seed=1)
    a, b = KINDS[format].from_scipy(left, place), nnz.DeviceCsc.from_scipy(right, place)
    for name in ("vstack", "hstack", "block_diag"):
        with ours():
            found = getattr(nnz, name)([a, b, a])
        assert (type(found), found.dtype, found.device) == (KINDS[format], np.dtype(char), place)
        np.testing.assert_array_equal(found.toarray(), getattr(sp, name)([left, right, left]).toarray())
        single = getattr(nnz, name)((a, a), format="csc", dtype=np.complex128)
        assert (type(single), single.dtype) == (nnz.DeviceCsc, np.dtype("D"))
    with ours():
        found = nnz.kron(a, b)
    assert type(found) is KINDS[format]
    np.testing.assert_allclose(found.toarray(), sp.kron(left, right).toarray(), rtol=1e-6)
    assert type(nnz.kron(a, b, format="coo")) is nnz.DeviceCoo


@pytest.mark.parametrize("chars", ["df", "fd", "fF", "Fd"])
def test_matrices_of_several_types_are_put_together_in_that_of_scipy(chars, place):
    left, right = (random((6, 5), 0.4, char) for char in chars)
    a, b = nnz.DeviceCsc.from_scipy(left, place), nnz.DeviceCsr.from_scipy(right, place)
    for name in ("vstack", "hstack", "block_diag"):
        for dtype in (None, "D", "F"):
            found, expected = getattr(nnz, name)([a, b], dtype=dtype), getattr(sp, name)([left, right], dtype=dtype)
            assert (type(found), found.dtype) == (nnz.DeviceCsc, expected.dtype)
            np.testing.assert_array_equal(found.toarray(), expected.toarray())
    found, expected = nnz.kron(a, b), sp.kron(left, right)
    assert (type(found), found.dtype) == (nnz.DeviceCsc, expected.dtype)
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-6)


def test_what_cannot_be_put_together_is_named(place):
    host = random((4, 3), 0.5, "d")
    a = nnz.DeviceCsr.from_scipy(host, place)
    with pytest.raises(TypeError, match="block 1 is csr_array where a matrix on a device"):
        nnz.vstack([a, host])
    with pytest.raises(TypeError, match="block 0 is csr_array"):
        nnz.kron(host, a)
    with pytest.raises(ValueError, match="vstack"):
        nnz.vstack([a, a[:, :2]])


def test_arrays_of_the_host_are_scipys():
    host = nnz.csr_array(random((4, 3), 0.5, "d"))
    for found in (nnz.vstack([host, host]), nnz.hstack([host, host], format="csr", dtype="f"), nnz.block_diag((host, [[1.0]])), nnz.kron(host, np.eye(2))):
        assert type(found).__module__ == "nnz._arrays"
    assert nnz.vstack(np.array([host, host], dtype=object)).shape == (8, 3)


@pytest.mark.parametrize("format", KINDS)
def test_eigenvalues_and_singular_values(ours, format, place):
    host = laplace(8)
    a, first = KINDS[format].from_scipy(host, place), np.random.default_rng(1).standard_normal(64)
    expected = np.sort(np.linalg.eigvalsh(host.toarray()))
    with ours():
        largest = nnz.linalg.eigsh(a, 3, v0=first, return_eigenvectors=False)
    np.testing.assert_allclose(np.sort(largest), expected[-3:], rtol=1e-10)
    with ours():
        general = nnz.linalg.eigs(a, 2, v0=first, return_eigenvectors=False)
    np.testing.assert_allclose(np.sort(general.real), expected[-2:], rtol=1e-10)
    start = np.random.default_rng(0).standard_normal((64, 3))
    with ours():
        values, vectors = nnz.linalg.lobpcg(a, start, M=nnz.linalg.ic0(a), largest=False, tol=1e-8, maxiter=200)
    np.testing.assert_allclose(np.sort(values), expected[:3], rtol=1e-6)
    np.testing.assert_allclose(host @ vectors, vectors * values, atol=1e-5)
    tall = random((40, 12), 0.3, "d")
    with ours():
        found = nnz.linalg.svds(KINDS[format].from_scipy(tall, place), 3, v0=np.ones(12), return_singular_vectors=False)
    np.testing.assert_allclose(np.sort(found), np.sort(scipy_linalg.svds(tall, 3, v0=np.ones(12), return_singular_vectors=False)), rtol=1e-10)


@pytest.mark.parametrize("format", KINDS)
def test_files_are_written(format, place, tmp_path):
    host = random((120, 30), 0.2, "d")
    a = KINDS[format].from_scipy(host, place)
    nnz.save_npz(tmp_path / "a.npz", a)
    nnz.io.mmwrite(tmp_path / "a.mtx", a)
    for found in (sp.load_npz(tmp_path / "a.npz"), nnz.io.mmread(tmp_path / "a.mtx")):
        np.testing.assert_array_equal(found.toarray(), host.toarray())
