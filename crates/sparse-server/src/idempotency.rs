//! Keys by which a request that is sent again does not take effect again.

use crate::lock::lock;
use crate::objects::Object;
use crate::problem::Problem;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

/// The header of a key.
pub(crate) const KEY: &str = "idempotency-key";
/// Keys of one tenant that are remembered; the oldest go first, but none whose request is at work.
pub(crate) const KEYS_PER_TENANT: usize = 1000;

/// The keys of all tenants, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<HashMap<String, VecDeque<(String, Effect)>>>);

/// The effect of the request with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Effect {
    /// The request is running.
    Pending,
    Made(Made),
}

/// The object that a request made, as it was then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    name: String,
    tag: HeaderValue,
    /// Its description in JSON.
    view: Vec<u8>,
}

impl Made {
    /// The answer to an upload: the name, the entity tag and the description of the matrix, as JSON.
    pub(crate) fn new(name: &str, tag: HeaderValue, view: &impl Serialize) -> Self {
        Self { name: name.into(), tag, view: serde_json::to_vec(view).unwrap_or_default() }
    }

    pub(crate) fn of(object: &Object) -> Self {
        Self::new(&object.name, object.tag(), &object.view())
    }

    /// The first answer once more, for a request that is to make the same name.
    pub(crate) fn answer(self, name: &str) -> Result<Response, Problem> {
        if name == self.name {
            let json = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            return Ok((StatusCode::CREATED, [(header::ETAG, self.tag), json], self.view).into_response());
        }
        let detail = format!("this Idempotency-Key belongs to a request that made `{}`", self.name);
        Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency-key", detail))
    }
}

/// The state of a key at the start of a request.
#[derive(Debug)]
pub(crate) enum Begun {
    /// There is no key, or a new one.
    First(Option<Claim>),
    /// An earlier request with the key made this.
    Before(Made),
}

/// A key whose request is at work; unless it [succeeds](Self::made), the key is forgotten.
#[derive(Debug)]
pub(crate) struct Claim {
    keys: Arc<Keys>,
    tenant: String,
    key: String,
}

impl Keys {
    /// Claims the key of a request, if it has one; 429 while another request with it is at work, or as many with others
    /// as are remembered.
    pub(crate) fn begin(self: &Arc<Self>, tenant: &str, headers: &HeaderMap) -> Result<Begun, Problem> {
        let Some(key) = key_of(headers)? else { return Ok(Begun::First(None)) };
        let mut keys = self.lock();
        let of_tenant = keys.entry(tenant.into()).or_default();
        if let Some(made) = made_by(of_tenant, key)? {
            return Ok(Begun::Before(made));
        }
        if of_tenant.len() == KEYS_PER_TENANT {
            let oldest = of_tenant.iter().position(|(_, effect)| *effect != Effect::Pending);
            let all_pending = || Problem::busy("too many requests with an Idempotency-Key are at work");
            of_tenant.remove(oldest.ok_or_else(all_pending)?);
        }
        of_tenant.push_back((key.into(), Effect::Pending));
        Ok(Begun::First(Some(Claim { keys: self.clone(), tenant: tenant.into(), key: key.into() })))
    }

    /// The object that a request with a key has made, if it has; 429 while it is at work.
    #[cfg(unix)]
    pub(crate) fn find(&self, tenant: &str, headers: &HeaderMap) -> Result<Option<Made>, Problem> {
        let Some(key) = key_of(headers)? else { return Ok(None) };
        self.lock().get(tenant).map_or(Ok(None), |of_tenant| made_by(of_tenant, key))
    }

