//! Settings of a server, and the rules that they keep.

use crate::error::StartError;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of a [`Server`](crate::Server).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Config {
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The folder of durable objects, uploads and evicted objects. One server uses it at a time.
    pub data: PathBuf,
    /// Bytes that matrices and operands may take in the device's memory.
    pub memory: u64,
    /// Bytes of the host's memory that matrices of each device may take which its own memory has no bytes for, before
    /// they move to disk.
    pub host_memory: u64,
    /// Bytes of the memory of all devices that one tenant may take.
    pub tenant_memory: u64,
    /// Bytes that the matrices of one tenant may have on all devices, in memory and on disk.
    pub tenant_storage: u64,
    /// The file of tokens; without it everybody who reaches the address may do everything.
    pub tokens: Option<PathBuf>,
    /// The folder of files that clients on the same machine name in place of bodies; each tenant has a folder in it.
    pub shared: Option<PathBuf>,
    /// The Unix socket by which clients on the same machine pass open files, such as a memfd, in place of bodies.
    pub descriptors: Option<PathBuf>,
    /// True if clients on the same machine may name arrays of theirs in the memory of the server's GPU, by handles of
    /// CUDA IPC. The address is one of the loopback then.
    pub cuda_ipc: bool,
    /// Certificate and key for TLS.
    pub tls: Option<TlsFiles>,
    /// The collector of traces, as in `http://127.0.0.1:4318`, to which a span of each request is sent.
    #[cfg(feature = "otel")]
    pub otlp_endpoint: Option<String>,
    /// Limits of requests.
    pub limits: Limits,
}

/// PEM files of TLS.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TlsFiles {
    /// The certificate chain, the server's own first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
    /// The certificates of authorities, one of which must have signed the certificate of a client. Without them clients
    /// need none.
    pub client_authorities: Option<PathBuf>,
}

/// Limits of requests and connections.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of the body of an upload.
    pub upload_bytes: u64,
    /// Bytes of the body of an operation.
    pub operand_bytes: u64,
    /// Connections that are served at once; more wait in the system's queue.
    pub connections: usize,
    /// Operations that run at once.
    pub workers: usize,
    /// Operations that may wait for a worker; more are refused with 429.
    pub queue: usize,
    /// Operations of one tenant that may wait for a worker.
    pub tenant_queue: usize,
    /// Requests per second of one tenant, and as many at once; more are refused with 429.
    pub tenant_rate: Option<u32>,
    /// Seconds of each minute that the operations of one tenant may run on a device, added up over its workers; more
    /// are refused with 429.
    pub tenant_seconds: Option<u32>,
    /// Time for the header of a request, and for which a connection may idle between requests.
    pub header_time: Duration,
    /// Time that a client may send or take no byte.
    pub idle_time: Duration,
    /// Bytes per second that the body of a request must reach on average, from the second `idle_time` on, and that a client
    /// must take of an answer while the server waits for it.
    pub least_rate: u64,
    /// Time that a request may give its operation, with the reception of its body; without a parameter `timeout` this.
    pub operation_time: Duration,
    /// The `operation_time` of an operation that runs as a job.
    pub job_time: Duration,
    /// Jobs that a tenant may have, finished ones with their results among them; more are refused with 429.
    pub jobs: usize,
    /// Time that a finished job and its result are kept.
    pub result_time: Duration,
    /// Time for requests and jobs in flight to finish when the server stops.
    pub drain_time: Duration,
    /// Time from which a request is listed as slow.
    pub slow_time: Duration,
    /// Bytes of all files of the audit log; the oldest lines go first.
    pub audit_bytes: u64,
    /// Time for a worker process to open its device and the folder of data.
    pub worker_start_time: Duration,
    /// Times in a row that a worker process may fail to start before it is given up.
    pub worker_attempts: u32,
    /// Time before the second of these attempts; each time it doubles.
    pub worker_delay: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            upload_bytes: 64 << 30,
            operand_bytes: 8 << 30,
            connections: 1024,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            queue: 1024,
            tenant_queue: 512,
            tenant_rate: None,
            tenant_seconds: None,
            header_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(30),
            least_rate: 1024,
            operation_time: Duration::from_secs(600),
            job_time: Duration::from_secs(6 * 3600),
            jobs: 64,
            result_time: Duration::from_secs(600),
            drain_time: Duration::from_secs(20),
            slow_time: Duration::from_secs(1),
            audit_bytes: 128 << 20,
            worker_start_time: Duration::from_secs(120),
            worker_attempts: 8,
            worker_delay: Duration::from_millis(250),
        }
    }
}

