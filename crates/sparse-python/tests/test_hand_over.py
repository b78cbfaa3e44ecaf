"""Arrays of CuPy and PyTorch on a GPU, handed over without a copy. Skipped where there is no GPU or no CuPy."""

import gc

import nnz
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import TYPES, assert_within_bound, dense, laplace, random

cupy = pytest.importorskip("cupy")
if not any(info.backend == "cuda" for info in nnz.devices()):
    pytest.skip("there is no GPU of CUDA", allow_module_level=True)
cupy_sparse = pytest.importorskip("cupyx.scipy.sparse")

KINDS = {"csr": nnz.DeviceCsr, "csc": nnz.DeviceCsc}
# Of CuPy's and PyTorch's own making.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:Sparse:UserWarning", "ignore::FutureWarning")


def on_gpu(matrix: sp.csr_array, format: str = "csr"):
    matrix = matrix.asformat(format)
    parts = (cupy.asarray(array) for array in (matrix.data, matrix.indices, matrix.indptr))
    return getattr(cupy_sparse, f"{format}_matrix")(tuple(parts), shape=matrix.shape)


def busy(stream: "cupy.cuda.Stream") -> None:
    """Enqueues some milliseconds of work."""
    with stream:
        a = cupy.ones((4096, 4096), "f")
        for _ in range(8):
            a = a @ a * 0


