//! `nnz client`: requests to an HTTP server of `nnz serve`.

use crate::context::Context;
use crate::failure::usage;
use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
#[cfg(unix)]
use sparse_server::name_in;
use sparse_server::{Client, ClientError, ClientRequest, HttpMethod};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Calls a server of `nnz serve`
///
/// The token is that of the variable NNZ_TOKEN. Descriptions and numbers go to stdout as JSON; matrices and arrays to a
/// file, .npz, .npy or .mtx by its name. A file .json in place of one of a matrix or an array says where they lie in
/// the memory of the server's GPU, by handles of CUDA IPC.
#[derive(Debug, Args)]
#[command(after_help = "Examples, with the server's address in NNZ_SERVER:
  nnz client put a.npz a
  nnz client run a spmv --operand x.npy --to y.npy")]
pub(crate) struct CallServer {
    /// The server, as in http://127.0.0.1:8700
    #[arg(long, env = "NNZ_SERVER", value_name = "URL")]
    server: String,
    /// The certificates of authorities, in PEM, one of which must have signed that of the server
    #[arg(long, env = "NNZ_SERVER_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The certificate chain of this client, in PEM, where the server asks for one
    #[arg(long, env = "NNZ_SERVER_CERT", value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM
    #[arg(long, env = "NNZ_SERVER_KEY", value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// The tenant's folder in that of the server's --shared on this machine: files there are named and not sent
    #[cfg(unix)]
    #[arg(long, env = "NNZ_SERVER_SHARED", value_name = "DIR")]
    shared: Option<PathBuf>,
    /// The socket of the server's --descriptors on this machine: files are passed open by it and not sent
    #[cfg(unix)]
    #[arg(long, env = "NNZ_SERVER_DESCRIPTORS", value_name = "SOCKET", conflicts_with = "shared")]
    descriptors: Option<PathBuf>,
    #[command(subcommand)]
    request: Request,
}

