//! An HTTP server that stores sparse matrices on a device and computes with them for many clients.
//!
//! Matrices are uploaded as SciPy's `.npz`, NumPy's `.npy` or Matrix Market, get a version that never changes, and stay
//! in the device's memory: those that are used least move to the host's or to disk when others need their bytes.
//! Operations take and return `.npy` arrays and matrices. `docs/server.md` of the repository shows how to set one up,
//! and `GET /openapi.json` lists what it answers.
//!
//! | part | guarantee |
//! |---|---|
//! | [`Config::check`] | an address that other machines reach needs tokens and TLS |
//! | tokens | 256 random bits each, of which the server has hashes; each has scopes and belongs to one tenant |
//! | uploads | sizes are checked before the first byte and while bytes come; bodies above 1 MiB are decoded as they come, or go to a file |
//! | memory | every byte is reserved before it is allocated; what does not fit is answered by 507 or 429 |
//! | operations | end at their time limit or with their client; jobs go on without it, and are bounded and expire |
//! | worker processes | one holds each device if that is asked for; the front end replaces those that end |
//! | audit log | has a line of JSON for each request that stores, changes or deletes, and never a token |
//! | durable objects | acknowledged once segment and manifest are synced; a killed process loses none |

mod accept;
mod aliases;
mod answer;
mod answer_encoding;
mod app;
mod audit;
mod auth;
mod client;
mod computation;
mod config;
#[cfg(unix)]
mod descriptors;
mod durable;
mod error;
mod etag;
mod front_end;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz;
mod heap;
mod idempotency;
mod jobs;
mod labels;
mod ledger;
mod lingering;
mod lock;
mod matrices;
mod merge;
mod metrics;
mod name;
mod objects;
mod open_api;
mod operation_requests;
mod operations;
mod parameters;
mod problem;
#[cfg(unix)]
mod process;
mod program;
mod rate;
#[cfg(unix)]
mod resumable;
mod routes;
mod running_requests;
mod server;
#[cfg(unix)]
mod shared;
mod slow_clients;
mod spy_plot;
mod status;
mod task;
mod thread_pool;
mod tls;
#[cfg(feature = "otel")]
mod traces;
mod unread_body;
mod upload;
mod usage;
mod write_timeout;

pub use auth::{Scope, new_token};
pub use axum::http::Method as HttpMethod;
#[cfg(unix)]
pub use client::name_in;
pub use client::{Client, ClientAnswer, ClientError, ClientRequest};
pub use config::{Config, Limits, TlsFiles, parse_bytes};
pub use error::StartError;
#[cfg(unix)]
pub use process::{WorkerCommand, serve_as_worker};
pub use server::{Compute, Server, serve_until_stopped};
