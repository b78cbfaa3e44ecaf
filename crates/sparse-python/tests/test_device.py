"""Operations of matrices on devices beside SciPy's."""

import copy
import operator
from types import SimpleNamespace

import nnz
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as scipy_linalg
from conftest import TYPES, assert_within_bound, dense, device_names, random
from nnz._dlpack import address_of

KINDS = {"csr": nnz.DeviceCsr, "csc": nnz.DeviceCsc, "coo": nnz.DeviceCoo}
SHAPE = (12, 9)


@pytest.fixture(params=device_names())
def place(request):
    """A device."""
    return request.param


@pytest.fixture(params=KINDS)
def kind(request):
    """A class of matrices on devices."""
    return KINDS[request.param]


def assert_is(found, expected, kind):
    """The class and the elements of a result, whose entries are of small integers."""
    assert type(found) is kind
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def integers(shape: tuple[int, int], char: str = "f", seed: int = 0) -> sp.csr_array:
    """A matrix of small integers, whose sums and products are exact."""
    made = random(shape, 0.3, char, seed=seed)
    made.data = np.round(10 * made.data) + 1
    return made


@pytest.mark.parametrize("other", KINDS)
def test_formats(ours, kind, place, other):
    theirs = integers(SHAPE)
    a = kind.from_scipy(theirs, place)
    with ours():
        made = getattr(a, f"to{other}")()
    assert_is(made, theirs, KINDS[other])
    assert made.nnz == theirs.nnz


def test_sums_and_products_of_elements(ours, kind, place):
    left, right = integers(SHAPE), integers(SHAPE, seed=1)
    a, b = kind.from_scipy(left, place), nnz.DeviceCsr.from_scipy(right, place)
    for operation in (operator.add, operator.sub, operator.mul):
        with ours():
            found = operation(a, b)
        assert_is(found, operation(left, right), kind)
    assert_is(a.multiply(b), left.multiply(right), kind)
    for found, expected in ((2 * a, 2 * left), (a * np.float32(0.5), left / 2), (a / 4, left / 4), (-a, -left)):
        assert_is(found, expected.astype("f"), kind)
    for factors in (np.arange(9, dtype="f"), np.arange(9.0, dtype="f")[None], np.arange(12, dtype="f")[:, None]):
        assert_is(a.multiply(factors), sp.csr_array(left.multiply(factors)), kind)
    with pytest.raises(ValueError, match=r"\(12,\) where \(9,\), \(1, 9\) or \(12, 1\)"):
        a.multiply(np.ones(12, "f"))
    assert_is(sum([a, b]), left + right, kind)
    assert_is(0 - a, -left, kind)
    with pytest.raises(TypeError):
        a + right
    for dense_operand in (1, left.toarray()):
        with pytest.raises(TypeError, match="is dense: toarray"):
            a + dense_operand
        with pytest.raises(TypeError, match="is dense: toarray"):
            dense_operand - a


def test_sparse_products(ours, kind, place):
    left, right = integers(SHAPE), integers((9, 7), seed=1)
    a = kind.from_scipy(left, place)
    for other in KINDS.values():
        with ours():
            found = a @ other.from_scipy(right, place)
        assert_is(found, left @ right, kind)
    with pytest.raises(ValueError, match="without out"):
        a.dot(a.T, out=np.ones((12, 12), "f"))
    with pytest.raises(ValueError, match="f32"):
        a @ nnz.DeviceCsr.from_scipy(right.astype("d") if place == "cpu" else right, "cpu").astype("F")


@pytest.mark.parametrize("limit", [None, 2000])
def test_sparse_products_in_files(ours, kind, place, limit, tmp_path):
    left, right = integers(SHAPE), integers((9, 7), seed=1)
    a, b = kind.from_scipy(left, place), nnz.DeviceCsr.from_scipy(right, place)
    with ours():
        a.matmul_to_npz(b, tmp_path / "product.npz", memory_limit=limit)
    found = sp.load_npz(tmp_path / "product.npz")
    assert isinstance(found, sp.csc_array if kind is nnz.DeviceCsc else sp.csr_array)
    assert np.array_equal(found.toarray(), (left @ right).toarray())
    with pytest.raises(TypeError, match="of this machine"):
        a.matmul_to_npz(right, tmp_path / "product.npz")


