//! Handlers of matrices: upload, description, data and deletion.

use crate::accept::accepted_kind;
use crate::answer::{ResultFile, etag};
use crate::app::App;
use crate::auth::Identity;
use crate::etag::Tags;
use crate::idempotency::{Begun, Made, RequestLine, hashed};
use crate::labels::{Labels, Selector};
use crate::name;
use crate::objects::{Object, PutOptions, Store, View};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::task::StopOnDrop;
use crate::upload::{DeviceCsr, Reception, Upload, check_headers, is_on_device, kind_of, read_matrix};
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use nnz::io::FileKind;
use serde::Serialize;
use std::sync::Arc;

pub(crate) type Segment<T> = Result<Path<T>, PathRejection>;
pub(crate) type Pairs = Result<Query<Vec<(String, String)>>, QueryRejection>;

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

/// The parts of `name` or `name@version`.
fn parse_name(text: &str) -> Result<(&str, Option<u64>), Problem> {
    name::parse(text).map_err(Problem::bad_request)
}

/// The object of `name`, `name@version` or an alias, or its copy where the front end has made one.
pub(crate) fn find(store: &Store, identity: &Identity, text: &str) -> Result<Arc<Object>, Problem> {
    let target = identity.target(text);
    #[cfg(unix)]
    if let Some(number) = identity.copies.get(target) {
        return store.copy(*number);
    }
    let (name, version) = parse_name(target)?;
    let found = store.get(&identity.tenant, name, version);
    if target == text { found } else { found.map_err(|problem| problem.within(&format!("alias `{text}`"))) }
}

/// The task of a request that ends with it.
fn caller(app: &App) -> StopOnDrop {
    StopOnDrop::new(app.config.limits.operation_time)
}

#[derive(Serialize)]
struct List {
    matrices: Vec<View>,
}

pub(crate) async fn list(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    pairs: Pairs,
) -> Result<Response, Problem> {
    let parameters = parameters(pairs)?;
    let selector = Selector::parse(parameters.text("label").unwrap_or_default())?;
    let objects = app.store.list(&identity.tenant, &selector);
    Ok(Json(List { matrices: objects.iter().map(|object| object.view()).collect() }).into_response())
}

pub(crate) async fn describe(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
) -> Result<Response, Problem> {
    let object = find(&app.store, &identity, &segment(name)?)?;
    Ok((etag(&object), Json(object.view())).into_response())
}

/// The parameters of what is stored.
pub(crate) const PUT_PARAMETERS: [&str; 5] = ["durable", "pinned", "replace", "ttl", "labels"];

/// The parameters of an upload.
pub(crate) const UPLOAD_PARAMETERS: [&str; 7] =
    ["durable", "pinned", "replace", "ttl", "labels", "device", "parts"];

/// True if a request is to make something that is not there yet.
pub(crate) fn is_first(headers: &HeaderMap) -> Result<bool, Problem> {
    match headers.get(header::IF_NONE_MATCH) {
        None => Ok(false),
        Some(tag) if tag == "*" => Ok(true),
        Some(_) => Err(Problem::bad_request("If-None-Match: only * is understood")),
    }
}

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
    match parse_name(text)? {
        (name, None) => Ok(name),
        (name, Some(_)) => Err(Problem::conflict(format!(
            "versions never change: PUT {name} makes a new one, which the server numbers"
        ))),
    }
}

pub(crate) async fn upload(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    pairs: Pairs,
    headers: HeaderMap,
    line: RequestLine,
    body: Body,
) -> Result<Response, Problem> {
    let name = segment(name)?;
    let name = new_name(&name)?.to_owned();
    let parameters = parameters(pairs)?;
    let options = put_options(&parameters, &headers)?;
    check_device(&app.store, &parameters)?;
    let is_on_device = is_on_device(&headers);
    // That of arrays on the device is not asked for.
    let kind = if is_on_device { FileKind::Npz } else { kind_of(&headers)? };
    let limits = &app.config.limits;
    let encoding = check_headers(&headers, limits.upload_bytes)?;
    let claim = match app.keys.begin(&identity.tenant, &headers, line)? {
        Begun::First(claim) => claim,
        Begun::Before(earlier) => return earlier.answer(body, limits).await,
    };
    let body = hashed(claim.as_ref(), body);
    // What would be refused after the body is refused before it.
    drop(app.threads.admit(&identity.tenant)?);
    app.store.check_conditions(&identity.tenant, &name, &options)?;
    let reception =
        Reception { kind, encoding, limit: limits.upload_bytes, limits, folder: app.store.disk.uploads() };
    let received = match is_on_device {
        true => Upload::OnDevice(Box::new(DeviceCsr::receive(body).await?)),
        false => reception.receive_matrix(body, &app.store, &identity.tenant).await?,
    };
    let caller = caller(&app);
    let (store, task, tenant) = (app.store.clone(), caller.task.clone(), identity.tenant.clone());
    let put = move || {
        let matrix = read_matrix(&store, &tenant, received, kind, &task)?;
        task.commit()?;
        let object = store.put((&tenant, &name), matrix, options)?;
        let made = Made::of(&object);
        claim.iter().for_each(|claim| claim.record(made.clone()));
        Ok(made)
    };
    Ok(app.threads.run(&identity.tenant, &caller.task, put).await?.respond())
}

