//! Checks of a request's header that HTTP leaves to the server (RFC 9112): a proxy in front of it, and the server, must
//! not understand a request in two ways.

use crate::problem::Problem;
use axum::extract::Request;
use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderMap, HeaderValue, Uri, Version, header};
use axum::middleware::Next;
use axum::response::Response;

/// Fails for a request that another program may understand in another way.
pub(crate) async fn check(request: Request, next: Next) -> Result<Response, Problem> {
    check_host(request.version(), request.uri(), request.headers())?;
    check_coding(request.headers())?;
    Ok(next.run(request).await)
}

/// Fails unless there is one `Host`, with the host and the port of an address that has these. It may be empty if the
/// address has none. In HTTP/1.0 there may be none.
pub(crate) fn check_host(version: Version, address: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let is_sound = match (hosts.next(), hosts.next(), address.authority()) {
        (None, ..) => version < Version::HTTP_11,
        (Some(host), None, None) => host.is_empty() || authority(host).is_some(),
        (Some(host), None, Some(target)) => authority(host).is_some_and(|host| {
            let default = if address.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
            host.host().eq_ignore_ascii_case(target.host())
                && port(&host, default).is_some_and(|found| Some(found) == port(target, default))
        }),
        _ => false,
    };
    let needed = || {
        Problem::bad_request(
            "one header `Host: NAME`, or NAME:PORT, is needed, as in the address if that has one",
        )
    };
    is_sound.then_some(()).ok_or_else(needed)
}

fn authority(host: &HeaderValue) -> Option<Authority> {
    let authority: Authority = host.to_str().ok()?.parse().ok()?;
    (!authority.as_str().contains('@')).then_some(authority)
}

/// The port, which is `default` where none is named; none if it is no number of a port.
fn port(authority: &Authority, default: u16) -> Option<u16> {
    let text = authority.as_str();
    let host_and_port = text.rsplit_once('@').map_or(text, |(_, rest)| rest);
    match host_and_port.strip_prefix(authority.host())? {
        "" | ":" => Some(default),
        rest => rest.strip_prefix(':').filter(|port| port.bytes().all(|b| b.is_ascii_digit()))?.parse().ok(),
    }
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
