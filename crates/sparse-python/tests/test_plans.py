"""Plans on the host and on devices."""

import sys

import nnz
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import TYPES, assert_within_bound, dense, device_names, random
from nnz import _arrays

KINDS = {"csr": nnz.DeviceCsr, "csc": nnz.DeviceCsc, "coo": nnz.DeviceCoo}


def applied(matrix, op):
    return {"N": matrix, "T": matrix.T, "H": matrix.conj().T}[op]


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("op", "NTH")
@pytest.mark.parametrize("format", KINDS)
def test_plans_of_host_arrays(ours, format, op, char):
    theirs = random((40, 30), 0.3, char)
    a = applied(theirs, op)
    for k in (None, 1, 5):
        plan = nnz.plan_spmv(theirs.asformat(format), op=op) if k is None else nnz.plan_spmm(theirs.asformat(format), k, op=op)
        tail = () if k is None else (k,)
        b = dense((a.shape[1], *tail), char)
        with ours():
            found = plan.run(b)
        bound = abs(a) @ abs(b)
        assert_within_bound(found, a @ b, bound, 40)
        out = dense((a.shape[0], *tail), char, seed=3)
        expected = (2 * (a @ b) - out).astype(char)
        same = plan.run(b, out=out, alpha=2, beta=-1)
        assert same is out
        assert_within_bound(out, expected, 2 * bound + abs(expected), 44)


@pytest.mark.parametrize("name", device_names())
@pytest.mark.parametrize("kind", KINDS.values())
def test_plans_on_devices(ours, kind, name):
    theirs = random((40, 30), 0.3, "f")
    plan = nnz.plan_spmm(kind.from_scipy(theirs, name), 6)
    b, out = dense((30, 6), "f"), dense((40, 6), "f", seed=3)
    expected = 3 * (theirs @ b) + 2 * out
    with ours():
        plan.run(b, out=out, alpha=3, beta=2)
    assert_within_bound(out, expected, 3 * (abs(theirs) @ abs(b)) + abs(expected), 44)
    plan = nnz.plan_spmv(kind.from_scipy(theirs, name))
    x = dense((30,), "f")
    assert_within_bound(plan.run(x), theirs @ x, abs(theirs) @ abs(x), 30)


@pytest.mark.parametrize("name", device_names())
@pytest.mark.parametrize("format", KINDS)
def test_values_change_and_the_pattern_stays(format, name):
    theirs = random((40, 30), 0.3, "f").asformat(format)
    plan = nnz.plan_spmm(KINDS[format].from_scipy(theirs, name), 4)
    theirs.data = dense(theirs.data.shape, "f", seed=9)
    plan.update_values(theirs.data)
    b = dense((30, 4), "f")
    assert_within_bound(plan.run(b), theirs @ b, abs(theirs) @ abs(b), 30)
    with pytest.raises(ValueError, match=rf"values has shape \(3,\) where \({theirs.nnz},\)"):
        plan.update_values(np.ones(3, "f"))
    with pytest.raises(TypeError, match="values is float64, the plan float32"):
        plan.update_values(np.ones(theirs.nnz))


def test_a_plan_has_a_matrix_of_its_own():
    a = nnz.csr_array(random((8, 8), 0.5, "d"))
    plan, x = nnz.plan_spmv(a), np.ones(8)
    expected = plan.run(x)
    np.testing.assert_allclose(expected, a @ x)
    a.indices[:] = -1
    np.testing.assert_array_equal(plan.run(x), expected)


def test_plans_explain_themselves():
    a = random((8, 8), 0.5, "d")
    plan = nnz.plan_spmm(a, 3, algorithm="sequential")
    assert plan.algorithm == "sequential"
    assert plan.explain().startswith("spmm on cpu: sequential, for ")
    assert repr(nnz.plan_spmv(a, op="T")).startswith("<SpmvPlan of 8 x 8 float64 on cpu: ")
    with pytest.raises(NotImplementedError, match="spmm algorithm `fast` is not supported: this backend has"):
        nnz.plan_spmm(a, 3, algorithm="fast")


def test_what_does_not_fit_is_named():
    a = random((8, 5), 0.5, "d")
    plan = nnz.plan_spmm(a, 3)
    with pytest.raises(ValueError, match=r"B has shape \(5, 4\) where \(5, 3\) is right"):
        plan.run(np.ones((5, 4)))
    with pytest.raises(ValueError, match="k is -1 where a number of columns"):
        nnz.plan_spmm(a, -1)
    with pytest.raises(TypeError, match="B is complex128, the plan float64"):
        plan.run(np.ones((5, 3), "D"))
    with pytest.raises(ValueError, match="beta is 2 without out"):
        plan.run(np.ones((5, 3)), beta=2)
    with pytest.raises(ValueError, match=r"out has shape .* where \(8, 3\) of float64 is right"):
        plan.run(np.ones((5, 3)), out=np.ones((8, 3), "f"))
    with pytest.raises(ValueError, match="C order"):
        plan.run(np.ones((5, 3)), out=np.ones((8, 3), order="F"))
    with pytest.raises(ValueError, match="alpha"):
        plan.run(np.ones((5, 3)), alpha=1j)
    with pytest.raises(TypeError, match="alpha is '2' where a number is right"):
        plan.run(np.ones((5, 3)), alpha="2")
    square, memory = nnz.plan_spmv(random((8, 8), 0.5, "d")), np.ones(8)
    with pytest.raises(ValueError, match="out shares memory"):
        square.run(memory, out=memory)
    frozen = np.ones((8, 3))
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        plan.run(np.ones((5, 3)), out=frozen)
    with pytest.raises(TypeError, match="A has values of int64"):
        nnz.plan_spmv(sp.csr_array(np.eye(2, dtype=int)))
    with pytest.raises(TypeError, match="A is ndarray"):
        nnz.plan_spmv(np.eye(2))
    with pytest.raises(ValueError, match="op is 'X'"):
        nnz.plan_spmv(a, op="X")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is used again on Linux alone")
def test_the_memory_of_large_results_is_used_again():
    # New pages are zeros. Where another thread is at work in the allocator, it takes some.
    shape, dtype = (70_000, 128), np.dtype("f")

    def is_used_again() -> bool:
        made = _arrays.empty(shape, dtype)
        made[:] = 7
        del made
        return _arrays.empty(shape, dtype)[-1, -1] == 7

    assert any(is_used_again() for _ in range(8))


@pytest.mark.parametrize("char", TYPES)
def test_large_results_are_as_others(char):
    rows = 70_000
    plan = nnz.plan_spmm(sp.eye_array(rows, format="csr", dtype=char), 128)
    b = np.ones((rows, 128), char)
    found = plan.run(b)
    assert (found.dtype, found.shape, found.flags.writeable) == (np.dtype(char), b.shape, True)
    np.testing.assert_array_equal(found, b)
