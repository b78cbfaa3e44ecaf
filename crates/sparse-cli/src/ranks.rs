//! The ranks of an MPI job that run one command together.

use crate::failure::{Reported, chain, print, status};
use anyhow::{Error, Result, bail};
use nnz::MatrixOnRanks;
use nnz::distrib::transport::launched_ranks;
use nnz::distrib::{SharedTransport, Transport};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};
use std::ops::Range;
use std::sync::Arc;

/// The rank that writes and reports.
const ROOT: usize = 0;

/// The ranks of an MPI job, or none for a single process.
pub(crate) struct Ranks(Option<Arc<dyn SharedTransport>>);

impl Ranks {
    /// Joins the processes that a launcher of MPI has started together with this one.
    pub(crate) fn join() -> Result<Self> {
        match launched_ranks() {
            None | Some(1) => Ok(Self(None)),
            Some(launched) => join(launched),
        }
    }

    /// The connections to the other ranks, if there are any.
    pub(crate) fn transport(&self) -> Option<&dyn Transport> {
        self.0.as_deref().map(|ranks| ranks as &dyn Transport)
    }

    /// The connections, to be owned by a matrix that is divided among the ranks.
    pub(crate) fn shared(&self) -> Option<&Arc<dyn SharedTransport>> {
        self.0.as_ref()
    }

    /// The result of `work` at the root, none elsewhere; an error at all ranks if the root has one. A collective call.
    pub(crate) fn at_root<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<Option<R>> {
        self.agree(if self.is_root() { work().map(Some) } else { Ok(None) })
    }

    /// True if this rank writes and reports.
    pub(crate) fn is_root(&self) -> bool {
        self.transport().is_none_or(|ranks| ranks.rank() == ROOT)
    }

    /// The result of this rank if all ranks have one: a collective call. The root tells the error of the first rank
    /// that has none.
    pub(crate) fn agree<R>(&self, own: Result<R>) -> Result<R> {
        if self.transport().is_none() {
            return own;
        }
        let named = |(rank, error): (usize, Option<(u8, String)>)| {
            let (status, reason) = error?;
            Some((status, if rank == ROOT { reason } else { format!("rank {rank}: {reason}") }))
        };
        let error = own.as_ref().err().map(|error| (status(error), chain(error)));
        let first = self.gather(error)?.into_iter().enumerate().find_map(named);
        match self.broadcast(first)? {
            None => own,
            Some((status, reason)) => Err(self.report_at_root(status, &reason)),
        }
    }

    /// Reports an error that all ranks have; the root prints it.
    pub(crate) fn report(&self, error: Error) -> Error {
        match self.transport() {
            None => error,
            Some(_) => self.report_at_root(status(&error), &chain(&error)),
        }
    }

    /// Prints a message at the root, before MPI ends: the launcher ends all processes after the first that has failed.
    fn report_at_root(&self, status: u8, message: &str) -> Error {
        if self.is_root() {
            print(status, message);
        }
        Error::new(Reported(status))
    }

    /// The root's value at all ranks. A collective call.
    pub(crate) fn broadcast<R: Serialize + DeserializeOwned>(&self, own: R) -> Result<R> {
        let Some(ranks) = self.transport() else { return Ok(own) };
        Ok(serde_json::from_slice(&ranks.broadcast(ROOT, serde_json::to_vec(&own)?)?)?)
    }

    /// The values of all ranks at the root, by rank; none elsewhere. A collective call.
    pub(crate) fn gather<R: Serialize + DeserializeOwned>(&self, own: R) -> Result<Vec<R>> {
        let Some(ranks) = self.transport() else { return Ok(vec![own]) };
        let messages = ranks.gather(ROOT, serde_json::to_vec(&own)?)?.unwrap_or_default();
        Ok(messages.iter().map(|message| serde_json::from_slice(message)).collect::<Result<_, _>>()?)
    }
}

/// The rows of a matrix that one rank has.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RankRows {
    rank: usize,
    rows: Range<usize>,
    entries: usize,
    /// Elements of x that other ranks send to this one for a product A·x.
    remote_columns: usize,
    device: String,
}

impl RankRows {
    /// The rows of each rank, at the root; empty elsewhere. A collective call.
    pub(crate) fn of_all(ranks: &Ranks, a: &MatrixOnRanks) -> Result<Vec<Self>> {
        ranks.gather(Self::new(ranks.transport().map_or(ROOT, Transport::rank), a))
    }

    fn new(rank: usize, a: &MatrixOnRanks) -> Self {
        Self {
            rank,
            rows: a.rows(),
            entries: a.local_nnz(),
            remote_columns: a.remote_columns(),
            device: a.device().to_string(),
        }
    }
}

impl Display for RankRows {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { rank, rows, entries, remote_columns, device } = self;
        write!(f, "rank {rank}: rows {rows:?}, {entries} entries, {remote_columns} remote columns, {device}")
    }
}

/// Joins the job of `launched` processes, which all have the same arguments.
#[cfg(feature = "mpi")]
fn join(launched: usize) -> Result<Ranks> {
    let mpi = nnz::distrib::Mpi::initialize()?;
    let found = mpi.ranks();
    if found != launched {
        bail!(
            "{launched} processes were started, and MPI joins {found}: start them by the mpirun of the MPI that nnz was built with"
        );
    }
    let ranks = Ranks(Some(Arc::new(mpi)));
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let all = ranks.gather(arguments)?;
    let same = match all.iter().position(|other| *other != all[ROOT]) {
        None => Ok(()),
        Some(rank) => {
            let reason = format!("rank {rank} has other arguments than rank {ROOT}; all ranks do one work");
            Err(Error::msg(reason))
        }
    };
    ranks.agree(same)?;
    Ok(ranks)
}

#[cfg(not(feature = "mpi"))]
fn join(launched: usize) -> Result<Ranks> {
    bail!(
        "{launched} processes were started to do one work, but this nnz was built without MPI: \
         build it with `cargo install --path crates/sparse-cli --features mpi`, or start one process"
    )
}
