//! Worker processes: a process holds the device, and a front end that never touches it starts, watches and replaces it.
//!
//! | between them | what goes there |
//! |---|---|
//! | stdin of the worker | [`Settings`] as a line of JSON; `stop` once the service stops; its end, once nothing more is sent |
//! | stdout of the worker | once it answers, `nnz-worker: ready`, else why it does not |
//! | a Unix socket in the folder of data | requests over HTTP, with their callers in the header [`IDENTITY`] |
//!
//! The worker owns matrices, ledger, manifest and jobs, as a server without workers does, and takes the number of its
//! generation: a later one finds the files and the records of the one before it.
//!
//! A service of several devices has a worker for each, with a folder of data of its own, and its requests go where what
//! they name is: [`Destination`](crate::routes::Destination).

mod copies;
mod device_workers;
mod directory;
mod dispatch;
mod distributed;
mod distributed_product;
mod distributed_upload;
mod forward;
mod keys;
mod limits;
mod parts;
mod supervisor;
mod worker;

pub(crate) use copies::{COPY, receive_copy};
pub(crate) use device_workers::DeviceWorkers;
pub(crate) use dispatch::dispatch;
pub(crate) use forward::forward;
pub(crate) use keys::{MADE, effect_of_key};
pub(crate) use limits::{EVICT, USAGES, evict, usages};
pub(crate) use parts::{DIVISIONS, PARTS, divide, receive_part};
pub use supervisor::WorkerCommand;
pub(crate) use worker::identify;
pub use worker::serve_as_worker;

use crate::config::Config;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Everything that a worker needs to know, beside its device.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Settings {
    config: Config,
    /// Makes the ids of jobs different from those of the service before.
    service: String,
    /// The number of the worker among those of the service and the device, from 0.
    generation: u64,
    /// The number of the device, if the service has several.
    device: Option<usize>,
    /// The bytes that a tenant may have on all devices, if that is not all.
    quota: Option<u64>,
}

impl Settings {
    /// The folder of the socket, which is nobody else's.
    fn socket_folder(data: &Path) -> PathBuf {
        data.join("run")
    }

    fn socket(data: &Path) -> PathBuf {
        Self::socket_folder(data).join("worker")
    }
}

/// The header in which the front end tells a worker who calls, as JSON. Clients cannot send it.
const IDENTITY: &str = "nnz-identity";
/// The header by which a worker says that it has read the body of the request to its end.
const BODY_READ: &str = "nnz-body-read";
/// Begins the line in which a worker says whether it is ready.
const MARK: &str = "nnz-worker: ";
const READY: &str = "ready";
const STOP: &str = "stop";