/// Time for which the effect of an operation may be published after its time limit.
const PUBLISH_TIME: Duration = Duration::from_secs(60);

impl Limits {
    /// Time after which a request whose client is gone has no effect any more.
    pub(crate) fn longest_request(&self) -> Duration {
        self.operation_time + PUBLISH_TIME
    }
}

impl Config {
    /// A server on a free port of the loopback, with the default limits.
    ///
    /// ```
    /// let config = sparse_server::Config::new("/var/lib/nnz", 1 << 30);
    /// assert!(config.check().is_ok());
    /// ```
    pub fn new(data: impl Into<PathBuf>, memory: u64) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data: data.into(),
            memory,
            host_memory: 0,
            tenant_memory: u64::MAX,
            tenant_storage: u64::MAX,
            tokens: None,
            shared: None,
            descriptors: None,
            cuda_ipc: false,
            tls: None,
            #[cfg(feature = "otel")]
            otlp_endpoint: None,
            limits: Limits::default(),
        }
    }

    /// The bytes that a tenant may use of the memory of `devices` devices; none if it may use all.
    pub(crate) fn quota(&self, devices: usize) -> Option<u64> {
        let all = self.memory.saturating_mul(devices as u64);
        (self.tenant_memory < all).then_some(self.tenant_memory)
    }

    /// Checks that a server which others can reach asks for tokens and encrypts, and takes no handles of CUDA IPC, and
    /// that no limit forbids everything.
    ///
    /// # Errors
    /// [`StartError::Zero`] for such a limit, [`StartError::Unprotected`] for an address off the loopback without tokens or TLS, [`StartError::NotLocal`] for
    /// one with [`cuda_ipc`](Self::cuda_ipc).
    ///
    /// ```
    /// let mut config = sparse_server::Config::new("/var/lib/nnz", 1 << 30);
    /// config.listen = "0.0.0.0:8700".parse()?;
    /// assert!(config.check().is_err());
    /// # Ok::<(), std::net::AddrParseError>(())
    /// ```
    pub fn check(&self) -> Result<(), StartError> {
        self.check_limits()?;
        let listen = self.listen;
        match listen.ip().is_loopback() {
            true => Ok(()),
            false if self.cuda_ipc => Err(StartError::NotLocal { listen }),
            false if self.tokens.is_some() && self.tls.is_some() => Ok(()),
            false => Err(StartError::Unprotected { listen }),
        }
    }

    fn check_limits(&self) -> Result<(), StartError> {
        let limits = &self.limits;
        let limits = [
            ("--memory", self.memory == 0),
            ("--tenant-memory", self.tenant_memory == 0),
            ("--tenant-storage", self.tenant_storage == 0),
            ("--max-upload", limits.upload_bytes == 0),
            ("operand_bytes", limits.operand_bytes == 0),
            ("connections", limits.connections == 0),
            ("--operation-time", limits.operation_time.is_zero()),
            ("--job-time", limits.job_time.is_zero()),
            ("header_time", limits.header_time.is_zero()),
            ("idle_time", limits.idle_time.is_zero()),
        ];
        match limits.into_iter().find(|(_, is_zero)| *is_zero) {
            Some((limit, _)) => Err(StartError::Zero { limit }),
            None => Ok(()),
        }
    }
}

/// Parses a number of bytes: `1048576`, `512MiB`, `16G`; units are powers of 1024.
///
/// # Errors
/// A message that says what would have been right.
///
/// ```
/// assert_eq!(sparse_server::parse_bytes("16G"), Ok(16 << 30));
/// assert!(sparse_server::parse_bytes("16 apples").is_err());
/// ```
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let shift = match unit.trim().to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" => Some(0),
        "k" => Some(10),
        "m" => Some(20),
        "g" => Some(30),
        "t" => Some(40),
        _ => None,
    };
    let bytes = number.parse::<u64>().ok().zip(shift).and_then(|(n, shift)| n.checked_mul(1 << shift));
    bytes.ok_or_else(|| format!("`{text}` is no number of bytes: 1048576, 512MiB or 16G would be"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_forbids_everything_is_refused() {
        let config = Config::new("data", 1);
        assert!(config.check().is_ok());
        let refused = |change: fn(&mut Config)| {
            let mut config = config.clone();
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        assert_eq!(refused(|config| config.memory = 0), "--memory: more than 0 is needed");
        let detail = refused(|config| config.limits.operation_time = Duration::ZERO);
        assert_eq!(detail, "--operation-time: more than 0 is needed");
    }
}
