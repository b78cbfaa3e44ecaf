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
            let named = to.as_deref().filter(|file| !is_stdout(file) && name_in(folder, file).is_some());
            let send = |sink: &mut dyn Write| client.send_by_files(&request, folder, named, sink);
            return match &to {
                Some(file) if named.is_none() => write(send, file, context),
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
