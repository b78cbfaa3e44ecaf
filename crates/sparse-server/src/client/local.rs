//! Requests whose bodies and results are files of this machine that are named or passed open, and not sent.

use super::{Client, ClientAnswer, ClientError, ClientRequest, Extras, connection, file};
use crate::local_files::descriptors::BODY_DESCRIPTOR;
use crate::local_files::exchange::BODY_FILE;
use crate::upload::{RESULT_DESCRIPTOR, RESULT_FILE};
use axum::http::{HeaderName, header};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs::File;
use std::io::{BufRead, BufReader, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

impl Client {
    /// As [`send`](Self::send), where the server shares the folder of its tenant with this machine: of the body and of
    /// the answer, which is to go `to` a file, those that are in the folder are named, and no byte of them is sent. The
    /// answer is a description then, in JSON.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn send_by_files(
        &self,
        request: &ClientRequest,
        folder: &Path,
        to: Option<&Path>,
        sink: &mut dyn Write,
    ) -> Result<ClientAnswer, ClientError> {
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
        answered.map(ClientAnswer::of)
    }

    /// As [`send`](Self::send), where the server listens on the Unix socket `descriptors` of this machine: the file of
    /// the body is passed to it open, and so is `result`, which is to have the answer and is open for reading and
    /// writing. No byte of them is sent. The answer is a description then, in JSON.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn send_by_descriptors(
        &self,
        request: &ClientRequest,
        descriptors: &Path,
        result: Option<&File>,
        sink: &mut dyn Write,
    ) -> Result<ClientAnswer, ClientError> {
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
        answered.map(ClientAnswer::of)
    }
}

/// The name of a file that is in this folder.
pub fn name_in(folder: &Path, path: &Path) -> Option<String> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_there = parent.canonicalize().ok()? == folder.canonicalize().ok()?;
    is_there.then(|| path.file_name()?.to_str().map(str::to_owned)).flatten()
}

/// Passes an open file by a socket; its id.
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
