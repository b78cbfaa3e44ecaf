//! Constants of `nnz.h` and their meanings.

use crate::failure::Failure;
use nnz::op::{Op, Sampling, Triangular};
use nnz::{DType, Error, Format, IndexType, Method, PreconditionerKind};

/// `nnz_type` of `nnz.h`.
pub type Type = u32;
/// `nnz_index` of `nnz.h`.
pub type Index = u32;
/// `nnz_format` of `nnz.h`.
pub type MatrixFormat = u32;
/// `nnz_op` of `nnz.h`.
pub type Operation = u32;
/// `nnz_triangle` of `nnz.h`.
pub type Triangle = u32;
/// `nnz_sampling` of `nnz.h`.
pub type SampledBy = u32;
/// `nnz_method` of `nnz.h`.
pub type SolveMethod = u32;
/// `nnz_preconditioner` of `nnz.h`.
pub type PreconditionedBy = u32;

/// The position of each is its constant.
const TYPES: [DType; 6] = [DType::F32, DType::F64, DType::C32, DType::C64, DType::F16, DType::Bf16];
const INDICES: [IndexType; 2] = [IndexType::I32, IndexType::I64];
const FORMATS: [Format; 6] = [Format::Csr, Format::Csc, Format::Coo, Format::Ell, Format::Hyb, Format::Sell];

const TRIANGLES: [Triangular; 2] = [Triangular::lower(), Triangular::upper()];
const METHODS: [Method; 8] = [
    Method::Cg,
    Method::BiCgStab,
    Method::EnqueuedCg,
    Method::Gmres,
    Method::Minres,
    Method::Lsqr,
    Method::Lsmr,
    Method::Direct,
];

fn named<T: Copy>(all: &[T], kind: &str, constant: u32) -> Result<T, Failure> {
    all.get(constant as usize).copied().ok_or_else(|| {
        Error::unsupported(
            format_args!("{kind} {constant}"),
            format_args!("the constants are 0 to {}", all.len() - 1),
        )
        .into()
    })
}

fn constant<T: PartialEq>(all: &[T], value: T) -> Option<u32> {
    all.iter().position(|known| *known == value).map(|position| position as u32)
}

pub(crate) fn dtype(constant: Type) -> Result<DType, Failure> {
    named(&TYPES, "nnz_type", constant)
}

pub(crate) fn index_type(constant: Index) -> Result<IndexType, Failure> {
    named(&INDICES, "nnz_index", constant)
}

pub(crate) fn format(constant: MatrixFormat) -> Result<Format, Failure> {
    named(&FORMATS, "nnz_format", constant)
}

pub(crate) fn op(constant: Operation) -> Result<Op, Failure> {
    named(&Op::ALL, "nnz_op", constant)
}

pub(crate) fn triangle(constant: Triangle) -> Result<Triangular, Failure> {
    named(&TRIANGLES, "nnz_triangle", constant)
}

pub(crate) fn sampling(constant: SampledBy) -> Result<Sampling, Failure> {
    named(&Sampling::ALL, "nnz_sampling", constant)
}

pub(crate) fn method(constant: SolveMethod) -> Result<Method, Failure> {
    named(&METHODS, "nnz_method", constant)
}

/// The preconditioner of a constant; `block_rows` is the extent of the blocks of block Jacobi's.
pub(crate) fn preconditioner(
    constant: PreconditionedBy,
    block_rows: usize,
) -> Result<PreconditionerKind, Failure> {
    let all = [
        PreconditionerKind::None,
        PreconditionerKind::Jacobi,
        PreconditionerKind::BlockJacobi(block_rows),
        PreconditionerKind::Ilu0,
        PreconditionerKind::Ic0,
    ];
    named(&all, "nnz_preconditioner", constant)
}

/// The constants of a matrix: its format, and the types of its values, indices and offsets. A format without offsets
/// has the indices' type there.
pub(crate) fn constants(matrix: &nnz::Matrix) -> Result<(MatrixFormat, Type, Index, Index), Failure> {
    let offset_type = matrix.offset_type().unwrap_or(matrix.index_type());
    let found = || {
        Some((
            constant(&FORMATS, matrix.format())?,
            constant(&TYPES, matrix.dtype())?,
            constant(&INDICES, matrix.index_type())?,
            constant(&INDICES, offset_type)?,
        ))
    };
    found()
        .ok_or_else(|| Error::unsupported(format_args!("{matrix:?}"), "nnz.h has no constant for it").into())
}
