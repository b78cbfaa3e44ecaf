//! Reasons why a server does not start, and the texts of errors.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A reason why a server does not start or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// An address that others can reach, without tokens or without TLS.
    #[error(
        "{listen} can be reached from other machines: tokens and a TLS certificate with its key are needed, or a loopback address such as 127.0.0.1:8700"
    )]
    Unprotected {
        /// The address.
        listen: SocketAddr,
    },
    /// An address that others can reach, of a server that takes handles of CUDA IPC.
    #[error(
        "{listen} can be reached from other machines, whose clients have no memory of this one's GPUs: a loopback address such as 127.0.0.1:8700 is needed with --cuda-ipc"
    )]
    NotLocal {
        /// The address.
        listen: SocketAddr,
    },
    /// A limit of zero, with which the server could do nothing.
    #[error("{limit}: more than 0 is needed")]
    Zero {
        /// The limit, by its option of `nnz serve`; by its name in [`Limits`](crate::Limits) where there is none.
        limit: &'static str,
    },
    /// The address cannot be listened on.
    #[error("listening on {listen}: {source}")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A file or folder cannot be used.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The failure, and what would have been right.
        reason: String,
    },
    /// The device of a worker process cannot be opened, for this reason.
    #[error("{0}")]
    Device(String),
    /// The worker process does not start.
    #[error("the worker process: {0}")]
    Worker(String),
    /// Traces cannot be sent.
    #[cfg(feature = "otel")]
    #[error("the collector of traces {endpoint}: {reason}")]
    Traces {
        /// The address of the collector.
        endpoint: String,
        /// The failure, and what would have been right.
        reason: String,
    },
    /// The operating system refuses threads or signals.
    #[error("starting the server: {0}")]
    System(#[from] io::Error),
}

impl StartError {
    pub(crate) fn file(path: impl Into<PathBuf>, reason: impl ToString) -> Self {
        Self::File { path: path.into(), reason: reason.to_string() }
    }
}

/// The text of an error and of all its causes: that of a connection says little without them.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let mut reasons: Vec<_> = causes.map(ToString::to_string).collect();
    reasons.dedup();
    reasons.join(": ")
}
