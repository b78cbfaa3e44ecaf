"""Products of sparse matrices as operators of PyTorch, with gradients.

A matrix is its arrays in CSR: `indptr`, `indices`, `values` and its shape, as plain tensors on the CPU or a CUDA GPU, where the
work goes to PyTorch's current stream. Gradients flow to `values` and to dense operands, of any order, and so do the transforms
of :mod:`torch.func`: `grad`, `jacrev`, `jvp`, `jacfwd`, `hessian` and `vmap`. The operators are registered with
:mod:`torch.library` (`torch.ops.nnz`), so that `torch.compile` takes them as they are.

The first product with an `indptr` checks the pattern and prepares it; later ones find that by the tensor, so keep it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from . import _torch_operators as operators

__all__ = ["sddmm", "spmm", "spmv", "to_dense"]


def spmm(indptr: Tensor, indices: Tensor, values: Tensor, shape: Sequence[int], b: Tensor) -> Tensor:
    """A·B with a dense B of two dimensions."""
    return _call(_Spmm, indptr, indices, values, tuple(shape), b, False)


def spmv(indptr: Tensor, indices: Tensor, values: Tensor, shape: Sequence[int], x: Tensor) -> Tensor:
    """A·x."""
    return _call(_Spmv, indptr, indices, values, tuple(shape), x, False)


def sddmm(indptr: Tensor, indices: Tensor, shape: Sequence[int], u: Tensor, v: Tensor) -> Tensor:
    """The elements of U·Vᵀ at the entries of the pattern, in their order."""
    return _call(_Sddmm, indptr, indices, tuple(shape), u, v)


def to_dense(indptr: Tensor, indices: Tensor, values: Tensor, shape: Sequence[int]) -> Tensor:
    """All elements of A."""
    return _call(_ToDense, indptr, indices, values, tuple(shape))


def _call(function: type[_Differentiable], *arguments: Any) -> Tensor:
    """The function; its operator alone where no rule of :mod:`torch.func` is needed, which takes less time, and for compilers."""
    if torch.compiler.is_compiling() or not (torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0):
        return function.forward(*arguments)
    return function.apply(*arguments)


class _Differentiable(torch.autograd.Function):
    """An operator with the rules of its derivatives."""

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Tensor, int]:
        """One member of the batch after the other."""
        dims, count = [_batched(dim) for dim in in_dims], info.batch_size

        def part(value: Any, dim: int | None, number: int) -> Any:
            if dim is None or count:
                return value if dim is None else value.select(dim, number)
            return value.new_zeros(value.shape[:dim] + value.shape[dim + 1 :])

        def member(number: int) -> Tensor:
            return _call(cls, *(part(value, dim, number) for value, dim in zip(arguments, dims, strict=True)))

        # Without members, one of zeros has the shape of the result.
        return torch.stack([member(number) for number in range(count or 1)])[:count], 0


def _batched(dim: Any) -> int | None:
    """The dimension of a batch; a shape, whose numbers have one each, has none."""
    return dim if isinstance(dim, int) else None


def _is_batch_of_operands(in_dims: tuple[Any, ...]) -> bool:
    """True if all members of a product have one matrix."""
    return all(_batched(dim) is None for dim in in_dims[:4])


class _Product(_Differentiable):
    """A product of a matrix with a dense operand."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        indptr, indices, values, ctx.shape, operand, ctx.transpose = inputs
        ctx.save_for_backward(indptr, indices, values, operand)
        ctx.save_for_forward(indptr, indices, values, operand)

    @classmethod
    def jvp(cls, ctx: Any, *tangents: Any) -> Tensor:
        """d(A·B) = dA·B + A·dB."""
        indptr, indices, values, operand = ctx.saved_tensors
        _, _, of_values, _, of_operand, _ = tangents
        of_matrix = _call(cls, indptr, indices, of_values, ctx.shape, operand, ctx.transpose)
        return of_matrix + _call(cls, indptr, indices, values, ctx.shape, of_operand, ctx.transpose)


