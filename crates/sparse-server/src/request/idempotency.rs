//! Keys by which a request that is sent again does not take effect again.
//!
//! A request is the same as the first one with its key if method, path, query and body are. Another one is refused, as
//! in the draft "The Idempotency-Key HTTP Header Field" of the IETF. They are compared by their digests, XXH3 of 128
//! bits: a tenant who finds two requests of one digest deceives nobody else.

use crate::config::Limits;
use crate::lock::lock;
use crate::objects::Object;
use crate::problem::Problem;
use crate::upload::Incoming;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::fmt::{Debug, Formatter};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use twox_hash::XxHash3_128 as Hasher;

/// The header of a key.
pub(crate) const KEY: &str = "idempotency-key";
/// Keys of one tenant that are remembered; the oldest go first, but none whose request is at work.
pub(crate) const KEYS_PER_TENANT: usize = 1000;

/// The keys of all tenants, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<HashMap<String, VecDeque<FirstRequest>>>);

/// The first request with a key.
#[derive(Debug)]
struct FirstRequest {
    key: String,
    line: RequestLine,
    effect: Effect,
}

#[derive(Debug)]
enum Effect {
    /// The request is running.
    Pending,
    Made(Earlier),
}

/// A digest of the method, the path and the query of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestLine(pub(crate) String);

impl RequestLine {
    pub(crate) fn new(method: &Method, uri: &Uri) -> Self {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Self(digits(Hasher::oneshot(format!("{method} {path}").as_bytes())))
    }
}

impl<S: Sync> FromRequestParts<S> for RequestLine {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::new(&parts.method, &parts.uri))
    }
}

fn digits(digest: u128) -> String {
    format!("{digest:032x}")
}

/// The object that a request made, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Made {
    name: String,
    /// Its entity tag.
    tag: String,
    /// Its description in JSON.
    view: String,
}

impl Made {
    /// The answer to an upload: the name, the entity tag and the description of the matrix, as JSON.
    pub(crate) fn new(name: &str, tag: &HeaderValue, view: &impl Serialize) -> Self {
        let tag = tag.to_str().unwrap_or_default().into();
        Self { name: name.into(), tag, view: serde_json::to_string(view).unwrap_or_default() }
    }

    pub(crate) fn of(object: &Object) -> Self {
        Self::new(&object.name, &object.tag(), &object.view())
    }

    /// The answer to the request.
    pub(crate) fn respond(&self) -> Response {
        let json = (header::CONTENT_TYPE, "application/json".into());
        (StatusCode::CREATED, [(header::ETAG, self.tag.clone()), json], self.view.clone()).into_response()
    }
}

/// The effect of the first request with a key: the object that it made, and the digest of the body that it read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Earlier {
    made: Made,
    /// None if it read no body.
    body: Option<String>,
}

impl Earlier {
    /// The first answer once more, if this is the body of the first request, too.
    pub(crate) async fn answer(self, body: Body, limits: &Limits) -> Result<Response, Problem> {
        if let Some(first) = self.body
            && digest_of(body, limits).await? != first
        {
            return Err(other_request("body", Some(&self.made.name)));
        }
        Ok(self.made.respond())
    }
}

async fn digest_of(body: Body, limits: &Limits) -> Result<String, Problem> {
    let mut hasher = Hasher::new();
    let mut incoming = Incoming::new(body, limits.upload_bytes.max(limits.operand_bytes), limits);
    while let Some(data) = incoming.next().await? {
        hasher.write(&data);
    }
    Ok(digits(hasher.finish_128()))
}

/// The problem of a request that differs in this part from the first one with its key.
fn other_request(part: &str, made: Option<&str>) -> Problem {
    let made = made.map_or(String::new(), |name| format!(", which made `{name}`,"));
    let detail = format!(
        "Idempotency-Key: the first request with this key{made} had another {part}: send that one again, or this one \
         with a key of its own"
    );
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency-key", detail)
}

/// The state of a key at the start of a request.
#[derive(Debug)]
pub(crate) enum Begun {
    /// There is no key, or a new one.
    First(Option<Claim>),
    /// An earlier request with the key took effect.
    Before(Earlier),
}

