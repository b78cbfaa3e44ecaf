//! Exchanges the bodies of a request and of its answer for files.

use crate::front_end::FrontEnd;
use crate::local_files::descriptors::{BODY_DESCRIPTOR, Descriptors};
use crate::problem::Problem;
use crate::request::idempotency::KEY;
use crate::request::media::kind_of_media;
use crate::request::name;
use crate::security::auth::Identity;
use crate::upload::{RESULT_DESCRIPTOR, RESULT_FILE, UPLOAD};
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
use tokio::io::AsyncWriteExt;
use tokio_util::io::ReaderStream;

/// The header that names the file of a request's body.
pub(crate) const BODY_FILE: &str = "nnz-body-file";

/// Bytes of a file that are read at once.
const PART: usize = 1 << 20;

/// Takes the body of a request from the file, the descriptor or the upload that it names, and puts that of the answer
/// into another file or descriptor.
pub(crate) async fn exchange(
    State(front_end): State<FrontEnd>,
    Extension(identity): Extension<Identity>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let body = remove_one(request.headers_mut(), &[BODY_FILE, BODY_DESCRIPTOR, UPLOAD])?;
    let result = remove_one(request.headers_mut(), &[RESULT_FILE, RESULT_DESCRIPTOR])?;
    let (mut upload, has_key) = (None, request.headers().contains_key(KEY));
    if let Some((header, name)) = body {
        let file = match header {
            BODY_FILE => open(&folder_of(&front_end, &identity)?, &name)?,
            BODY_DESCRIPTOR => descriptors_of(&front_end)?.body(&name)?,
            _ => upload.insert(front_end.uploads.whole(&identity.tenant, &name).await?).file()?,
        };
        request = with_body(request, file, header)?;
    }
    let result = match result {
        None => None,
        Some((RESULT_FILE, name)) => Some(ResultFile::create(folder_of(&front_end, &identity)?, name)?),
        Some((_, id)) => Some(ResultFile::passed(descriptors_of(&front_end)?.result(&id)?, id)),
    };
    let mut response = next.run(request).await;
    if let Some(result) = result {
        response = result.write(response).await?;
    }
    upload.into_iter().for_each(|upload| upload.answered(response.status(), has_key));
    Ok(response)
}

/// Removes these headers, of which a request may have one: that, and the name that it has.
fn remove_one(
    headers: &mut HeaderMap,
    known: &[&'static str],
) -> Result<Option<(&'static str, String)>, Problem> {
    let found: Vec<_> = known.iter().filter_map(|header| Some((*header, headers.remove(*header)?))).collect();
    match &found[..] {
        [] => Ok(None),
        [(header, value)] => Ok(Some((*header, checked(header, value)?))),
        [(first, _), (second, _), ..] => {
            Err(Problem::bad_request(format!("{first} and {second}: one of the two is needed")))
        }
    }
}

/// The name in a header.
fn checked(header: &str, value: &HeaderValue) -> Result<String, Problem> {
    let name = value.to_str().unwrap_or("?");
    name::check(header, name).map_err(Problem::bad_request)?;
    Ok(name.into())
}

/// The folder of the caller's files.
fn folder_of(front_end: &FrontEnd, identity: &Identity) -> Result<OwnedFd, Problem> {
    let shared = front_end.shared.as_ref().ok_or_else(|| {
        Problem::bad_request(
            "this server has no shared files: it is started with --shared DIR, or send the body",
        )
    })?;
    shared.of(&identity.tenant)
}

fn descriptors_of(front_end: &FrontEnd) -> Result<&Descriptors, Problem> {
    front_end.descriptors.as_ref().ok_or_else(|| {
        Problem::bad_request(
            "this server takes no descriptors: it is started with --descriptors SOCKET, or send the body",
        )
    })
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

/// A file for a result.
struct ResultFile {
    destination: Destination,
    file: Option<File>,
    is_written: bool,
}

enum Destination {
    /// A file of this folder that was made for the result, and is removed unless it has it.
    Folder(OwnedFd, String),
    /// The client's own, by this id.
    Descriptor(String),
}

impl ResultFile {
    fn create(folder: OwnedFd, name: String) -> Result<Self, Problem> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&folder, &*name, flags, Mode::from_raw_mode(0o644)) {
            Ok(file) => Ok(Self {
                destination: Destination::Folder(folder, name),
                file: Some(file.into()),
                is_written: false,
            }),
            Err(Errno::EXIST) => {
                Err(Problem::conflict(format!("{RESULT_FILE} `{name}`: there is such a file: name another")))
            }
            Err(error) => Err(Problem::unprocessable(format!("{RESULT_FILE} `{name}`: {error}"))),
        }
    }

    fn passed(file: File, id: String) -> Self {
        Self { destination: Destination::Descriptor(id), file: Some(file), is_written: false }
    }

    /// The answer with the name of the file that has its body. What is no array and no matrix stays in the answer.
    async fn write(mut self, response: Response) -> Result<Response, Problem> {
        let media = response.headers().get(header::CONTENT_TYPE).cloned();
        let is_file =
            media.as_ref().is_some_and(|media| kind_of_media(media.to_str().unwrap_or("")).is_some());
        let Some(file) = self.file.take().filter(|_| is_file && response.status() == StatusCode::OK) else {
            return Ok(response);
        };
        let (mut head, body) = response.into_parts();
        let bytes = write_body(file, body).await?;
        self.is_written = true;
        for name in [header::CONTENT_LENGTH, header::CONTENT_TYPE] {
            head.headers.remove(name);
        }
        let (key, name) = match &self.destination {
            Destination::Folder(_, name) => ("file", name),
            Destination::Descriptor(id) => ("descriptor", id),
        };
        let media = media.as_ref().and_then(|media| media.to_str().ok());
        let about = json!({ key: name, "bytes": bytes, "media_type": media });
        Ok((head.status, head.headers, Json(about)).into_response())
    }
}

/// Writes the body of an answer to a file; its bytes.
async fn write_body(file: File, mut body: Body) -> Result<usize, Problem> {
    let failed = |error| Problem::unprocessable(format!("the file of the result: {error}"));
    let (mut file, mut bytes) = (tokio::fs::File::from_std(file), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Problem::unavailable(format!("the result broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        file.write_all(&data).await.map_err(failed)?;
        bytes += data.len();
    }
    file.flush().await.map_err(failed)?;
    Ok(bytes)
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        if let Destination::Folder(folder, name) = &self.destination
            && !self.is_written
        {
            // The client may have removed it.
            let _ = unlinkat(folder, &**name, AtFlags::empty());
        }
    }
}
