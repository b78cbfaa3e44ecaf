//! The OpenAPI document of the server, made from the tables of routes and operations.

use crate::answer::SOLUTION;
use crate::operations::{MEMBER, OPERATIONS, Operand, Operation, ResultKind};
use crate::program;
use crate::request::arguments::PUT_PARAMETERS;
use crate::request::media::{MTX, NPY, NPZ};
use crate::routes::addresses::{ALIAS, JOB_RESULT, MATRIX, OPERATION, PROGRAMS, UPLOADS};
use crate::routes::{ROUTES, Route};
use crate::security::auth::Scope;
use crate::upload::CUDA;
use serde_json::{Map, Value, json};

/// The only parameter of a request that does not compute which must be there.
const ALIAS_TARGET: &str = "to";

/// The headers of requests that compute, beside those that all of HTTP has.
const COMPUTATION_HEADERS: [&str; 7] = [
    "Idempotency-Key",
    "nnz-body-descriptor",
    "nnz-body-file",
    "nnz-result-cuda",
    "nnz-result-descriptor",
    "nnz-result-file",
    "nnz-upload",
];

/// The whole document.
pub(crate) fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES.iter().filter(|route| route.path != OPERATION) {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = if route.path == PROGRAMS { describe_programs(route) } else { describe(route) };
    }
    for operation in OPERATIONS {
        let path = format!("{MATRIX}/{}", operation.name);
        paths.insert(path, json!({ "post": describe_operation(operation) }));
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "nnz serve", "version": env!("CARGO_PKG_VERSION") },
        "components": { "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } } },
        "paths": paths,
    })
}

fn describe(route: &Route) -> Value {
    let in_query = route.parameters.unwrap_or_default().iter();
    let in_query = in_query.map(|name| query_parameter(name, *name == ALIAS_TARGET));
    let in_header = request_headers(route).iter();
    let in_header = in_header.map(|name| header_parameter(name, name.starts_with("Upload-")));
    let mut described = json!({
        "summary": route.summary,
        "parameters": path_parameters(route.path).chain(in_query).chain(in_header).collect::<Vec<_>>(),
        "responses": responses(route),
    });
    if let Some(scope) = route.scope {
        described["security"] = security(scope);
    }
    if (route.method, route.path) == ("put", MATRIX) {
        described["requestBody"] =
            json!({ "required": true, "content": { NPZ: {}, NPY: {}, MTX: {}, CUDA: {} } });
    }
    described
}

fn request_headers(route: &Route) -> &'static [&'static str] {
    match (route.method, route.path) {
        ("put", MATRIX) => &["Idempotency-Key", "nnz-body-descriptor", "nnz-body-file", "nnz-upload"],
        ("post", UPLOADS) => &["Upload-Length"],
        ("patch", _) => &["Upload-Offset"],
        _ => &[],
    }
}

/// The answers to a request that does not compute.
fn responses(route: &Route) -> Value {
    let (status, description) = match (route.method, route.path) {
        ("put", MATRIX) => ("201", "The new version is ready"),
        ("put", ALIAS) => ("2XX", "It points there: 201 if it is new, 200 if it has moved"),
        ("delete", _) => ("204", "It is deleted"),
        ("post", UPLOADS) => ("201", "The upload is begun"),
        ("head" | "patch", _) => ("204", "Upload-Offset bytes are there"),
        (_, JOB_RESULT) => ("2XX", "The answer of the operation"),
        _ => ("200", "The answer"),
    };
    json!({ status: { "description": description }, "default": problem() })
}

fn describe_programs(route: &Route) -> Value {
    let known = program::known_parameters().into_iter();
    let parameters = known.map(|name| query_parameter(name, name == "program")).collect();
    describe_computation(route.summary, parameters, Some(false), true)
}

fn describe_operation(operation: &Operation) -> Value {
    let is_stored = operation.result == ResultKind::Matrix;
    let known = operation.known_parameters().into_iter();
    let taken = known.filter(|name| is_stored || !(*name == "into" || PUT_PARAMETERS.contains(name)));
    let in_query = taken.map(|name| operation_parameter(operation, name));
    let parameters = path_parameters(MATRIX).chain(in_query).collect();
    let requires_body = (operation.operand != Operand::None).then_some(true);
    describe_computation(operation.summary, parameters, requires_body, operation.iterates())
}

/// An operation or a program, which may iterate; `requires_body` is `None` where there is no body.
fn describe_computation(
    summary: &str,
    mut parameters: Vec<Value>,
    requires_body: Option<bool>,
    iterates: bool,
) -> Value {
    parameters.extend(COMPUTATION_HEADERS.map(|name| header_parameter(name, false)));
    let mut described = json!({
        "summary": summary,
        "parameters": parameters,
        "security": security(Scope::Read),
        "responses": {
            "200": { "description": "The result, or by ?member=all those of all matrices of a batch", "content": { NPY: {}, NPZ: {}, MTX: {}, "application/json": {} } },
            "201": { "description": "The result was stored, by ?into=" },
            "202": { "description": "The operation became the job of Location, by ?async=1 or Prefer: respond-async" },
            "default": problem(),
        },
    });
    if iterates {
        described["responses"]["200"]["headers"] = json!({ SOLUTION: solution_header() });
    }
    if let Some(required) = requires_body {
        described["requestBody"] = json!({ "required": required, "content": { NPY: {}, CUDA: {} } });
    }
    described
}

/// The header that says how an iteration has ended.
fn solution_header() -> Value {
    let schema = json!({
        "type": "object",
        "required": ["method", "converged", "iterations", "relative_residual"],
        "properties": {
            "method": { "type": "string" },
            "converged": { "type": "boolean" },
            "iterations": { "type": "integer" },
            "relative_residual": { "description": "A number, or NaN or inf as text", "type": ["number", "string"] },
        },
    });
    json!({
        "description": "The end of `solve`, of several columns or matrices the worst: the last iterate is answered, converged or not",
        "content": { "application/json": { "schema": schema } },
    })
}

fn security(scope: Scope) -> Value {
    json!([{ "token": [scope.to_string()] }])
}

fn path_parameters(path: &str) -> impl Iterator<Item = Value> {
    let names =
        ["name", "id", "upload"].into_iter().filter(move |name| path.contains(&format!("{{{name}}}")));
    names.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
}

fn query_parameter(name: &str, is_required: bool) -> Value {
    json!({ "name": name, "in": "query", "required": is_required, "schema": { "type": "string" } })
}

/// A parameter that an operation takes, of its own or of every one.
fn operation_parameter(operation: &Operation, name: &str) -> Value {
    let own = operation.parameters.iter().find(|own| own.name == name);
    let is_required = own.map_or(name == "other", |own| own.is_required);
    let mut parameter = query_parameter(name, is_required);
    if let Some(own) = own
        && !own.values.is_empty()
    {
        parameter["schema"]["enum"] = json!(own.values);
    }
    if name == MEMBER {
        let description = match operation.takes_each_member() {
            true => "The number of a matrix of a batch, or all for each of them",
            false => "The number of a matrix of a batch",
        };
        parameter["description"] = description.into();
    }
    parameter
}

fn header_parameter(name: &str, is_required: bool) -> Value {
    json!({ "name": name, "in": "header", "required": is_required, "schema": { "type": "string" } })
}

fn problem() -> Value {
    json!({ "description": "A problem (RFC 9457)", "content": { "application/problem+json": {} } })
}
