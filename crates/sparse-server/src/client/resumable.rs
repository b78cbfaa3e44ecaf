//! Uploads that go on where they were when a connection breaks.

use super::{Client, ClientAnswer, ClientError, ClientRequest, Extras, connection, file, text};
use crate::upload::{UPLOAD, UPLOAD_LENGTH, UPLOAD_OFFSET};
use axum::http::{HeaderName, Method, header};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Attempts to go on with an upload that gets no further.
const ATTEMPTS: u32 = 6;
/// Time before the second attempt, which doubles with each one.
const DELAY: Duration = Duration::from_millis(200);

impl Client {
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
    ) -> Result<ClientAnswer, ClientError> {
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
        answered.map(ClientAnswer::of)
    }

    /// Begins an upload of `length` bytes, and returns its id.
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
}

impl ClientError {
    /// True if the same request may be answered well a moment later.
    fn is_passing(&self) -> bool {
        matches!(self, Self::Connection(_) | Self::Refused { status: 409 | 429 | 503, .. })
    }
}
