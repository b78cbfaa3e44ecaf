//! `y ← alpha·op(A)·x + beta·y`, a file for each family of formats.

mod batch;
mod column_blocks;
mod compressed;
mod coo;
mod ell;
mod host_overflow;
mod hyb;
mod lengths;
mod segmented;
mod sell;
mod shares;

pub(super) use compressed::along;

use super::grouped::RowGroups;
use super::numbered::Numbered;
use crate::{Device, Kernel, View, ViewMut};
use sparse_core::op::{AccOf, Op};
use sparse_core::{Choice, Index, KernelPlan, Result};

/// A product with the entries grouped by the rows of op(A).
#[derive(Debug)]
struct Grouped<I> {
    kernel: Kernel,
    groups: RowGroups<I>,
    rows: usize,
}

impl<I: Index> Grouped<I> {
    fn new<M: Numbered<Index = I>>(backend: &Device, a: &M, op: Op) -> Result<Self> {
        let groups = a.row_groups(backend, op)?;
        let kernel = backend.grouped_kernel::<M::Scalar, I>("grouped_spmv", &groups.positions, op)?;
        Ok(Self { kernel, groups, rows: op.shape(a).0 })
    }

    fn run<M: Numbered<Index = I>>(
        &self,
        backend: &Device,
        alpha: AccOf<M>,
        a: &M,
        x: View<'_, M::Scalar>,
        beta: AccOf<M>,
        y: ViewMut<'_, M::Scalar>,
    ) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(self.rows).groups_of(&self.groups, a.values());
        launch.value(alpha).view(x).value(beta).view_mut(y).items(self.rows)
    }
}

/// The plan of a product: by the format's own kernel, or by grouped entries.
#[derive(Debug)]
pub struct ProductPlan<I, Stored> {
    choice: Choice,
    way: Way<I, Stored>,
}

#[derive(Debug)]
enum Way<I, Stored> {
    Stored(Stored),
    Grouped(Grouped<I>),
}

impl<I: Index, Stored: Workspace> KernelPlan for ProductPlan<I, Stored> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        match &self.way {
            Way::Stored(stored) => stored.bytes(),
            Way::Grouped(grouped) => grouped.groups.bytes(),
        }
    }
}

/// What a format's own kernels need.
pub trait Workspace: std::fmt::Debug + Send {
    /// Bytes on the device.
    fn bytes(&self) -> usize {
        0
    }
}

/// A single kernel without a workspace.
impl Workspace for Kernel {}
