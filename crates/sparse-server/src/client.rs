//! A client of a server: `nnz client`.

#[cfg(unix)]
use crate::descriptors::BODY_DESCRIPTOR;
#[cfg(unix)]
use crate::shared::BODY_FILE;
use crate::tls::{self, ClientFiles};
use crate::upload::{RESULT_ARRAY, UPLOAD, UPLOAD_LENGTH, UPLOAD_OFFSET};
#[cfg(unix)]
use crate::upload::{RESULT_DESCRIPTOR, RESULT_FILE};
use axum::body::Body;
use axum::http::uri::Scheme;
use axum::http::{HeaderMap, HeaderName, Method, Request, StatusCode, Uri, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
#[cfg(unix)]
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
#[cfg(unix)]
use std::{
    fs::File,
    io::{BufRead, BufReader, IoSlice},
    mem::MaybeUninit,
    os::{fd::AsFd, unix::net::UnixStream},
};
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
    /// The media types of the answer.
    pub accept: &'static str,
    /// The array in the memory of the server's GPU that is to have the result, as JSON with a handle of CUDA IPC.
    pub result_array: Option<String>,
}

/// Headers of a request beside those that all have, and the bytes of its body that are left out.
#[derive(Debug, Default)]
struct Extras {
    headers: Vec<(HeaderName, String)>,
    offset: u64,
}

/// Attempts to go on with an upload that gets no further.
const ATTEMPTS: u32 = 6;
/// Time before the second attempt, which doubles with each one.
const DELAY: Duration = Duration::from_millis(200);

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

    /// Sends a request, and writes the body of the answer to `sink`; returns its media type.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn send(&self, request: &ClientRequest, sink: &mut dyn Write) -> Result<String, ClientError> {
        self.answer(request, &Extras::default(), sink).map(|headers| text(&headers, &header::CONTENT_TYPE))
    }

    /// As [`send`](Self::send), with the body by an upload that goes on where it was when a connection breaks: a new
    /// one, or that with the id `upload`, which broke off before.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn send_in_parts(
        &self,
        request: &ClientRequest,
        upload: Option<String>,
        sink: &mut dyn Write,
    ) -> Result<String, ClientError> {
        let Some((path, media)) = &request.body else { return self.send(request, sink) };
        let length = std::fs::metadata(path).map_err(|error| file(path, error))?.len();
        let id = upload.map_or_else(|| self.begin_upload(length), Ok)?;
        let incomplete = |reason| ClientError::Incomplete { upload: id.clone(), reason: Box::new(reason) };
        self.append_all(&id, (path, length)).map_err(incomplete)?;
        let headers = [
            (HeaderName::from_static(UPLOAD), id.clone()),
            (header::CONTENT_TYPE, (*media).to_owned()),
            (header::CONTENT_LENGTH, "0".to_owned()),
        ];
        let whole = ClientRequest { body: None, ..request.clone() };
        let answered = self.answer(&whole, &Extras { headers: headers.into(), offset: 0 }, sink);
        answered.map(|headers| text(&headers, &header::CONTENT_TYPE))
    }

    /// As [`send`](Self::send), where the server shares the folder of its tenant with this machine: of the body and of
    /// the answer, which is to go `to` a file, those that are in the folder are named, and no byte of them is sent. The
    /// answer is a description then, in JSON.
    ///
    /// # Errors
    /// [`ClientError`].
    #[cfg(unix)]
    pub fn send_by_files(
        &self,
        request: &ClientRequest,
        folder: &Path,
        to: Option<&Path>,
        sink: &mut dyn Write,
    ) -> Result<String, ClientError> {
        let (mut request, mut headers) = (request.clone(), vec![]);
        let body = request.body.as_ref();
        if let Some((name, media)) = body.and_then(|(path, media)| Some((name_in(folder, path)?, *media))) {
            headers.push((HeaderName::from_static(BODY_FILE), name));
            headers.push((header::CONTENT_TYPE, media.to_owned()));
            headers.push((header::CONTENT_LENGTH, "0".to_owned()));
            request.body = None;
        }
        headers.extend(
            to.and_then(|to| name_in(folder, to)).map(|name| (HeaderName::from_static(RESULT_FILE), name)),
        );
        let answered = self.answer(&request, &Extras { headers, offset: 0 }, sink);
        answered.map(|headers| text(&headers, &header::CONTENT_TYPE))
    }

    /// As [`send`](Self::send), where the server listens on the Unix socket `descriptors` of this machine: the file of
    /// the body is passed to it open, and so is `result`, which is to have the answer and is open for reading and
    /// writing. No byte of them is sent. The answer is a description then, in JSON.
    ///
    /// # Errors
    /// [`ClientError`].
    #[cfg(unix)]
    pub fn send_by_descriptors(
        &self,
        request: &ClientRequest,
        descriptors: &Path,
        result: Option<&File>,
        sink: &mut dyn Write,
    ) -> Result<String, ClientError> {
        // Closed behind the answer, since descriptors are forgotten with their connection.
        let socket = UnixStream::connect(descriptors).map_err(|error| file(descriptors, error))?;
        let (mut request, mut headers) = (request.clone(), vec![]);
        if let Some((path, media)) = request.body.take() {
            let body = File::open(&path).map_err(|error| file(&path, error))?;
            headers.push((HeaderName::from_static(BODY_DESCRIPTOR), pass(&socket, &body)?));
            headers.push((header::CONTENT_TYPE, media.to_owned()));
            headers.push((header::CONTENT_LENGTH, "0".to_owned()));
        }
        if let Some(result) = result {
            headers.push((HeaderName::from_static(RESULT_DESCRIPTOR), pass(&socket, result)?));
        }
        let answered = self.answer(&request, &Extras { headers, offset: 0 }, sink);
        answered.map(|headers| text(&headers, &header::CONTENT_TYPE))
    }

    /// Begins an upload of so many bytes; its id.
    fn begin_upload(&self, length: u64) -> Result<String, ClientError> {
        let begin = ClientRequest::without_body(Method::POST, "/v1/uploads".into());
        let headers = vec![(UPLOAD_LENGTH, length.to_string()), (header::CONTENT_LENGTH, "0".into())];
        let answered = self.answer(&begin, &Extras { headers, offset: 0 }, &mut std::io::sink())?;
        let location = text(&answered, &header::LOCATION);
        Ok(location.rsplit('/').next().unwrap_or_default().to_owned())
    }

    /// Sends what an upload lacks of a file of this length, on as many connections as it takes.
    fn append_all(&self, id: &str, (path, length): (&Path, u64)) -> Result<(), ClientError> {
        let address = format!("/v1/uploads/{id}");
        let describe = ClientRequest::without_body(Method::HEAD, address.clone());
        let append = ClientRequest {
            body: Some((path.into(), "application/octet-stream")),
            ..ClientRequest::without_body(Method::PATCH, address)
        };
        let (mut attempt, mut furthest) = (0, 0);
        loop {
            let described = self.answer(&describe, &Extras::default(), &mut std::io::sink());
            let failed = match described {
                Ok(headers) if text(&headers, &UPLOAD_LENGTH) != length.to_string() => {
                    let claimed = text(&headers, &UPLOAD_LENGTH);
                    return Err(file(path, format!("it has {length} bytes, and the upload is of {claimed}")));
                }
                Ok(headers) => {
                    let offset = text(&headers, &UPLOAD_OFFSET).parse().map_err(connection)?;
                    if offset == length {
                        return Ok(());
                    }
                    attempt = if offset > furthest { 0 } else { attempt };
                    furthest = offset;
                    let extras = Extras { headers: vec![(UPLOAD_OFFSET, offset.to_string())], offset };
                    self.answer(&append, &extras, &mut std::io::sink()).err()
                }
                Err(error) => Some(error),
            };
            match failed {
                None => continue,
                Some(error) if attempt + 1 == ATTEMPTS || !error.is_passing() => return Err(error),
                Some(_) => std::thread::sleep(DELAY * 2_u32.pow(attempt)),
            }
            attempt += 1;
        }
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
        Self { method, path, body: None, accept: "*/*", result_array: None }
    }
}

