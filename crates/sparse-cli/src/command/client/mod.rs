//! `nnz client`: requests to an HTTP server of `nnz serve`.

mod arguments;
mod output;
mod request;

use crate::context::Context;
use crate::failure::usage;
#[cfg(unix)]
use crate::file::is_stdout;
use anyhow::Result;
use arguments::Request;
use clap::Args;
#[cfg(unix)]
use output::write_by_descriptor;
use output::{print, write};
#[cfg(unix)]
use sparse_server::name_in;
use sparse_server::{Client, ClientError};
#[cfg(unix)]
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

/// Sends a request to a server of `nnz serve`
///
/// The token is in the environment variable NNZ_TOKEN. Descriptions and numbers are printed as JSON; matrices and
/// arrays are written to a file, .npz, .npy or .mtx by its name. In place of a matrix or array file, a .json file may
/// name arrays in the memory of the server's GPU by handles of CUDA IPC.
#[derive(Debug, Args)]
#[command(after_help = "Examples, with the server's address in NNZ_SERVER:
  nnz client put a.npz a
  nnz client run a spmv --operand x.npy -o y.npy")]
pub(crate) struct CallServer {
    /// Address of the server, as in http://127.0.0.1:8700
    #[arg(long, env = "NNZ_SERVER", value_name = "URL")]
    server: String,
    /// Certificates of authorities, in PEM, one of which must have signed the server's certificate
    #[arg(long, env = "NNZ_SERVER_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Certificate chain of this client, in PEM, for servers that ask for one
    #[arg(long, env = "NNZ_SERVER_CERT", value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM
    #[arg(long, env = "NNZ_SERVER_KEY", value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// The tenant's folder in the server's --shared folder on this machine: files in it are named instead of sent
    #[cfg(unix)]
    #[arg(long, env = "NNZ_SERVER_SHARED", value_name = "DIR")]
    shared: Option<PathBuf>,
    /// Socket of the server's --descriptors on this machine: files are passed open instead of sent
    #[cfg(unix)]
    #[arg(long, env = "NNZ_SERVER_DESCRIPTORS", value_name = "SOCKET", conflicts_with = "shared")]
    descriptors: Option<PathBuf>,
    #[command(subcommand)]
    request: Request,
}

impl CallServer {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let mut client =
            Client::new(&self.server, std::env::var("NNZ_TOKEN").ok(), self.ca).map_err(usage)?;
        if let Some((certificate, key)) = self.cert.zip(self.key) {
            client = client.with_certificate(certificate, key);
        }
        let parts = self.request.parts();
        let (request, out) = self.request.into_parts()?;
        #[cfg(unix)]
        if let (None, Some(folder)) = (&parts, &self.shared) {
            let named = out.as_deref().filter(|file| !is_stdout(file) && name_in(folder, file).is_some());
            let send = |sink: &mut dyn Write| client.send_by_files(&request, folder, named, sink);
            return match &out {
                Some(file) if named.is_none() => write(send, file, context),
                _ => print(send, context),
            };
        }
        #[cfg(unix)]
        if let (None, Some(socket)) = (&parts, &self.descriptors) {
            let send = |result: Option<&File>, sink: &mut dyn Write| {
                client.send_by_descriptors(&request, socket, result, sink)
            };
            return match &out {
                None => print(|sink| send(None, sink), context),
                Some(file) => write_by_descriptor(send, file, context),
            };
        }
        let send = |sink: &mut dyn Write| match &parts {
            None => client.send(&request, sink),
            Some(upload) => client.send_in_parts(&request, upload.clone(), sink),
        };
        match out {
            None => print(send, context).map_err(with_upload),
            Some(file) => write(send, &file, context),
        }
    }
}

/// An error that says how to resume an upload.
fn with_upload(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(ClientError::Incomplete { upload, .. }) => {
            let next = format!("the same command with --upload {upload} goes on within an hour");
            error.context(next)
        }
        _ => error,
    }
}
