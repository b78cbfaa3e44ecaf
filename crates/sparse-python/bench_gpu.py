"""Measures products on a GPU beside CuPy and PyTorch: `python3 bench_gpu.py`.

Each line has milliseconds of a call: the median of rounds in which all take turns, each round a queue of calls that is waited
for once.
"""

import time
import warnings
from collections.abc import Callable

import cupy
import cupyx.scipy.sparse
import nnz
import nnz.torch
import numpy as np
import scipy.sparse as sp
import torch

CALLS = 20


def medians(functions: list[Callable[[], object]], rounds: int = 7, calls: int = CALLS) -> list[float]:
    """The median seconds of a call of each."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds + 1):
        for function, into in zip(functions, times, strict=True):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                function()
            torch.cuda.synchronize()
            into.append((time.perf_counter() - start) / calls)
    return [float(np.median(of_each[1:])) for of_each in times]


def matrices() -> dict[str, sp.csr_array]:
    rng = np.random.default_rng(0)
    rows = 1_000_000
    lengths = {"uniform, 16 a row": np.full(rows, 16), "skewed": np.minimum(rng.zipf(1.8, rows), 5000)}
    made = {}
    for name, counts in lengths.items():
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        columns = rng.integers(0, rows, ends[-1], np.int32)
        made[name] = sp.csr_array((rng.random(ends[-1], np.float32), columns, ends), shape=(rows, rows))
        made[name].sort_indices()
    return made


def main() -> None:
    warnings.filterwarnings("ignore", "Sparse", UserWarning)
    print(torch.cuda.get_device_name())
    print(f"{'milliseconds':<40} {'plan':>9} {'nnz.torch':>9} {'A @ B':>9} {'CuPy':>9} {'torch':>9}")
    for name, theirs in matrices().items():
        indptr, indices, values = (torch.from_numpy(array).cuda() for array in (theirs.indptr, theirs.indices, theirs.data))
        of_torch = torch.sparse_csr_tensor(indptr, indices, values, theirs.shape)
        of_cupy = cupyx.scipy.sparse.csr_matrix(tuple(map(cupy.asarray, (theirs.data, theirs.indices, theirs.indptr))), shape=theirs.shape)
        a = nnz.DeviceCsr.from_torch(of_torch)
        for columns in (8, 32, 128):
            b = torch.rand(theirs.shape[1], columns, device="cuda")
            b_cupy = cupy.asfortranarray(cupy.from_dlpack(b))  # the order that CuPy does not copy
            out = torch.empty(theirs.shape[0], columns, device="cuda")
            plan = nnz.plan_spmm(a, columns)
            found = nnz.torch.spmm(indptr, indices, values, theirs.shape, b)
            assert torch.allclose(found, of_torch @ b, rtol=1e-3, atol=1e-3)
            times = medians(
                [
                    lambda: plan.run(b, out=out),
                    lambda: nnz.torch.spmm(indptr, indices, values, theirs.shape, b),
                    lambda: a @ b,
                    lambda: of_cupy @ b_cupy,
                    lambda: of_torch @ b,
                ]
            )
            numbers = " ".join(f"{1e3 * seconds:9.3f}" for seconds in times)
            print(f"{name}, {theirs.nnz} entries, K = {columns}".ljust(40), numbers, flush=True)
    parts = (indptr, indices, values.requires_grad_(), theirs.shape)
    b = torch.rand(theirs.shape[1], 32, device="cuda", requires_grad=True)

    def step(product: Callable[[], torch.Tensor]) -> None:
        torch.autograd.grad(product().sum(), [b])

    ours, torchs = medians([lambda: step(lambda: nnz.torch.spmm(*parts, b)), lambda: step(lambda: torch.sparse.mm(of_torch, b))])
    print(f"{'forward and gradient of B, K = 32':<40} {'':>9} {1e3 * ours:9.3f} {'':>9} {'':>9} {1e3 * torchs:9.3f}")
    gradients()
    compression()


def gradients() -> None:
    """Compares gradients with those of PyTorch's dense product."""
    theirs = sp.random_array((700, 500), density=0.05, rng=0, dtype=np.float32, format="csr")
    indptr, indices, values = (torch.from_numpy(array).cuda() for array in (theirs.indptr, theirs.indices, theirs.data))
    b = torch.rand(500, 32, device="cuda", requires_grad=True)
    weights = torch.rand(700, 32, device="cuda")
    rows = torch.repeat_interleave(torch.arange(700, device="cuda"), indptr.diff())
    found = torch.autograd.grad(nnz.torch.spmm(indptr, indices, values.requires_grad_(), theirs.shape, b), [values, b], weights)
    dense = torch.zeros(700, 500, device="cuda").index_put((rows, indices.long()), values)
    expected = torch.autograd.grad(dense @ b, [values, b], weights)
    worst = max(float((one - other).abs().max() / other.abs().max()) for one, other in zip(found, expected, strict=True))
    assert worst < 1e-5, worst
    print(f"gradients differ from those of dense products by {worst:.1e} of the greatest")


def compression() -> None:
    """Compresses a stack of dense matrices where it lies."""
    for count, rows, density in ((200, 1024, 0.01), (200, 1024, 0.1), (1000, 128, 0.1)):
        stack = torch.rand(count, rows, rows, device="cuda")
        stack[stack > density] = 0
        nnz.compress(stack[:1])
        torch.cuda.synchronize()
        before = torch.cuda.mem_get_info()[0]
        batch = nnz.compress(stack)
        taken = before - torch.cuda.mem_get_info()[0]
        assert taken < stack.nbytes, f"{taken} bytes were taken for a stack of {stack.nbytes}"
        assert batch.nnz == torch.count_nonzero(stack).item()
        del batch
        matrices = list(stack)
        ours, loop = medians([lambda: nnz.compress(stack), lambda: [matrix.to_sparse_csr() for matrix in matrices]], rounds=3, calls=2)
        what = f"compress {count} x {rows}^2, {density:.0%}"
        print(f"{what:<40} {1e3 * ours:9.3f} {'':>9} {'':>9} {'':>9} {1e3 * loop:9.3f}   {taken / stack.nbytes:.3f} of the stack's memory taken")


if __name__ == "__main__":
    main()
