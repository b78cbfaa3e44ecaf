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
use crate::{Device, Driver, View, ViewMut};
use sparse_core::op::{AccOf, Op};
use sparse_core::{Choice, Index, KernelPlan, Result};
use std::sync::Arc;

/// A product with the entries grouped by the rows of op(A).
#[derive(Debug)]
struct Grouped<D: Driver, I> {
    kernel: Arc<D::Kernel>,
    groups: RowGroups<D, I>,
    rows: usize,
}

impl<D: Driver, I: Index> Grouped<D, I> {
    fn new<M: Numbered<D, Index = I>>(backend: &Device<D>, a: &M, op: Op) -> Result<Self> {
        let groups = a.row_groups(backend, op)?;
        let kernel = backend.grouped_kernel::<M::Scalar, I>("grouped_spmv", &groups.positions, op)?;
        Ok(Self { kernel, groups, rows: op.shape(a).0 })
    }

    fn run<M: Numbered<D, Index = I>>(
        &self,
        backend: &Device<D>,
        alpha: AccOf<M>,
        a: &M,
        x: View<'_, D, M::Scalar>,
        beta: AccOf<M>,
        y: ViewMut<'_, D, M::Scalar>,
    ) -> Result<()> {
        let launch = backend.launch(&self.kernel).size(self.rows).groups_of(&self.groups, a.values());
        launch.value(alpha).view(x).value(beta).view_mut(y).items(self.rows)
    }
}

/// The plan of a product: by the format's own kernel, or by grouped entries.
#[derive(Debug)]
pub struct ProductPlan<D: Driver, I, Stored> {
    choice: Choice,
    way: Way<D, I, Stored>,
}

#[derive(Debug)]
enum Way<D: Driver, I, Stored> {
    Stored(Stored),
    Grouped(Grouped<D, I>),
}

impl<D: Driver, I: Index, Stored: Workspace> KernelPlan for ProductPlan<D, I, Stored> {
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
impl<K: std::fmt::Debug + Send + Sync> Workspace for Arc<K> {}
