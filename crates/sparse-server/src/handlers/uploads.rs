//! Handlers of uploads that can be resumed.

use crate::front_end::FrontEnd;
use crate::problem::Problem;
use crate::request::arguments::{Segment, segment};
use crate::security::auth::Identity;
use crate::upload::{Incoming, UPLOAD_LENGTH, UPLOAD_OFFSET};
use axum::Extension;
use axum::body::{Body, HttpBody};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::task::spawn_blocking;

/// Begins an upload.
pub(crate) async fn begin(
    State(front_end): State<FrontEnd>,
    Extension(identity): Extension<Identity>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let length = number(&headers, &UPLOAD_LENGTH)?;
    let id = front_end.uploads.begin(&identity.tenant, length)?;
    let location = HeaderValue::from_str(&format!("/v1/uploads/{id}")).map_err(Problem::internal)?;
    Ok((StatusCode::CREATED, [(header::LOCATION, location), (UPLOAD_OFFSET, HeaderValue::from(0))])
        .into_response())
}

/// Says how many bytes of an upload are there; a part that is being received ends.
pub(crate) async fn describe(
    State(front_end): State<FrontEnd>,
    Extension(identity): Extension<Identity>,
    id: Segment<String>,
) -> Result<Response, Problem> {
    let upload = front_end.uploads.find(&identity.tenant, &segment(id)?)?;
    let about = [
        (UPLOAD_OFFSET, HeaderValue::from(upload.settled().await)),
        (UPLOAD_LENGTH, HeaderValue::from(upload.length)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((StatusCode::NO_CONTENT, about).into_response())
}

/// Receives the next part, of which what has come stays if the connection breaks.
pub(crate) async fn append(
    State(front_end): State<FrontEnd>,
    Extension(identity): Extension<Identity>,
    id: Segment<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let offset = number(&headers, &UPLOAD_OFFSET)?;
    let upload = front_end.uploads.find(&identity.tenant, &segment(id)?)?;
    let (mut turn, request) = upload.take_over().await;
    let received = upload.received();
    if offset != received {
        let problem = Problem::conflict(format!("Upload-Offset {offset}: {received} bytes are there"));
        return Ok(([(UPLOAD_OFFSET, HeaderValue::from(received))], problem).into_response());
    }
    let missing = upload.length - offset;
    if body.size_hint().lower() > missing {
        return Err(Problem::too_large(missing));
    }
    let mut incoming = Incoming::new(body, missing, &front_end.uploads.limits);
    loop {
        let part = tokio::select! {
            biased;
            () = request.cancelled() => return Err(Problem::conflict("another request continues the upload")),
            part = incoming.next() => part?,
        };
        let Some(part) = part else { break };
        let destination = upload.clone();
        // The turn lasts as long as the write, also where this request ends before it.
        let written = spawn_blocking(move || destination.append(&part).map(|()| turn));
        turn = written.await.map_err(Problem::internal)??;
        upload.touch();
    }
    Ok((StatusCode::NO_CONTENT, [(UPLOAD_OFFSET, HeaderValue::from(upload.received()))]).into_response())
}

/// Forgets an upload.
pub(crate) async fn remove(
    State(front_end): State<FrontEnd>,
    Extension(identity): Extension<Identity>,
    id: Segment<String>,
) -> Result<StatusCode, Problem> {
    let id = segment(id)?;
    front_end.uploads.find(&identity.tenant, &id)?;
    front_end.uploads.remove(&id);
    Ok(StatusCode::NO_CONTENT)
}

/// The number of bytes in a header.
fn number(headers: &HeaderMap, name: &HeaderName) -> Result<u64, Problem> {
    let found = headers.get(name).and_then(|value| value.to_str().ok()?.parse().ok());
    found.ok_or_else(|| Problem::bad_request(format!("header {name}: a number of bytes is needed")))
}
