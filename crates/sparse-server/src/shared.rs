//! Files instead of bodies, for clients on the same machine: a request names a file in the folder of its tenant that has
//! its body, and one that is to have the answer's. Where the folder is in memory (`/dev/shm`), no byte is on a disk.
//!
//! A file is a name without folders, in a folder that is opened by its name under the one that the operator has named,
//! and no symbolic link is followed: there is no path that leads elsewhere. Files are read and not mapped, so that one
//! that is cut short meanwhile is an error and no signal.

use crate::auth::Identity;
use crate::error::StartError;
use crate::front_end::FrontEnd;
use crate::name;
use crate::problem::Problem;
use crate::upload::{RESULT_FILE, UPLOAD, kind_of_media};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http_body_util::BodyExt;
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use serde_json::json;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tokio::io::AsyncWriteExt;
use tokio_util::io::ReaderStream;

/// The header that names the file of a request's body.
pub(crate) const BODY_FILE: &str = "nnz-body-file";

/// Bytes of a file that are read at once.
const PART: usize = 1 << 20;

/// The folder of files, in which each tenant has one of its own.
#[derive(Debug)]
pub(crate) struct SharedFolder(OwnedFd);

impl SharedFolder {
    pub(crate) fn open(path: &Path) -> Result<Self, StartError> {
        let folder = File::open(path).map_err(|error| StartError::file(path, error))?;
        let is_folder = folder.metadata().is_ok_and(|found| found.is_dir());
        if is_folder { Ok(Self(folder.into())) } else { Err(StartError::file(path, "a folder is needed")) }
    }

    /// The folder of a tenant.
    fn of(&self, tenant: &str) -> Result<OwnedFd, Problem> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.0, tenant, flags, Mode::empty()).map_err(|error| {
            Problem::unprocessable(format!("the folder `{tenant}` of shared files cannot be opened: {error}"))
        })
    }
}

/// Takes the body of a request from the file or the upload that it names, and puts that of the answer into another file.
pub(crate) async fn exchange(
    State(front_end): State<FrontEnd>,
    Extension(identity): Extension<Identity>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let named = |headers: &mut HeaderMap, header| headers.remove(header).map(|name| checked(header, &name));
    let body_file = named(request.headers_mut(), BODY_FILE).transpose()?;
    let result_file = named(request.headers_mut(), RESULT_FILE).transpose()?;
    let upload = match named(request.headers_mut(), UPLOAD).transpose()? {
        Some(_) if body_file.is_some() => {
            return Err(Problem::bad_request(format!("{UPLOAD} and {BODY_FILE}: one of the two is needed")));
        }
        Some(id) => Some(front_end.uploads.whole(&identity.tenant, &id).await?),
        None => None,
    };
    if let Some(upload) = &upload {
        request = with_body(request, upload.file()?, UPLOAD)?;
    }
    let files = (body_file, result_file);
    let response = with_files(&front_end, &identity, request, files, next).await?;
    upload.into_iter().for_each(|upload| upload.answered(response.status()));
    Ok(response)
}

/// Answers a request whose body, or the body of whose answer, may be in a file of the tenant's folder.
async fn with_files(
    front_end: &FrontEnd,
    identity: &Identity,
    mut request: Request,
    (body_file, result_file): (Option<String>, Option<String>),
    next: Next,
) -> Result<Response, Problem> {
    if body_file.is_none() && result_file.is_none() {
        return Ok(next.run(request).await);
    }
    let shared = front_end.shared.as_ref().ok_or_else(|| {
        Problem::bad_request(
            "this server has no shared files: it is started with --shared DIR, or send the body",
        )
    })?;
    let folder = shared.of(&identity.tenant)?;
    if let Some(name) = body_file {
        request = with_body(request, open(&folder, &name)?, BODY_FILE)?;
    }
    match result_file {
        None => Ok(next.run(request).await),
        Some(name) => {
            let result = ResultFile::create(folder, name)?;
            result.write(next.run(request).await).await
        }
    }
}

/// The name of a file in a header.
fn checked(header: &str, value: &HeaderValue) -> Result<String, Problem> {
    let name = value.to_str().unwrap_or("?");
    name::check(header, name).map_err(Problem::bad_request)?;
    Ok(name.into())
}

/// A file of a folder that is no link, no device and not known by another name elsewhere.
fn open(folder: &OwnedFd, name: &str) -> Result<File, Problem> {
    let refused = |reason: String| Problem::unprocessable(format!("{BODY_FILE} `{name}`: {reason}"));
    // Without NONBLOCK a pipe would be waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty()).map_err(|error| refused(error.to_string()))?;
    let file = File::from(file);
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() != 1 {
        return Err(refused("a regular file with one name is needed".into()));
    }
    Ok(file)
}

/// The request with the contents of a file as its body.
fn with_body(mut request: Request, file: File, header: &str) -> Result<Request, Problem> {
    let headers = request.headers_mut();
    let has_body = headers.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0");
    if has_body || headers.contains_key(header::TRANSFER_ENCODING) {
        return Err(Problem::bad_request(format!("{header}: a request without a body of its own is needed")));
    }
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(file.metadata()?.len()));
    let parts = ReaderStream::with_capacity(tokio::fs::File::from_std(file), PART);
    *request.body_mut() = Body::from_stream(parts);
    Ok(request)
}

/// A file that was made for a result, and is removed unless it has it.
struct ResultFile {
    folder: OwnedFd,
    name: String,
    file: Option<File>,
    is_written: bool,
}

impl ResultFile {
    fn create(folder: OwnedFd, name: String) -> Result<Self, Problem> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&folder, &*name, flags, Mode::from_raw_mode(0o644)) {
            Ok(file) => Ok(Self { folder, name, file: Some(file.into()), is_written: false }),
            Err(Errno::EXIST) => {
                Err(Problem::conflict(format!("{RESULT_FILE} `{name}`: there is such a file: name another")))
            }
            Err(error) => Err(Problem::unprocessable(format!("{RESULT_FILE} `{name}`: {error}"))),
        }
    }

    /// The answer with the name of the file that has its body. What is no array and no matrix stays in the answer.
    async fn write(mut self, response: Response) -> Result<Response, Problem> {
        let media = response.headers().get(header::CONTENT_TYPE).cloned();
        let is_file =
            media.as_ref().is_some_and(|media| kind_of_media(media.to_str().unwrap_or("")).is_some());
        let Some(file) = self.file.take().filter(|_| is_file && response.status() == StatusCode::OK) else {
            return Ok(response);
        };
        let (mut head, mut body) = response.into_parts();
        let (mut file, mut bytes) = (tokio::fs::File::from_std(file), 0);
        while let Some(frame) = body.frame().await {
            let frame =
                frame.map_err(|error| Problem::unavailable(format!("the result broke off: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            file.write_all(&data).await?;
            bytes += data.len();
        }
        file.flush().await?;
        self.is_written = true;
        for name in [header::CONTENT_LENGTH, header::CONTENT_TYPE] {
            head.headers.remove(name);
        }
        let media = media.as_ref().and_then(|media| media.to_str().ok());
        let about = json!({ "file": self.name, "bytes": bytes, "media_type": media });
        Ok((head.status, head.headers, Json(about)).into_response())
    }
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        if !self.is_written {
            // The client may have removed it.
            let _ = unlinkat(&self.folder, &*self.name, AtFlags::empty());
        }
    }
}
