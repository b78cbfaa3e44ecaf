//! Keys by which a request that is sent again does not take effect again.

use crate::problem::Problem;
use axum::http::{HeaderMap, StatusCode};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keys of one tenant that are remembered; the oldest go first.
const KEYS_PER_TENANT: usize = 1000;

/// The keys of all tenants, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<HashMap<String, VecDeque<(String, Effect)>>>);

/// The effect of the request with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Effect {
    /// The request is running.
    Pending,
    /// The name and version of the object that it made.
    Made(String, u64),
}

/// The state of a key at the start of a request.
#[derive(Debug)]
pub(crate) enum Begun {
    /// There is no key, or a new one.
    First(Option<Claim>),
    /// The name and version of the object that an earlier request made.
    Before(String, u64),
}

/// A key whose request is at work; unless it [succeeds](Self::made), the key is forgotten.
#[derive(Debug)]
pub(crate) struct Claim {
    keys: Arc<Keys>,
    tenant: String,
    key: String,
}

impl Keys {
    /// Claims the key of a request, if it has one; 429 while another request with it is at work.
    pub(crate) fn begin(self: &Arc<Self>, tenant: &str, headers: &HeaderMap) -> Result<Begun, Problem> {
        let Some(key) = headers.get("idempotency-key") else { return Ok(Begun::First(None)) };
        let key =
            key.to_str().ok().filter(|key| (1..=128).contains(&key.len())).ok_or_else(|| {
                Problem::bad_request("Idempotency-Key: 1 to 128 visible characters are needed")
            })?;
        let mut keys = self.lock();
        let of_tenant = keys.entry(tenant.into()).or_default();
        match of_tenant.iter().find(|(known, _)| known == key) {
            Some((_, Effect::Made(name, version))) => return Ok(Begun::Before(name.clone(), *version)),
            Some((_, Effect::Pending)) => {
                return Err(Problem::busy("a request with this Idempotency-Key is at work"));
            }
            None => (),
        }
        if of_tenant.len() == KEYS_PER_TENANT {
            of_tenant.pop_front();
        }
        of_tenant.push_back((key.into(), Effect::Pending));
        Ok(Begun::First(Some(Claim { keys: self.clone(), tenant: tenant.into(), key: key.into() })))
    }

    /// Each `tenant/name` of an object that the request of a key has made.
    #[cfg(unix)]
    pub(crate) fn names(&self) -> Vec<String> {
        let keys = self.lock();
        let made =
            keys.iter().flat_map(|(tenant, keys)| keys.iter().map(move |(_, effect)| (tenant, effect)));
        let name = |(tenant, effect): (&String, &Effect)| match effect {
            Effect::Made(name, _) => Some(format!("{tenant}/{name}")),
            Effect::Pending => None,
        };
        made.filter_map(name).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, VecDeque<(String, Effect)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// Remembers what the request made.
    pub(crate) fn made(&self, name: &str, version: u64) {
        let mut keys = self.keys.lock();
        let of_tenant = keys.get_mut(&self.tenant);
        if let Some((_, effect)) = of_tenant.and_then(|all| all.iter_mut().find(|(key, _)| *key == self.key))
        {
            *effect = Effect::Made(name.into(), version);
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

/// The refusal of a key that belongs to another name.
pub(crate) fn wrong_name(made: &str) -> Problem {
    let detail = format!("this Idempotency-Key belongs to a request that made `{made}`");
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency-key", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn begin(keys: &Arc<Keys>, key: &str) -> Result<Begun, Problem> {
        let headers = HeaderMap::from_iter([(
            axum::http::HeaderName::from_static("idempotency-key"),
            HeaderValue::from_str(key).unwrap(),
        )]);
        keys.begin("a", &headers)
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
        claim.made("m", 3);
        drop(claim);
        assert!(matches!(begin(&keys, "k"), Ok(Begun::Before(name, 3)) if name == "m"));
        (0..KEYS_PER_TENANT).for_each(|k| match begin(&keys, &format!("{k}")) {
            Ok(Begun::First(Some(claim))) => claim.made("n", 1),
            other => panic!("{other:?}"),
        });
        assert!(matches!(begin(&keys, "k"), Ok(Begun::First(_))), "the oldest goes first");
    }
}
