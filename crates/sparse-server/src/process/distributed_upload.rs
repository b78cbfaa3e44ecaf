//! Uploads of matrices in parts: a file is received, its rows are divided, and each device reads its own.

use super::device_workers::DeviceWorkers;
use super::dispatch::content_length;
use super::distributed::DistributedMatrix;
use super::parts::PartCount;
use crate::objects::{PutOptions, tag_of};
use crate::problem::Problem;
use crate::request::idempotency::{Begun, Made, RequestLine, hashed};
use crate::request::media::NPZ;
use crate::request::parameters::Parameters;
use crate::request::put_options::{new_name, put_options};
use crate::security::auth::Identity;
use crate::upload::{Encoding, Reception, check_headers, kind_of, unsupported_media};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use nnz::io::FileKind;
use std::ops::ControlFlow;
use std::sync::Arc;
use tokio::task::spawn_blocking;

impl DeviceWorkers {
    /// The number of parts of an upload: that which it asks for, or as few as it takes where no device has memory for
    /// its body. None for a matrix that is to be whole.
    pub(super) fn part_count(
        &self,
        parameters: &Parameters,
        headers: &HeaderMap,
    ) -> Result<Option<PartCount>, Problem> {
        let is_too_large = || content_length(headers).is_some_and(|length| length > self.memory);
        Ok(match parameters.text("parts") {
            Some("auto") => Some(PartCount::Fewest),
            Some(_) => parameters.get("parts")?.map(PartCount::Exactly),
            None if is_too_large() && put_options_in_parts(parameters, headers).is_ok() => {
                Some(PartCount::Fewest)
            }
            None => None,
        })
    }

    /// Receives a matrix and divides its rows among devices, those with the most free bytes.
    pub(super) async fn upload_in_parts(
        &self,
        count: PartCount,
        name: &str,
        parameters: &Parameters,
        mut identity: Identity,
        request: Request,
    ) -> Result<Response, Problem> {
        let name = new_name(name)?;
        self.check_part_count(count)?;
        let options = put_options_in_parts(parameters, request.headers())?;
        let (limits, folder) = (&self.limits, &*self.bodies);
        let encoding = check_headers(request.headers(), limits.upload_bytes)?;
        let tenant = identity.tenant.clone();
        let (head, body) = match self.made_elsewhere(&identity, None, request).await? {
            ControlFlow::Continue(request) => request.into_parts(),
            ControlFlow::Break(made) => return Ok(made),
        };
        let line = RequestLine::new(&head.method, &head.uri);
        let key = match self.distributed.keys.begin(&tenant, &head.headers, line)? {
            Begun::First(key) => key,
            Begun::Before(earlier) => return earlier.answer(body, limits).await,
        };
        let body = hashed(key.as_ref(), body);
        let new = self.distributed.begin(&tenant, name)?;
        self.check_not_whole(&tenant, name).await?;
        let limit = match encoding {
            Encoding::Identity => limits.upload_bytes,
            // Few bytes may be those of a file that is larger than all memory, and fits nowhere.
            _ => limits.upload_bytes.min(self.memory.saturating_mul(self.workers.len() as u64)),
        };
        let reception = Reception { kind: FileKind::Npz, encoding, limit, limits, folder, tenant: &tenant };
        let received = reception.receive_inflated(body).await?;
        let bodies = self.bodies.clone();
        let file = spawn_blocking(move || received.into_file(&bodies, FileKind::Npz));
        let file = file.await.map_err(Problem::internal)??;
        let devices = self.freest_devices().await;
        let ranges = match self.divide((file.path(), count), &devices, &mut identity).await? {
            ControlFlow::Continue(ranges) => ranges,
            ControlFlow::Break(refused) => return Ok(refused),
        };
        let mut parts = vec![];
        for (&(device, _), rows) in devices.iter().zip(ranges) {
            match self.put_part((device, rows), (name, new.version), file.path(), &mut identity).await? {
                ControlFlow::Continue(part) => parts.push(part),
                ControlFlow::Break(refused) => return Ok(refused),
            }
        }
        let matrix = Arc::new(DistributedMatrix { name: name.into(), version: new.version, parts });
        let whole = self.workers.iter().map(|worker| worker.usages.of(&tenant).stored_bytes).sum();
        new.publish(matrix.clone(), &options, (whole, self.tenant_storage))?;
        key.iter().for_each(|key| key.record(Made::new(name, &tag_of(matrix.version), &matrix.view())));
        Ok(matrix.respond(StatusCode::CREATED))
    }

    /// Fails for more parts than there are devices.
    fn check_part_count(&self, count: PartCount) -> Result<(), Problem> {
        let devices = self.workers.len();
        match count {
            PartCount::Exactly(count) if !(1..=devices).contains(&count) => {
                let detail =
                    format!("parameter parts={count}: 1 to {devices} can be had, one on each device");
                Err(Problem::bad_request(detail))
            }
            PartCount::Exactly(_) | PartCount::Fewest => Ok(()),
        }
    }

    /// Fails if a worker has a matrix of this name, or may soon.
    async fn check_not_whole(&self, tenant: &str, name: &str) -> Result<(), Problem> {
        let Some(device) = self.device_of(tenant, name) else { return Ok(()) };
        // What it had may be deleted since.
        self.update_names(device).await?;
        match self.device_of(tenant, name) {
            None => Ok(()),
            Some(device) => Err(Problem::conflict(format!(
                "`{name}` is on device {device}, with all of its versions and their numbers: take another name for a \
                 matrix in parts"
            ))),
        }
    }
}

/// The settings of an upload in parts; fails for what such matrices cannot be.
fn put_options_in_parts(parameters: &Parameters, headers: &HeaderMap) -> Result<PutOptions, Problem> {
    let options = put_options(parameters, headers)?;
    let refused = [
        ("durable", options.is_durable),
        ("ttl", options.ttl.is_some()),
        ("labels", !options.labels.is_empty()),
        ("device", parameters.text("device").is_some()),
    ];
    if let Some((other, _)) = refused.iter().find(|(_, is_asked)| *is_asked) {
        let detail = "a matrix in parts is in the memory of devices alone, until it is deleted";
        return Err(Problem::bad_request(format!("parameter {other}: {detail}")));
    }
    if !kind_of(headers).is_ok_and(|kind| kind == FileKind::Npz) {
        let needed = format_args!("a matrix in parts needs {NPZ} with a CSR matrix");
        return Err(unsupported_media(headers, needed));
    }
    Ok(options)
}
