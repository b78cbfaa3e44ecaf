//! The one list of formats, types and operations.
//!
//! It consists of three macros: [`for_each_format!`], [`for_all_types!`] and [`for_each_operation!`]. Each calls
//! another macro with its rows. From them come [`FullBackend`](crate::op::FullBackend) and
//! [`AllTypes`](crate::op::AllTypes), the subjects of the conformance table, `docs/algorithm-tables.md`, and
//! the run-time names [`Format`], [`Types`] and [`Operation`]. A new row is a compile error in each backend, and in the
//! conformance table, until they have it. [`with_dtype!`] goes from the run-time name of a value type to the type.
//!
//! The parameters of a row are called `T` (values), `I` (indices) and `O` (offsets); the macro that is called has them
//! in scope.
//!
//! [`for_each_format!`]: crate::for_each_format
//! [`for_all_types!`]: crate::for_all_types
//! [`for_each_operation!`]: crate::for_each_operation
//! [`with_dtype!`]: crate::with_dtype

use crate::error::Error;
use crate::format::{BatchCsc, BatchCsr, Coo, Csc, Csr, Ell, Hyb, Sell, SparseFormat};
use crate::index::Index;
use crate::scalar::{DType, Scalar};
use std::fmt::{self, Display};
use std::str::FromStr;

/// Calls a macro with every format and the index types that it is generic in.
#[macro_export]
macro_rules! for_each_format {
    ($macro:ident) => {
        $macro! {
            Csr<I, O>, Csc<I, O>, BatchCsr<I, O>, BatchCsc<I, O>, Coo<I>, Ell<I>, Hyb<I>, Sell<I, O>
        }
    };
}

/// Calls a macro with every supported triple of value, index and offset type.
///
/// ```
/// macro_rules! count {
///     ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => { [$(size_of::<$t>()),*].len() };
/// }
/// assert_eq!(sparse_core::for_all_types!(count), 14);
/// ```
#[macro_export]
macro_rules! for_all_types {
    ($macro:ident) => {
        $macro! {
            (f64, i32, i32),
            (f64, i32, i64),
            (f64, i64, i64),
            (f32, i32, i32),
            (f32, i32, i64),
            (f32, i64, i64),
            ($crate::c64, i32, i32),
            ($crate::c64, i32, i64),
            ($crate::c64, i64, i64),
            ($crate::c32, i32, i32),
            ($crate::c32, i32, i64),
            ($crate::c32, i64, i64),
            ($crate::f16, i32, i32),
            ($crate::bf16, i32, i32),
        }
    };
}

/// An expression in which `$T` is the type that a [`DType`](crate::DType) names at run time; it is compiled once for
/// each of the six types.
///
/// ```
/// use sparse_core::{DType, with_dtype};
///
/// let bytes = |dtype: DType| with_dtype!(dtype, T => size_of::<T>());
/// assert_eq!((bytes(DType::F16), bytes(DType::C64)), (2, 16));
/// ```
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $T:ident => $run:expr) => {
        match $dtype {
            $crate::DType::F16 => {
                type $T = $crate::f16;
                $run
            }
            $crate::DType::Bf16 => {
                type $T = $crate::bf16;
                $run
            }
            $crate::DType::F32 => {
                type $T = f32;
                $run
            }
            $crate::DType::F64 => {
                type $T = f64;
                $run
            }
            $crate::DType::C32 => {
                type $T = $crate::c32;
                $run
            }
            $crate::DType::C64 => {
                type $T = $crate::c64;
                $run
            }
        }
    };
}