def test_dense_products(ours, kind, place):
    theirs = random(SHAPE, 0.3, "f")
    a = kind.from_scipy(theirs, place)
    for columns in [(), (1,), (4,), (0,)]:
        b = dense((9, *columns), "f")
        bound = abs(theirs) @ abs(b)
        out = np.full((12, *columns), np.nan, "f")
        with ours():
            assert a.dot(b, out=out) is out
        assert_within_bound(out, theirs @ b, bound, 12)
    for shape in [(12,), (3, 12)]:
        x = dense(shape, "f")
        with ours():
            found = x @ a
        assert_within_bound(found, x @ theirs, abs(x) @ abs(theirs), 12)
    with pytest.raises(ValueError, match=r"out has shape \(\(12,\), dtype\('float64'\)\) where \(12,\) of float32"):
        a.dot(np.ones(9, "f"), out=np.ones(12))
    with pytest.raises(ValueError, match="in no stream"):
        a.dot(np.ones(9, "f"), stream=0)
    with pytest.raises(ValueError, match=r"shape \(9,\) where \(12\[, k\]\)"):
        np.ones(9, "f") @ a


@pytest.mark.parametrize("char", TYPES)
def test_the_conjugate_transpose(char):
    theirs = random(SHAPE, 0.3, char)
    a, x = nnz.DeviceCsr.from_scipy(theirs), dense((12,), char)
    assert_within_bound(a.rmatvec(x), theirs.conj().T @ x, abs(theirs).T @ abs(x), 12)


KEYS = {
    "rows": np.s_[2:7],
    "both": np.s_[2:7, 1:8:2],
    "backwards": np.s_[::-1, 5:1:-2],
    "all": np.s_[:],
    "none": np.s_[4:4],
    "columns": np.s_[:, 3:],
    "list": np.s_[[3, 0, 3, -1]],
    "list of columns": np.s_[:, [8, -9, 2]],
    "list and slice": np.s_[[1, 2], 4:],
    "mask": np.s_[np.arange(12) % 3 == 0],
    "grid": np.ix_([1, 5, -2], [0, 8]),
    "empty list": np.s_[[]],
    "ellipsis": np.s_[...],
    "ellipsis and columns": np.s_[..., 2:5],
}


@pytest.mark.parametrize("name", KEYS)
def test_chosen_rows_and_columns(ours, kind, place, name):
    theirs = integers(SHAPE)
    a = kind.from_scipy(theirs, place)
    with ours():
        found = a[KEYS[name]]
    assert type(found) is kind
    np.testing.assert_array_equal(found.toarray(), theirs.toarray()[KEYS[name]])


def test_rows_and_elements(kind, place):
    theirs = integers(SHAPE)
    a, elements = kind.from_scipy(theirs, place), theirs.toarray()
    np.testing.assert_array_equal(a[-2].toarray(), elements[-2:-1])
    np.testing.assert_array_equal(a[:, 4].toarray(), elements[:, 4:5])
    assert a[np.int64(3), -1] == elements[3, -1]
    assert np.array_equal([row.toarray()[0] for row in a], elements)
    for key, reason in {
        (12,): "index 12 is out of range for 12",
        (0, -10): "index -10 is out of range for 9",
        (0, 0, 0): "3 indices",
        ((1, 2), (3, 4)): "two lists",
    }.items():
        with pytest.raises(IndexError, match=reason):
            a[tuple(list(each) if isinstance(each, tuple) else each for each in key)]
    with pytest.raises(IndexError, match="float64 where integers"):
        a[[1.0]]
    with pytest.raises(IndexError, match="mask has 2 elements where 12"):
        a[[True, False]]
    # As many elements as the matrix has rows.
    for key in (np.ones((4, 3), bool), np.arange(12).reshape(4, 3), [[0], [1]], (slice(None), [[0, 1]]), ([[0, 1]], 1)):
        with pytest.raises(IndexError, match="where one dimension is right"):
            a[key]


