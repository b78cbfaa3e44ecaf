//! The ranks of an MPI job that run one command together.

use crate::failure::{ToldByRoot, chain};
use anyhow::{Error, Result, anyhow, bail};
use nnz::distrib::Transport;
use nnz::distrib::transport::launched_ranks;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The rank that writes and reports.
const ROOT: usize = 0;

/// This process as one of several ranks, or alone.
pub(crate) struct Ranks(Option<Box<dyn Transport>>);

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
        self.0.as_deref()
    }

    /// True if this rank writes and reports.
    pub(crate) fn is_root(&self) -> bool {
        self.transport().is_none_or(|ranks| ranks.rank() == ROOT)
    }

    /// The result of this rank if all ranks have one: a collective call. The root gets the error of the first rank that has
    /// none, or its own.
    pub(crate) fn agree<R>(&self, own: Result<R>) -> Result<R> {
        let Some(ranks) = self.transport() else { return own };
        let told = self.gather(own.as_ref().err().map(chain))?;
        let first =
            told.into_iter().enumerate().find_map(|(rank, told)| Some(format!("rank {rank}: {}", told?)));
        let first = ranks.broadcast(ROOT, first.unwrap_or_default().into_bytes())?;
        match own {
            Ok(own) if first.is_empty() => Ok(own),
            Ok(_) => Err(self.told(anyhow!(String::from_utf8_lossy(&first).into_owned()))),
            Err(error) => Err(self.told(error)),
        }
    }

    /// An error that all ranks have: the root tells it.
    pub(crate) fn told(&self, error: Error) -> Error {
        if self.is_root() { error } else { Error::new(ToldByRoot) }
    }

    /// The values of all ranks at the root, by rank; none elsewhere. A collective call.
    pub(crate) fn gather<R: Serialize + DeserializeOwned>(&self, own: R) -> Result<Vec<R>> {
        let Some(ranks) = self.transport() else { return Ok(vec![own]) };
        let messages = ranks.gather(ROOT, serde_json::to_vec(&own)?)?.unwrap_or_default();
        Ok(messages.iter().map(|message| serde_json::from_slice(message)).collect::<Result<_, _>>()?)
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
    let ranks = Ranks(Some(Box::new(mpi)));
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let all = ranks.gather(arguments)?;
    let same = match all.iter().position(|other| *other != all[ROOT]) {
        None => Ok(()),
        Some(rank) => Err(anyhow!("rank {rank} has other arguments than rank {ROOT}; all ranks do one work")),
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
