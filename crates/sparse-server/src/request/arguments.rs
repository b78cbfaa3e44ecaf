//! Arguments of handlers: parts of the path and parameters of the query, whose errors are problem documents.

use super::parameters::Parameters;
use crate::problem::Problem;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query};

/// A part of the path.
pub(crate) type Segment<T> = Result<Path<T>, PathRejection>;
/// The parameters of the query, not yet checked.
pub(crate) type Pairs = Result<Query<Vec<(String, String)>>, QueryRejection>;

/// The part of the path, or 400.
pub(crate) fn segment<T>(path: Segment<T>) -> Result<T, Problem> {
    path.map(|Path(segment)| segment).map_err(|error| Problem::bad_request(error.body_text()))
}

/// The parameters of a request, of which only those that are `known` may be there.
pub(crate) fn parameters_among(pairs: Pairs, known: &[&str]) -> Result<Parameters, Problem> {
    let Query(pairs) = pairs.map_err(|error| Problem::bad_request(error.body_text()))?;
    Parameters::new(pairs, known)
}

/// The parameters of a request, whose names its route has checked.
pub(crate) fn parameters(pairs: Pairs) -> Result<Parameters, Problem> {
    let Query(pairs) = pairs.map_err(|error| Problem::bad_request(error.body_text()))?;
    Ok(Parameters::checked(pairs))
}

/// The parameters of what is stored.
pub(crate) const PUT_PARAMETERS: [&str; 5] = ["durable", "pinned", "replace", "ttl", "labels"];

/// The parameters of an upload.
pub(crate) const UPLOAD_PARAMETERS: [&str; 7] =
    ["durable", "pinned", "replace", "ttl", "labels", "device", "parts"];
