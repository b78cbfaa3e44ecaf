//! Requests for aliases, and those that name matrices by them.

use super::claims::MatrixClaim;
use super::{Alias, Conditions, missing};
use crate::front_end::FrontEnd;
use crate::problem::Problem;
use crate::program;
use crate::request::arguments::{Pairs, Segment, parameters, segment};
use crate::request::etag::Tags;
use crate::request::name;
use crate::request::put_options::is_first;
use crate::routes::addresses::MATRIX;
use crate::security::auth::{Identity, Scope};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, Query, RawPathParams, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;
use std::collections::BTreeMap;
use tokio::task::spawn_blocking;

/// An alias as clients see it.
#[derive(Serialize)]
struct View {
    name: String,
    #[serde(flatten)]
    alias: Alias,
}

#[derive(Serialize)]
struct List {
    aliases: Vec<View>,
}

pub(crate) async fn list(
    State(front_end): State<FrontEnd>,
    Extension(identity): Extension<Identity>,
) -> Response {
    let aliases = front_end.aliases.of(&identity.tenant).into_iter();
    Json(List { aliases: aliases.map(|(name, alias)| View { name, alias }).collect() }).into_response()
}

pub(crate) async fn describe(
    State(front_end): State<FrontEnd>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
) -> Result<Response, Problem> {
    let name = alias_name(name)?;
    let alias = front_end.aliases.find(&identity.tenant, &name).ok_or_else(|| missing(&name))?;
    Ok(answer(StatusCode::OK, name, alias))
}

/// Points an alias to the matrix of the parameter `to`.
pub(crate) async fn put(
    State(front_end): State<FrontEnd>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    pairs: Pairs,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let name = alias_name(name)?;
    let parameters = parameters(pairs)?;
    let target: String = parameters.required("to")?;
    name::parse(&target).map_err(|error| Problem::bad_request(format!("parameter to: {error}")))?;
    let alias = Alias { target, durable: parameters.flag("durable")? };
    let conditions = conditions(&headers)?;
    let target = &alias.target;
    if front_end.aliases.find(&identity.tenant, target).is_some() {
        let detail = format!("`{target}` is an alias itself: name the matrix to which it points");
        return Err(Problem::conflict(detail));
    }
    let claim = front_end.aliases.claim_for_alias(&identity.tenant, &name)?;
    if front_end.compute.is_taken(&identity, &name).await? {
        let detail =
            format!("there is a matrix `{name}`, or a job makes one: an alias needs a name of its own");
        return Err(Problem::conflict(detail));
    }
    if !front_end.compute.has_matrix(&identity, target).await? {
        let detail = format!("there is no matrix `{target}`: GET /v1/matrices lists them");
        return Err(Problem::not_found(detail));
    }
    let (aliases, tenant) = (front_end.aliases.clone(), identity.tenant);
    let set = move || {
        let is_new = aliases.set((&tenant, &name), alias.clone(), &conditions)?;
        drop(claim);
        let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        Ok(answer(status, name, alias))
    };
    spawn_blocking(set).await.map_err(Problem::internal)?
}

/// Forgets an alias; the matrix stays.
pub(crate) async fn remove(
    State(front_end): State<FrontEnd>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let name = alias_name(name)?;
    let conditions = Conditions { is_first: false, ..conditions(&headers)? };
    let aliases = front_end.aliases.clone();
    let remove = move || aliases.remove((&identity.tenant, &name), &conditions);
    spawn_blocking(remove).await.map_err(Problem::internal)??;
    Ok(StatusCode::NO_CONTENT)
}

/// Tells a request which matrices its aliases point to. What stores under the name of an alias, or deletes by it, is
/// refused.
pub(crate) async fn resolve(
    State(front_end): State<FrontEnd>,
    Extension(mut identity): Extension<Identity>,
    path: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let aliases = &front_end.aliases;
    let tenant = identity.tenant.clone();
    let in_path = path.iter().flatten().find(|(key, _)| *key == "name").map(|(_, value)| value.to_owned());
    let names = Names::of(&request, in_path);
    names.deleted.iter().try_for_each(|name| aliases.check_no_alias(&tenant, name))?;
    // Who may not write makes nothing, nor does a name that is none.
    let made =
        names.made.filter(|name| identity.check(Scope::Write).is_ok() && name::check("name", name).is_ok());
    let claim = made.map(|name| aliases.claim_for_matrix(&tenant, &name)).transpose()?;
    if aliases.has_any(&tenant) {
        let targets = names.read.into_iter().filter_map(|name| {
            let alias = aliases.find(&tenant, &name)?;
            Some((name, alias.target))
        });
        identity.aliases = targets.collect::<BTreeMap<_, _>>();
        request.extensions_mut().insert(identity);
    }
    let response = next.run(request).await;
    claim.into_iter().for_each(MatrixClaim::answered);
    Ok(response)
}

/// The matrices that a request names.
#[derive(Default)]
struct Names {
    read: Vec<String>,
    /// The name of the matrix that it makes.
    made: Option<String>,
    deleted: Option<String>,
}

impl Names {
    fn of(request: &Request, in_path: Option<String>) -> Self {
        let mut names = Self::default();
        let pattern = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        match (request.method(), pattern) {
            (&Method::PUT, Some(MATRIX)) => names.made = in_path,
            (&Method::DELETE, Some(MATRIX)) => names.deleted = in_path,
            _ => names.read.extend(in_path),
        }
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(request.uri());
        for (key, value) in pairs.map(|Query(pairs)| pairs).unwrap_or_default() {
            match &*key {
                "into" => names.made = Some(value),
                "other" => names.read.push(value),
                "program" => names.read.extend(program::stored_names(&value)),
                _ => (),
            }
        }
        names
    }
}

fn alias_name(path: Segment<String>) -> Result<String, Problem> {
    let name = segment(path)?;
    name::check("alias", &name).map_err(Problem::bad_request)?;
    Ok(name)
}

fn conditions(headers: &HeaderMap) -> Result<Conditions, Problem> {
    Ok(Conditions { is_first: is_first(headers)?, if_match: Tags::of(headers, header::IF_MATCH) })
}

fn answer(status: StatusCode, name: String, alias: Alias) -> Response {
    let tag = [(header::ETAG, alias.tag())];
    (status, tag, Json(View { name, alias })).into_response()
}
