//! `y ← alpha·op(A)·x + beta·y`, a file for each family of formats.

mod batch;
mod compressed;
mod coo;
mod padded;
mod shares;

pub(super) use compressed::along;

use super::grouped::RowGroups;
use super::numbered::Numbered;
use crate::{Device, Driver, View, ViewMut};
use sparse_core::op::{AccOf, Op};
use sparse_core::{Choice, KernelPlan, Result};
use std::sync::Arc;

/// A product with the entries grouped by the rows of op(A).
#[derive(Debug)]
struct Grouped<D: Driver> {
    kernel: Arc<D::Kernel>,
    groups: RowGroups<D>,
    rows: usize,
}

impl<D: Driver> Grouped<D> {
    fn new<M: Numbered<D>>(backend: &Device<D>, a: &M, op: Op) -> Result<Self> {
        let kernel = backend.grouped_kernel::<M::Scalar>("grouped_spmv", op)?;
        Ok(Self { kernel, groups: RowGroups::new(backend, a, op)?, rows: op.shape(a).0 })
    }

    fn run<M: Numbered<D>>(
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
pub struct ProductPlan<D: Driver, Stored> {
    choice: Choice,
    way: Way<D, Stored>,
}

#[derive(Debug)]
enum Way<D: Driver, Stored> {
    Stored(Stored),
    Grouped(Grouped<D>),
}

impl<D: Driver, Stored: Workspace> KernelPlan for ProductPlan<D, Stored> {
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
