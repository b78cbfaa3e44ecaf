"""The constructors of CSR and CSC arrays beside SciPy's."""

import nnz
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random


def arrays(data=np.array([1.0, 2, 3]), indices=np.array([0, 2, 1], "i"), indptr=np.array([0, 1, 3], "i")):
    return data, indices, indptr


LINES = {"csr": (2, 3), "csc": (3, 2)}
#: Arguments of a constructor, of which some are errors, by the shape of its arrays.
ARGUMENTS = {
    "as they are": lambda shape: (arrays(), shape),
    "of its type": lambda shape: (arrays(), shape, np.dtype("d")),
    "another type": lambda shape: (arrays(), shape, np.float32),
    "a type by its name": lambda shape: (arrays(), shape, "d"),
    "an object's type": lambda shape: (arrays(), shape, object),
    "copies": lambda shape: (arrays(), shape, None, True),
    "no shape": lambda shape: (arrays(),),
    "a list as shape": lambda shape: (arrays(), list(shape)),
    "NumPy's integers as shape": lambda shape: (arrays(), tuple(np.array(shape))),
    "one dimension": lambda shape: (arrays(indptr=np.array([0, 3])), (3,)),
    "three dimensions": lambda shape: (arrays(), (*shape, 1)),
    "a negative shape": lambda shape: (arrays(), (-1, 3)),
    "wide": lambda shape: (arrays(), tuple(2**40 if extent == 3 else extent for extent in shape)),
    "too many rows": lambda shape: (arrays(), (4, 4)),
    "lists": lambda shape: (tuple(each.tolist() for each in arrays()), shape),
    "int64": lambda shape: (arrays(*(each.astype("l") for each in arrays())), shape),
    "indices of two types": lambda shape: (arrays(indptr=np.array([0, 1, 3], "l")), shape),
    "short integers": lambda shape: (arrays(indices=np.array([0, 2, 1], "h"), indptr=np.array([0, 1, 3], "h")), shape),
    "unsigned": lambda shape: (arrays(indices=np.array([0, 2, 1], "I"), indptr=np.array([0, 1, 3], "I")), shape),
    "indices of floats": lambda shape: (arrays(indices=np.array([0.0, 2, 1])), shape),
    "half precision": lambda shape: (arrays(np.ones(3, "e")), shape),
    "objects": lambda shape: (arrays(np.array([1, 2, 3], object)), shape),
    "booleans": lambda shape: (arrays(np.array([True, False, True])), shape),
    "swapped bytes": lambda shape: (arrays(np.array([1.0, 2, 3], ">f8")), shape),
    "gaps": lambda shape: (arrays(np.arange(6.0)[::2]), shape),
    "a part": lambda shape: (arrays(np.arange(20.0)[3:6]), shape),
    "a longer end": lambda shape: (arrays(np.arange(5.0), np.zeros(5, "i")), shape),
    "a much longer end": lambda shape: (arrays(np.arange(50.0), np.zeros(50, "i")), shape),
    "fewer indices": lambda shape: (arrays(indices=np.zeros(2, "i")), shape),
    "a late start": lambda shape: (arrays(indptr=np.array([1, 1, 3], "i")), shape),
    "a late end": lambda shape: (arrays(indptr=np.array([0, 1, 4], "i")), shape),
    "a negative end": lambda shape: (arrays(indptr=np.array([0, 1, -1], "i")), shape),
    "descending": lambda shape: (arrays(indptr=np.array([0, 3, 2], "i")), shape),
    "columns out of range": lambda shape: (arrays(indices=np.array([0, 9, -1], "i")), shape),
    "two dimensions of data": lambda shape: (arrays(np.ones((3, 1))), shape),
    "a matrix of data": lambda shape: (arrays(np.ones((1, 3)).view(np.matrix)), shape),
    "nothing": lambda shape: (arrays(np.zeros(0), np.zeros(0, "i"), np.zeros(3, "i")), shape),
    "no rows": lambda shape: (arrays(np.zeros(0), np.zeros(0, "i"), np.zeros(1, "i")), (0, 0)),
}


@pytest.mark.filterwarnings("ignore:.*array has non-integer dtype")
@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("format", LINES)
def test_constructors_are_scipys(format, name):
    found, expected = (attributes(module, format, ARGUMENTS[name](LINES[format])) for module in (nnz, sp))
    assert found == expected


def attributes(module, format, arguments):
    """What a constructor makes of arguments, or its error."""
    try:
        made = getattr(module, f"{format}_array")(*arguments)
    except Exception as error:
        return type(error), str(error)
    try:
        again = vars(type(made)(made))
    except Exception as error:
        again = type(error), str(error)
    else:
        assert all(again[name] is made.shape or np.shares_memory(again[name], getattr(made, name)) or not made.nnz for name in ("data", "indices"))
        again = again.keys()
    given = arguments[0]
    found = {name: (each.tolist(), each.dtype.str, each.base is None) for name, each in vars(made).items() if isinstance(each, np.ndarray)}
    shared = [np.shares_memory(each, other) for each, other in zip((made.data, made.indices, made.indptr), given, strict=True) if isinstance(other, np.ndarray)]
    return found, vars(made).keys(), made.shape, made.maxprint, shared, again


def test_matrices_of_small_arrays_are_not_made_by_scipy(monkeypatch):
    a, b = nnz.csr_array(random((6, 4), 0.5, "d")), nnz.csc_array(random((6, 4), 0.5, "d"))
    monkeypatch.setattr(sp.csr_array, "__init__", None)
    monkeypatch.setattr(sp.csc_array, "__init__", None)
    for made in (a.copy(), -a, 2 * a, a.T, a.tocsc(), a @ a.T, a[1:3], b.T, b.tocsr(), nnz.csr_array(a)):
        assert type(made) in (nnz.csr_array, nnz.csc_array)


