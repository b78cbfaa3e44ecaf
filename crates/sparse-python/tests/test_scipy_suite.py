"""SciPy's own tests of its arrays, from the installed package, with the classes of nnz in place of SciPy's."""

import nnz
import pytest
import scipy.sparse.tests.test_base as suite

for _name in ("csr_array", "csc_array", "coo_array"):
    setattr(suite, _name, getattr(nnz, _name))

from scipy.sparse.tests.test_base import (  # noqa: E402
    TestCOO,
    TestCOONonCanonical,
    TestCSC,
    TestCSCNonCanonical,
    TestCSR,
    TestCSRNonCanonical,
)

__all__ = ["TestCOO", "TestCOONonCanonical", "TestCSC", "TestCSCNonCanonical", "TestCSR", "TestCSRNonCanonical"]

# The others look the name up when they are called.
TestCOO.spcreator = nnz.coo_array

# The suite has rules of its own for them.
pytestmark = pytest.mark.filterwarnings("default")


def test_the_classes_are_ours():
    for tests, ours in ((TestCSR, nnz.csr_array), (TestCSC, nnz.csc_array), (TestCOO, nnz.coo_array)):
        assert type(tests.spcreator((2, 2))) is ours
