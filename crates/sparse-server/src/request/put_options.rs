//! Options of requests that store an object, from their parameters and conditions.

use super::etag::Tags;
use super::labels::Labels;
use super::name;
use super::parameters::Parameters;
use crate::objects::PutOptions;
use crate::problem::Problem;
use axum::http::{HeaderMap, header};

/// True if a request is to make something that is not there yet.
pub(crate) fn is_first(headers: &HeaderMap) -> Result<bool, Problem> {
    match headers.get(header::IF_NONE_MATCH) {
        None => Ok(false),
        Some(tag) if tag == "*" => Ok(true),
        Some(_) => Err(Problem::bad_request("If-None-Match: only * is understood")),
    }
}

/// The options of a request that stores an object.
pub(crate) fn put_options(parameters: &Parameters, headers: &HeaderMap) -> Result<PutOptions, Problem> {
    Ok(PutOptions {
        is_durable: parameters.flag("durable")?,
        is_pinned: parameters.flag("pinned")?,
        replaces: parameters.flag("replace")?,
        is_first: is_first(headers)?,
        if_match: Tags::of(headers, header::IF_MATCH),
        ttl: parameters.get("ttl")?,
        labels: Labels::parse(parameters.text("labels").unwrap_or_default())?,
    })
}

/// The name of a new object, which cannot choose its version.
pub(crate) fn new_name(text: &str) -> Result<&str, Problem> {
    match name::parse(text).map_err(Problem::bad_request)? {
        (name, None) => Ok(name),
        (name, Some(_)) => Err(Problem::conflict(format!(
            "versions never change: PUT {name} makes a new one, which the server numbers"
        ))),
    }
}
