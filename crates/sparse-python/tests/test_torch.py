"""The operators of PyTorch beside dense ones. Skipped where there is no PyTorch."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import random

torch = pytest.importorskip("torch")

import nnz.torch  # noqa: E402
from nnz.torch import sddmm, spmm, spmv, to_dense  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
TYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
EXAMPLES = Path(__file__).parents[1] / "examples"
# Of PyTorch's compilers, and of opcheck, which looks at gradients of inputs that are no leaves.
WARNINGS = ("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore:The .grad attribute:UserWarning")
pytestmark = pytest.mark.filterwarnings(*WARNINGS)


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


class Case:
    """A matrix in parts that require gradients, and dense operands."""

    def __init__(self, device, dtype=torch.float64, shape=(17, 11), density=0.3, index=torch.int64):
        theirs = random(shape, density, "d")
        generator = torch.Generator().manual_seed(0)
        self.shape, self.device, self.dtype, self.generator = shape, device, dtype, generator
        self.indptr = torch.from_numpy(theirs.indptr.copy()).to(device, index)
        self.indices = torch.from_numpy(theirs.indices.copy()).to(device, index)
        self.values = self.dense(theirs.nnz)

    def dense(self, *shape):
        made = torch.randn(*shape, dtype=self.dtype, generator=self.generator).to(self.device)
        return made.requires_grad_()

    @property
    def pattern(self):
        return self.indptr, self.indices

    @property
    def parts(self):
        return self.indptr, self.indices, self.values, self.shape

    def matrix(self):
        """The matrix as a dense one, through which gradients flow to the values."""
        rows = torch.repeat_interleave(torch.arange(self.shape[0], device=self.device), self.indptr.diff())
        zeros = torch.zeros(self.shape, dtype=self.dtype, device=self.device)
        return zeros.index_put((rows, self.indices.long()), self.values, accumulate=True)


def assert_same_with_gradients(found, expected, inputs):
    """Equal values and equal gradients of the inputs, up to rounding."""
    assert found.shape == expected.shape
    eps = torch.finfo(found.dtype).eps
    torch.testing.assert_close(found, expected, rtol=100 * eps, atol=100 * eps)
    weights = torch.linspace(0.5, 1.5, found.numel(), device=found.device).reshape(found.shape).to(found.dtype)
    ours, theirs = (torch.autograd.grad((result * weights).sum().abs(), inputs) for result in (found, expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1000 * eps, atol=1000 * eps)


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("dtype", TYPES)
def test_products_and_gradients(ours, device, dtype, index):
    case = Case(device, dtype, index=index)
    rows, cols = case.shape
    for k in (1, 8):
        b = case.dense(cols, k)
        with ours():
            found = spmm(*case.parts, b)
        assert_same_with_gradients(found, case.matrix() @ b, (case.values, b))
        u, v = case.dense(rows, k), case.dense(cols, k)
        sampled = (u @ v.T)[case.matrix().detach() != 0]
        with ours():
            found = sddmm(*case.pattern, case.shape, u, v)
        assert_same_with_gradients(found, sampled, (u, v))
    x = case.dense(cols)
    assert_same_with_gradients(spmv(*case.parts, x), case.matrix() @ x, (case.values, x))
    with ours():
        found = to_dense(*case.parts)
    assert_same_with_gradients(found, case.matrix(), (case.values,))


@pytest.mark.skipif(not hasattr(torch.library, "register_autocast"), reason="PyTorch has no rules of autocast")
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_autocast_computes_in_float32(ours, device, half):
    case = Case(device, torch.float32)
    cols = case.shape[1]
    b, layer = case.dense(cols, 5), torch.nn.Linear(5, 3, device=device)
    with ours(), torch.autocast(device, half):
        hidden, again = layer(b), layer(b)
        found = spmm(*case.parts, hidden)
        line = spmv(*case.parts, hidden[:, 0])
        entries = sddmm(*case.pattern, case.shape, found.to(half), hidden)
    assert (hidden.dtype, found.dtype, line.dtype, entries.dtype) == (half, *[torch.float32] * 3)
    expected = case.matrix() @ again.float()
    torch.testing.assert_close(line, found[:, 0])
    assert_same_with_gradients(found, expected, [case.values, b, *layer.parameters()])


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_half_precision(ours, device, index):
    """Against single precision: sums are in it, and each result and gradient is rounded once."""
    half, single = (Case(device, dtype, index=index) for dtype in (torch.float16, torch.float32))
    with torch.no_grad():
        single.values.copy_(half.values)
    rows, cols = half.shape
    b = half.dense(cols, 5)
    wide = b.detach().float().requires_grad_()
    with ours():
        found = spmm(*half.parts, b)
    assert found.dtype == torch.float16
    expected = spmm(*single.parts, wide)
    torch.testing.assert_close(found.float(), expected, rtol=1e-3, atol=1e-3)
    found.float().sum().backward()
    expected.sum().backward()
    for one, other in ((half.values, single.values), (b, wide)):
        torch.testing.assert_close(one.grad.float(), other.grad, rtol=2e-3, atol=2e-3)
    x = half.dense(cols)
    torch.testing.assert_close(spmv(*half.parts, x).float(), spmv(*single.parts, x.float()), rtol=1e-3, atol=1e-3)
    u, v = half.dense(rows, 3), half.dense(cols, 3)
    torch.testing.assert_close(
        sddmm(*half.pattern, half.shape, u, v).float(),
        sddmm(*single.pattern, half.shape, u.float(), v.float()),
        rtol=1e-3,
        atol=1e-3,
    )
    torch.testing.assert_close(to_dense(*half.parts).float(), to_dense(*single.parts), rtol=0, atol=0)


def test_gradients_of_gradients(device):
    case = Case(device, shape=(5, 4))
    u, v = case.dense(5, 3), case.dense(4, 3)
    checks = [
        (lambda values, b: spmm(*case.pattern, values, case.shape, b), (case.values, v)),
        (lambda values, x: spmv(*case.pattern, values, case.shape, x), (case.values, case.dense(4))),
        (lambda u, v: sddmm(*case.pattern, case.shape, u, v), (u, v)),
        (lambda values: to_dense(*case.pattern, values, case.shape), (case.values,)),
    ]
    for function, inputs in checks:
        assert torch.autograd.gradcheck(function, inputs)
        assert torch.autograd.gradgradcheck(function, inputs)


TRANSFORMS = {
    "grad": lambda f, a, b: torch.func.grad(lambda *parts: (f(*parts) ** 3).sum(), (0, 1))(a, b),
    "jacrev": lambda f, a, b: torch.func.jacrev(f, (0, 1))(a, b),
    "jacfwd": lambda f, a, b: torch.func.jacfwd(f, (0, 1))(a, b),
    "jvp": lambda f, a, b: torch.func.jvp(f, (a, b), (a + 1, b - 1)),
    "vjp": lambda f, a, b: torch.func.vjp(f, a, b)[1](f(a, b)),
    "hessian": lambda f, a, b: torch.func.hessian(lambda *parts: (f(*parts) ** 3).sum(), (0, 1))(a, b),
    "vmap of the first": lambda f, a, b: torch.func.vmap(f, (0, None))(torch.stack([a, 2 * a]), b),
    "vmap of the second": lambda f, a, b: torch.func.vmap(f, (None, -1))(a, torch.stack([b, 2 * b, b + 1], -1)),
    "vmap of both": lambda f, a, b: torch.func.vmap(f)(torch.stack([a, a + 1]), torch.stack([b, 2 * b])),
    "vmap of grad": lambda f, a, b: torch.func.vmap(torch.func.grad(lambda *parts: (f(*parts) ** 2).sum(), (0, 1)), (None, 0))(a, torch.stack([b, 2 * b])),
    "vmap of vmap": lambda f, a, b: torch.func.vmap(torch.func.vmap(f, (None, 0)), (0, None))(torch.stack([a, 2 * a]), torch.stack([b, b + 1])),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_of_functions(device, transform):
    case = Case(device, shape=(5, 4))
    values, u, v = case.values.detach(), case.dense(5, 2).detach(), case.dense(4, 2).detach()
    rows = torch.repeat_interleave(torch.arange(5, device=device), case.indptr.diff())

    def matrix(values):
        return torch.zeros(case.shape, dtype=case.dtype, device=device).index_put((rows, case.indices), values)

    pairs = [
        (lambda a, b: spmm(*case.pattern, a, case.shape, b), lambda a, b: matrix(a) @ b, (values, v)),
        (lambda a, x: spmv(*case.pattern, a, case.shape, x), lambda a, x: matrix(a) @ x, (values, v[:, 0])),
        (lambda u, v: sddmm(*case.pattern, case.shape, u, v), lambda u, v: (u @ v.T)[rows, case.indices], (u, v)),
        (lambda a, b: to_dense(*case.pattern, a, case.shape) @ b, lambda a, b: matrix(a) @ b, (values, v)),
    ]
    for ours, theirs, operands in pairs:
        torch.testing.assert_close(TRANSFORMS[transform](ours, *operands), TRANSFORMS[transform](theirs, *operands))


def test_tangents_of_dual_numbers(device):
    case = Case(device)
    b, tangent = case.dense(case.shape[1], 3).detach(), case.dense(case.shape[1], 3).detach()
    with torch.autograd.forward_ad.dual_level():
        found = spmm(*case.pattern, case.values.detach(), case.shape, torch.autograd.forward_ad.make_dual(b, tangent))
        torch.testing.assert_close(torch.autograd.forward_ad.unpack_dual(found).tangent, case.matrix().detach() @ tangent)


def test_the_operators_are_sound(device):
    case = Case(device, torch.float32)
    rows, cols = case.shape
    shape = list(case.shape)
    arguments = {
        "spmm": (*case.pattern, case.values, shape, case.dense(cols, 3), False),
        "spmv": (*case.pattern, case.values, shape, case.dense(rows), True),
        "sddmm": (*case.pattern, shape, case.dense(rows, 2), case.dense(cols, 2)),
        "to_dense": (*case.pattern, case.values, shape),
    }
    for name, inputs in arguments.items():
        torch.library.opcheck(getattr(torch.ops.nnz, name).default, inputs)


def test_compiled_functions(device):
    case = Case(device, torch.float32)
    b = case.dense(case.shape[1], 6)

    def layer(values, b):
        return torch.relu(spmm(*case.pattern, values, case.shape, b)).sum(dim=1)

    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    assert_same_with_gradients(compiled(case.values, b), layer(case.values, b), (case.values, b))


def test_plans_are_made_once_for_a_pattern(device):
    case = Case(device)
    b = case.dense(case.shape[1], 4)
    for _ in range(3):
        spmm(*case.parts, b).sum().backward()
    (pattern,) = nnz._torch_operators._PATTERNS[case.indptr].values()
    assert sorted(key[0] for key in pattern.plans) == ["sddmm", "spmm", "spmm"]
    spmm(*case.parts, b).sum().backward()
    assert list(nnz._torch_operators._PATTERNS[case.indptr].values()) == [pattern]
    # A pattern that was written is another one.
    before = spmm(*case.parts, b)
    case.indices.copy_(case.indices.roll(1))
    case.indptr[1:-1] = case.indptr[1]
    after = spmm(*case.parts, b)
    torch.testing.assert_close(after, case.matrix() @ b)
    assert not torch.equal(before, after)
    case.indices[0] = 99
    with pytest.raises(ValueError, match="column 99"):
        spmm(*case.parts, b)
    count = len(nnz._torch_operators._PATTERNS)
    del case, pattern, before, after
    assert len(nnz._torch_operators._PATTERNS) == count - 1


def test_plans_of_many_widths_do_not_stay(device):
    case = Case(device)
    with torch.no_grad():
        for columns in [4, *range(5, 40)]:
            spmm(*case.parts, case.dense(case.shape[1], columns))
            spmm(*case.parts, case.dense(case.shape[1], 4))
    (pattern,) = nnz._torch_operators._PATTERNS[case.indptr].values()
    widths = [key[2] for key in pattern.plans]
    assert len(widths) == nnz._torch_operators._MOST_PLANS and {4, 39} < set(widths)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGUSR1")
def test_a_handler_of_a_signal_may_multiply(monkeypatch):
    # It runs between two instructions of a thread that has the lock.
    case, made = Case("cpu"), nnz._torch_operators._Pattern
    x, found = case.dense(case.shape[1]).detach(), []

    def interrupted(*arguments):
        monkeypatch.setattr(nnz._torch_operators, "_Pattern", made)
        signal.raise_signal(signal.SIGUSR1)
        return made(*arguments)

    before = signal.signal(signal.SIGUSR1, lambda *_: found.append(spmv(*case.parts, x)))
    monkeypatch.setattr(nnz._torch_operators, "_Pattern", interrupted)
    try:
        expected = spmv(*case.parts, x)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert torch.equal(found[0], expected)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_process_that_was_forked_in_a_call_multiplies():
    code = """
