//! The parameters of plans.

use sparse_core::op::{
    Aggregation, Diagonal, Duplicates, Elementwise, Keep, Op, Reduction, Sampling, ScanKind, ScanOrder,
    Triangular,
};
use sparse_core::{EllLayout, HybWidth, Order, Scalar, Selection, SellLayout, c64};
use std::fmt::{self, Display};

/// The parameters of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Setting {
    /// Only the matrix.
    Plain,
    /// A rule with a test of its own.
    Rule(&'static str),
    /// op(A) times a vector.
    Vector(Op),
    /// op(A) times a matrix with this number of columns.
    Columns(Op, usize),
    /// A times a B that has A's entries at other coordinates, at all of C or at the entries of a mask.
    Right(RightFactor, Extent),
    /// A triangular solve with this number of right-hand sides.
    Triangular(Triangular, usize),
    /// Scalar products of rows of two dense matrices at the entries of a sparse one.
    Sampled(SampledProduct),
    /// An aggregation of products, or its arguments.
    Aggregate(Aggregated),
    /// COO to a compressed format.
    Duplicates(Duplicates),
    /// CSR to ELL.
    Ell(EllLayout),
    /// CSR to HYB.
    Hyb(HybWidth),
    /// CSR to SELL.
    Sell(SellLayout),
    /// Pruning of zeros, or of entries up to a tolerance.
    Keep(Option<f64>),
    /// Chosen rows and columns.
    Chosen(Chosen),
    /// A reduction of lines.
    Reduce(Reduction),
    /// A value for each entry of a matrix of this number of entries.
    Entries(usize),
    /// A sum or an element-wise product.
    Elementwise(Elementwise),
    /// A dense matrix or a batch of three, in an order with padding, whose elements above the tolerance become entries;
    /// without one all but zeros.
    Dense {
        /// The memory order.
        order: Order,
        /// Elements between lines.
        padding: usize,
        /// Keeps `!(|v| <= tolerance)`.
        tolerance: Option<f64>,
    },
    /// One of the results of an operation that has several.
    Result(&'static str),
    /// A prefix sum of a rows × cols array.
    Scan {
        /// The number of rows.
        rows: usize,
        /// The number of columns.
        cols: usize,
        /// The order of the scan.
        order: ScanOrder,
        /// Inclusive or exclusive.
        kind: ScanKind,
    },
}

/// Chosen rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// All columns of all rows but the first.
    Rows,
    /// All but the first row, and all but the first and last column.
    Middle,
    /// All of both, in reverse.
    Reversed,
    /// Every second of both.
    EverySecond,
    /// Unsorted lists with repetitions, as long as the matrix has rows and columns.
    Repeated,
    /// Every hundredth of both, the last first.
    Few,
}

impl Chosen {
    /// All settings.
    pub(crate) const ALL: [Self; 6] =
        [Self::Rows, Self::Middle, Self::Reversed, Self::EverySecond, Self::Repeated, Self::Few];

    /// The chosen rows and columns of a matrix of this shape.
    pub(crate) fn of(self, (rows, cols): (usize, usize)) -> (Selection<'static>, Selection<'static>) {
        match self {
            Self::Rows => ((rows.min(1)..rows).into(), (0..cols).into()),
            Self::Middle => {
                let first = cols.min(1);
                ((rows.min(1)..rows).into(), (first..first.max(cols.saturating_sub(1))).into())
            }
            _ => (self.listed(rows), self.listed(cols)),
        }
    }

    /// A list of numbers below `extent`.
    fn listed(self, extent: usize) -> Selection<'static> {
        let numbers = 0..extent;
        let list: Vec<_> = match self {
            Self::Reversed => numbers.rev().collect(),
            Self::EverySecond => numbers.step_by(2).collect(),
            Self::Few => numbers.step_by(100).rev().collect(),
            _ => numbers.flat_map(|k| [7 * k % extent, k / 3]).take(extent).collect(),
        };
        Selection::List(list.into())
    }
}