/// Fails for an upload to another device than that of this process, or to several.
fn check_device(store: &Store, parameters: &Parameters) -> Result<(), Problem> {
    if parameters.text("parts").is_some_and(|parts| parts != "auto") {
        let detail = "parameter parts: this server has one device; `nnz serve --devices` has several";
        return Err(Problem::bad_request(detail));
    }
    let own = store.device_number.unwrap_or(0);
    match parameters.get::<usize>("device")? {
        Some(device) if device != own => {
            Err(Problem::bad_request(format!("parameter device={device}: the only device is {own}")))
        }
        _ => Ok(()),
    }
}

pub(crate) async fn remove(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let text = segment(name)?;
    let (name, version) = parse_name(&text)?;
    let (name, store) = (name.to_owned(), app.store.clone());
    let caller = caller(&app);
    let (task, tenant) = (caller.task.clone(), identity.tenant.clone());
    let delete = move || {
        task.commit()?;
        store.delete((&tenant, &name, version), Tags::of(&headers, header::IF_MATCH).as_ref())
    };
    app.threads.run_brief(&caller.task, delete).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn pin(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    pairs: Pairs,
) -> Result<Response, Problem> {
    let object = find(&app.store, &identity, &segment(name)?)?;
    let parameters = parameters(pairs)?;
    let is_pinned = parameters.text("pinned").is_none() || parameters.flag("pinned")?;
    let (store, caller) = (app.store.clone(), caller(&app));
    let pinned = app.threads.run_pinning(&identity.tenant, &caller.task, move || {
        // While it is leased it is not evicted; one that cannot be read is not pinned.
        let _lease = if is_pinned { Some(store.lease(&object)?) } else { None };
        object.set_pinned(is_pinned);
        Ok(object)
    });
    Ok(Json(pinned.await?.view()).into_response())
}

pub(crate) async fn label(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    pairs: Pairs,
) -> Result<Response, Problem> {
    let object = find(&app.store, &identity, &segment(name)?)?;
    let labels = Labels::parse(parameters(pairs)?.text("labels").unwrap_or_default())?;
    let (store, caller) = (app.store.clone(), caller(&app));
    let task = caller.task.clone();
    let labelled = app.threads.run_brief(&caller.task, move || {
        task.commit()?;
        store.set_labels(&object, labels)?;
        Ok(object)
    });
    Ok(Json(labelled.await?.view()).into_response())
}

pub(crate) async fn data(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let object = find(&app.store, &identity, &segment(name)?)?;
    let (kind, store, tenant) = (accepted_kind(&headers)?, app.store.clone(), identity.tenant.clone());
    let tag = object.file_tag(kind);
    let about = [(header::ETAG, tag.clone()), (header::VARY, HeaderValue::from_static("accept"))];
    if Tags::of(&headers, header::IF_MATCH).is_some_and(|known| !known.contain(&tag)) {
        let detail = format!("If-Match: the entity tag is {}", tag.to_str().unwrap_or_default());
        return Err(Problem::new(StatusCode::PRECONDITION_FAILED, "no-match", detail));
    }
    if Tags::of(&headers, header::IF_NONE_MATCH).is_some_and(|known| known.contain(&tag)) {
        return Ok((StatusCode::NOT_MODIFIED, about).into_response());
    }
    let write = move || {
        let resident = store.lease(&object)?;
        ResultFile::write(&resident.matrix, kind, (&store, &tenant))
    };
    let caller = caller(&app);
    Ok((about, app.threads.run(&identity.tenant, &caller.task, write).await?.respond()?).into_response())
}