class _Spmm(_Product):
    """`nnz::spmm`."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        return operators.spmm(*arguments)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        """Of C = A·B: dA = dC·Bᴴ at the entries of A, dB = Aᴴ·dC; of C = Aᵀ·B: dA = conj(B)·dCᵀ, dB = conj(A)·dC."""
        indptr, indices, values, b = ctx.saved_tensors
        for_values = for_b = None
        if ctx.needs_input_grad[2]:
            factors = (b.conj(), grad) if ctx.transpose else (grad, b.conj())
            for_values = _call(_Sddmm, indptr, indices, ctx.shape, *factors)
        if ctx.needs_input_grad[4]:
            for_b = _call(_Spmm, indptr, indices, values.conj(), ctx.shape, grad, not ctx.transpose)
        return None, None, for_values, None, for_b, None

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Tensor, int]:
        """The columns of all members beside each other, where they have one matrix."""
        if not _is_batch_of_operands(in_dims):
            return super().vmap(info, in_dims, *arguments)
        indptr, indices, values, shape, b, transpose = arguments
        columns = b.movedim(in_dims[4], 1)
        found = _call(cls, indptr, indices, values, shape, columns.flatten(1), transpose)
        return found.unflatten(1, columns.shape[1:]), 1


class _Spmv(_Product):
    """`nnz::spmv`."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        return operators.spmv(*arguments)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        """As of a product with a matrix of one column."""
        indptr, indices, values, x = ctx.saved_tensors
        for_values = for_x = None
        if ctx.needs_input_grad[2]:
            factors = (x.conj(), grad) if ctx.transpose else (grad, x.conj())
            for_values = _call(_Sddmm, indptr, indices, ctx.shape, *(factor.unsqueeze(1) for factor in factors))
        if ctx.needs_input_grad[4]:
            for_x = _call(_Spmv, indptr, indices, values.conj(), ctx.shape, grad, not ctx.transpose)
        return None, None, for_values, None, for_x, None

    @classmethod
    def vmap(cls, info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Tensor, int]:
        """The members as columns of one product, where they have one matrix."""
        if not _is_batch_of_operands(in_dims):
            return super().vmap(info, in_dims, *arguments)
        indptr, indices, values, shape, x, transpose = arguments
        return _call(_Spmm, indptr, indices, values, shape, x.movedim(in_dims[4], 1), transpose), 1


class _Sddmm(_Differentiable):
    """`nnz::sddmm`."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        return operators.sddmm(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        indptr, indices, ctx.shape, u, v = inputs
        ctx.save_for_backward(indptr, indices, u, v)
        ctx.save_for_forward(indptr, indices, u, v)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        """With G, the matrix of the gradients: dU = G·conj(V), dV = Gᵀ·conj(U)."""
        indptr, indices, u, v = ctx.saved_tensors
        for_u = for_v = None
        if ctx.needs_input_grad[3]:
            for_u = _call(_Spmm, indptr, indices, grad, ctx.shape, v.conj(), False)
        if ctx.needs_input_grad[4]:
            for_v = _call(_Spmm, indptr, indices, grad, ctx.shape, u.conj(), True)
        return None, None, None, for_u, for_v

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        """d(U·Vᵀ) = dU·Vᵀ + U·dVᵀ."""
        indptr, indices, u, v = ctx.saved_tensors
        _, _, _, of_u, of_v = tangents
        return _call(_Sddmm, indptr, indices, ctx.shape, of_u, v) + _call(_Sddmm, indptr, indices, ctx.shape, u, of_v)


class _ToDense(_Differentiable):
    """`nnz::to_dense`."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        return operators.to_dense(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        indptr, indices, _, ctx.shape = inputs
        ctx.save_for_backward(indptr, indices)
        ctx.save_for_forward(indptr, indices)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        """The gradients at the entries."""
        indptr, indices = ctx.saved_tensors
        lengths = indptr[1:] - indptr[:-1]
        numbers = torch.arange(len(lengths), device=indptr.device)
        rows = torch.repeat_interleave(numbers, lengths, output_size=indices.shape[0])
        return None, None, grad[rows, indices.long()], None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        """The operator is linear."""
        indptr, indices = ctx.saved_tensors
        return _call(_ToDense, indptr, indices, tangents[2], ctx.shape)


# The operators by themselves have the same gradients.
for _operator, _function in (
    (operators.spmm, _Spmm),
    (operators.spmv, _Spmv),
    (operators.sddmm, _Sddmm),
    (operators.to_dense, _ToDense),
):
    _operator.register_autograd(_function.backward, setup_context=_function.setup_context)
