//! `Idempotency-Key`s of a service of several devices: the worker of the device that had the first request with a key
//! knows what became of it, and is asked before another device makes something.

use super::device_workers::DeviceWorkers;
use super::forward::json_of;
use crate::device_state::DeviceState;
use crate::lock::lock;
use crate::problem::Problem;
use crate::request::arguments::{Segment, segment};
use crate::request::idempotency::{Earlier, KEY, KEYS_PER_TENANT, RequestLine};
use crate::security::auth::Identity;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Mutex;

/// The devices of the newest keys of each tenant, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct KeyDevices(Mutex<HashMap<String, VecDeque<(HeaderValue, usize)>>>);

impl KeyDevices {
    /// The device of a key, which becomes `device` if none has it.
    fn find_or_assign(&self, tenant: &str, key: &HeaderValue, device: Option<usize>) -> Option<usize> {
        let mut keys = lock(&self.0);
        let of_tenant = keys.entry(tenant.into()).or_default();
        if let Some((_, found)) = of_tenant.iter().find(|(known, _)| known == key) {
            return Some(*found);
        }
        let device = device?;
        if of_tenant.len() == KEYS_PER_TENANT {
            of_tenant.pop_front();
        }
        of_tenant.push_back((key.clone(), device));
        Some(device)
    }

    fn remove(&self, tenant: &str, key: &HeaderValue) {
        if let Some(of_tenant) = lock(&self.0).get_mut(tenant) {
            of_tenant.retain(|(known, _)| known != key);
        }
    }
}

/// The address at which a worker says what became of a request with a key and this line.
pub(crate) const MADE: &str = "/made/{line}";

impl DeviceWorkers {
    /// A request that is to make something on a device, or on several without its number. Breaks with its answer if its
    /// key is that of a request which has made something elsewhere.
    pub(super) async fn made_elsewhere(
        &self,
        identity: &Identity,
        device: Option<usize>,
        request: Request,
    ) -> Result<ControlFlow<Response, Request>, Problem> {
        let key = request.headers().get(KEY).filter(|key| key.len() <= 128).cloned();
        let Some(key) = key else { return Ok(ControlFlow::Continue(request)) };
        let line = RequestLine::new(request.method(), request.uri());
        if let Some(earlier) = self.distributed.keys.find(&identity.tenant, request.headers(), &line)? {
            return earlier.answer(request.into_body(), &self.limits).await.map(ControlFlow::Break);
        }
        let known = self.keys.find_or_assign(&identity.tenant, &key, device);
        let Some(known) = known.filter(|known| Some(*known) != device) else {
            return Ok(ControlFlow::Continue(request));
        };
        let mut question = Request::new(Body::empty());
        *question.uri_mut() = MADE.replace("{line}", &line.0).parse().map_err(Problem::internal)?;
        question.headers_mut().insert(KEY, key.clone());
        let answer = self.workers[known].forward(identity, question).await?;
        match answer.status() {
            StatusCode::OK => {
                let earlier: Earlier =
                    serde_json::from_value(json_of(answer).await?).map_err(Problem::internal)?;
                earlier.answer(request.into_body(), &self.limits).await.map(ControlFlow::Break)
            }
            StatusCode::NO_CONTENT => {
                // Its request failed there, or its worker is another.
                self.keys.remove(&identity.tenant, &key);
                self.keys.find_or_assign(&identity.tenant, &key, device);
                Ok(ControlFlow::Continue(request))
            }
            _ => Ok(ControlFlow::Break(answer)),
        }
    }
}

/// Says what the request with a key and this line has made, or that there is none.
pub(crate) async fn effect_of_key(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    line: Segment<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    match state.keys.find(&identity.tenant, &headers, &RequestLine(segment(line)?))? {
        Some(earlier) => Ok(Json(earlier).into_response()),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}
