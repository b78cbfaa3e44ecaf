//! The table of routes, from which the routers, authorization and the [OpenAPI document](crate::open_api) are made.

use crate::aliases;
use crate::answer_encoding;
use crate::app::App;
use crate::auth::Scope;
use crate::front_end::{ComputeProcess, FrontEnd, authorize, observe};
use crate::jobs;
use crate::matrices::{self, Pairs, parameters_among};
use crate::operate;
use crate::problem::Problem;
#[cfg(unix)]
use crate::process;
use crate::program;
use crate::requests;
#[cfg(unix)]
use crate::resumable;
#[cfg(unix)]
use crate::shared;
use crate::status;
use crate::upload::{RESULT_ARRAY, is_on_device};
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
#[cfg(unix)]
use axum::routing::{MethodFilter, head, on, patch};
use axum::routing::{MethodRouter, delete, get, post, put};

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
    Device(fn() -> MethodRouter<App>, Destination),
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

pub(crate) const MATRIX: &str = "/v1/matrices/{name}";
pub(crate) const ALIAS: &str = "/v1/aliases/{name}";
const JOB: &str = "/v1/jobs/{id}";
pub(crate) const UPLOADS: &str = "/v1/uploads";
#[cfg(unix)]
const UPLOAD: &str = "/v1/uploads/{upload}";
const REQUESTS: &str = "/v1/requests";
pub(crate) const JOB_RESULT: &str = "/v1/jobs/{id}/result";
pub(crate) const PROGRAMS: &str = "/v1/programs";
pub(crate) const OPERATION: &str = "/v1/matrices/{name}/{operation}";

/// Every route.
pub(crate) const ROUTES: &[Route] = &[
    Route {
        method: "get",
        path: "/",
        summary: "A page for people: memory, matrices, jobs, and a form for operations",
        parameters: None,
        scope: None,
        handler: Handler::FrontEnd(|| get(status::page)),
    },
    Route {
        method: "get",
        path: "/livez",
        summary: "200 while the process answers",
        parameters: None,
        scope: None,
        handler: Handler::FrontEnd(|| get(status::live)),
    },
    Route {
        method: "get",
        path: "/readyz",
        summary: "200 while requests are taken, 503 once the server stops or while no worker process of any device is ready",
        parameters: None,
        scope: None,
        handler: Handler::FrontEnd(|| get(status::ready)),
    },
    Route {
        method: "get",
        path: "/metrics",
        summary: "Metrics for Prometheus",
        parameters: None,
        scope: Some(Scope::Admin),
        handler: Handler::FrontEnd(|| get(status::metrics)),
    },
    Route {
        method: "get",
        path: "/openapi.json",
        summary: "This document",
        parameters: None,
        scope: None,
        handler: Handler::FrontEnd(|| get(status::open_api)),
    },
    Route {
        method: "get",
        path: "/v1/status",
        summary: "The device or devices, their memory and the caller's part of it",
        parameters: Some(&[]),
        scope: Some(Scope::Read),
        handler: Handler::Device(|| get(status::status), Destination::Status),
    },
    Route {
        method: "get",
        path: REQUESTS,
        summary: "The caller's requests that run, and the last ones that were slow",
        parameters: Some(&[]),
        scope: Some(Scope::Read),
        handler: Handler::FrontEnd(|| get(requests::list)),
    },
    Route {
        method: "get",
        path: "/v1/aliases",
        summary: "The caller's aliases: names that point to matrices",
        parameters: Some(&[]),
        scope: Some(Scope::Read),
        handler: Handler::FrontEnd(|| get(aliases::list)),
    },
    Route {
        method: "put",
        path: ALIAS,
        summary: "Points an alias to ?to=NAME, whose newest version is meant, or to ?to=NAME@VERSION; ?durable=1",
        parameters: Some(&["to", "durable"]),
        scope: Some(Scope::Write),
        handler: Handler::FrontEnd(|| put(aliases::put)),
    },
    Route {
        method: "get",
        path: ALIAS,
        summary: "The matrix to which an alias points",
        parameters: Some(&[]),
        scope: Some(Scope::Read),
        handler: Handler::FrontEnd(|| get(aliases::describe)),
    },
    Route {
        method: "delete",
        path: ALIAS,
        summary: "Forgets an alias; the matrix stays",
        parameters: Some(&[]),
        scope: Some(Scope::Write),
        handler: Handler::FrontEnd(|| delete(aliases::remove)),
    },
    #[cfg(unix)]
    Route {
        method: "post",
        path: UPLOADS,
        summary: "Begins an upload of Upload-Length bytes that can be resumed; Location is its address",
        parameters: Some(&[]),
        scope: Some(Scope::Write),
        handler: Handler::FrontEnd(|| post(resumable::begin)),
    },
    #[cfg(unix)]
    Route {
        method: "head",
        path: UPLOAD,
        summary: "The bytes of an upload that are there, in Upload-Offset",
        parameters: Some(&[]),
        scope: Some(Scope::Write),
        handler: Handler::FrontEnd(|| head(resumable::describe)),
    },
    #[cfg(unix)]
    Route {
        method: "patch",
        path: UPLOAD,
        summary: "Adds the bytes from Upload-Offset on to an upload",
        parameters: Some(&[]),
        scope: Some(Scope::Write),
        handler: Handler::FrontEnd(|| patch(resumable::append)),
    },
    #[cfg(unix)]
    Route {
        method: "delete",
        path: UPLOAD,
        summary: "Forgets an upload",
        parameters: Some(&[]),
        scope: Some(Scope::Write),
        handler: Handler::FrontEnd(|| delete(resumable::remove)),
    },
    Route {
        method: "get",
        path: "/v1/matrices",
        summary: "The caller's matrices; ?label=KEY=VALUE,KEY those that have all of these labels",
        parameters: Some(&["label"]),
        scope: Some(Scope::Read),
        handler: Handler::Device(|| get(matrices::list), Destination::Lists("matrices")),
    },
    Route {
        method: "put",
        path: MATRIX,
        summary: "Uploads a new version; ?durable=1, ?pinned=1, ?replace=1 for no earlier ones, ?ttl=SECONDS, ?labels=K=V, ?device=NUMBER, ?parts=COUNT or auto",
        parameters: Some(&matrices::UPLOAD_PARAMETERS),
        scope: Some(Scope::Write),
        handler: Handler::Device(|| put(matrices::upload), Destination::NewMatrix),
    },
    Route {
        method: "get",
        path: MATRIX,
        summary: "Describes the newest version, or that of name@version",
        parameters: Some(&[]),
        scope: Some(Scope::Read),
        handler: Handler::Device(|| get(matrices::describe), Destination::Matrices),
    },
    Route {
        method: "delete",
        path: MATRIX,
        summary: "Deletes all versions, or that of name@version",
        parameters: Some(&[]),
        scope: Some(Scope::Write),
        handler: Handler::Device(|| delete(matrices::remove), Destination::Matrices),
    },
    Route {
        method: "get",
        path: "/v1/matrices/{name}/data",
        summary: "The matrix as a file, by Accept",
        parameters: Some(&[]),
        scope: Some(Scope::Read),
        handler: Handler::Device(|| get(matrices::data), Destination::Matrices),
    },
    Route {
        method: "put",
        path: "/v1/matrices/{name}/pin",
        summary: "Keeps the matrix in the device's memory; ?pinned=0 lets it go again",
        parameters: Some(&["pinned"]),
        scope: Some(Scope::Write),
        handler: Handler::Device(|| put(matrices::pin), Destination::Matrices),
    },
    Route {
        method: "put",
        path: "/v1/matrices/{name}/labels",
        summary: "Gives the matrix ?labels=KEY=VALUE,KEY=VALUE in place of those that it has",
        parameters: Some(&["labels"]),
        scope: Some(Scope::Write),
        handler: Handler::Device(|| put(matrices::label), Destination::Matrices),
    },
    Route {
        method: "post",
        path: OPERATION,
        summary: "Runs an operation",
        parameters: None,
        scope: Some(Scope::Read),
        handler: Handler::Device(|| post(operate::operate), Destination::Matrices),
    },
    Route {
        method: "post",
        path: PROGRAMS,
        summary: "Runs several operations, the steps of ?program=JSON; results of all but the last are dropped",
        parameters: None,
        scope: Some(Scope::Read),
        handler: Handler::Device(|| post(program::run), Destination::Matrices),
    },
    Route {
        method: "get",
        path: "/v1/jobs",
        summary: "The caller's jobs",
        parameters: Some(&[]),
        scope: Some(Scope::Read),
        handler: Handler::Device(|| get(jobs::list), Destination::Lists("jobs")),
    },
    Route {
        method: "get",
        path: JOB,
        summary: "State, progress and log of a job; ?wait=SECONDS answers at its end, or then",
        parameters: Some(&["wait"]),
        scope: Some(Scope::Read),
        handler: Handler::Device(|| get(jobs::describe), Destination::Job),
    },
    Route {
        method: "delete",
        path: JOB,
        summary: "Cancels a job, and forgets it and its result",
        parameters: Some(&[]),
        scope: Some(Scope::Read),
        handler: Handler::Device(|| delete(jobs::remove), Destination::Job),
    },
    Route {
        method: "get",
        path: JOB_RESULT,
        summary: "What the operation would have answered",
        parameters: Some(&[]),
        scope: Some(Scope::Read),
        handler: Handler::Device(|| get(jobs::result), Destination::Job),
    },
];