ROWS, COLUMNS = np.array([2, 0, 2, 1, 0]), np.array([1, 3, 1, 0, 0])
#: Arguments of a constructor with coordinates, of which some are errors.
COORDINATES = {
    "as they are": lambda data: ((data, (ROWS, COLUMNS)),),
    "with a shape": lambda data: ((data, (ROWS, COLUMNS)), (4, 5)),
    "int32": lambda data: ((data, (ROWS.astype("i"), COLUMNS.astype("i"))), (4, 5)),
    "an array of coordinates": lambda data: ((data, np.stack([ROWS, COLUMNS])), (4, 5)),
    "lists": lambda data: ((data.tolist(), (ROWS.tolist(), COLUMNS.tolist())), (4, 5)),
    "another type": lambda data: ((data, (ROWS, COLUMNS)), (4, 5), np.complex64),
    "gaps": lambda data: ((np.repeat(data, 2)[::2], (ROWS, COLUMNS)), (4, 5)),
    "one dimension": lambda data: ((data, (np.arange(5),)), (5,)),
    "three dimensions": lambda data: ((data, (ROWS, ROWS, COLUMNS)), (4, 5, 5)),
    "no entries": lambda data: ((data[:0], (ROWS[:0], COLUMNS[:0])), (4, 5)),
    "no entries and no shape": lambda data: ((data[:0], (ROWS[:0], COLUMNS[:0])),),
    "copies": lambda data: ((data, (ROWS, COLUMNS)), (4, 5), None, True),
    "out of range": lambda data: ((data, (ROWS, COLUMNS)), (2, 5)),
    "negative": lambda data: ((data, (-ROWS, COLUMNS)), (4, 5)),
    "fewer rows": lambda data: ((data, (ROWS[:3], COLUMNS)), (4, 5)),
    "two dimensions of data": lambda data: ((data[:, None], (ROWS, COLUMNS)), (4, 5)),
    "wide": lambda data: ((data, (ROWS, COLUMNS)), (4, 2**40)),
    "int32, wide": lambda data: ((data, (ROWS.astype("i"), COLUMNS.astype("i"))), (4, 2**40)),
    "int32, out of range": lambda data: ((data, (ROWS.astype("i"), COLUMNS.astype("i"))), (4, 3)),
    "int32, negative": lambda data: ((data, (ROWS.astype("i"), -COLUMNS.astype("i"))), (4, 5)),
    "int32, copies": lambda data: ((data, (ROWS.astype("i"), COLUMNS.astype("i"))), (4, 5), None, True),
    "two types": lambda data: ((data, (ROWS.astype("i"), COLUMNS)), (4, 5)),
    "short integers": lambda data: ((data, (ROWS.astype("h"), COLUMNS.astype("h"))), (4, 5)),
    "swapped bytes": lambda data: ((data, (ROWS.astype(">i4"), COLUMNS.astype(">i4"))), (4, 5)),
    "coordinates with gaps": lambda data: ((data, (np.repeat(ROWS, 2)[::2], np.repeat(COLUMNS, 2)[::2])), (4, 5)),
    "fewer values": lambda data: ((data[:3], (ROWS, COLUMNS)), (4, 5)),
    "no rows": lambda data: ((data, (ROWS, COLUMNS)), (0, 5)),
    "a negative shape": lambda data: ((data, (ROWS, COLUMNS)), (-4, 5)),
    "a list as shape": lambda data: ((data, (ROWS, COLUMNS)), [4, 5]),
    "a list of coordinates": lambda data: ((data, [ROWS, COLUMNS]), (4, 5)),
}


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", COORDINATES)
@pytest.mark.parametrize("char", "dFi?")
@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "csr_matrix", "csc_matrix"])
def test_matrices_of_coordinates_are_scipys(kind, char, name):
    data = np.array([1, 2, 3, 4, 0]).astype(char)
    if kind.startswith("csc") and ("wide" in name or name == "one dimension"):
        return  # SciPy takes the memory of all offsets, or crashes
    found, expected = (of_coordinates(module, kind, COORDINATES[name](data.copy())) for module in (nnz, sp))
    assert found == expected


def of_coordinates(module, kind, arguments):
    try:
        made = getattr(module, kind)(*arguments)
    except Exception as error:
        return type(error), str(error)
    found = {name: (each.tolist(), each.dtype.str) for name, each in vars(made).items() if isinstance(each, np.ndarray)}
    return found, made.shape, made.maxprint, made.has_canonical_format, made.has_sorted_indices


def test_coordinates_are_compressed_here(ours):
    theirs = random((40, 30), 0.3, "d").tocoo()
    with ours():
        found = nnz.csr_array((theirs.data, theirs.coords), shape=theirs.shape)
    np.testing.assert_array_equal(found.toarray(), theirs.toarray())


@pytest.mark.parametrize("index", ["i", "l"])
def test_coordinates_that_need_no_conversion_are_not_looked_at_by_scipy(monkeypatch, index):
    row, column = ROWS.astype(index), COLUMNS.astype(index)
    monkeypatch.setattr(sp.coo_array, "__init__", None)
    for kind in (nnz.csr_array, nnz.csc_array):
        made = kind((np.ones(5), (row, column)), shape=(4, 5))
        assert (made.nnz, made.sum(), made.indices.dtype) == (4, 5, np.dtype(index))


def test_classes_with_checks_of_their_own_are_made_by_scipy():
    calls = []

    class Checked(nnz.csr_array):
        def check_format(self, full_check=True):
            calls.append(full_check)

    Checked(arrays(), shape=(2, 3))
    assert calls == [False]
