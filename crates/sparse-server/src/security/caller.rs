//! Headers that say who calls: the token, or, without tokens, the host and origin of a browser on this machine.

use crate::problem::Problem;
use crate::upload::RESULT_ARRAY;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, header};
use std::net::IpAddr;

/// The token of a request, if it has one.
pub(crate) fn token_of(headers: &HeaderMap) -> Result<Option<&[u8]>, Problem> {
    Ok(single(headers, "Authorization")?.and_then(|value| bearer(value.as_bytes())))
}

/// The header `name`, if it is there. Two of them are refused: a proxy may have looked at the other one.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a HeaderValue>, Problem> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.count()) {
        (value, 0) => Ok(value),
        (_, others) => Err(Problem::bad_request(format!("{} headers `{name}`: one is needed", others + 1))),
    }
}

/// The headers of data that a request may have once; those that stand for bodies are looked at where they are taken.
pub(crate) const SINGLE: [&str; 6] =
    ["Content-Encoding", "Content-Type", "Idempotency-Key", "Upload-Length", "Upload-Offset", RESULT_ARRAY];

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
}

/// Fails for requests that pages of other sites make a browser of this machine send, which tokens would keep out.
pub(crate) fn check_local(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or(""));
    let host = text(header::HOST).unwrap_or("");
    if !is_local(host) {
        return Err(Problem::forbidden(
            "without tokens only the Host localhost, 127.0.0.1, [::1] and other loopback addresses are served",
        ));
    }
    let is_same =
        |origin: &str| origin.split_once("://").is_some_and(|(_, other)| other.eq_ignore_ascii_case(host));
    match text(header::ORIGIN) {
        Some(origin) if !is_same(origin) => {
            Err(Problem::forbidden("without tokens requests of other sites are refused"))
        }
        _ => Ok(()),
    }
}

/// True for a `Host` that names this machine, as an address that no other site's name can resolve to.
fn is_local(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_loopback = address.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    is_loopback || name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn other_sites_are_kept_out_without_tokens() {
        use header::{HOST, ORIGIN};
        assert!(check_local(&headers(&[(HOST, "127.0.0.1:8700")])).is_ok());
        assert!(check_local(&headers(&[(HOST, "[::1]:8700"), (ORIGIN, "http://[::1]:8700")])).is_ok());
        for local in ["127.0.0.2:8700", "[::1]", "LOCALHOST", "localhost:80"] {
            assert!(is_local(local), "{local}");
        }
        for other in ["", "10.0.0.1", "localhost.example", "[::2]:80", "127.0.0.1.example", "::1"] {
            assert!(!is_local(other), "{other}");
        }
        assert!(check_local(&headers(&[(HOST, "rebound.example:8700")])).is_err());
        assert!(check_local(&headers(&[(HOST, "localhost:8700"), (ORIGIN, "https://a.example")])).is_err());
        assert!(check_local(&headers(&[(HOST, "localhost:8700"), (ORIGIN, "null")])).is_err());
    }
}
