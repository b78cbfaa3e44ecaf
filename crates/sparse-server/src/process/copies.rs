//! Copies of matrices, for requests that name matrices of several devices: the front end has each copied to the device
//! that computes, from worker to worker, and dropped once the request is answered.

use super::device_workers::DeviceWorkers;
use super::forward::json_of;
use super::supervisor::Supervisor;
use crate::app::App;
use crate::auth::Identity;
use crate::matrices::{Pairs, parameters};
use crate::problem::Problem;
use crate::task::StopOnDrop;
use crate::upload::{Encoding, NPZ, extension, read_matrix, receive};
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::{Extension, Json};
use nnz::io::FileKind;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A copy on the device of a worker, which is dropped with the value.
#[derive(Debug)]
pub(super) struct Copy {
    worker: Arc<Supervisor>,
    identity: Identity,
    number: u64,
}

impl Drop for Copy {
    fn drop(&mut self) {
        let (worker, identity, path) =
            (self.worker.clone(), self.identity.clone(), format!("{COPIES}/{}", self.number));
        tokio::spawn(async move {
            if let Err(problem) = worker.ask(Method::DELETE, &path, &identity).await {
                tracing::debug!("dropping a copy: {}", problem.detail());
            }
        });
    }
}

/// The address of copies at a worker.
pub(crate) const COPIES: &str = "/copies";
/// The address of one.
pub(crate) const COPY: &str = "/copies/{number}";

impl DeviceWorkers {
    /// Copies the matrices of other devices that a request names to the device that computes, and tells their numbers
    /// to its worker with the caller. Breaks with the answer of a worker that refuses.
    pub(super) async fn copy_all(
        &self,
        device: usize,
        names: &[String],
        identity: &mut Identity,
    ) -> Result<ControlFlow<Response, Vec<Copy>>, Problem> {
        let mut copies = vec![];
        for name in names {
            let Some(from) = self.device_of(&identity.tenant, name) else { continue };
            if from == device || identity.copies.contains_key(name) {
                continue;
            }
            match self.copy(name, from, device, identity).await? {
                ControlFlow::Continue(copy) => {
                    identity.copies.insert(name.clone(), copy.number);
                    copies.push(copy);
                }
                ControlFlow::Break(refused) => return Ok(ControlFlow::Break(refused)),
            }
        }
        Ok(ControlFlow::Continue(copies))
    }

    /// Copies one matrix, whose file goes from one worker to the other as it is read.
    async fn copy(
        &self,
        name: &str,
        from: usize,
        to: usize,
        identity: &Identity,
    ) -> Result<ControlFlow<Response, Copy>, Problem> {
        let [from, to] = [from, to].map(|device| &self.workers[device]);
        let described = from.ask(Method::GET, &format!("/v1/matrices/{name}"), identity).await?;
        if described.status() != StatusCode::OK {
            return Ok(ControlFlow::Break(described));
        }
        let view = json_of(described).await?;
        let text = |field: &str| view[field].as_str().unwrap_or_default().to_owned();
        let (name, version, format) = (text("name"), &view["version"], text("format"));
        let mut request = Request::new(Body::empty());
        *request.uri_mut() =
            format!("/v1/matrices/{name}@{version}/data").parse().map_err(Problem::internal)?;
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(NPZ));
        let file = from.forward(identity, request).await?;
        if file.status() != StatusCode::OK {
            return Ok(ControlFlow::Break(file));
        }
        let mut request = Request::new(file.into_body());
        *request.method_mut() = Method::PUT;
        *request.uri_mut() = format!("{COPIES}?name={name}&version={version}&format={format}")
            .parse()
            .map_err(Problem::internal)?;
        let copied = to.forward(identity, request).await?;
        if copied.status() != StatusCode::OK {
            return Ok(ControlFlow::Break(copied));
        }
        let number = serde_json::from_value(json_of(copied).await?).map_err(Problem::internal)?;
        Ok(ControlFlow::Continue(Copy { worker: to.clone(), identity: identity.clone(), number }))
    }
}

/// Receives a copy at the worker that is to compute with it.
pub(crate) async fn receive_copy(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    pairs: Pairs,
    body: Body,
) -> Result<Json<u64>, Problem> {
    let parameters = parameters(pairs)?;
    let (name, version) = (parameters.required::<String>("name")?, parameters.required("version")?);
    let format: String = parameters.required("format")?;
    let (limits, folder) = (&app.config.limits, app.store.disk.uploads());
    let kind = FileKind::Npz;
    let received = receive(body, Encoding::Identity, u64::MAX, limits, folder, extension(kind)).await?;
    let (store, tenant) = (app.store.clone(), identity.tenant.clone());
    let keep = move || {
        let matrix = read_matrix(&store, &tenant, received, kind)?;
        store.keep_copy((&tenant, &name, version), matrix, &format)
    };
    let caller = StopOnDrop::new(limits.operation_time);
    Ok(Json(app.workers.run(&identity.tenant, &caller.task, keep).await?))
}

/// Drops a copy.
pub(crate) async fn drop_copy(State(app): State<App>, Path(number): Path<u64>) -> StatusCode {
    app.store.drop_copy(number);
    StatusCode::NO_CONTENT
}