#[derive(Debug, Subcommand)]
enum Request {
    /// Shows the devices and their memory
    Status,
    /// Lists the matrices
    List {
        /// Lists those with these labels alone, as in project=pde,run
        #[arg(long, value_name = "LABELS")]
        label: Option<String>,
    },
    /// Describes a matrix, without its entries
    Describe {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Uploads a file as a new version of a matrix
    Put {
        /// The file: .mtx, .npz or .npy
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The name of the matrix
        #[arg(value_name = "NAME")]
        name: String,
        /// Parameters of the upload: durable=1 keeps it over restarts, parts=2 divides its rows over two devices
        #[arg(value_name = "KEY=VALUE", value_parser = parse_pair)]
        parameters: Vec<(String, String)>,
        /// Resumes the upload when the connection breaks
        #[arg(long)]
        resumable: bool,
        /// Resumes the upload of this id, which was broken off
        #[arg(long, value_name = "ID")]
        upload: Option<String>,
    },
    /// Writes a matrix to a file
    Get {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
        /// The file to write: .mtx, .npz or .npy
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Deletes all versions of a name, or that of name@version
    Delete {
        /// NAME for all of its versions, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Keeps a matrix in the device's memory
    Pin {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Lets a matrix leave the device's memory again
    Unpin {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Replaces the labels of a matrix
    Label {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
        /// The labels, as in project=pde,run=7
        #[arg(value_name = "LABELS")]
        labels: String,
    },
    /// Lists the aliases
    Aliases,
    /// Makes an alias of a matrix, or moves it to another matrix
    Alias {
        /// The name of the alias
        #[arg(value_name = "ALIAS")]
        alias: String,
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
        /// durable=1 keeps it over restarts
        #[arg(value_name = "KEY=VALUE", value_parser = parse_pair)]
        parameters: Vec<(String, String)>,
    },
    /// Deletes an alias; the matrix stays
    DeleteAlias {
        /// The name of the alias
        #[arg(value_name = "ALIAS")]
        alias: String,
    },
    /// Runs an operation on a matrix
    Run {
        /// The matrix: NAME for its newest version, or NAME@VERSION
        #[arg(value_name = "NAME")]
        name: String,
        /// The operation, such as spmv, spmm, solve or norm
        #[arg(value_name = "OPERATION")]
        operation: String,
        #[command(flatten)]
        computation: Computation,
    },
    /// Runs several operations in one request
    Program {
        /// The file of the steps, a list in JSON
        #[arg(value_name = "STEPS")]
        steps: PathBuf,
        #[command(flatten)]
        computation: Computation,
    },
    /// Lists the jobs
    Jobs,
    /// Shows the state, the progress and the log of a job
    Job {
        /// The id of the job, as the request that started it answered
        #[arg(value_name = "ID")]
        id: String,
        /// Answers at the end of the job, or after this time
        #[arg(long, value_name = "SECONDS", default_value = "0")]
        wait: u32,
    },
    /// Prints the result of a job, or writes it to a file
    Result {
        /// The id of the job, as the request that started it answered
        #[arg(value_name = "ID")]
        id: String,
        /// The file of the result
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
    /// Cancels a job, and forgets it and its result
    Cancel {
        /// The id of the job, as the request that started it answered
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Lists the requests that run, and the last slow ones
    Requests,
    /// Prints the metrics in the format of Prometheus
    Metrics,
}

/// Parameters, operand and result of what is computed.
#[derive(Debug, Args)]
struct Computation {
    /// Parameters, as in op=t; async=1 makes it a job
    #[arg(value_name = "KEY=VALUE", value_parser = parse_pair)]
    parameters: Vec<(String, String)>,
    /// The .npy file of the operand
    #[arg(long, value_name = "FILE")]
    operand: Option<PathBuf>,
    /// The file of the result
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// The .json file of the array on the GPU that is to have the result
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    to_array: Option<PathBuf>,
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("KEY=VALUE is needed")?;
    Ok((key.into(), value.into()))
}

impl CallServer {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let mut client =
            Client::new(&self.server, std::env::var("NNZ_TOKEN").ok(), self.ca).map_err(usage)?;
        if let Some((certificate, key)) = self.cert.zip(self.key) {
            client = client.with_certificate(certificate, key);
        }
        let parts = self.request.parts();
        let (request, to) = self.request.into_parts()?;
        #[cfg(unix)]
        if let (None, Some(folder)) = (&parts, &self.shared) {
            let send = |sink: &mut dyn Write| client.send_by_files(&request, folder, to.as_deref(), sink);
            return match &to {
                Some(file) if name_in(folder, file).is_none() => write(send, file, context),
                _ => print(send, context),
            };
        }
        #[cfg(unix)]
        if let (None, Some(socket)) = (&parts, &self.descriptors) {
            let send = |result: Option<&File>, sink: &mut dyn Write| {
                client.send_by_descriptors(&request, socket, result, sink)
            };
            return match &to {
                None => print(|sink| send(None, sink), context),
                Some(file) => write_by_descriptor(send, file, context),
            };
        }
        let send = |sink: &mut dyn Write| match &parts {
            None => client.send(&request, sink),
            Some(upload) => client.send_in_parts(&request, upload.clone(), sink),
        };
        match to {
            None => print(send, context).map_err(with_upload),
            Some(file) => write(send, &file, context),
        }
    }
}

/// An error that says how an upload goes on.
fn with_upload(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(ClientError::Incomplete { upload, .. }) => {
            let next = format!("the same command with --upload {upload} goes on within an hour");
            error.context(next)
        }
        _ => error,
    }
}

/// Sends the request, and writes the body of the answer; returns its media type.
type Sent = Result<String, ClientError>;

/// Prints an answer, which must be text.
fn print(send: impl Fn(&mut dyn Write) -> Sent, context: &Context) -> Result<()> {
    let mut answer = vec![];
    let media = send(&mut answer)?;
    match answer.is_empty() {
        true => Ok(()),
        false if is_text(&media) => context.print(String::from_utf8_lossy(&answer)),
        false => bail!("the result is {media}, of {} bytes: name a file with --to", answer.len()),
    }
}

/// True for JSON and metrics.
fn is_text(media: &str) -> bool {
    ["application/json", "application/openmetrics-text"].iter().any(|text| media.starts_with(text))
}

/// Writes an answer to a file, which is there once it is whole; JSON is printed.
fn write(send: impl Fn(&mut dyn Write) -> Sent, file: &Path, context: &Context) -> Result<()> {
    with_part(file, |part| {
        let mut sink = File::create(part).with_context(|| part.display().to_string())?;
        let media = send(&mut sink)?;
        sink.flush().with_context(|| part.display().to_string())?;
        if media.starts_with("application/json") {
            context.print(fs::read_to_string(part).with_context(|| part.display().to_string())?)?;
            return Ok(false);
        }
        Ok(true)
    })
}

/// As [`write`], where the server has the file open and writes the answer to it.
#[cfg(unix)]
fn write_by_descriptor(
    send: impl Fn(Option<&File>, &mut dyn Write) -> Sent,
    file: &Path,
    context: &Context,
) -> Result<()> {
    with_part(file, |part| {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(true);
        let result = options.open(part).with_context(|| part.display().to_string())?;
        let mut answer = vec![];
        send(Some(&result), &mut answer)?;
        context.print(String::from_utf8_lossy(&answer))?;
        let is_empty = result.metadata().with_context(|| part.display().to_string())?.len() == 0;
        Ok(!is_empty)
    })
}

/// Lets `fill` write a file of another name, which has the name `file` in the end if `fill` says that it has a result,
/// and is removed if not.
fn with_part(file: &Path, fill: impl FnOnce(&Path) -> Result<bool>) -> Result<()> {
    let part = file.with_extension("part");
    match fill(&part) {
        Ok(true) => fs::rename(&part, file).with_context(|| file.display().to_string()),
        Ok(false) => fs::remove_file(&part).with_context(|| part.display().to_string()),
        Err(error) => {
            // The first error is the one to tell.
            let _ = fs::remove_file(&part);
            Err(error)
        }
    }
}

impl Request {
    /// The upload that goes on, or None for a new one, where the body is sent in parts.
    fn parts(&self) -> Option<Option<String>> {
        match self {
            Self::Put { resumable, upload, .. } if *resumable || upload.is_some() => Some(upload.clone()),
            _ => None,
        }
    }

    /// The request, and the file of its answer.
    fn into_parts(self) -> Result<(ClientRequest, Option<PathBuf>)> {
        let ask = ClientRequest::without_body;
        let get = |path: String| ask(HttpMethod::GET, path);
        let matrix = |name: &str| format!("/v1/matrices/{}", encoded(name));
        let job = |id: &str| format!("/v1/jobs/{}", encoded(id));
        Ok(match self {
            Self::Status => (get("/v1/status".into()), None),
            Self::List { label } => {
                let pairs: Vec<_> = label.map(|label| ("label".into(), label)).into_iter().collect();
                (get(format!("/v1/matrices{}", query(&pairs))), None)
            }
            Self::Describe { name } => (get(matrix(&name)), None),
            Self::Get { name, file } => {
                let accept = media(&file)?;
                (ClientRequest { accept, ..get(format!("{}/data", matrix(&name))) }, Some(file))
            }
            Self::Delete { name } => (ask(HttpMethod::DELETE, matrix(&name)), None),
            Self::Aliases => (get("/v1/aliases".into()), None),
            Self::Alias { alias, name, parameters } => {
                let parameters = [vec![("to".into(), name)], parameters].concat();
                let path = format!("/v1/aliases/{}{}", encoded(&alias), query(&parameters));
                (ask(HttpMethod::PUT, path), None)
            }
            Self::DeleteAlias { alias } => {
                (ask(HttpMethod::DELETE, format!("/v1/aliases/{}", encoded(&alias))), None)
            }
            Self::Put { file, name, parameters, .. } => {
                let body = Some((file.clone(), media(&file)?));
                let path = matrix(&name) + &query(&parameters);
                (ClientRequest { body, ..ask(HttpMethod::PUT, path) }, None)
            }
            Self::Pin { name } => (ask(HttpMethod::PUT, format!("{}/pin", matrix(&name))), None),
            Self::Unpin { name } => (ask(HttpMethod::PUT, format!("{}/pin?pinned=0", matrix(&name))), None),
            Self::Label { name, labels } => {
                let path = format!("{}/labels{}", matrix(&name), query(&[("labels".into(), labels)]));
                (ask(HttpMethod::PUT, path), None)
            }
            Self::Run { name, operation, computation } => {
                computation.request(format!("{}/{}", matrix(&name), encoded(&operation)), vec![])?
            }
            Self::Program { steps, computation } => {
                let program = fs::read_to_string(&steps).with_context(|| steps.display().to_string())?;
                computation.request("/v1/programs".into(), vec![("program".into(), program)])?
            }
            Self::Jobs => (get("/v1/jobs".into()), None),
            Self::Job { id, wait } => (get(format!("{}?wait={wait}", job(&id))), None),
            Self::Result { id, to } => (get(format!("{}/result", job(&id))), to),
            Self::Cancel { id } => (ask(HttpMethod::DELETE, job(&id)), None),
            Self::Requests => (get("/v1/requests".into()), None),
            Self::Metrics => (get("/metrics".into()), None),
        })
    }
}

impl Computation {
    /// The request to this path with these parameters and its own, and the file of its answer.
    fn request(
        self,
        path: String,
        mut parameters: Vec<(String, String)>,
    ) -> Result<(ClientRequest, Option<PathBuf>)> {
        let Self { parameters: own, operand, to, to_array } = self;
        parameters.extend(own);
        let body = operand.map(|file| anyhow::Ok((file.clone(), media(&file)?))).transpose()?;
        let accept = to.as_deref().map_or(Ok("*/*"), media)?;
        let array =
            to_array.map(|file| fs::read_to_string(&file).with_context(|| file.display().to_string()));
        let result_array = array.transpose()?.map(|text| text.trim().replace('\n', " "));
        let path = path + &query(&parameters);
        let request = ClientRequest::without_body(HttpMethod::POST, path);
        Ok((ClientRequest { body, accept, result_array, ..request }, to))
    }
}

/// The media type of a file, by its name.
fn media(file: &Path) -> Result<&'static str> {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("npz") => Ok("application/x-npz"),
        Some("npy") => Ok("application/x-npy"),
        Some("mtx") => Ok("text/x-matrix-market"),
        Some("json") => Ok("application/x-nnz-cuda"),
        _ => Err(usage(format_args!(
            "{}: a name with .npz, .npy, .mtx or, for arrays on the GPU, .json is needed",
            file.display()
        ))),
    }
}

/// The query of these parameters, with its question mark if there are any.
fn query(pairs: &[(String, String)]) -> String {
    let pairs: Vec<_> =
        pairs.iter().map(|(key, value)| format!("{}={}", encoded(key), encoded(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~@,".contains(&byte);
    let encode = |byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}