def test_matrices_are_not_copied_to_the_host_by_themselves(kind, place):
    a = kind.from_scipy(integers(SHAPE), place)
    with pytest.raises(TypeError, match=r"get\(\) makes SciPy's array"):
        np.asarray(a)
    with pytest.raises(ValueError, match="unrecognized csr_array constructor input: <Device") as error:
        nnz.csr_array(a)
    assert "get() makes SciPy's array" in str(error.value.__cause__)


def test_sparse_operands_of_the_host_are_refused(kind, place):
    theirs = integers((9, 9))
    a = kind.from_scipy(theirs, place)
    for operation in (operator.add, operator.sub, operator.mul, operator.matmul):
        with pytest.raises(TypeError, match=rf"a csr_array of the host, .*{kind.__name__}\.from_scipy copies"):
            operation(a, theirs)
    for operation in (operator.add, operator.sub):
        with pytest.raises(TypeError, match="a csr_array of the host"):
            operation(theirs, a)
    with pytest.raises(TypeError, match=rf"{kind.__name__}\.from_scipy\(A, device\), not of csr_array"):
        kind(theirs)
    with pytest.raises(TypeError, match="ndarray where a sparse array of SciPy"):
        kind.from_scipy(np.eye(2), place)


def test_the_name_of_a_device_opens_it(place):
    a = nnz.DeviceCsr.from_scipy(integers(SHAPE), place)
    assert a.device in [device.name for device in nnz.devices()]
    assert nnz.DeviceCsr.from_scipy(integers(SHAPE), a.device).device == a.device


@pytest.mark.parametrize("axis", [0, 1, -1, -2, None])
@pytest.mark.parametrize("by", ["sum", "mean", "min", "max"])
def test_reductions(ours, kind, place, by, axis):
    theirs = integers(SHAPE)
    with ours():
        found = getattr(kind.from_scipy(theirs, place), by)(axis)
    expected = getattr(theirs.toarray(), by)(axis)
    assert found.dtype == np.dtype("f")
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_what_cannot_be_reduced(place):
    with pytest.raises(NotImplementedError, match="they have no order"):
        nnz.DeviceCsr.from_scipy(integers(SHAPE, "F"), place).max()
    with pytest.raises(ValueError, match="axis is 2"):
        nnz.DeviceCsr.from_scipy(integers(SHAPE), place).sum(2)
    with pytest.raises(ValueError, match="no elements"):
        nnz.DeviceCsr.from_scipy(sp.csr_array((3, 0), dtype="f"), place).min(1)


@pytest.mark.parametrize("k", [0, 2, -3, 8, -11, 9, -12, 40])
def test_diagonals(ours, kind, place, k):
    theirs = integers(SHAPE)
    a = kind.from_scipy(theirs, place)
    with ours():
        found = a.diagonal(k)
    assert found.dtype == np.dtype("f")
    np.testing.assert_array_equal(found, theirs.diagonal(k))


@pytest.mark.parametrize("char", TYPES)
def test_infinities_stay_in_sums_and_elements(kind, place, char):
    theirs = sp.csr_array(np.array([[np.inf, 1], [0, 2]], char))
    a = kind.from_scipy(theirs, place)
    assert a[0, 0] == theirs[0, 0]
    np.testing.assert_array_equal(a.diagonal(), theirs.diagonal())
    for axis in (0, 1):
        np.testing.assert_array_equal(a.sum(axis), theirs.toarray().sum(axis))


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("factor", [0, 0.0, np.float32(0), False])
@pytest.mark.parametrize("char", TYPES)
def test_zero_times_an_infinity_is_nan(kind, place, char, factor):
    theirs = sp.csr_array(np.array([[np.inf, 1], [np.nan, 2]], char))
    found = (kind.from_scipy(theirs, place) * factor).toarray()
    np.testing.assert_array_equal(found, (theirs * factor).toarray())


def test_indices_of_two_types_become_those_of_64_bits(kind, place):
    a, b = random((30, 30), 0.2, "d"), random((30, 30), 0.1, "d", np.int64, seed=1)
    ours, other = kind.from_scipy(a, place), kind.from_scipy(b, place)
    for found, expected in [(ours + other, a + b), (other - ours, b - a), (ours.multiply(other), a * b), (ours @ other, a @ b)]:
        found = found.get()
        assert found.format == "coo" or found.indices.dtype == np.int64
        np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-14, atol=1e-14)