/// The elements of a product of two sparse matrices that are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All elements that arise.
    Whole,
    /// The elements at the entries of a mask.
    Masked,
}

/// The second factor of a product of two sparse matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RightFactor {
    /// Aᵀ.
    Transpose,
    /// Entries in no order, some coordinates twice, in a matrix of another width.
    Scattered,
}

/// The parameters of a sampled product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampledProduct {
    /// The factor of an entry: its value, or 1.
    pub sampling: Sampling,
    /// The number of columns of U and V.
    pub inner: usize,
    /// The memory orders of U and V.
    pub orders: (Order, Order),
    /// True if rows or columns of U and V begin at multiples of 16 bytes.
    pub aligned: bool,
    /// The number of entries of P.
    pub entries: usize,
    /// The order in which the format stores them.
    pub entry_order: EntryOrder,
}

/// The parameters of an SpMM with a reduction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aggregated {
    /// The reduction.
    pub by: Aggregation,
    /// The number of columns of B.
    pub columns: usize,
    /// True if the arguments are the result.
    pub arguments: bool,
    /// The number of entries of A.
    pub entries: usize,
}

/// The order in which a format stores entries; those that are equal in it are in the order in which they are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryOrder {
    /// By rows.
    Rows,
    /// By columns.
    Columns,
    /// As given.
    Given,
}

impl Display for SampledProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sampling, inner, orders: (u, v), aligned, .. } = self;
        write!(f, "{sampling} k={inner} U={u:?} V={v:?}{}", if *aligned { " aligned" } else { "" })
    }
}

impl Setting {
    /// The elements that become entries.
    pub(crate) fn keep<T: Scalar>(&self) -> Keep<T> {
        let (Self::Keep(tolerance) | Self::Dense { tolerance, .. }) = *self else { return Keep::NonZero };
        tolerance.map_or(Keep::NonZero, |tolerance| Keep::Above(Scalar::from_c64(c64::new(tolerance, 0.0))))
    }
}

impl Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain | Self::Rule(_) | Self::Entries(_) => Ok(()),
            Self::Vector(op) => write!(f, "op={op}"),
            Self::Columns(op, columns) => write!(f, "op={op} columns={columns}"),
            Self::Right(factor, Extent::Whole) => write!(f, "B={factor:?}"),
            Self::Right(factor, Extent::Masked) => write!(f, "B={factor:?} masked"),
            Self::Triangular(Triangular { triangle, diagonal, op }, columns) => {
                let unit = if *diagonal == Diagonal::Unit { " unit" } else { "" };
                write!(f, "{triangle:?}{unit} op={op} columns={columns}")
            }
            Self::Sampled(product) => write!(f, "{product}"),
            Self::Aggregate(Aggregated { by, columns, arguments, .. }) => {
                write!(f, "{}{by} columns={columns}", if *arguments { "arg" } else { "" })
            }
            Self::Duplicates(duplicates) => write!(f, "{duplicates:?}"),
            Self::Ell(layout) => write!(f, "width={:?} cap={:?}", layout.width, layout.max_bytes),
            Self::Hyb(width) => write!(f, "{width:?}"),
            Self::Sell(layout) => write!(f, "C={} sigma={}", layout.slice_height, layout.sort_window),
            Self::Keep(tolerance) => tolerance.map_or(Ok(()), |tolerance| write!(f, "tolerance={tolerance}")),
            Self::Chosen(chosen) => write!(f, "{chosen:?}"),
            Self::Reduce(by) => write!(f, "{by}"),
            Self::Elementwise(op) => write!(f, "{op}"),
            Self::Dense { order, padding, tolerance } => {
                write!(f, "{order:?} padding={padding}")?;
                tolerance.map_or(Ok(()), |tolerance| write!(f, " tolerance={tolerance}"))
            }
            Self::Result(name) => write!(f, "result={name}"),
            Self::Scan { rows, cols, order, kind } => write!(f, "{rows}x{cols} {order:?} {kind:?}"),
        }
    }
}
