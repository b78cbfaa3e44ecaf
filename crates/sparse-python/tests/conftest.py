"""What the tests have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import nnz.client
import numpy as np
import pytest
import scipy.sparse as sp
from nnz import _native
from serving import serve, stop

TYPES = ["f", "d", "F", "D"]


@pytest.fixture
def ours() -> Callable[[], AbstractContextManager[None]]:
    """A context in which an operation must run in nnz, not in SciPy."""

    @contextmanager
    def check() -> Iterator[None]:
        before = _native.calls()
        yield
        assert _native.calls() > before, "nnz computed nothing"

    return check


@pytest.fixture(scope="module")
def client(tmp_path_factory) -> Iterator[nnz.client.Client]:
    """A client of a server that is there for all tests of a file."""
    process, url = serve(tmp_path_factory.mktemp("server"))
    with nnz.client.connect(url) as client:
        yield client
    stop(process)


def random(shape: tuple[int, int], density: float, char: str, index=np.int32, seed: int = 0) -> sp.csr_array:
    """A matrix of SciPy's with these types."""
    rng = np.random.default_rng(seed)
    made = sp.random_array(shape, density=density, rng=rng, dtype=np.float64).tocsr()
    values = made.data - 0.5
    if char in "FD":
        values = values + 1j * rng.random(made.nnz)
    made = sp.csr_array((values.astype(char), made.indices, made.indptr), shape=shape)
    made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
    return made


def laplace(n: int, char: str = "d") -> sp.csr_array:
    """The Laplacian of a square grid, shifted, so that it is positive definite."""
    line = sp.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return sp.csr_array(sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line)).astype(char)


def dense(shape: tuple[int, ...], char: str, seed: int = 1) -> np.ndarray:
    """An array of this type."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape)).astype(char) if char in "FD" else values.astype(char)


def assert_within_bound(found, expected, absolute, terms: int) -> None:
    """|found − expected| ≤ 2·(terms + 2)·ε·|A|·|B| in each component, with ε of the result's type."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    bound = 2 * (terms + 2) * np.finfo(found.dtype).eps * absolute
    assert np.all(np.abs(found - expected) <= bound)


def device_names():
    """The host, and where there is one an OpenCL device and a GPU."""
    return sorted({info.backend: info.name for info in nnz.devices() if info.backend != "sycl"}.values())