def test_transposing_takes_no_memory_for_empty_rows(place):
    n = 2**62
    a = sp.coo_array((np.array([1.0, 2.0, 3.0]), (np.array([n - 1, 0, 5]), np.array([7, n - 2, 7]))), shape=(n, n - 1))
    found = nnz.DeviceCoo.from_scipy(a, place).T.get()
    assert found.shape == (n - 1, n)
    np.testing.assert_array_equal(found.coords, [[7, 7, n - 2], [5, n - 1, 0]])
    np.testing.assert_array_equal(found.data, [3, 1, 2])


def test_one_dimension_is_refused(place):
    with pytest.raises(ValueError, match="two dimensions"):
        nnz.DeviceCsr.from_scipy(sp.coo_array(np.ones(3)), place)


def test_types(kind, place):
    theirs = integers(SHAPE)
    a = kind.from_scipy(theirs, place)
    assert_is(a.astype(np.complex64), theirs.astype("F"), kind)
    with pytest.raises(TypeError, match="'i' where"):
        a.astype(np.int32)
    with pytest.raises(NotImplementedError, match="imaginary parts would be lost"):
        a.astype("F").astype("f")


def test_matrices_are_linear_operators(ours, place):
    theirs = random((30, 20), 0.3, "f", seed=4)
    a = nnz.DeviceCsr.from_scipy(theirs, place)
    x, y = dense((20, 3), "f"), dense((30, 3), "f")
    for made in (a.aslinearoperator(), scipy_linalg.aslinearoperator(a)):
        assert (made.shape, made.dtype) == ((30, 20), np.dtype("f"))
        with ours():
            found = made @ x
        assert_within_bound(found, theirs @ x, abs(theirs) @ abs(x), 20)
        assert_within_bound(made.H @ y, theirs.T @ y, abs(theirs).T @ abs(y), 30)
    with ours():
        found = scipy_linalg.svds(a.aslinearoperator(), 2, v0=np.ones(20, "f"), return_singular_vectors=False)
    expected = np.linalg.svd(theirs.toarray(), compute_uv=False)[:2]
    np.testing.assert_allclose(np.sort(found)[::-1], expected, rtol=1e-4)


def test_streams_are_named_as_their_libraries_have_them():
    protocol = SimpleNamespace(__cuda_stream__=lambda: (0, 7), ptr=8)
    for stream in (7, np.int64(7), SimpleNamespace(ptr=7), SimpleNamespace(cuda_stream=7), protocol):
        assert address_of(stream) == 7
    with pytest.raises(TypeError):
        address_of("default")


def test_copies_are_made_by_the_module_copy(kind, place):
    a = kind.from_scipy(integers(SHAPE), place)
    for copied in (copy.copy(a), copy.deepcopy([a])[0]):
        assert copied is not a and copied.device == place
        assert_is(copied, a.get(), kind)


def test_comparisons_are_errors(kind, place):
    a = kind.from_scipy(integers(SHAPE), place)
    for compare in (operator.eq, operator.ne):
        for other in (a.copy(), 0, a.get(), a.toarray()):
            with pytest.raises(TypeError, match=r"get\(\) makes SciPy's array"):
                compare(a, other)
    assert a is not None and not a == "a"
    with pytest.raises(ValueError, match="its nnz says"):
        bool(a)
    assert bool(kind.from_scipy(sp.eye_array(1), place))


def test_names_that_scipys_arrays_have_say_so(kind, place):
    a = kind.from_scipy(integers(SHAPE), place)
    with pytest.raises(AttributeError, match=r"no attribute 'setdiag': get\(\) makes SciPy's array, which has it"):
        a.setdiag(1)
    with pytest.raises(AttributeError, match="no attribute 'anything'$"):
        _ = a.anything


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_elements_are_counted_and_found(kind, place, axis):
    theirs = integers(SHAPE)
    theirs.data[::3] = 0
    a = kind.from_scipy(theirs, place)
    matrix = sp.csr_matrix(theirs)
    np.testing.assert_array_equal(a.argmax(axis), theirs.argmax(axis))
    np.testing.assert_array_equal(a.argmin(axis), theirs.argmin(axis))
    np.testing.assert_array_equal(a.count_nonzero(axis), theirs.count_nonzero(axis))
    np.testing.assert_array_equal(a.getnnz(axis), matrix.getnnz(axis))
    with pytest.raises(ValueError, match="axis is 2"):
        a.getnnz(2)


