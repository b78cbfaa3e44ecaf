//! The table of routes: a row is all there is to add for a new one, beside its handler.

#[cfg(unix)]
use super::addresses::UPLOAD;
use super::addresses::{ALIAS, JOB, JOB_RESULT, MATRIX, OPERATION, PROGRAMS, REQUESTS, STATUS, UPLOADS};
use super::{Destination, Handler, Route};
use crate::aliases;
use crate::handlers::jobs;
use crate::handlers::matrices;
use crate::handlers::status;
#[cfg(unix)]
use crate::handlers::uploads;
use crate::operation_requests;
use crate::program;
use crate::request::arguments::UPLOAD_PARAMETERS;
use crate::security::auth::Scope;
use axum::routing::{delete, get, post, put};
#[cfg(unix)]
use axum::routing::{head, patch};

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
        path: STATUS,
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
        handler: Handler::FrontEnd(|| get(status::running_requests)),
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
        handler: Handler::FrontEnd(|| post(uploads::begin)),
    },
    #[cfg(unix)]
    Route {
        method: "head",
        path: UPLOAD,
        summary: "The bytes of an upload that are there, in Upload-Offset",
        parameters: Some(&[]),
        scope: Some(Scope::Write),
        handler: Handler::FrontEnd(|| head(uploads::describe)),
    },
    #[cfg(unix)]
    Route {
        method: "patch",
        path: UPLOAD,
        summary: "Adds the bytes from Upload-Offset on to an upload",
        parameters: Some(&[]),
        scope: Some(Scope::Write),
        handler: Handler::FrontEnd(|| patch(uploads::append)),
    },
    #[cfg(unix)]
    Route {
        method: "delete",
        path: UPLOAD,
        summary: "Forgets an upload",
        parameters: Some(&[]),
        scope: Some(Scope::Write),
        handler: Handler::FrontEnd(|| delete(uploads::remove)),
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
        parameters: Some(&UPLOAD_PARAMETERS),
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
        handler: Handler::Device(|| post(operation_requests::run), Destination::Matrices),
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
