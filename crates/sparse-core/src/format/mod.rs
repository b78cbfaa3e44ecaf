//! Matrix formats: an immutable, shared pattern and values apart from it.
//!
//! Each format has checked constructors, which a matrix that could make a kernel read or write out of bounds does
//! not pass, and `unsafe` unchecked ones, which say what the caller promises.

/// Implements the common part of formats with one pattern and one value array: a clone shares the pattern; two matrices
/// are equal if these parts of their patterns and their values are.
macro_rules! shares_pattern {
    ($format:ident, axis [$($axis:ident)?], indices [$($index:ident),*], pattern [$($part:ident),*]) => {
        impl<$($axis: Axis,)? T: Scalar, S: Space, $($index: Index),*> Clone for $format<$($axis,)? T, S, $($index),*>
        where
            S::Buffer<T>: Clone,
        {
            fn clone(&self) -> Self {
                let (pattern, values) = (self.pattern.clone(), self.values.clone());
                Self { pattern, values, $(axis: PhantomData::<$axis>)? }
            }
        }

        impl<$($axis: Axis,)? T: Scalar, $($index: Index),*> PartialEq for $format<$($axis,)? T, Host, $($index),*> {
            fn eq(&self, other: &Self) -> bool {
                let (a, b) = (&self.pattern, &other.pattern);
                $(a.$part == b.$part)&&* && self.values == other.values
            }
        }
    };
}

mod batch;
mod batch_conversion;
mod cast;
mod combine;
mod compressed;
mod coo;
mod dense;
mod dense_batch;
mod dense_conversion;
mod display;
mod element_access;
mod ell;
mod entry_values;
pub mod estimate;
mod host_csr;
mod hyb;
mod select;
mod sell;
mod shape;
mod transform;
mod triplets;

pub use batch::{BatchCompressed, BatchCsc, BatchCsr, BatchPattern};
pub use batch_conversion::OtherAxis;
pub use cast::cast_slice;
pub use combine::{block_diag, hstack, kron, kron_with, vstack};
pub use compressed::{Axis, Col, Compressed, CompressedPattern, CompressedRef, Csc, Csr, Row};
pub use coo::{Coo, CooPattern};
pub use dense::{Dense, DenseView, DenseViewMut, Order};
pub use dense_batch::DenseBatchView;
pub use element_access::SparseVecView;
pub use ell::{Ell, EllLayout, EllPattern};
pub use entry_values::EntryValues;
pub use host_csr::HostCsr;
pub use hyb::{Hyb, HybWidth};
pub use select::{IntoSelection, Places, Selection, inverse_permutation};
pub use sell::{Sell, SellLayout, SellPattern};

use crate::backend::{Backend, Buf, SpaceOf, ViewOf};
use crate::checks::check_context;
use crate::error::{Error, Result};
use crate::scalar::Scalar;
use crate::space::{Buffer, ContextId, Element, Host, Space, View};
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

/// The identity of a pattern, which plans are bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PatternId(u64);

impl PatternId {
    pub(crate) fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The known order of a pattern's indices; `false` means unknown.
///
/// ```
/// use sparse_core::{Csr, IndexOrder};
///
/// let a = Csr::<f64>::new_unsorted(1, 3, vec![0, 2], vec![2, 0], vec![1.0, 2.0])?;
/// assert!(!a.order().sorted);
/// assert_eq!(Csr::<f64>::identity(3)?.order(), IndexOrder::CANONICAL);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexOrder {
    /// Entries ascend by major index: always true of a compressed format; rows in COO.
    pub major_sorted: bool,
    /// Indices ascend (or repeat) within each row or column.
    pub sorted: bool,
    /// No coordinate occurs twice.
    pub unique: bool,
}

impl IndexOrder {
    /// Sorted and without duplicates.
    pub const CANONICAL: Self = Self { major_sorted: true, sorted: true, unique: true };
}