import os, threading, torch, nnz.torch
from nnz import _torch_operators as operators
has, ended = threading.Event(), threading.Event()
def hold():
    with operators._LOCK:
        has.set()
        ended.wait()
thread = threading.Thread(target=hold)
thread.start()
has.wait()
child = os.fork()
if not child:
    y = nnz.torch.spmv(torch.tensor([0, 1]), torch.tensor([0]), torch.tensor([2.0]), (1, 1), torch.tensor([3.0]))
    os._exit(int(y.tolist() != [6.0]))
print(os.waitpid(child, 0)[1])
ended.set()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "0\n", done.stderr


def test_vmap_over_no_members(device):
    case = Case(device)
    b, none = case.dense(case.shape[1], 3).detach(), case.dense(0, len(case.values)).detach()
    product = torch.func.vmap(lambda values: spmm(*case.pattern, values, case.shape, b))
    assert product(none).shape == (0, case.shape[0], 3)


def test_other_memory_of_a_tensor_is_another_pattern(device):
    case = Case(device)
    x = case.dense(case.shape[1])
    spmv(*case.parts, x)
    case.indices.data = case.shape[1] - 1 - case.indices.flip(0)
    with torch.no_grad():
        torch.testing.assert_close(spmv(*case.parts, x), case.matrix() @ x)


