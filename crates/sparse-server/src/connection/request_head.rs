//! What HTTP leaves to the server to check in the header of a request (RFC 9112): a proxy in front of it, and the server,
//! must not understand a request in two ways.

use crate::problem::Problem;
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri, Version, header};
use axum::middleware::Next;
use axum::response::Response;

/// Fails for a request that another program may understand in another way.
pub(crate) async fn check(request: Request, next: Next) -> Result<Response, Problem> {
    check_host(request.version(), request.uri(), request.headers())?;
    check_coding(request.headers())?;
    Ok(next.run(request).await)
}

/// Fails unless there is one `Host`, with the host of an address that has one. In HTTP/1.0 there may be none.
pub(crate) fn check_host(version: Version, address: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (None, _) if version < Version::HTTP_11 => return Ok(()),
        (Some(host), None) => authority(host),
        _ => None,
    };
    let needed = || {
        Problem::bad_request(
            "one header `Host: NAME`, or NAME:PORT, is needed, as in the address if that has one",
        )
    };
    let host = host.ok_or_else(needed)?;
    if address.authority().is_none_or(|other| *other == host) { Ok(()) } else { Err(needed()) }
}

fn authority(host: &HeaderValue) -> Option<Authority> {
    let authority: Authority = host.to_str().ok()?.parse().ok()?;
    (!authority.as_str().contains('@')).then_some(authority)
}

/// Fails for a body in another coding than chunks. With a `Content-Length` beside it hyper ends the connection after the
/// answer.
fn check_coding(headers: &HeaderMap) -> Result<(), Problem> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else { return Ok(()) };
    if coding.as_bytes().eq_ignore_ascii_case(b"chunked") && codings.next().is_none() {
        return Ok(());
    }
    Err(Problem::bad_request("Transfer-Encoding: `chunked` alone is understood"))
}