/// The common interface of all formats.
pub trait SparseFormat: Debug + Send + Sync + 'static {
    /// The type of the stored values.
    type Scalar: Scalar;
    /// The space of the arrays.
    type Space: Space;
    /// The same format in another space.
    type In<S: Space>: SparseFormat<Scalar = Self::Scalar, Space = S>;
    /// The format's name in operation names: `csr`.
    const FORMAT: &'static str;

    /// The number of rows.
    fn nrows(&self) -> usize;

    /// The number of columns.
    fn ncols(&self) -> usize;

    /// The number of stored entries; explicit zeros count, padding does not.
    fn nnz(&self) -> usize;

    /// The pattern that plans are bound to.
    fn pattern_id(&self) -> PatternId;

    /// The context that the arrays live in.
    fn context(&self) -> ContextId;

    /// Copies every array by `transfer`.
    ///
    /// # Errors
    /// Those of the transfer.
    fn transfer<S: Space>(&self, transfer: &impl Transfer<Self::Space, S>) -> Result<Self::In<S>>;

    /// A copy in the memory of `backend`.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), or an error of the device's runtime.
    fn to_device<B: Backend>(&self, backend: &B) -> Result<Self::In<SpaceOf<B>>>
    where
        Self: SparseFormat<Space = Host>,
    {
        self.transfer(&Upload(backend))
    }

    /// A copy in the host's memory.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn to_host<B: Backend<Space = Self::Space>>(&self, backend: &B) -> Result<Self::In<Host>> {
        self.transfer(&Download(backend))
    }

    /// A copy in the same memory whose buffers have no unused capacity.
    ///
    /// ```
    /// use sparse_core::{Csr, SparseFormat, reference::Reference};
    ///
    /// let a = Csr::<f64>::identity(3)?;
    /// assert_eq!(a.to_exact(&Reference)?, a);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WrongContext`](Error::WrongContext) if the matrix is in another context, [`OutOfMemory`](Error::OutOfMemory),
    /// or an error of the device's runtime.
    fn to_exact<B: Backend<Space = Self::Space>>(&self, backend: &B) -> Result<Self::In<SpaceOf<B>>> {
        self.transfer(&Duplicate(backend))
    }
}

/// Copies arrays from one space to another.
///
/// ```compile_fail
/// use sparse_core::format::Transfer;
/// use sparse_core::{Element, Host, Result};
///
/// struct Forgets;
///
/// impl Transfer<Host, Host> for Forgets {
///     fn copy<T: Element>(&self, _: &[T]) -> Result<Vec<T>> { Ok(vec![]) }
/// }
/// ```
///
/// # Safety
/// A matrix is made of the copies without another check: a copy has the elements of its view, and all copies are in one
/// context.
///
/// An implementation without `unsafe` does not compile:
pub unsafe trait Transfer<From: Space, To: Space> {
    /// A copy of the elements of `view`.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn copy<T: Element>(&self, view: From::View<'_, T>) -> Result<To::Buffer<T>>;
}

struct Upload<'a, B>(&'a B);

// SAFETY: the backend uploads all elements, to its one context.
unsafe impl<B: Backend> Transfer<Host, SpaceOf<B>> for Upload<'_, B> {
    fn copy<T: Element>(&self, view: &[T]) -> Result<Buf<B, T>> {
        self.0.upload(view)
    }
}

struct Download<'a, B>(&'a B);

// SAFETY: the backend downloads all elements.
unsafe impl<B: Backend> Transfer<SpaceOf<B>, Host> for Download<'_, B> {
    fn copy<T: Element>(&self, view: ViewOf<'_, B, T>) -> Result<Vec<T>> {
        let mut copy = vec![T::default(); view.len()];
        self.0.download_into(view, &mut copy)?;
        Ok(copy)
    }
}

struct Duplicate<'a, B>(&'a B);

// SAFETY: the backend copies all elements to new buffers of its one context.
unsafe impl<B: Backend> Transfer<SpaceOf<B>, SpaceOf<B>> for Duplicate<'_, B> {
    fn copy<T: Element>(&self, view: ViewOf<'_, B, T>) -> Result<Buf<B, T>> {
        let mut copy = self.0.zeros(view.len())?;
        self.0.copy(view, SpaceOf::<B>::view_mut(&mut copy))?;
        Ok(copy)
    }
}

/// An error unless `found` is `expected`.
fn check_length(format: &'static str, array: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::format(format, format_args!("{array} has {found} elements where {expected} are needed")))
}

/// An error unless both extents fit the index type.
fn check_extents<I: crate::index::Index>(rows: usize, cols: usize) -> Result<()> {
    I::try_new("rows", rows)?;
    I::try_new("columns", cols)?;
    Ok(())
}

/// The offsets of a format that is always compressed by rows.
fn check_offsets_row<O: crate::index::Index>(
    format: &'static str,
    major: usize,
    offsets: &[O],
    slots: usize,
) -> Result<()> {
    compressed::check_offsets::<Row, O>(format, major, offsets, slots)
}

/// An error unless values and indices of a pattern have the same length and are in one context.
fn check_values<S: Space, T: Element, I: Element>(
    format: &'static str,
    values: &S::Buffer<T>,
    indices: &S::Buffer<I>,
) -> Result<()> {
    check_context(format, "the array of values", indices.context(), values.context())?;
    check_length(format, "values", values.len(), indices.len())
}