def test_patterns_may_be_columns_of_an_array(device):
    case = Case(device)
    x = case.dense(case.shape[1])
    pairs = torch.stack([case.indices, case.indices * 0], dim=1)
    with torch.no_grad():
        found = spmv(case.indptr, pairs[:, 0], case.values, case.shape, x)
        torch.testing.assert_close(found, case.matrix() @ x)


def test_views_and_inference(device):
    case = Case(device)
    wide = case.dense(case.shape[1], 9)
    for b in (wide[:, 1:4], wide[:, 3:], wide.T.contiguous().T):
        assert_same_with_gradients(spmm(*case.parts, b), case.matrix() @ b, (case.values, wide))
    with torch.inference_mode():
        inside = Case(device)
        b = inside.dense(case.shape[1], 2)
        torch.testing.assert_close(spmm(*inside.parts, b), inside.matrix() @ b)


def test_what_does_not_fit_is_named(device):
    case = Case(device, torch.float32)
    b = case.dense(case.shape[1], 2)
    with pytest.raises(ValueError, match=r"x has shape \(17,\) where \(11,\) is right"):
        spmv(*case.parts, case.dense(17))
    with pytest.raises(ValueError, match=r"B has shape \(17, 2\) where \(11, k\) is right"):
        spmm(*case.parts, case.dense(case.shape[0], 2))
    with pytest.raises(TypeError, match=r"B is torch\.float64"):
        spmm(*case.parts, b.double())
    with pytest.raises(TypeError, match=r"torch\.bfloat16 where .* is needed: cast it"):
        spmm(case.indptr, case.indices, case.values.bfloat16(), case.shape, b.bfloat16())
    with pytest.raises(TypeError, match="type"):
        spmm(case.indptr.int(), case.indices, case.values, case.shape, b)
    with pytest.raises(ValueError, match="values has shape"):
        spmm(case.indptr, case.indices, case.values[1:], case.shape, b)


