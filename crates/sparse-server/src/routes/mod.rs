//! Routes: a table, from which the routers, authorization and the [OpenAPI document](crate::routes::open_api) are made.

pub(crate) mod addresses;
pub(crate) mod open_api;
mod table;

use crate::aliases;
use crate::answer::encoding;
use crate::connection::request_head;
use crate::device_state::DeviceState;
use crate::front_end::{ComputeProcess, FrontEnd, authorize, observe};
#[cfg(unix)]
use crate::handlers::status;
#[cfg(unix)]
use crate::local_files::exchange::exchange;
use crate::problem::Problem;
#[cfg(unix)]
use crate::process;
use crate::request::arguments::{Pairs, parameters_among};
use crate::security::auth::Scope;
use crate::upload::{RESULT_ARRAY, is_on_device};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::MethodRouter;
#[cfg(unix)]
use axum::routing::{MethodFilter, get, on, post, put};
pub(crate) use table::ROUTES;

/// A method on an address.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    /// The parameters that a query may have; `None` where the handler checks them itself or ignores the query.
    pub(crate) parameters: Option<&'static [&'static str]>,
    /// The scope that a token must have; none for probes.
    pub(crate) scope: Option<Scope>,
    handler: Handler,
}

/// The part of a server that answers a route.
#[cfg_attr(not(unix), allow(dead_code, reason = "destinations are for worker processes"))]
enum Handler {
    /// The one that faces clients.
    FrontEnd(fn() -> MethodRouter<FrontEnd>),
    /// The one that holds matrices and computes, here or in worker processes, of which a request has a destination.
    Device(fn() -> MethodRouter<DeviceState>, Destination),
}

/// The part of the devices that a request goes to.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(unix), allow(dead_code, reason = "only worker processes are several"))]
pub(crate) enum Destination {
    /// The device that has the matrices of the path and the parameters; those of others are copied there.
    Matrices,
    /// The device that has the name of the path, or is to have it.
    NewMatrix,
    /// The device of the job of the path.
    Job,
    /// All devices, whose lists under this key become one.
    Lists(&'static str),
    /// All devices, whose numbers are added.
    Status,
}

impl Route {
    /// The handler at the part that faces clients, behind the checks of the route: the last layer runs first.
    fn at_front_end(&self, front_end: &FrontEnd) -> MethodRouter {
        let handler = match (&self.handler, &front_end.compute) {
            (Handler::FrontEnd(handler), _) => handler().with_state(front_end.clone()),
            (Handler::Device(handler, _), ComputeProcess::ThisProcess(state)) => {
                handler().with_state(state.clone())
            }
            #[cfg(unix)]
            (Handler::Device(_, destination), ComputeProcess::Workers(workers)) => match workers.single() {
                Some(worker) => on(self.filter(), process::forward).with_state(worker.clone()),
                None => on(self.filter(), process::dispatch).with_state((workers.clone(), *destination)),
            },
        };
        let handler = match self.handler {
            Handler::Device(..) => with_bodies_and_names(handler, front_end),
            Handler::FrontEnd(_) => handler,
        };
        let handler = match self.parameters {
            Some(known) => handler.layer(from_fn_with_state(known, check_parameters)),
            None => handler,
        };
        match self.scope {
            Some(scope) => handler.layer(from_fn_with_state((front_end.clone(), scope), authorize)),
            None => handler,
        }
    }

    #[cfg(unix)]
    fn filter(&self) -> MethodFilter {
        match self.method {
            "put" => MethodFilter::PUT,
            "post" => MethodFilter::POST,
            "delete" => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        }
    }
}

/// Exchanges files for bodies, resolves aliases and compresses answers, before a request reaches a device and after.
fn with_bodies_and_names(handler: MethodRouter, front_end: &FrontEnd) -> MethodRouter {
    #[cfg(unix)]
    let handler = handler.layer(from_fn_with_state(front_end.clone(), exchange));
    handler
        .layer(from_fn_with_state(front_end.clone(), check_device_arrays))
        .layer(from_fn_with_state(front_end.clone(), aliases::resolve))
        .layer(from_fn_with_state(front_end.clone(), encoding::encode))
}

/// Fails for a request that names arrays on the GPU, unless the server takes them.
async fn check_device_arrays(
    State(front_end): State<FrontEnd>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let headers = request.headers();
    if front_end.cuda_ipc || !(is_on_device(headers) || headers.contains_key(RESULT_ARRAY)) {
        return Ok(next.run(request).await);
    }
    let detail =
        "this server takes no handles of CUDA IPC: it is started with --cuda-ipc on, or send the body";
    Err(Problem::bad_request(detail))
}

/// Fails for a parameter that the route does not know, and which would have no effect.
async fn check_parameters(
    State(known): State<&'static [&'static str]>,
    pairs: Pairs,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    parameters_among(pairs, known)?;
    Ok(next.run(request).await)
}

/// The router of all routes.
pub(crate) fn router(front_end: &FrontEnd) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        router = router.route(route.path, route.at_front_end(front_end));
    }
    router
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(from_fn(request_head::check))
        .layer(from_fn_with_state(front_end.clone(), observe))
}

/// The router of a worker process, whose only client is the front end.
#[cfg(unix)]
pub(crate) fn worker_router(state: &DeviceState) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        if let Handler::Device(handler, _) = route.handler {
            router = router.route(route.path, handler());
        }
    }
    router
        .route(process::COPY, put(process::receive_copy))
        .route(process::DIVISIONS, post(process::divide))
        .route(process::PARTS, post(process::receive_part))
        .route(process::MADE, get(process::effect_of_key))
        .route(process::EVICT, post(process::evict))
        .route("/taken/{name}", get(status::is_taken))
        .layer(from_fn_with_state(state.clone(), process::identify))
        .route("/metrics", get(status::device_metrics))
        .route("/names", get(status::names))
        .route(process::USAGES, get(process::usages))
        .with_state(state.clone())
}

async fn not_found(uri: Uri) -> Problem {
    let path: String = uri.path().chars().take(128).collect();
    Problem::not_found(format!("there is nothing at {}: /openapi.json lists what is", path.escape_debug()))
}

async fn not_allowed(method: Method) -> Problem {
    let detail = format!("{method} is not for this address: /openapi.json lists what is");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail)
}
