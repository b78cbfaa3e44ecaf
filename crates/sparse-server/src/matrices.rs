//! Handlers of matrices: upload, description, data, deletion and operations.

use crate::answer::{accepted_kind, matrix_file, respond};
use crate::app::{App, OperationName, check_scope};
use crate::auth::{Identity, Scope};
use crate::name;
use crate::objects::{Object, Store, View, Wishes};
use crate::operations::{Answer, Call, Cancel, Columns, Operand, Operation};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::upload::{self, Received, check_headers, extension, kind_of, read_matrix, receive};
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use nnz::DenseMatrix;
use nnz::io::FileKind;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;

type Segment<T> = Result<Path<T>, PathRejection>;
type Pairs = Result<Query<Vec<(String, String)>>, QueryRejection>;

fn segment<T>(path: Segment<T>) -> Result<T, Problem> {
    path.map(|Path(segment)| segment).map_err(|error| Problem::bad_request(error.body_text()))
}

fn parameters(pairs: Pairs, known: &[&str]) -> Result<Parameters, Problem> {
    let Query(pairs) = pairs.map_err(|error| Problem::bad_request(error.body_text()))?;
    Parameters::new(pairs, known)
}

/// The parts of `name` or `name@version`.
fn parse_name(text: &str) -> Result<(&str, Option<u64>), Problem> {
    name::parse(text).map_err(Problem::bad_request)
}

/// The object of `name` or `name@version`.
fn find(store: &Store, identity: &Identity, text: &str) -> Result<Arc<Object>, Problem> {
    let (name, version) = parse_name(text)?;
    store.get(&identity.tenant, name, version)
}

#[derive(Serialize)]
struct List {
    matrices: Vec<View>,
}