/// True for requests that ask what goes on, and may wait for it.
pub(crate) fn waits(request: &Request) -> bool {
    let pattern = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    *request.method() == Method::GET && matches!(pattern, Some(REQUESTS | JOB))
}

impl Route {
    /// The handler at the part that faces clients, behind the checks of the route: the last layer runs first.
    fn at_front_end(&self, front_end: &FrontEnd) -> MethodRouter {
        let handler = match (&self.handler, &front_end.compute) {
            (Handler::FrontEnd(handler), _) => handler().with_state(front_end.clone()),
            (Handler::Device(handler, _), ComputeProcess::ThisProcess(app)) => {
                handler().with_state(app.clone())
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
    let handler = handler.layer(from_fn_with_state(front_end.clone(), shared::exchange));
    handler
        .layer(from_fn_with_state(front_end.clone(), check_device_arrays))
        .layer(from_fn_with_state(front_end.clone(), aliases::resolve))
        .layer(from_fn_with_state(front_end.clone(), answer_encoding::encode))
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
        .layer(from_fn_with_state(front_end.clone(), observe))
}

/// The router of a worker process, whose only client is the front end.
#[cfg(unix)]
pub(crate) fn worker_router(app: &App) -> Router {
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
        .route(process::MADE, get(process::made))
        .route(process::EVICT, post(process::evict))
        .route("/taken/{name}", get(status::is_taken))
        .layer(from_fn_with_state(app.clone(), process::identify))
        .route("/metrics", get(status::device_metrics))
        .route("/names", get(status::names))
        .route(process::USAGES, get(process::usages))
        .with_state(app.clone())
}

async fn not_found(uri: Uri) -> Problem {
    let path: String = uri.path().chars().take(128).collect();
    Problem::not_found(format!("there is nothing at {}: /openapi.json lists what is", path.escape_debug()))
}

async fn not_allowed(method: Method) -> Problem {
    let detail = format!("{method} is not for this address: /openapi.json lists what is");
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail)
}
