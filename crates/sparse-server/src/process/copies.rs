//! Copies of matrices, for requests that name matrices of several devices: the front end has each copied to the device
//! that computes, from worker to worker, and dropped once the request is answered.

use super::device_workers::DeviceWorkers;
use super::forward::json_of;
use super::supervisor::Supervisor;
use crate::device_state::DeviceState;
use crate::execution::task::StopOnDrop;
use crate::lock::lock;
use crate::objects::CopyGuard;
use crate::problem::Problem;
use crate::request::arguments::{Pairs, parameters};
use crate::request::media::NPZ;
use crate::security::auth::Identity;
use crate::upload::{Encoding, Reception, read_matrix};
use axum::Extension;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use hyper::body::Frame;
use nnz::io::FileKind;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

/// A copy on the device of a worker, which is dropped with the value.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) number: u64,
    /// The worker's answer, which has no end: the worker drops the copy once nobody waits for it.
    answer: Mutex<Response>,
}

impl Copy {
    pub(super) fn new(number: u64, answer: Response) -> Self {
        Self { number, answer: Mutex::new(answer) }
    }

    /// False once the worker has ended, and the copy with it.
    pub(super) fn is_there(&self) -> bool {
        let mut answer = lock(&self.answer);
        let next = Pin::new(answer.body_mut()).poll_frame(&mut Context::from_waker(Waker::noop()));
        next.is_pending()
    }
}

/// The address of a copy at a worker. The front end gives each number once, so that a request never finds the copy of
/// another one in the next worker.
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
        identity.elsewhere = Some(self.elsewhere(device, &identity.tenant));
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
        // The copy is made there, and counted with what is elsewhere.
        let reader = &identity.uncounted();
        let described = from.ask(Method::GET, &format!("/v1/matrices/{name}"), reader).await?;
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
        let file = from.forward(reader, request).await?;
        if file.status() != StatusCode::OK {
            return Ok(ControlFlow::Break(file));
        }
        let number = self.copies.fetch_add(1, Ordering::Relaxed);
        let mut request = Request::new(file.into_body());
        *request.method_mut() = Method::PUT;
        *request.uri_mut() = format!("/copies/{number}?name={name}&version={version}&format={format}")
            .parse()
            .map_err(Problem::internal)?;
        let is_cut_off = |status| matches!(status, StatusCode::BAD_REQUEST | StatusCode::REQUEST_TIMEOUT);
        match to.forward(identity, request).await {
            Ok(answer) if answer.status() == StatusCode::OK => {
                Ok(ControlFlow::Continue(Copy::new(number, answer)))
            }
            Ok(answer) if is_cut_off(answer.status()) => Err(cut_off(&name, from)),
            Err(problem) if is_cut_off(problem.status) => Err(cut_off(&name, from)),
            refused => refused.map(ControlFlow::Break),
        }
    }
}

/// The problem of a copy whose file did not come to its end, for which the client can do nothing.
fn cut_off(name: &str, from: &Supervisor) -> Problem {
    Problem::unavailable(format!("copying `{name}`: {} did not send all of it: try again", from.name))
}

/// Receives a copy at the worker that is to compute with it, and keeps it while the answer is waited for.
pub(crate) async fn receive_copy(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    Path(number): Path<u64>,
    pairs: Pairs,
    body: Body,
) -> Result<Body, Problem> {
    let parameters = parameters(pairs)?;
    let (name, version) = (parameters.required::<String>("name")?, parameters.required("version")?);
    let format: String = parameters.required("format")?;
    let (limits, folder) = (&state.config.limits, state.store.disk.uploads());
    let (kind, encoding, tenant) = (FileKind::Npz, Encoding::Identity, &*identity.tenant);
    let reception = Reception { kind, encoding, limit: u64::MAX, limits, folder, tenant };
    let received = reception.receive_matrix(body, &state.store).await?;
    let (store, tenant) = (state.store.clone(), identity.tenant.clone());
    let caller = StopOnDrop::new(limits.operation_time);
    let task = caller.task.clone();
    let keep = move || {
        let matrix = read_matrix(&store, &tenant, received, kind, &task)?;
        store.insert_copy(number, (&tenant, &name, version), matrix, (&format, false))
    };
    Ok(Body::new(CopyBody(state.threads.run(&identity.tenant, &caller.task, keep).await?)))
}

/// A body that has no bytes and no end, and is dropped with its connection.
pub(super) struct CopyBody(#[allow(dead_code, reason = "it is dropped with the body")] pub(super) CopyGuard);

impl HttpBody for CopyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}
