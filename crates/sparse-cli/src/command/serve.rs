//! `nnz serve`: the HTTP server.

use crate::context::Context;
use crate::failure::usage;
use crate::named_device::{self, NamedDevice};
#[cfg(unix)]
use crate::settings;
use anyhow::Result;
use clap::Args;
#[cfg(unix)]
use clap::ValueEnum;
#[cfg(unix)]
use nnz::BackendKind;
use nnz::Device;
#[cfg(unix)]
use sparse_server::WorkerCommand;
use sparse_server::{Compute, Config, Limits, TlsFiles, parse_bytes, serve_until_stopped};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Serves matrices and operations on them to many clients, over HTTP
///
/// Matrices stay in the memory of devices, and are moved to DIR when others need the memory. An address that other
/// machines can reach needs --token-file (`nnz token` makes tokens), --tls-cert and --tls-key. Prints the address once
/// the server answers. SIGTERM finishes the requests in flight and stops; SIGHUP reloads tokens and certificates. An
/// option that is not given is taken from its environment variable, else from the file of --config.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz serve --data ./nnz-data --memory 4G")]
pub(crate) struct Serve {
    /// File of settings, in TOML: options by their names, as in memory = "16G"
    #[arg(long, env = "NNZ_SERVE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, env = "NNZ_SERVE_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:8700")]
    listen: SocketAddr,
    /// Folder of durable objects, uploads, and objects evicted from memory; one server per folder
    #[arg(long, env = "NNZ_SERVE_DATA", value_name = "DIR")]
    data: PathBuf,
    /// Memory of each device for matrices and operands, as in 16G
    #[arg(long, env = "NNZ_SERVE_MEMORY", value_name = "SIZE", value_parser = parse_bytes)]
    memory: u64,
    /// Memory of the host for matrices evicted from each device; beyond it they move to disk
    #[arg(long, env = "NNZ_SERVE_HOST_MEMORY", value_name = "SIZE", default_value = "0", value_parser = parse_bytes)]
    host_memory: u64,
    /// Memory that one tenant may use on all devices together [default: unlimited]
    #[arg(long, env = "NNZ_SERVE_TENANT_MEMORY", value_name = "SIZE", value_parser = parse_bytes)]
    tenant_memory: Option<u64>,
    /// Bytes that the matrices of one tenant may have in memory and on disk [default: unlimited]
    #[arg(long, env = "NNZ_SERVE_TENANT_STORAGE", value_name = "SIZE", value_parser = parse_bytes)]
    tenant_storage: Option<u64>,
    /// Requests per second of one tenant [default: unlimited]
    #[arg(long, env = "NNZ_SERVE_TENANT_RATE", value_name = "REQUESTS")]
    tenant_rate: Option<u32>,
    /// Seconds per minute that operations of one tenant may run on a device [default: unlimited]
    #[arg(long, env = "NNZ_SERVE_TENANT_SECONDS", value_name = "SECONDS")]
    tenant_seconds: Option<u32>,
    /// Largest upload
    #[arg(long, env = "NNZ_SERVE_MAX_UPLOAD", value_name = "SIZE", default_value = "64G", value_parser = parse_bytes)]
    max_upload: u64,
    /// Time limit of an operation; requests can set a shorter one
    #[arg(long, env = "NNZ_SERVE_OPERATION_TIME", value_name = "SECONDS", default_value = "600")]
    operation_time: u32,
    /// Time limit of a job
    #[arg(long, env = "NNZ_SERVE_JOB_TIME", value_name = "SECONDS", default_value = "21600")]
    job_time: u32,
    /// Time that requests and jobs in flight have to finish when the server stops
    #[arg(long, env = "NNZ_SERVE_STOP_TIME", value_name = "SECONDS", default_value = "20")]
    stop_time: u32,
    /// Time from which a request is logged and listed as slow
    #[arg(long, env = "NNZ_SERVE_SLOW_TIME", value_name = "SECONDS", default_value = "1")]
    slow_time: u32,
    /// Size of the audit log, DIR/audit.jsonl and the older files together
    #[arg(long, env = "NNZ_SERVE_AUDIT_SIZE", value_name = "SIZE", default_value = "128M", value_parser = parse_bytes)]
    audit_size: u64,
    /// File of tokens, lines of `nnz token`; without it every user of this machine may do everything
    #[arg(long, env = "NNZ_SERVE_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Folder of files that clients on this machine name instead of sending bodies; it has a folder per tenant
    #[cfg(unix)]
    #[arg(long, env = "NNZ_SERVE_SHARED", value_name = "DIR")]
    shared: Option<PathBuf>,
    /// Unix socket by which clients on this machine pass open files, such as a memfd, instead of sending bodies
    #[cfg(unix)]
    #[arg(long, env = "NNZ_SERVE_DESCRIPTORS", value_name = "SOCKET")]
    descriptors: Option<PathBuf>,
    /// Accepts arrays that clients on this machine have in the GPU's memory, by handles of CUDA IPC
    #[cfg(unix)]
    #[arg(
        long,
        env = "NNZ_SERVE_CUDA_IPC",
        value_name = "SWITCH",
        ignore_case = true,
        default_value = "off"
    )]
    cuda_ipc: Switch,
    /// Certificate chain for TLS, in PEM
    #[arg(long, env = "NNZ_SERVE_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key for TLS, in PEM
    #[arg(long, env = "NNZ_SERVE_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Certificates of authorities, in PEM, one of which must have signed a client's certificate
    #[arg(long, env = "NNZ_SERVE_TLS_CLIENT_CA", value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
    /// OpenTelemetry collector to which a span of each request is sent, as in http://127.0.0.1:4318
    #[cfg(feature = "otel")]
    #[arg(long, env = "NNZ_SERVE_OTLP_ENDPOINT", value_name = "ADDRESS")]
    otlp_endpoint: Option<String>,
    /// Stores matrices on these devices, as in cuda:0,cuda:1, each with its own worker process
    #[arg(long, env = "NNZ_SERVE_DEVICES", value_name = "LIST", value_delimiter = ',',
          value_parser = named_device::parse, conflicts_with_all = ["backend", "device"])]
    devices: Vec<NamedDevice>,
    /// Runs the device in a worker process, which is replaced if it ends [default: on for CUDA and for several devices]
    #[cfg(unix)]
    #[arg(long, env = "NNZ_SERVE_WORKERS", value_name = "SWITCH", ignore_case = true)]
    workers: Option<Switch>,
    /// Runs as the worker process of the device of this number
    #[cfg(unix)]
    #[arg(long, hide = true)]
    worker: Option<usize>,
}