impl ClientError {
    /// True if the same request may be answered well a moment later.
    fn is_passing(&self) -> bool {
        matches!(self, Self::Connection(_) | Self::Refused { status: 409 | 429 | 503, .. })
    }
}

/// The name of a file that is in this folder.
#[cfg(unix)]
pub fn name_in(folder: &Path, path: &Path) -> Option<String> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_there = parent.canonicalize().ok()? == folder.canonicalize().ok()?;
    is_there.then(|| path.file_name()?.to_str().map(str::to_owned)).flatten()
}

/// Passes an open file by a socket; its id.
#[cfg(unix)]
fn pass(mut socket: &UnixStream, file: &File) -> Result<String, ClientError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [file.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(socket, &[IoSlice::new(b"f")], &mut control, SendFlags::empty()).map_err(connection)?;
    let mut line = String::new();
    BufReader::new(&mut socket).read_line(&mut line).map_err(connection)?;
    match line.trim_end() {
        "" => Err(connection("the server takes no further descriptor")),
        id if id.bytes().all(|digit| digit.is_ascii_hexdigit()) => Ok(id.to_owned()),
        refused => Err(connection(refused)),
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

fn connection(error: impl ToString) -> ClientError {
    ClientError::Connection(error.to_string())
}

fn file(path: &Path, error: impl ToString) -> ClientError {
    ClientError::File { path: path.into(), reason: error.to_string() }
}