/// Calls a macro with every operation: its variant of [`Operation`](crate::catalog::Operation), its name, the trait
/// that backends implement, its title, and what the trait is implemented for.
///
/// - `formats`: for these formats, or pairs of source and target format, with values `T`.
/// - `types`: for types alone.
/// - `elements`: for these element types, independently of the types of matrices.
#[macro_export]
macro_rules! for_each_operation {
    ($macro:ident) => {
        $macro! {
            formats {
                Spmv spmv SpmvKernel "SpMV" {
                    Csr<I, O>, Csc<I, O>, BatchCsr<I, O>, BatchCsc<I, O>, Coo<I>, Ell<I>, Hyb<I>, Sell<I, O>
                }
                Spmm spmm SpmmKernel "SpMM" {
                    Csr<I, O>, Csc<I, O>, BatchCsr<I, O>, BatchCsc<I, O>, Coo<I>, Ell<I>, Hyb<I>, Sell<I, O>
                }
                SpmmReduce spmm_reduce SpmmReduceKernel "SpMM with reductions" { Csr<I, O> }
                Sddmm sddmm SddmmKernel "SDDMM" { Csr<I, O>, Csc<I, O>, BatchCsr<I, O>, BatchCsc<I, O>, Coo<I> }
                Spgemm spgemm SpgemmKernel "SpGEMM" { Csr<I, O>, Csc<I, O> }
                Convert convert ConvertKernel "Conversions" {
                    Coo<I> => Csr<I, O>,
                    Coo<I> => Csc<I, O>,
                    Csr<I, O> => Coo<I>,
                    Csc<I, O> => Coo<I>,
                    Csr<I, O> => Csc<I, O>,
                    Csc<I, O> => Csr<I, O>,
                    BatchCsr<I, O> => BatchCsc<I, O>,
                    BatchCsc<I, O> => BatchCsr<I, O>,
                    Csr<I, O> => Ell<I>,
                    Csr<I, O> => Hyb<I>,
                    Csr<I, O> => Sell<I, O>,
                    Ell<I> => Csr<I, O>,
                    Hyb<I> => Csr<I, O>,
                    Sell<I, O> => Csr<I, O>
                }
                ToDense to_dense ToDenseKernel "To dense" {
                    Csr<I, O>, Csc<I, O>, Coo<I>, Ell<I>, Hyb<I>, Sell<I, O>
                }
                Sort sort SortKernel "Sort" { Csr<I, O>, Csc<I, O>, Coo<I> }
                Prune prune PruneKernel "Prune" { Csr<I, O>, Csc<I, O>, Coo<I> }
                Select select SelectKernel "Rows and columns" { Csr<I, O>, Csc<I, O> }
                Elementwise elementwise ElementwiseKernel "Sums and element-wise products" { Csr<I, O>, Csc<I, O> }
                Reduce reduce ReduceKernel "Reductions" { Csr<I, O>, Csc<I, O> }
                Softmax softmax SoftmaxKernel "Softmax" { Csr<I, O>, Csc<I, O> }
                RowStatistics row_statistics RowStatisticsKernel "Row statistics" { Csr<I, O> }
                Trisolve trisolve TrisolveKernel "Triangular solves" { Csr<I, O>, Csc<I, O> }
            }
            types {
                DenseToCsr dense_to_csr DenseToCsrKernel "Dense → CSR, CSC, COO" { T, I, O }
                Vector vector VectorKernel "Vectors" { T }
            }
            elements {
                Scan scan ScanKernel "Scans" { i32, i64 }
            }
        }
    };
}

macro_rules! formats {
    ($($format:ident<$($index:ident),+>),+) => {
        /// A format at run time.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Format {
            $(
                #[doc = concat!("[`", stringify!($format), "`](crate::", stringify!($format), ").")]
                $format,
            )+
        }

        impl Format {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$format),+];

            /// The name in the names of operations, files and options: [`SparseFormat::FORMAT`].
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$format => $format::<f32>::FORMAT,)+
                }
            }
        }
    };
}

for_each_format!(formats);

