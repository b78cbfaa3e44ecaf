//! The common data of every benchmark of the CPU.

use crate::arguments::{Arguments, PeerName};
use crate::limit::Machine;
use crate::measure::Contender;
use crate::peer::mkl::Mkl;
use anyhow::Result;
use backend_cpu::Cpu;

/// The common data of every benchmark of the CPU.
pub(super) struct Context<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) backend: Cpu,
    pub(super) machine: Machine,
    pub(super) mkl: Option<Mkl>,
}

impl Context<'_> {
    /// The contenders of a library, if it is selected; a refusal of the operands is printed.
    pub(super) fn peer<'c, I: IntoIterator<Item = Contender<'c>>>(
        &self,
        name: PeerName,
        contenders: impl FnOnce() -> Result<I>,
    ) -> impl Iterator<Item = Contender<'c>> {
        let found = self.arguments.wants_peer(name).then(contenders);
        let found = found.and_then(|found| found.inspect_err(|error| eprintln!("left out: {error}")).ok());
        found.into_iter().flatten()
    }
}