class Stranger:
    """An array of a library that nnz has never heard of."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.ndim = array, array.shape, array.dtype, array.ndim

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("char", TYPES)
@pytest.mark.parametrize("format", KINDS)
def test_matrices_of_cupy_are_not_copied(ours, format, char):
    theirs = random((300, 200), 0.1, char)
    source = on_gpu(theirs, format)
    with ours():
        a = KINDS[format].from_cupy(source)
    for name in ("data", "indices", "indptr"):
        address = getattr(source, name).data.ptr
        assert getattr(a, name).__cuda_array_interface__["data"][0] == address
        assert cupy.from_dlpack(getattr(a, name)).data.ptr == address
        assert cupy.asarray(getattr(a, name)).data.ptr == address
        np.testing.assert_array_equal(getattr(a, name).get(), cupy.asnumpy(getattr(source, name)))
    assert a.to_cupy().data.data.ptr == source.data.data.ptr
    for columns in [(), (1,), (5,), (32,)]:
        b = dense((200, *columns), char)
        with ours():
            found = a @ cupy.asarray(b)
        assert isinstance(found, cupy.ndarray)
        assert_within_bound(cupy.asnumpy(found), theirs @ b, abs(theirs) @ abs(b), 200)
        assert_within_bound(a @ b, theirs @ b, abs(theirs) @ abs(b), 200)


@pytest.mark.parametrize("index", ["i", "l"])
@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_matrices_of_torch_are_not_copied(layout, index):
    torch = pytest.importorskip("torch")
    theirs = random((300, 200), 0.1, "f", index).asformat(layout)
    parts = [torch.from_numpy(array).cuda() for array in (theirs.indptr.astype(index), theirs.indices.astype(index), theirs.data)]
    tensor = getattr(torch, f"sparse_{layout}_tensor")(*parts, theirs.shape)
    a = KINDS[layout].from_torch(tensor)
    assert a.data.__cuda_array_interface__["data"][0] == tensor.values().data_ptr()
    back = a.to_torch()
    assert back.layout == tensor.layout
    assert back.values().data_ptr() == tensor.values().data_ptr()
    b = torch.randn(200, 7, device="cuda")
    found = a @ b
    assert found.is_cuda
    torch.testing.assert_close(found, tensor.to_dense() @ b, rtol=1e-4, atol=1e-4)
    with pytest.raises(TypeError, match=r"nnz\.torch has operators with gradients"):
        a @ b.requires_grad_()


def test_the_work_of_a_producer_on_another_stream_comes_first():
    theirs = random((2000, 1500), 0.02, "f")
    b = cupy.asarray(dense((1500, 8), "f"))
    expected = theirs @ b.get()
    for _ in range(5):
        source = on_gpu(theirs)
        source.data[:] = cupy.nan
        operand = cupy.full_like(b, cupy.nan)
        cupy.cuda.Device().synchronize()
        producer = cupy.cuda.Stream(non_blocking=True)
        busy(producer)
        with producer:
            source.data[:] = cupy.asarray(theirs.data)
            operand[:] = b
            a = nnz.DeviceCsr.from_cupy(source)
            found = a @ operand
        consumer = cupy.cuda.Stream(non_blocking=True)
        with consumer:
            values = cupy.from_dlpack(a.data)
            np.testing.assert_array_equal(cupy.asnumpy(values), theirs.data)
        with producer:
            assert_within_bound(cupy.asnumpy(found), expected, abs(theirs) @ abs(b.get()), 1500)


@pytest.mark.parametrize("name_of", [lambda stream: stream, lambda stream: stream.ptr])
def test_a_product_is_in_order_with_a_stream_that_is_named(name_of):
    theirs = random((2000, 1500), 0.02, "f")
    a, b = nnz.DeviceCsr.from_cupy(on_gpu(theirs)), dense((1500, 8), "f")
    plan = nnz.plan_spmm(a, 8)
    bound = abs(theirs) @ abs(b)
    for run in (a.dot, plan.run):
        operand, out = cupy.full(b.shape, cupy.nan, "f"), cupy.full((2000, 8), cupy.nan, "f")
        cupy.cuda.Device().synchronize()
        stream = cupy.cuda.Stream(non_blocking=True)
        busy(stream)
        with stream:
            operand.set(b)
        assert run(operand, out=out, stream=name_of(stream)) is out
        with stream:
            found = out.copy()
        stream.synchronize()
        assert_within_bound(found.get(), theirs @ b, bound, 1500)


def test_vectors_on_the_gpu_stay_there(ours):
    theirs = laplace(20)
    a, b = nnz.DeviceCsr.from_cupy(on_gpu(theirs)), dense((400,), "d")
    on_device = cupy.asarray(b)
    for make in (None, nnz.linalg.jacobi, nnz.linalg.ic0):
        k = None if make is None else make(a)
        for x0 in (None, cupy.ones(400)):
            with ours():
                x, info = nnz.linalg.cg(a, on_device, x0, rtol=1e-8, M=k)
            assert info == 0
            assert isinstance(x, cupy.ndarray)
            assert np.linalg.norm(b - theirs @ x.get()) <= 1.1e-8 * np.linalg.norm(b)
    applied = nnz.linalg.jacobi(a).solve(on_device)
    np.testing.assert_allclose(applied.get(), b / theirs.diagonal(), rtol=1e-14)
    for factors, expected in ((on_device, theirs * b), (on_device[:, None], theirs * b[:, None])):
        np.testing.assert_allclose(a.multiply(factors).toarray(), sp.csr_array(expected).toarray(), rtol=1e-14)


def test_memory_lives_as_long_as_somebody_has_it():
    pool = cupy.get_default_memory_pool()
    theirs = random((2000, 1500), 0.05, "d")
    x = cupy.asarray(dense((1500,), "d"))
    expected = theirs @ x.get()
    gc.collect()
    before = pool.used_bytes()
    a = nnz.DeviceCsr.from_cupy(on_gpu(theirs))
    gc.collect()
    assert pool.used_bytes() - before >= 8 * theirs.nnz
    others = [cupy.full(theirs.nnz, cupy.nan) for _ in range(8)]
    assert_within_bound(cupy.asnumpy(a @ x), expected, abs(theirs) @ abs(x.get()), 1500)
    data = a.data
    del a, others
    gc.collect()
    np.testing.assert_array_equal(data.get(), theirs.data)
    view = cupy.from_dlpack(data)
    del data
    gc.collect()
    np.testing.assert_array_equal(cupy.asnumpy(view), theirs.data)
    del view
    gc.collect()
    assert pool.used_bytes() <= before
    # The other way: nnz's memory.
    view = cupy.from_dlpack(nnz.DeviceCsr.from_scipy(theirs, "cuda:0").data)
    again = [nnz.DeviceCsr.from_scipy(2 * theirs, "cuda:0") for _ in range(4)]
    gc.collect()
    np.testing.assert_array_equal(cupy.asnumpy(view), theirs.data)
    del again


def test_strangers_and_plans(ours):
    theirs = random((300, 200), 0.1, "f")
    a = nnz.DeviceCsr.from_dlpack(*(Stranger(array) for array in _parts(on_gpu(theirs))), theirs.shape)
    b = cupy.asarray(dense((200, 6), "f"))
    found = a @ Stranger(b)
    bound = abs(theirs) @ abs(b.get())
    assert_within_bound(found.get(), theirs @ b.get(), bound, 200)
    plan = nnz.plan_spmm(a, 6)
    out = cupy.ones((300, 6), "f")
    with ours():
        assert plan.run(b, out=out, alpha=2, beta=-1) is out
    assert_within_bound(cupy.asnumpy(out), 2 * (theirs @ b.get()) - 1, 2 * bound + 1, 204)
    plan.update_values(cupy.asarray(3 * theirs.data))
    assert_within_bound(cupy.asnumpy(plan.run(b)), 3 * (theirs @ b.get()), 3 * bound, 204)


def test_a_result_over_its_operand_is_refused():
    a = nnz.DeviceCsr.from_scipy(laplace(16), "cuda:0")
    x = cupy.ones(a.shape[1])
    for product in (nnz.plan_spmv(a).run, a.dot):
        with pytest.raises(ValueError, match="out shares memory"):
            product(x, out=x)


def test_what_cannot_be_used_where_it_lies_is_named():
    data, indices, indptr = _parts(on_gpu(random((300, 200), 0.1, "f")))
    make = nnz.DeviceCsr.from_dlpack
    with pytest.raises(TypeError, match=r"row pointers are i64 and the indices i32: both .* fewer than 2\*\*31 entries"):
        make(data, indices, indptr.astype("l"), (300, 200))
    with pytest.raises(ValueError, match="has gaps"):
        make(cupy.zeros(2 * len(data), "f")[::2], indices, indptr, (300, 200))
    with pytest.raises(NotImplementedError, match="is not a multiple of 16"):
        make(cupy.zeros(len(data) + 1, "f")[1:], indices, indptr, (300, 200))
    with pytest.raises(TypeError, match="where int32, int64, float16, float32"):
        make(data.astype("b"), indices, indptr, (300, 200))
    wrong = indices.copy()
    wrong[3] = 200
    with pytest.raises(ValueError, match="column 200 is not below 200"):
        make(data, wrong, indptr, (300, 200))
    with pytest.raises(ValueError, match="csr"):
        make(data, indices, indptr[:-1], (300, 200))


def _parts(matrix):
    return matrix.data, matrix.indices, matrix.indptr


@pytest.mark.parametrize("char", TYPES)
def test_stacks_on_the_gpu_are_compressed_there(ours, char):
    stack = np.where(np.random.default_rng(5).random((7, 60, 50)) < 0.2, dense((7, 60, 50), char), 0)
    with ours():
        batch = nnz.compress(cupy.asarray(stack))
    assert (batch.device, batch.shape, batch.nnz) == ("cuda:0", stack.shape, np.count_nonzero(stack))
    for member, expected in zip(batch, stack, strict=True):
        np.testing.assert_array_equal(member.toarray(), expected)
    for shape in [(7, 50), (7, 50, 6)]:
        x = dense(shape, char)
        subscripts = "kij,kj->ki" if len(shape) == 2 else "kij,kjl->kil"
        expected = np.einsum(subscripts, stack, x).astype(char)
        bound = np.einsum(subscripts, abs(stack), abs(x))
        with ours():
            found = batch @ cupy.asarray(x)
        assert isinstance(found, cupy.ndarray)
        assert_within_bound(cupy.asnumpy(found), expected, bound, 50)
        assert_within_bound(batch @ x, expected, bound, 50)
    with pytest.raises(ValueError, match="shape"):
        batch @ cupy.ones(50, char)
    one = nnz.compress(cupy.asarray(stack[0]))
    np.testing.assert_array_equal(one[0].toarray(), stack[0])


def test_compression_copies_no_stack():
    stack = cupy.zeros((1000, 512, 512), "f")  # 1 GiB
    stack[:, ::16, ::16] = 1
    nnz.compress(stack[:1])  # loads what is loaded once
    cupy.cuda.Device().synchronize()
    before = cupy.cuda.Device().mem_info[0]
    batch = nnz.compress(stack)
    taken = before - cupy.cuda.Device().mem_info[0]
    assert batch.nnz == 1000 * 32 * 32
    assert taken < stack.nbytes // 4, f"{taken} bytes of the GPU's memory for {batch.nbytes} bytes of results"


def test_the_producer_of_a_stack_comes_first():
    producer = cupy.cuda.Stream(non_blocking=True)
    for _ in range(3):
        stack = cupy.zeros((50, 64, 64), "f")
        cupy.cuda.Device().synchronize()
        busy(producer)
        with producer:
            stack[:, 3, 4] = 2
            batch = nnz.compress(stack)
            stack[:] = 7  # behind the compression
        assert batch.nnz == 50
        assert batch[49][3, 4] == 2


def test_a_list_of_arrays_on_the_gpu_becomes_a_set():
    torch = pytest.importorskip("torch")
    matrices = [np.eye(3, dtype="f"), np.ones((2, 5), "f")]
    for arrays in ([cupy.asarray(m) for m in matrices], [torch.from_numpy(m).cuda() for m in matrices]):
        seen = []
        found = nnz.compress(arrays, progress=lambda done, total: seen.append((done, total)))
        assert found.devices == ["cuda:0"] * 2
        assert seen[-1] == (2, 2)
        for each, expected in zip(found, matrices, strict=True):
            np.testing.assert_array_equal(each.toarray(), expected)
    with pytest.raises(TypeError, match="one place"):
        nnz.compress([matrices[0], cupy.ones((2, 2), "f")])