def test_the_larger_and_the_smaller_elements(kind, place):
    theirs = integers(SHAPE)
    a, b = kind.from_scipy(theirs, place), kind.from_scipy(2 * theirs, place)
    for found, expected in ((a.maximum(b), theirs.maximum(2 * theirs)), (a.minimum(b), theirs.minimum(2 * theirs)), (a.minimum(1), theirs.minimum(1))):
        assert type(found) is kind
        np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_lines_by_the_names_of_scipys_matrices(kind, place):
    theirs = integers(SHAPE)
    a = kind.from_scipy(theirs, place)
    np.testing.assert_array_equal(a.getrow(-2).toarray(), theirs.toarray()[[-2]])
    np.testing.assert_array_equal(a.getcol(3).toarray(), theirs.toarray()[:, [3]])
    np.testing.assert_array_equal(a.getH().toarray(), theirs.toarray().T)


def test_an_array_without_dimensions_is_a_number(kind, place):
    theirs, two = integers(SHAPE), np.array(2, "f")
    a = kind.from_scipy(theirs, place)
    for found in (a * two, two * a, a.multiply(two)):
        np.testing.assert_array_equal(found.toarray(), 2 * theirs.toarray())
    np.testing.assert_array_equal((a / two).toarray(), theirs.toarray() / 2)


def test_numpys_functions_reduce(kind, place):
    theirs = integers(SHAPE)
    a, out = kind.from_scipy(theirs, place), np.empty(9, "f")
    for function in (np.sum, np.mean, np.max, np.min):
        assert function(a) == pytest.approx(function(theirs))
        np.testing.assert_allclose(function(a, axis=0), function(theirs.toarray(), axis=0), rtol=1e-6)
        assert function(a, axis=0, out=out) is out
        np.testing.assert_allclose(out, function(theirs.toarray(), axis=0), rtol=1e-6)
    assert a.sum(axis=1, dtype="d").dtype == np.float64


def test_arrays_in_an_order_or_in_place(kind, place):
    theirs, out = integers(SHAPE), np.empty(SHAPE, "f")
    a = kind.from_scipy(theirs, place)
    assert a.toarray(order="F").flags.f_contiguous
    assert a.toarray(out=out) is out
    np.testing.assert_array_equal(out, theirs.toarray())
    assert a.astype("f", copy=False) is a


@pytest.mark.parametrize("ord, axis", [(None, None), ("fro", None), (1, None), (-1, None), (np.inf, None), (-np.inf, None), (None, 0), (1, 1), (2, -1), (np.inf, 0)])
def test_norms(ours, kind, place, ord, axis):
    theirs = integers(SHAPE)
    a = kind.from_scipy(theirs, place)
    with ours():
        found = nnz.linalg.norm(a, ord, axis)
    np.testing.assert_allclose(found, scipy_linalg.norm(theirs, ord, axis), rtol=1e-6)
    np.testing.assert_allclose(nnz.linalg.norm(theirs, ord, axis), scipy_linalg.norm(theirs, ord, axis))


@pytest.mark.parametrize("ord, axis", [(1, None), (np.inf, None), (None, 0), (1, 1), (np.inf, 1)])
def test_norms_of_complex_matrices_are_real(kind, place, ord, axis):
    theirs = integers(SHAPE) * np.complex64(3 + 4j)
    found = nnz.linalg.norm(kind.from_scipy(theirs, place), ord, axis)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, scipy_linalg.norm(theirs, ord, axis), rtol=1e-6)


def test_norms_of_singular_values_are_left_to_the_host(kind, place):
    with pytest.raises(NotImplementedError, match="order 2 and axis None"):
        nnz.linalg.norm(kind.from_scipy(integers(SHAPE), place), 2)