/// A key whose request is at work; unless it [succeeds](Self::made), the key is forgotten.
pub(crate) struct Claim {
    keys: Arc<Keys>,
    tenant: String,
    key: String,
    /// That of the body, once it is read.
    hasher: Arc<Mutex<Option<Hasher>>>,
}

impl Keys {
    /// Claims the key of a request, if it has one. It is refused with 422 if the key is that of another request, with
    /// 409 while that is at work, and with 429 while as many with other keys are as are remembered.
    pub(crate) fn begin(
        self: &Arc<Self>,
        tenant: &str,
        headers: &HeaderMap,
        line: RequestLine,
    ) -> Result<Begun, Problem> {
        let Some(key) = key_of(headers)? else { return Ok(Begun::First(None)) };
        let mut keys = self.lock();
        let of_tenant = keys.entry(tenant.into()).or_default();
        if let Some(earlier) = earlier(of_tenant, key, &line)? {
            return Ok(Begun::Before(earlier));
        }
        if of_tenant.len() == KEYS_PER_TENANT {
            let oldest = of_tenant.iter().position(|first| !first.is_pending());
            let all_pending = || Problem::busy("too many requests with an Idempotency-Key are at work");
            of_tenant.remove(oldest.ok_or_else(all_pending)?);
        }
        of_tenant.push_back(FirstRequest { key: key.into(), line, effect: Effect::Pending });
        let hasher = Arc::default();
        Ok(Begun::First(Some(Claim { keys: self.clone(), tenant: tenant.into(), key: key.into(), hasher })))
    }

    /// Looks for the effect of the first request with the key of this one. Claims nothing; refuses as
    /// [`begin`](Self::begin) does.
    #[cfg(unix)]
    pub(crate) fn find(
        &self,
        tenant: &str,
        headers: &HeaderMap,
        line: &RequestLine,
    ) -> Result<Option<Earlier>, Problem> {
        let Some(key) = key_of(headers)? else { return Ok(None) };
        self.lock().get(tenant).map_or(Ok(None), |of_tenant| earlier(of_tenant, key, line))
    }

    /// Each `tenant/name` of an object that the request of a key has made.
    #[cfg(unix)]
    pub(crate) fn names(&self) -> Vec<String> {
        let keys = self.lock();
        let all = keys.iter().flat_map(|(tenant, keys)| keys.iter().map(move |first| (tenant, first)));
        let name = |(tenant, first): (&String, &FirstRequest)| match &first.effect {
            Effect::Made(earlier) => Some(format!("{tenant}/{}", earlier.made.name)),
            Effect::Pending => None,
        };
        all.filter_map(name).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, VecDeque<FirstRequest>>> {
        lock(&self.0)
    }
}

pub(crate) fn key_of(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(key) = headers.get(KEY) else { return Ok(None) };
    let key = key.to_str().ok().filter(|key| (1..=128).contains(&key.len()));
    let needed = || Problem::bad_request("Idempotency-Key: 1 to 128 visible characters are needed");
    key.ok_or_else(needed).map(Some)
}

fn earlier(
    requests: &VecDeque<FirstRequest>,
    key: &str,
    line: &RequestLine,
) -> Result<Option<Earlier>, Problem> {
    let Some(first) = requests.iter().find(|first| first.key == key) else { return Ok(None) };
    match &first.effect {
        Effect::Made(earlier) if first.line == *line => Ok(Some(earlier.clone())),
        Effect::Pending if first.line == *line => {
            Err(Problem::not_finished("the first request with this Idempotency-Key is at work"))
        }
        Effect::Made(earlier) => Err(other_request("method, path or query", Some(&earlier.made.name))),
        Effect::Pending => Err(other_request("method, path or query", None)),
    }
}

impl FirstRequest {
    fn is_pending(&self) -> bool {
        matches!(self.effect, Effect::Pending)
    }
}

/// The body of a request, of which a digest is made as it is read if there is a key.
pub(crate) fn hashed(claim: Option<&Claim>, body: Body) -> Body {
    let Some(Claim { hasher, .. }) = claim else { return body };
    *lock(hasher) = Some(Hasher::new());
    Body::new(HashedBody { body, hasher: hasher.clone() })
}

impl Claim {
    /// Records the object that the request made, once its body was read.
    pub(crate) fn record(&self, made: Made) {
        let body = lock(&self.hasher).as_ref().map(|hasher| digits(hasher.finish_128()));
        let earlier = Earlier { made, body };
        let mut keys = self.keys.lock();
        let of_tenant = keys.get_mut(&self.tenant);
        if let Some(first) = of_tenant.and_then(|all| all.iter_mut().find(|first| first.key == self.key)) {
            first.effect = Effect::Made(earlier);
        }
    }
}

impl Debug for Claim {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Claim").field("tenant", &self.tenant).field("key", &self.key).finish_non_exhaustive()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut keys = self.keys.lock();
        if let Some(of_tenant) = keys.get_mut(&self.tenant) {
            of_tenant.retain(|first| first.key != self.key || !first.is_pending());
        }
    }
}

