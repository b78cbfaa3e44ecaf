//! Plans made on the host by the serial reference, which converts a matrix whose values are their own positions: to
//! ELL, HYB and SELL from unsorted rows, and of batches with more rows or columns than their indices can number.

use crate::Device;
use crate::primitive::numbering::Numerable;
use crate::primitive::rearrangement::Rearrangement;
use crate::primitive::target::HostTarget;
use sparse_core::format::estimate::Sizes;
use sparse_core::op::{Conversion, Operations};
use sparse_core::reference::{Convert, Entries, Reference};
use sparse_core::{Choice, EllLayout, HybWidth, Result, SellLayout};
use std::fmt::Debug;

/// A layout that does not depend on the value type.
pub(super) trait ConversionLayout: Clone + Debug {
    /// The layout with its width chosen for rows of these lengths and types of these sizes.
    fn resolved(&self, _: &dyn Fn() -> Vec<usize>, _: usize, _: Sizes) -> Result<Self> {
        Ok(self.clone())
    }
}

impl ConversionLayout for () {}

impl ConversionLayout for SellLayout {}

impl ConversionLayout for EllLayout {
    fn resolved(&self, lengths: &dyn Fn() -> Vec<usize>, _: usize, sizes: Sizes) -> Result<Self> {
        let width = self.resolve(&lengths(), sizes)?;
        Ok(Self { width: Some(width), max_bytes: Some(u64::MAX) })
    }
}

impl ConversionLayout for HybWidth {
    fn resolved(&self, lengths: &dyn Fn() -> Vec<usize>, cols: usize, sizes: Sizes) -> Result<Self> {
        Ok(Self::Width(self.resolve(&lengths(), cols, sizes)))
    }
}

/// A plan from the reference's conversion of the numbered entries.
pub(super) fn plan<From, To>(
    backend: &Device,
    from: &From,
    layout: &From::Layout,
    sizes: Sizes,
    choice: Choice,
) -> Result<Rearrangement<To>>
where
    From: Numerable + Conversion<To, Layout: ConversionLayout>,
    From::OnHost: Convert<To::OnHost, Layout = From::Layout>,
    To: HostTarget,
{
    let host = from.numbered(backend)?;
    let layout = layout.resolved(&|| row_lengths(&host), from.ncols(), sizes)?;
    Rearrangement::gather(backend, choice, &Operations::convert(&Reference, &host, &layout)?)
}

/// The number of entries of each row.
fn row_lengths(a: &impl Entries) -> Vec<usize> {
    let mut lengths = vec![0; a.nrows()];
    a.entries().for_each(|(i, _, _)| lengths[i] += 1);
    lengths
}