pub(crate) async fn list(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
) -> Result<Response, Problem> {
    let objects = app.store.list(&identity.tenant);
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

fn etag(object: &Object) -> [(header::HeaderName, HeaderValue); 1] {
    let tag = HeaderValue::from_str(&format!("\"{}\"", object.version));
    [(header::ETAG, tag.unwrap_or(HeaderValue::from_static("\"\"")))]
}

/// The parameters of what is stored.
const WISHES: [&str; 3] = ["durable", "pinned", "replace"];

fn wishes(parameters: &Parameters, headers: &HeaderMap) -> Result<Wishes, Problem> {
    let is_first = match headers.get(header::IF_NONE_MATCH) {
        None => false,
        Some(tag) if tag == "*" => true,
        Some(_) => return Err(Problem::bad_request("If-None-Match: only * is understood")),
    };
    Ok(Wishes {
        is_durable: parameters.flag("durable")?,
        is_pinned: parameters.flag("pinned")?,
        replaces: parameters.flag("replace")?,
        is_first,
    })
}

/// The name of a new object, which cannot choose its version.
fn new_name(text: &str) -> Result<&str, Problem> {
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
    body: Body,
) -> Result<Response, Problem> {
    let name = segment(name)?;
    let name = new_name(&name)?.to_owned();
    let wishes = wishes(&parameters(pairs, &WISHES)?, &headers)?;
    let kind = kind_of(&headers)?;
    let limits = &app.config.limits;
    check_headers(&headers, limits.upload_bytes)?;
    let folder = app.store.disk.uploads();
    let received = receive(body, limits.upload_bytes, limits, folder, extension(kind)).await?;
    let store = app.store.clone();
    let put = move || {
        let matrix = read_matrix(&store, &identity.tenant, received, kind)?;
        store.put((&identity.tenant, &name), matrix, wishes)
    };
    created(app.workers.run(put).await?)
}

fn created(object: Arc<Object>) -> Result<Response, Problem> {
    Ok((StatusCode::CREATED, etag(&object), Json(object.view())).into_response())
}

pub(crate) async fn remove(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
) -> Result<StatusCode, Problem> {
    let text = segment(name)?;
    let (name, version) = parse_name(&text)?;
    let (name, store) = (name.to_owned(), app.store.clone());
    app.workers.run(move || store.delete(&identity.tenant, &name, version)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn pin(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    pairs: Pairs,
) -> Result<Response, Problem> {
    let object = find(&app.store, &identity, &segment(name)?)?;
    let parameters = parameters(pairs, &["pinned"])?;
    let is_pinned = parameters.text("pinned").is_none() || parameters.flag("pinned")?;
    let store = app.store.clone();
    let pinned = app.workers.run(move || {
        object.set_pinned(is_pinned);
        if is_pinned {
            store.lease(&object)?;
        }
        Ok(object)
    });
    Ok(Json(pinned.await?.view()).into_response())
}

pub(crate) async fn data(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let object = find(&app.store, &identity, &segment(name)?)?;
    let (kind, store, tag) = (accepted_kind(&headers)?, app.store.clone(), etag(&object));
    let write = move || {
        let resident = store.lease(&object)?;
        matrix_file(&resident.matrix, kind, &store, &identity.tenant)
    };
    Ok((tag, app.workers.run(write).await?).into_response())
}

/// Where the result of an operation goes.
#[derive(Debug)]
enum Target {
    Answer(FileKind),
    Object(String, Wishes),
    /// Nothing is computed, only predicted.
    DryRun,
}

impl Target {
    fn new(parameters: &Parameters, headers: &HeaderMap, identity: &Identity) -> Result<Self, Problem> {
        if parameters.flag("dry_run")? {
            return Ok(Self::DryRun);
        }
        match parameters.text("into") {
            None => accepted_kind_of_result(headers).map(Self::Answer),
            Some(name) => {
                check_scope(identity, Scope::Write)?;
                Ok(Self::Object(new_name(name)?.to_owned(), wishes(parameters, headers)?))
            }
        }
    }
}

/// As [`accepted_kind`]; JSON is for results that are numbers.
fn accepted_kind_of_result(headers: &HeaderMap) -> Result<FileKind, Problem> {
    match headers.get(header::ACCEPT) {
        Some(accept) if accept == "application/json" => Ok(FileKind::Npz),
        _ => accepted_kind(headers),
    }
}

/// Sets a flag when it is dropped: by a handler whose client is gone, or that has its answer.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) async fn operate(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    path: Segment<(String, String)>,
    pairs: Pairs,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (name, operation) = segment(path)?;
    let operation = Operation::find(&operation)?;
    let parameters = parameters(pairs, &operation.known_parameters())?;
    let target = Target::new(&parameters, &headers, &identity)?;
    let object = find(&app.store, &identity, &name)?;
    let other = match (operation.has_other, parameters.text("other")) {
        (true, Some(name)) => Some(find(&app.store, &identity, name)?),
        (true, None) => return Err(Problem::bad_request("parameter `other`: a second matrix is needed")),
        (false, _) => None,
    };
    let body = receive_operand(&app, operation, &headers, body).await?;
    let cancel = CancelOnDrop(Cancel::default());
    let work = Work {
        operation,
        identity,
        object,
        other,
        body,
        parameters,
        target,
        cancel: cancel.0.clone(),
        solve_time: app.config.limits.solve_time,
    };
    let store = app.store.clone();
    let mut response = app.workers.run(move || work.run(&store)).await.unwrap_or_else(Problem::into_response);
    response.extensions_mut().insert(OperationName(operation.name));
    Ok(response)
}

async fn receive_operand(
    app: &App,
    operation: &Operation,
    headers: &HeaderMap,
    body: Body,
) -> Result<Option<Received>, Problem> {
    if operation.operand == Operand::None {
        return Ok(None);
    }
    if kind_of(headers)? != FileKind::Npy {
        let detail = format!("{} takes an array: Content-Type {} is needed", operation.name, upload::NPY);
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", detail));
    }
    let limits = &app.config.limits;
    check_headers(headers, limits.operand_bytes)?;
    let folder = app.store.disk.uploads();
    receive(body, limits.operand_bytes, limits, folder, ".npy").await.map(Some)
}

/// An operation with everything that it needs, for a worker.
struct Work {
    operation: &'static Operation,
    identity: Identity,
    object: Arc<Object>,
    other: Option<Arc<Object>>,
    body: Option<Received>,
    parameters: Parameters,
    target: Target,
    cancel: Cancel,
    solve_time: std::time::Duration,
}

impl Work {
    fn run(self, store: &Store) -> Result<Response, Problem> {
        let tenant = &*self.identity.tenant;
        let a = store.lease(&self.object)?;
        let other = self.other.map(|other| store.lease(&other)).transpose()?;
        // As it was received, as it is read, and with the matrix's type.
        let body_bytes = self.body.as_ref().map_or(Ok(0), Received::len)?;
        let mut reserved = store.reserve(tenant, body_bytes.saturating_mul(3))?;
        let operand = self.body.map(|body| read_operand(body, self.operation, &a.matrix)).transpose()?;
        let call = Call {
            a: &a.matrix,
            other: other.as_ref().map(|other| &other.matrix),
            operand,
            parameters: self.parameters,
            cancel: self.cancel,
            solve_time: self.solve_time,
        };
        let predicted = self.operation.predict(&call)?;
        if let Target::DryRun = self.target {
            return Ok(Json(json!({ "bytes": predicted.saturating_add(3 * body_bytes) })).into_response());
        }
        reserved.merge(store.reserve(tenant, predicted)?);
        let answer = self.operation.run(&call)?;
        drop(call);
        match self.target {
            Target::DryRun => Err(Problem::internal("a dry run was run")),
            Target::Answer(kind) => respond(answer, kind, store, tenant, reserved),
            Target::Object(name, wishes) => {
                let Answer::Matrix(matrix) = answer else {
                    let detail = format!("{} has no matrix to store: leave out `into`", self.operation.name);
                    return Err(Problem::bad_request(detail));
                };
                let matrix = matrix.sort()?;
                store.settle(&mut reserved, tenant, matrix.bytes() as u64)?;
                created(store.put((tenant, &name), (matrix, reserved), wishes)?)
            }
        }
    }
}

/// The array of a body in the type of the matrix.
fn read_operand(body: Received, operation: &Operation, a: &nnz::Matrix) -> Result<Columns, Problem> {
    let array = body.into_array()?;
    let fits = match operation.operand {
        Operand::None => false,
        Operand::Vector => matches!(array.shape[..], [_] | [_, 1]),
        Operand::Dense => matches!(array.shape[..], [_, _]),
        Operand::Columns => matches!(array.shape[..], [_] | [_, _]),
    };
    if !fits {
        let needed = match operation.operand {
            Operand::None => "nothing",
            Operand::Vector => "(n,) or (n, 1)",
            Operand::Dense => "(n, columns)",
            Operand::Columns => "(n,) or (n, columns)",
        };
        let (name, shape) = (operation.name, &array.shape);
        return Err(Problem::unprocessable(format!(
            "{name}: the shape of the body is {shape:?}, {needed} is needed"
        )));
    }
    let is_vector = array.shape.len() == 1;
    Ok(Columns { values: DenseMatrix::from_array(a.device(), array, a.dtype())?, is_vector })
}
