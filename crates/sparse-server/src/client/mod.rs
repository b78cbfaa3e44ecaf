//! A client of a server: `nnz client`.

#[cfg(unix)]
mod local;
mod resumable;

use crate::answer::SOLUTION;
use crate::error::with_causes;
use crate::security::tls::{self, ClientFiles};
use crate::upload::RESULT_ARRAY;
use axum::body::Body;
use axum::http::uri::Scheme;
use axum::http::{HeaderMap, HeaderName, Method, Request, StatusCode, Uri, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
#[cfg(unix)]
pub use local::name_in;
use serde_json::Value;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncRead, AsyncSeekExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::io::ReaderStream;

/// A server, and what it asks of its callers. Each request has a connection of its own.
#[derive(Debug, Clone)]
pub struct Client {
    server: Uri,
    token: Option<String>,
    /// Those of TLS, if the server is called through it.
    files: Option<ClientFiles>,
}

/// A request to a server.
#[derive(Debug, Clone)]
pub struct ClientRequest {
    /// The method.
    pub method: Method,
    /// Path and query, as in `/v1/matrices/a/spmv?op=t`.
    pub path: String,
    /// The file of the body and its media type.
    pub body: Option<(PathBuf, &'static str)>,
    /// The coding of the body, such as `gzip`, if its file is packed.
    pub encoding: Option<&'static str>,
    /// The media types of the answer.
    pub accept: &'static str,
    /// The array in the memory of the server's GPU that is to have the result, as JSON with a handle of CUDA IPC.
    pub result_array: Option<String>,
}

/// The answer to a request, without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientAnswer {
    /// The media type of the body.
    pub media: String,
    /// The end of the iteration in JSON, if the body is the result of `solve`: whether it has converged, its iterations
    /// and its residual.
    pub solution: Option<String>,
}

/// Headers of a request beside those that all have, and the bytes of its body that are left out.
#[derive(Debug, Default)]
struct Extras {
    headers: Vec<(HeaderName, String)>,
    offset: u64,
}

/// The reason for which a request has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server refused the request, with this status and for this reason.
    #[error("{status}: {detail}")]
    Refused {
        /// The status.
        status: u16,
        /// The reason, and what would have been right.
        detail: String,
    },
    /// The server cannot be reached, or the connection broke.
    #[error("{0}")]
    Connection(String),
    /// An upload broke off too often: a later request can go on with it.
    #[error("{reason}; the upload {upload} is not complete")]
    Incomplete {
        /// The id of the upload.
        upload: String,
        /// The last failure.
        reason: Box<Self>,
    },
    /// A file cannot be read or written.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl Client {
    /// A client of the server at an address such as `http://127.0.0.1:8700`. A token goes through TLS or stays on this
    /// machine. With https the server's certificate must be signed by an authority of the PEM file.
    ///
    /// # Errors
    /// A message that says what would have been right.
    ///
    /// ```
    /// use sparse_server::Client;
    ///
    /// assert!(Client::new("http://127.0.0.1:8700", Some("nnz_00".into()), None).is_ok());
    /// assert!(Client::new("http://lab.example:8700", Some("nnz_00".into()), None).is_err());
    /// assert!(Client::new("127.0.0.1:8700", None, None).is_err());
    /// ```
    pub fn new(url: &str, token: Option<String>, authorities: Option<PathBuf>) -> Result<Self, String> {
        let wrong = || format!("`{url}` where http://HOST:PORT or https://HOST:PORT is right");
        let server: Uri = url.trim_end_matches('/').parse().map_err(|_| wrong())?;
        let is_tls = server.scheme() == Some(&Scheme::HTTPS);
        let host =
            server.host().filter(|_| is_tls || server.scheme() == Some(&Scheme::HTTP)).ok_or_else(wrong)?;
        if token.is_some() && !is_tls && !matches!(host, "127.0.0.1" | "localhost" | "[::1]") {
            return Err("a token is not sent without TLS: https:// is needed".into());
        }
        let files = match (is_tls, authorities) {
            (true, None) => {
                return Err("https:// needs the certificates of authorities that sign the server's".into());
            }
            (true, Some(authorities)) => Some(ClientFiles { authorities, identity: None }),
            (false, _) => None,
        };
        Ok(Self { server, token, files })
    }

    /// The client with a certificate and its key, in PEM files, for servers that ask for one (`--tls-client-ca`).
    #[must_use]
    pub fn with_certificate(mut self, certificate: PathBuf, key: PathBuf) -> Self {
        self.files = self.files.map(|files| ClientFiles { identity: Some((certificate, key)), ..files });
        self
    }

    /// Sends a request, and writes the body of the answer to `sink`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn send(&self, request: &ClientRequest, sink: &mut dyn Write) -> Result<ClientAnswer, ClientError> {
        self.answer(request, &Extras::default(), sink).map(ClientAnswer::of)
    }

    /// Sends a request, and writes the body of the answer to `sink`; returns its headers.
    fn answer(
        &self,
        request: &ClientRequest,
        extras: &Extras,
        sink: &mut dyn Write,
    ) -> Result<HeaderMap, ClientError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(connection)?.block_on(async {
            let port = if self.files.is_some() { 443 } else { 80 };
            let address = (self.host(), self.server.port_u16().unwrap_or(port));
            let stream = TcpStream::connect(address).await.map_err(|error| {
                ClientError::Connection(format!("{}:{}: {error}", self.host(), address.1))
            })?;
            match &self.files {
                None => self.exchange(stream, (request, extras), sink).await,
                Some(files) => {
                    let stream = tls::connect(files, self.host(), stream).await;
                    self.exchange(stream.map_err(ClientError::Connection)?, (request, extras), sink).await
                }
            }
        })
    }

    fn host(&self) -> &str {
        self.server.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        (request, extras): (&ClientRequest, &Extras),
        sink: &mut dyn Write,
    ) -> Result<HeaderMap, ClientError> {
        let (mut sender, connected) =
            http1::handshake::<_, Body>(TokioIo::new(stream)).await.map_err(connection)?;
        tokio::spawn(connected);
        let request = self.request(request, extras).await?;
        let response = sender.send_request(request).await.map_err(connection)?;
        let (status, headers) = (response.status(), response.headers().clone());
        if status.is_client_error() || status.is_server_error() {
            return Err(refused(status, response.into_body()).await);
        }
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.map_err(connection)?.into_data() {
                sink.write_all(&data).map_err(connection)?;
            }
        }
        Ok(headers)
    }

    async fn request(&self, request: &ClientRequest, extras: &Extras) -> Result<Request<Body>, ClientError> {
        let authority = self.server.authority().map_or("", |authority| authority.as_str());
        let mut built = Request::builder()
            .method(&request.method)
            .uri(&request.path)
            .header(header::HOST, authority)
            .header(header::ACCEPT, request.accept);
        if let Some(token) = &self.token {
            built = built.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(encoding) = request.encoding {
            built = built.header(header::CONTENT_ENCODING, encoding);
        }
        if let Some(array) = &request.result_array {
            built = built.header(RESULT_ARRAY, array);
        }
        for (name, value) in &extras.headers {
            built = built.header(name, value);
        }
        let Some((path, media)) = &request.body else { return built.body(Body::empty()).map_err(connection) };
        let unreadable = |error: std::io::Error| file(path, error);
        let mut contents = tokio::fs::File::open(path).await.map_err(unreadable)?;
        let length = contents.metadata().await.map_err(unreadable)?.len().saturating_sub(extras.offset);
        contents.seek(std::io::SeekFrom::Start(extras.offset)).await.map_err(unreadable)?;
        let built = built.header(header::CONTENT_TYPE, *media).header(header::CONTENT_LENGTH, length);
        built.body(Body::from_stream(ReaderStream::with_capacity(contents, 1 << 20))).map_err(connection)
    }
}

impl ClientRequest {
    /// A request for any kind of answer.
    #[must_use]
    pub fn without_body(method: Method, path: String) -> Self {
        Self { method, path, body: None, encoding: None, accept: "*/*", result_array: None }
    }
}

impl ClientAnswer {
    fn of(headers: HeaderMap) -> Self {
        let solution = headers.get(SOLUTION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Self { media: text(&headers, &header::CONTENT_TYPE), solution }
    }
}

/// The text of a header, empty without it.
fn text(headers: &HeaderMap, name: &HeaderName) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

async fn refused(status: StatusCode, body: Incoming) -> ClientError {
    let text = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let problem: Value = serde_json::from_slice(&text).unwrap_or_default();
    let detail =
        problem["detail"].as_str().map_or_else(|| String::from_utf8_lossy(&text).into(), str::to_owned);
    ClientError::Refused { status: status.as_u16(), detail }
}

fn connection(error: impl Into<Box<dyn Error + Send + Sync>>) -> ClientError {
    ClientError::Connection(with_causes(&*error.into()))
}

fn file(path: &Path, error: impl ToString) -> ClientError {
    ClientError::File { path: path.into(), reason: error.to_string() }
}