struct HashedBody {
    body: Body,
    hasher: Arc<Mutex<Option<Hasher>>>,
}

impl HttpBody for HashedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
            && let Some(hasher) = &mut *lock(&self.hasher)
        {
            hasher.write(data);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(path: &'static str) -> RequestLine {
        RequestLine::new(&Method::PUT, &Uri::from_static(path))
    }

    fn begin_at(keys: &Arc<Keys>, key: &str, path: &'static str) -> Result<Begun, Problem> {
        let headers = HeaderMap::from_iter([(
            axum::http::HeaderName::from_static("idempotency-key"),
            HeaderValue::from_str(key).unwrap(),
        )]);
        keys.begin("a", &headers, line(path))
    }

    fn begin(keys: &Arc<Keys>, key: &str) -> Result<Begun, Problem> {
        begin_at(keys, key, "/m")
    }

    fn made(name: &str) -> Made {
        Made { name: name.into(), tag: "\"3\"".into(), view: "{}".into() }
    }

    #[tokio::test]
    async fn a_key_takes_effect_once() {
        let keys = Arc::<Keys>::default();
        let Ok(Begun::First(Some(failed))) = begin(&keys, "k") else { panic!("it is new") };
        assert_eq!(begin(&keys, "k").unwrap_err().status, StatusCode::CONFLICT);
        let other = begin_at(&keys, "k", "/m?durable=1").unwrap_err();
        assert_eq!(other.status, StatusCode::UNPROCESSABLE_ENTITY);
        drop(failed);
        let Ok(Begun::First(Some(claim))) = begin(&keys, "k") else {
            panic!("what failed may be tried again")
        };
        let read = axum::body::to_bytes(hashed(Some(&claim), Body::from("body")), 10).await;
        assert_eq!(read.unwrap(), "body");
        claim.record(made("m"));
        drop(claim);
        let Ok(Begun::Before(before)) = begin(&keys, "k") else { panic!("it has taken effect") };
        let limits = Limits::default();
        for (body, status) in [("body", Ok(StatusCode::CREATED)), ("bodx", Err(422)), ("", Err(422))] {
            let answer = before.clone().answer(Body::from(body), &limits).await;
            let found = answer.map(|answer| answer.status()).map_err(|problem| problem.status.as_u16());
            assert_eq!(found, status, "{body}");
        }
        for other in ["/m?durable=1", "/n", "/"] {
            let refused = begin_at(&keys, "k", other).unwrap_err();
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{other}");
        }
        (0..KEYS_PER_TENANT).for_each(|k| match begin(&keys, &format!("{k}")) {
            Ok(Begun::First(Some(claim))) => claim.record(made("n")),
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
        (0..KEYS_PER_TENANT).for_each(|k| claim(&format!("{k}")).record(made("n")));
        assert!(begin(&keys, "slow").is_err(), "it would take effect twice");
        slow.record(made("m"));
        assert!(matches!(begin(&keys, "slow"), Ok(Begun::Before(_))));
        let pending: Vec<_> = (0..KEYS_PER_TENANT).map(|k| claim(&format!("more {k}"))).collect();
        assert_eq!(begin(&keys, "one more").unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
        drop(pending);
        claim("one more");
    }
}
