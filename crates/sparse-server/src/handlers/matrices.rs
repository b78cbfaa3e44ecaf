//! Handlers of matrices: upload, description, data and deletion.

use crate::answer::accept::accepted_kind;
use crate::answer::{ResultFile, etag};
use crate::device_state::DeviceState;
use crate::execution::task::StopOnDrop;
use crate::objects::{Object, Store, View};
use crate::problem::Problem;
use crate::request::arguments::{Pairs, Segment, parameters, segment};
use crate::request::etag::Tags;
use crate::request::idempotency::{Begun, Made, RequestLine, hashed};
use crate::request::labels::{Labels, Selector};
use crate::request::name;
use crate::request::parameters::Parameters;
use crate::request::put_options::{new_name, put_options};
use crate::security::auth::Identity;
use crate::upload::{DeviceCsr, Reception, Upload, check_headers, is_on_device, kind_of, read_matrix};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use nnz::io::FileKind;
use serde::Serialize;
use std::sync::Arc;

/// The object of `name`, `name@version` or an alias, or its copy where the front end has made one.
pub(crate) fn find(store: &Store, identity: &Identity, text: &str) -> Result<Arc<Object>, Problem> {
    let target = identity.target(text);
    #[cfg(unix)]
    if let Some(number) = identity.copies.get(target) {
        return store.copy(*number);
    }
    let (name, version) = name::parse(target).map_err(Problem::bad_request)?;
    let found = store.get(&identity.tenant, name, version);
    if target == text { found } else { found.map_err(|problem| problem.within(&format!("alias `{text}`"))) }
}

/// The task of a request that ends with it.
fn caller(state: &DeviceState) -> StopOnDrop {
    StopOnDrop::new(state.config.limits.operation_time)
}

#[derive(Serialize)]
struct List {
    matrices: Vec<View>,
}

pub(crate) async fn list(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    pairs: Pairs,
) -> Result<Response, Problem> {
    let parameters = parameters(pairs)?;
    let selector = Selector::parse(parameters.text("label").unwrap_or_default())?;
    let objects = state.store.list(&identity.tenant, &selector);
    Ok(Json(List { matrices: objects.iter().map(|object| object.view()).collect() }).into_response())
}

pub(crate) async fn describe(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
) -> Result<Response, Problem> {
    let object = find(&state.store, &identity, &segment(name)?)?;
    Ok((etag(&object), Json(object.view())).into_response())
}

pub(crate) async fn upload(
    State(state): State<DeviceState>,
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
    check_device(&state.store, &parameters)?;
    let is_on_device = is_on_device(&headers);
    // That of arrays on the device is not asked for.
    let kind = if is_on_device { FileKind::Npz } else { kind_of(&headers)? };
    let limits = &state.config.limits;
    let encoding = check_headers(&headers, limits.upload_bytes)?;
    let claim = match state.keys.begin(&identity.tenant, &headers, line)? {
        Begun::First(claim) => claim,
        Begun::Before(earlier) => return earlier.answer(body, limits).await,
    };
    let body = hashed(claim.as_ref(), body);
    // What would be refused after the body is refused before it.
    drop(state.threads.admit(&identity.tenant)?);
    state.store.check_conditions(&identity.tenant, &name, &options)?;
    let (folder, tenant) = (state.store.disk.uploads(), &*identity.tenant);
    let reception = Reception { kind, encoding, limit: limits.upload_bytes, limits, folder, tenant };
    let received = match is_on_device {
        true => Upload::OnDevice(Box::new(DeviceCsr::receive(body, limits).await?)),
        false => reception.receive_matrix(body, &state.store).await?,
    };
    let caller = caller(&state);
    let (store, task, tenant) = (state.store.clone(), caller.task.clone(), identity.tenant.clone());
    let put = move || {
        let matrix = read_matrix(&store, &tenant, received, kind, &task)?;
        task.commit()?;
        let object = store.put((&tenant, &name), matrix, options, &task)?;
        let made = Made::of(&object);
        claim.iter().for_each(|claim| claim.record(made.clone()));
        Ok(made)
    };
    Ok(state.threads.run(&identity.tenant, &caller.task, put).await?.respond())
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
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let text = segment(name)?;
    let (name, version) = name::parse(&text).map_err(Problem::bad_request)?;
    let (name, store) = (name.to_owned(), state.store.clone());
    let caller = caller(&state);
    let (task, tenant) = (caller.task.clone(), identity.tenant.clone());
    let delete = move || {
        task.commit()?;
        store.delete((&tenant, &name, version), Tags::of(&headers, header::IF_MATCH).as_ref())
    };
    state.threads.run_brief(&caller.task, delete).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn pin(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    pairs: Pairs,
) -> Result<Response, Problem> {
    let object = find(&state.store, &identity, &segment(name)?)?;
    let parameters = parameters(pairs)?;
    let is_pinned = parameters.text("pinned").is_none() || parameters.flag("pinned")?;
    let (store, caller) = (state.store.clone(), caller(&state));
    let pinned = state.threads.run_pinning(&identity.tenant, &caller.task, move || {
        // While it is leased it is not evicted; one that cannot be read is not pinned.
        let _lease = if is_pinned { Some(store.lease(&object)?) } else { None };
        object.set_pinned(is_pinned);
        Ok(object)
    });
    Ok(Json(pinned.await?.view()).into_response())
}

pub(crate) async fn label(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    pairs: Pairs,
) -> Result<Response, Problem> {
    let object = find(&state.store, &identity, &segment(name)?)?;
    let labels = Labels::parse(parameters(pairs)?.text("labels").unwrap_or_default())?;
    let (store, caller) = (state.store.clone(), caller(&state));
    let task = caller.task.clone();
    let labelled = state.threads.run_brief(&caller.task, move || {
        task.commit()?;
        store.set_labels(&object, labels)?;
        Ok(object)
    });
    Ok(Json(labelled.await?.view()).into_response())
}

pub(crate) async fn data(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let object = find(&state.store, &identity, &segment(name)?)?;
    let (kind, store, tenant) = (accepted_kind(&headers)?, state.store.clone(), identity.tenant.clone());
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
    let caller = caller(&state);
    Ok((about, state.threads.run(&identity.tenant, &caller.task, write).await?.respond()?).into_response())
}
