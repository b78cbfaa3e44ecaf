//! `Idempotency-Key`s of a service of several devices: the worker of the device that had the first request with a key
//! knows what became of it, and is asked before another device makes something.

use super::device_workers::DeviceWorkers;
use crate::app::App;
use crate::auth::Identity;
use crate::idempotency::{KEY, KEYS_PER_TENANT};
use crate::lock::lock;
use crate::matrices::{Segment, segment};
use crate::problem::Problem;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use std::collections::{HashMap, VecDeque};
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

/// The address at which a worker says what became of a request with a key that was to make this name.
pub(crate) const MADE: &str = "/made/{name}";

impl DeviceWorkers {
    /// The answer to a request that is to make a name on a device, or on several without its number, if the key was that
    /// of a request which has made something elsewhere.
    pub(super) async fn made_elsewhere(
        &self,
        identity: &Identity,
        (name, device): (&str, Option<usize>),
        headers: &HeaderMap,
    ) -> Result<Option<Response>, Problem> {
        let Some(key) = headers.get(KEY).filter(|key| key.len() <= 128) else { return Ok(None) };
        if let Some(made) = self.distributed.keys.find(&identity.tenant, headers)? {
            return made.answer(name).map(Some);
        }
        let earlier = self.keys.find_or_assign(&identity.tenant, key, device);
        let Some(earlier) = earlier.filter(|earlier| Some(*earlier) != device) else { return Ok(None) };
        if crate::name::check("name", name).is_err() {
            return Ok(None);
        }
        let mut question = Request::new(Body::empty());
        *question.uri_mut() = MADE.replace("{name}", name).parse().map_err(Problem::internal)?;
        question.headers_mut().insert(KEY, key.clone());
        let answer = self.workers[earlier].forward(identity, question).await?;
        if answer.status() != StatusCode::NO_CONTENT {
            return Ok(Some(answer));
        }
        // Its request failed there, or its worker is another.
        self.keys.remove(&identity.tenant, key);
        self.keys.find_or_assign(&identity.tenant, key, device);
        Ok(None)
    }
}

/// Answers as the request with a key was that made the name, or says that there is none.
pub(crate) async fn made(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    name: Segment<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    match app.keys.find(&identity.tenant, &headers)? {
        Some(made) => made.answer(&segment(name)?),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}