macro_rules! operations {
    (
        formats { $($of:ident $of_name:ident $of_kernel:ident $of_title:literal {
            $($($format:ident<$($index:ident),+>)=>+),+
        })+ }
        types { $($on:ident $on_name:ident $on_kernel:ident $on_title:literal { $($parameter:ident),+ })+ }
        elements { $($over:ident $over_name:ident $over_kernel:ident $over_title:literal { $($element:ty),+ })+ }
    ) => {
        /// An operation at run time.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Operation {
            $(#[doc = concat!($of_title, ": [`", stringify!($of_kernel), "`](crate::op::", stringify!($of_kernel), ").")] $of,)+
            $(#[doc = concat!($on_title, ": [`", stringify!($on_kernel), "`](crate::op::", stringify!($on_kernel), ").")] $on,)+
            $(#[doc = concat!($over_title, ": [`", stringify!($over_kernel), "`](crate::op::", stringify!($over_kernel), ").")] $over,)+
        }

        impl Operation {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$of,)+ $(Self::$on,)+ $(Self::$over),+];

            /// The name of its module, its snapshots and its rows in reports: `spmv`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$of => stringify!($of_name),)+
                    $(Self::$on => stringify!($on_name),)+
                    $(Self::$over => stringify!($over_name),)+
                }
            }

            /// The heading of its tables.
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$of => $of_title,)+
                    $(Self::$on => $on_title,)+
                    $(Self::$over => $over_title,)+
                }
            }

            /// The formats that have it, or pairs of source and target; none where it takes no sparse matrix.
            pub fn formats(self) -> &'static [&'static [Format]] {
                match self {
                    $(Self::$of => &[$(&[$(Format::$format),+]),+],)+
                    $(Self::$on)|+ $(| Self::$over)+ => &[],
                }
            }
        }
    };
}

for_each_operation!(operations);

macro_rules! run_time_name {
    ($type:ident, $what:literal) => {
        impl Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(name: &str) -> Result<Self, Error> {
                Self::ALL.iter().copied().find(|known| known.name() == name).ok_or_else(|| {
                    let names: Vec<_> = Self::ALL.iter().map(|known| known.name()).collect();
                    Error::unknown_name($what, name, &names)
                })
            }
        }
    };
}

run_time_name!(Format, "format");
run_time_name!(Operation, "operation");

/// A supported triple of types at run time; it displays as `f64,i32,i32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Types {
    /// The type of values.
    pub value: DType,
    /// The name of the type of indices.
    pub index: &'static str,
    /// The name of the type of offsets.
    pub offset: &'static str,
}

macro_rules! types {
    ($(($t:ty, $i:ty, $o:ty)),+ $(,)?) => {
        impl Types {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::of::<$t, $i, $o>()),+];
        }
    };
}

for_all_types!(types);

impl Types {
    /// The names of three types.
    pub const fn of<T: Scalar, I: Index, O: Index>() -> Self {
        Self { value: T::DTYPE, index: I::NAME, offset: O::NAME }
    }
}

impl Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{}", self.value, self.index, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_are_read_back() {
        let formats: HashSet<_> = Format::ALL.iter().map(|format| format.name()).collect();
        assert_eq!(formats.len(), Format::ALL.len());
        assert!(Format::ALL.iter().all(|format| format.to_string().parse().ok() == Some(*format)));
        let operations: HashSet<_> = Operation::ALL.iter().map(|operation| operation.name()).collect();
        assert_eq!(operations.len(), Operation::ALL.len());
        assert!(
            Operation::ALL.iter().all(|operation| operation.to_string().parse().ok() == Some(*operation))
        );
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let error = "csb".parse::<Format>().unwrap_err().to_string();
        assert_eq!(error, "unknown format `csb`: one of csr, csc, batch_csr, batch_csc, coo, ell, hyb, sell");
        assert!("spmw".parse::<Operation>().unwrap_err().to_string().contains("one of spmv, spmm, "));
    }

    #[test]
    fn conversions_are_pairs_and_other_operations_have_one_format() {
        for &operation in Operation::ALL {
            let formats = if operation == Operation::Convert { 2 } else { 1 };
            assert!(operation.formats().iter().all(|of| of.len() == formats), "{operation}");
        }
        assert!(Operation::Convert.formats().contains(&&[Format::Csc, Format::Coo][..]));
        assert_eq!(Operation::Scan.formats(), &[] as &[&[Format]]);
    }

    #[test]
    fn triples_of_types_are_named() {
        assert_eq!(Types::ALL.len(), 14);
        assert_eq!(Types::ALL[1].to_string(), "f64,i32,i64");
    }
}
