"""SciPy's own tests of its arrays and matrices, from the installed package, with the classes of nnz in place of SciPy's."""

import nnz
import pytest
import scipy.sparse.tests.test_base as suite

for _name in (f"{format}_{kind}" for kind in ("array", "matrix") for format in ("csr", "csc", "coo")):
    setattr(suite, _name, getattr(nnz, _name))

from scipy.sparse.tests.test_base import (  # noqa: E402
    TestCOO,
    TestCOOMatrix,
    TestCOONonCanonical,
    TestCOONonCanonicalMatrix,
    TestCSC,
    TestCSCMatrix,
    TestCSCNonCanonical,
    TestCSCNonCanonicalMatrix,
    TestCSR,
    TestCSRMatrix,
    TestCSRNonCanonical,
    TestCSRNonCanonicalMatrix,
)

__all__ = [
    "TestCOO",
    "TestCOOMatrix",
    "TestCOONonCanonical",
    "TestCOONonCanonicalMatrix",
    "TestCSC",
    "TestCSCMatrix",
    "TestCSCNonCanonical",
    "TestCSCNonCanonicalMatrix",
    "TestCSR",
    "TestCSRMatrix",
    "TestCSRNonCanonical",
    "TestCSRNonCanonicalMatrix",
]

# The others look the name up when they are called.
TestCOO.spcreator = nnz.coo_array
TestCOOMatrix.spcreator = nnz.coo_matrix

# The suite has rules of its own for them.
pytestmark = pytest.mark.filterwarnings("default")

OURS = {
    TestCSR: nnz.csr_array,
    TestCSC: nnz.csc_array,
    TestCOO: nnz.coo_array,
    TestCSRMatrix: nnz.csr_matrix,
    TestCSCMatrix: nnz.csc_matrix,
    TestCOOMatrix: nnz.coo_matrix,
}


def test_the_classes_are_ours():
    for tests, ours in OURS.items():
        assert type(tests.spcreator((2, 2))) is ours