/// A value of `--workers` and `--cuda-ipc`.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Serve {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        #[cfg(unix)]
        if let Some(number) = self.worker {
            return Ok(sparse_server::serve_as_worker(|| self.open(number, context))?);
        }
        let config = self.config()?;
        config.check().map_err(usage)?;
        warn_of_unknown_variables();
        let is_encrypted = config.tls.is_some();
        let mut printed = Ok(());
        serve_until_stopped(
            config,
            || self.compute(context),
            |address| {
                let scheme = if is_encrypted { "https" } else { "http" };
                printed = context.print(format_args!("{scheme}://{address}"));
            },
        )?;
        printed
    }

    /// Worker processes if requested; then the front end never opens a device.
    fn compute(&self, context: &Context) -> Result<Compute> {
        let count = self.devices.len().max(1);
        #[cfg(unix)]
        match self.workers {
            Some(Switch::Off) => (),
            None if count == 1 && !self.takes_cuda(context) => (),
            None | Some(Switch::On) => {
                let settings = self.config.as_deref().map(settings::read).transpose().map_err(usage)?;
                let command = |number| worker_command(number, settings.clone());
                let commands = (0..count).map(command).collect::<Result<_>>()?;
                return Ok(Compute::InWorkers(commands));
            }
        }
        if count > 1 {
            return Err(usage(
                "--devices: several devices need worker processes, which --workers off forbids",
            ));
        }
        Ok(Compute::Here(self.open(0, context)?))
    }

    /// True if the device is one of CUDA; it is not opened.
    #[cfg(unix)]
    fn takes_cuda(&self, context: &Context) -> bool {
        match self.devices.first() {
            Some(device) => device.backend() == BackendKind::Cuda,
            None => context.takes_cuda(),
        }
    }

    /// Opens the device of a number in `--devices`, or that of the global options.
    fn open(&self, number: usize, context: &Context) -> Result<Device> {
        match self.devices.get(number) {
            Some(device) => device.open(context),
            None => context.device(),
        }
    }

    fn config(&self) -> Result<Config> {
        // The parser does not check combinations of options that come from a file.
        if self.tls_cert.is_some() != self.tls_key.is_some()
            || (self.tls_client_ca.is_some() && self.tls_cert.is_none())
        {
            return Err(usage("--tls-cert and --tls-key: both are needed for TLS, and for --tls-client-ca"));
        }
        let client_authorities = self.tls_client_ca.clone();
        let tls = self.tls_cert.clone().zip(self.tls_key.clone());
        let tls = tls.map(|(certificate, key)| TlsFiles { certificate, key, client_authorities });
        Ok(Config {
            listen: self.listen,
            host_memory: self.host_memory,
            tenant_memory: self.tenant_memory.unwrap_or(u64::MAX),
            tenant_storage: self.tenant_storage.unwrap_or(u64::MAX),
            tokens: self.token_file.clone(),
            #[cfg(unix)]
            shared: self.shared.clone(),
            #[cfg(unix)]
            descriptors: self.descriptors.clone(),
            #[cfg(unix)]
            cuda_ipc: self.cuda_ipc == Switch::On,
            tls,
            #[cfg(feature = "otel")]
            otlp_endpoint: self.otlp_endpoint.clone(),
            limits: Limits {
                upload_bytes: self.max_upload,
                tenant_rate: self.tenant_rate,
                tenant_seconds: self.tenant_seconds,
                operation_time: Duration::from_secs(self.operation_time.into()),
                job_time: Duration::from_secs(self.job_time.into()),
                drain_time: Duration::from_secs(self.stop_time.into()),
                slow_time: Duration::from_secs(self.slow_time.into()),
                audit_bytes: self.audit_size,
                ..Limits::default()
            },
            ..Config::new(self.data.clone(), self.memory)
        })
    }
}

/// Logs variables of the environment that look like settings and are none. They are no error: Kubernetes sets some for
/// a service that is called `nnz-serve`.
fn warn_of_unknown_variables() {
    let command = Serve::augment_args(clap::Command::new("serve"));
    let known: Vec<_> = command.get_arguments().filter_map(clap::Arg::get_env).collect();
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("NNZ_SERVE_") && !known.contains(&&*name) {
            tracing::warn!("{}: no setting has this name, so it has no effect", name.to_string_lossy());
        }
    }
}

/// The command that starts this program again, as the worker of a device, with the same text of the file of settings.
#[cfg(unix)]
fn worker_command(number: usize, settings: Option<String>) -> Result<WorkerCommand> {
    // On Linux the program itself, even where another was installed in its place since.
    let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    Ok(WorkerCommand::new(move || {
        let mut command = std::process::Command::new(&program);
        command.args(&arguments).arg(format!("--worker={number}"));
        command.envs(settings.iter().map(|text| (settings::INHERITED, text)));
        command
    }))
}
