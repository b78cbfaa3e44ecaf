"""Functions of the elements of matrices on devices beside SciPy's."""

import warnings

import nnz
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import TYPES, device_names, random

KINDS = {"csr": nnz.DeviceCsr, "csc": nnz.DeviceCsc, "coo": nnz.DeviceCoo}

FUNCTIONS = ["sqrt", "sign", "expm1", "log1p", "floor", "ceil", "trunc", "rint", "sin", "sinh", "tan", "tanh"] + [
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "deg2rad",
    "rad2deg",
    "conj",
    "conjugate",
]


@pytest.fixture(params=device_names())
def place(request):
    """A device."""
    return request.param


@pytest.fixture(params=KINDS)
def kind(request):
    """A class of matrices on devices."""
    return KINDS[request.param]


def assert_equal(found, expected, kind, place):
    """The class, the device and the elements of a result that SciPy computed."""
    assert type(found) is kind
    assert found.device == kind.from_scipy(sp.csr_array((1, 1)), place).device
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(kind, place, name):
    theirs = abs(random((12, 9), 0.3, "f"))
    a = kind.from_scipy(theirs, place)
    assert_equal(getattr(a, name)(), getattr(theirs, name)(), kind, place)
    assert_equal(a, theirs, kind, place)


@pytest.mark.parametrize("char", TYPES)
def test_magnitudes_powers_and_parts(kind, place, char):
    theirs = random((12, 9), 0.3, char)
    a = kind.from_scipy(theirs, place)
    assert_equal(abs(a), abs(theirs), kind, place)
    assert_equal(a**3, theirs**3, kind, place)
    assert_equal(a.power(2), theirs.power(2), kind, place)
    assert_equal(a.conj(), theirs.conj(), kind, place)
    assert_equal(a.real, theirs.real, kind, place)
    assert_equal(a.imag, theirs.imag, kind, place)
    with pytest.raises(NotImplementedError, match="zero power"):
        a.power(0)


@pytest.mark.parametrize("char", "fF")
def test_transposes(kind, place, char):
    theirs = random((12, 9), 0.3, char)
    a = kind.from_scipy(theirs, place)
    other = {nnz.DeviceCsr: nnz.DeviceCsc, nnz.DeviceCsc: nnz.DeviceCsr, nnz.DeviceCoo: nnz.DeviceCoo}[kind]
    assert_equal(a.T, theirs.T, other, place)
    assert_equal(a.transpose(), theirs.T, other, place)
    assert_equal(a.H, theirs.conj().T, other, place)


@pytest.mark.parametrize("char", TYPES)
def test_copies_have_values_of_their_own(ours, kind, place, char):
    theirs = random((12, 9), 0.3, char)
    theirs.data[:3] = [np.nan, np.inf, -0.0]
    a = kind.from_scipy(theirs, place)
    with ours():
        copy = a.copy()
    assert_equal(copy, theirs, kind, place)
    assert np.signbit(copy.get().tocsr().data[2].real)
    a.eliminate_zeros()
    assert (copy.nnz, copy.size) == (theirs.nnz, theirs.nnz)


def test_zeros_are_eliminated_in_place(kind, place):
    theirs = random((12, 9), 0.3, "f")
    theirs.data[::2] = 0
    a = kind.from_scipy(theirs, place)
    a.eliminate_zeros()
    theirs.eliminate_zeros()
    assert a.nnz == theirs.nnz > 0
    assert_equal(a, theirs, kind, place)


def test_quotients(kind, place):
    theirs = random((12, 9), 0.3, "f")
    a = kind.from_scipy(theirs, place)
    assert_equal(a / 2, (theirs / 2).astype("f"), kind, place)
    rows, columns = np.arange(1, 13, dtype="f")[:, None], np.arange(1, 10, dtype="f")
    for divisors in (rows, columns):
        np.testing.assert_allclose((a / divisors).toarray(), (theirs / divisors).toarray(), rtol=1e-6)
    for zero in (0, 0.0):
        with pytest.raises(ZeroDivisionError):
            theirs / zero
        with pytest.raises(ZeroDivisionError):
            a / zero
    theirs.data[0] = 0
    a = kind.from_scipy(theirs, place)
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore")  # SciPy's product of infinity and zero
        found, expected = a / np.float32(0), theirs / np.float32(0)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    with pytest.raises(TypeError, match="unsupported operand"):
        a / a
    with pytest.raises(TypeError, match="of the host"):
        a / theirs


def test_descriptions_by_scipys_names(kind, place):
    theirs = random((12, 9), 0.3, "f")
    a = kind.from_scipy(theirs, place)
    assert (a.ndim, a.size, a.format) == (2, theirs.size, kind._format)
    assert a.trace() == pytest.approx(theirs.trace())
    assert a.trace(-2) == pytest.approx(theirs.trace(-2))
    assert a.asformat(None) is a.asformat(a.format) is a
    for format, other in KINDS.items():
        assert_equal(a.asformat(format), theirs, other, place)
    with pytest.raises(ValueError, match="'dia' where 'csr', 'csc' or 'coo'"):
        a.asformat("dia")