@pytest.mark.parametrize("model", ["gcn", "sage"])
def test_the_example_trains(device, model, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    import graph_learning

    graph = graph_learning.planted_partition(nodes=300, classes=3, seed=1)
    ours, theirs = (graph_learning.train(graph, model, aggregation, device, epochs=30) for aggregation in ("nnz", "torch"))
    np.testing.assert_allclose(ours.losses, theirs.losses, rtol=1e-3)
    assert ours.losses[-1] < 0.5 * ours.losses[0]
    assert ours.accuracy > 0.9
    sys.modules.pop("graph_learning")


@pytest.mark.parametrize("dtype", TYPES)
def test_large_results_are_tensors_as_others(dtype):
    rows = 70_000
    indptr, indices = torch.arange(rows + 1), torch.arange(rows)
    values = torch.full((rows,), 2.0, dtype=dtype, requires_grad=True)
    b = torch.ones(rows, 128, dtype=dtype, requires_grad=True)
    found = spmm(indptr, indices, values, (rows, rows), b)
    assert (found.dtype, found.shape, found.stride()) == (dtype, b.shape, (128, 1))
    found.real.sum().backward()
    assert torch.equal(b.grad, torch.full_like(b, 2.0))
    assert torch.equal(values.grad, torch.full_like(values, 128.0))
    with torch.no_grad():
        found.add_(1)
        assert torch.equal(found, torch.full_like(found, 3.0))
        assert torch.equal(found.clone().T.contiguous().T, found)