    /// Each `tenant/name` of an object that the request of a key has made.
    #[cfg(unix)]
    pub(crate) fn names(&self) -> Vec<String> {
        let keys = self.lock();
        let made =
            keys.iter().flat_map(|(tenant, keys)| keys.iter().map(move |(_, effect)| (tenant, effect)));
        let name = |(tenant, effect): (&String, &Effect)| match effect {
            Effect::Made(made) => Some(format!("{tenant}/{}", made.name)),
            Effect::Pending => None,
        };
        made.filter_map(name).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, VecDeque<(String, Effect)>>> {
        lock(&self.0)
    }
}

pub(crate) fn key_of(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(key) = headers.get(KEY) else { return Ok(None) };
    let key = key.to_str().ok().filter(|key| (1..=128).contains(&key.len()));
    let needed = || Problem::bad_request("Idempotency-Key: 1 to 128 visible characters are needed");
    key.ok_or_else(needed).map(Some)
}

fn made_by(keys: &VecDeque<(String, Effect)>, key: &str) -> Result<Option<Made>, Problem> {
    match keys.iter().find(|(known, _)| known == key) {
        Some((_, Effect::Made(made))) => Ok(Some(made.clone())),
        Some((_, Effect::Pending)) => Err(Problem::busy("a request with this Idempotency-Key is at work")),
        None => Ok(None),
    }
}

impl Claim {
    /// Remembers what the request made.
    pub(crate) fn made(&self, made: Made) {
        let mut keys = self.keys.lock();
        let of_tenant = keys.get_mut(&self.tenant);
        if let Some((_, effect)) = of_tenant.and_then(|all| all.iter_mut().find(|(key, _)| *key == self.key))
        {
            *effect = Effect::Made(made);
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut keys = self.keys.lock();
        if let Some(of_tenant) = keys.get_mut(&self.tenant) {
            of_tenant.retain(|(key, effect)| *key != self.key || *effect != Effect::Pending);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(keys: &Arc<Keys>, key: &str) -> Result<Begun, Problem> {
        let headers = HeaderMap::from_iter([(
            axum::http::HeaderName::from_static("idempotency-key"),
            HeaderValue::from_str(key).unwrap(),
        )]);
        keys.begin("a", &headers)
    }

    fn made(name: &str) -> Made {
        Made { name: name.into(), tag: HeaderValue::from_static("\"3\""), view: b"{}".to_vec() }
    }

    #[test]
    fn a_key_takes_effect_once() {
        let keys = Arc::<Keys>::default();
        let Ok(Begun::First(Some(failed))) = begin(&keys, "k") else { panic!("it is new") };
        assert_eq!(begin(&keys, "k").unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
        drop(failed);
        let Ok(Begun::First(Some(claim))) = begin(&keys, "k") else {
            panic!("what failed may be tried again")
        };
        claim.made(made("m"));
        drop(claim);
        let Ok(Begun::Before(before)) = begin(&keys, "k") else { panic!("it has taken effect") };
        assert_eq!(before.clone().answer("m").unwrap().status(), StatusCode::CREATED);
        assert_eq!(before.answer("n").unwrap_err().status, StatusCode::UNPROCESSABLE_ENTITY);
        (0..KEYS_PER_TENANT).for_each(|k| match begin(&keys, &format!("{k}")) {
            Ok(Begun::First(Some(claim))) => claim.made(made("n")),
            other => panic!("{other:?}"),
        });
        assert!(matches!(begin(&keys, "k"), Ok(Begun::First(_))), "the oldest goes first");
    }

    #[test]
    fn a_key_whose_request_is_at_work_is_not_forgotten() {
        let keys = Arc::<Keys>::default();
        let claim = |key: &str| match begin(&keys, key) {
            Ok(Begun::First(Some(claim))) => claim,
            other => panic!("{other:?}"),
        };
        let slow = claim("slow");
        (0..KEYS_PER_TENANT).for_each(|k| claim(&format!("{k}")).made(made("n")));
        assert!(begin(&keys, "slow").is_err(), "it would take effect twice");
        slow.made(made("m"));
        assert!(matches!(begin(&keys, "slow"), Ok(Begun::Before(_))));
        let pending: Vec<_> = (0..KEYS_PER_TENANT).map(|k| claim(&format!("more {k}"))).collect();
        assert_eq!(begin(&keys, "one more").unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
        drop(pending);
        claim("one more");
    }
}
