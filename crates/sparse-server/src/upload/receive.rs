//! Reception of bodies: in memory while they are small, then in a file or a decoder. What is only copied to an array is
//! copied from the connection's buffer; anything else goes to a thread, one part while the next one comes.

use super::body_buffer::{BodyBuffer, SMALL_BUFFER_BYTES};
use super::decoding::Decoding;
use super::encoding::{Compressed, Encoding};
use super::sink::{IN_MEMORY, Sink, new_file};
use super::{ArrayBody, Received, Upload};
use crate::config::Limits;
use crate::error::with_causes;
use crate::execution::task::StopOnDrop;
use crate::objects::Store;
use crate::problem::Problem;
use crate::request::media::extension;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use http_body_util::BodyExt;
use nnz::io::FileKind;
use nnz::io::stream::HEAD_BYTES;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

/// Bytes of each further part, few enough to stay in the cache with those of the connection's buffer that follow them.
const PART: usize = 256 << 10;

/// The kind, the encoding and the limits of a body that is to be received.
#[derive(Debug)]
pub(crate) struct Reception<'a> {
    pub(crate) kind: FileKind,
    pub(crate) encoding: Encoding,
    /// Bytes of the body, compressed and not.
    pub(crate) limit: u64,
    pub(crate) limits: &'a Limits,
    /// The folder of files.
    pub(crate) folder: &'a Path,
    /// The tenant whose buffers it takes.
    pub(crate) tenant: &'a str,
}

/// A sink that takes a part, which comes back empty.
type Writing = JoinHandle<Result<(Sink, BodyBuffer), Problem>>;

/// The bytes of a body so far.
enum Progress {
    /// Few, all of which are in memory.
    Memory(BodyBuffer),
    /// In a decoder that copies most of them.
    Copying(Box<Decoding>),
    /// In a sink and, those after them, in the next part.
    Writing(Writing, BodyBuffer),
}

impl Reception<'_> {
    /// Receives an array, which stays compressed if it is.
    pub(crate) async fn receive_array(&self, body: Body) -> Result<ArrayBody, Problem> {
        let received = self.receive_as_is(body).await?;
        Ok(match self.encoding {
            Encoding::Identity => ArrayBody::Received(received),
            _ => ArrayBody::Compressed(self.compressed(received)),
        })
    }

    /// Receives a matrix, which is decoded as it comes where that can be: then neither the body nor a dense array is in
    /// memory or on disk. Memory is reserved as it is needed; what is refused is received and discarded to its end, so
    /// that its client reads the answer. One that is compressed stays so.
    pub(crate) async fn receive_matrix(&self, body: Body, store: &Arc<Store>) -> Result<Upload, Problem> {
        if self.encoding != Encoding::Identity {
            let received = self.receive_as_is(body).await?;
            return Ok(Upload::Compressed(Box::new(self.compressed(received))));
        }
        self.receive_to(body, |first| Sink::for_matrix(self.kind, first, (store, self.tenant), self.folder))
            .await
    }

    /// Receives a body and inflates it, without a worker but no longer than its request may take.
    #[cfg(unix)]
    pub(crate) async fn receive_inflated(&self, body: Body) -> Result<Received, Problem> {
        let received = self.receive_as_is(body).await?;
        if self.encoding == Encoding::Identity {
            return Ok(received);
        }
        let (compressed, caller) = (self.compressed(received), StopOnDrop::new(self.limits.operation_time));
        let task = caller.task.clone();
        let inflated = spawn_blocking(move || compressed.into_file(&task));
        inflated.await.map_err(Problem::internal)?
    }

    fn compressed(&self, received: Received) -> Compressed {
        let Self { kind, encoding, limit, folder, .. } = *self;
        Compressed { received, encoding, kind, limit, folder: folder.to_owned() }
    }

    async fn receive_as_is(&self, body: Body) -> Result<Received, Problem> {
        let open = |_: &[u8]| Ok(Sink::File(new_file(self.folder, extension(self.kind))?));
        match self.receive_to(body, open).await? {
            Upload::Received(received) => Ok(received),
            _ => Err(Problem::internal("a body was taken as a matrix")),
        }
    }

    /// Receives a body as it is; `open` makes the sink of a large one by its first bytes.
    async fn receive_to(
        &self,
        body: Body,
        open: impl Fn(&[u8]) -> Result<Sink, Problem>,
    ) -> Result<Upload, Problem> {
        let mut incoming =
            Incoming { body, received: 0, limit: self.limit, started: Instant::now(), limits: self.limits };
        let claimed = incoming.body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
        let limit = claimed.map_or(IN_MEMORY, |bytes| bytes.min(IN_MEMORY));
        let tenant: Arc<str> = self.tenant.into();
        let mut progress = Progress::Memory(BodyBuffer::new(limit, &tenant));
        while let Some(data) = incoming.next().await? {
            progress = match progress.take(data, &tenant, &open).await {
                Ok(progress) => progress,
                Err(problem) => {
                    incoming.discard_rest().await;
                    return Err(problem);
                }
            };
        }
        progress.finish().await
    }
}

impl Progress {
    /// Takes the next bytes; `open` makes the sink once they are too many for the memory.
    async fn take(
        self,
        mut data: Bytes,
        tenant: &Arc<str>,
        open: impl Fn(&[u8]) -> Result<Sink, Problem>,
    ) -> Result<Self, Problem> {
        Ok(match self {
            Self::Memory(mut first) => {
                if first.push(&data) {
                    return Ok(Self::Memory(first));
                }
                const { assert!(HEAD_BYTES <= SMALL_BUFFER_BYTES) }
                if !first.push(&data.split_to(HEAD_BYTES.saturating_sub(first.len()).min(data.len()))) {
                    return Err(Problem::internal("the first bytes of a body do not fit its buffer"));
                }
                match open(&first)? {
                    Sink::Decoding(decoding) if decoding.copies() => {
                        let decoding = pushed(decoding, Bytes::from_owner(first)).await?;
                        Self::Copying(copied(decoding, data).await?)
                    }
                    sink => Self::Writing(write(sink, first, data), BodyBuffer::new(PART, tenant)),
                }
            }
            Self::Copying(decoding) => Self::Copying(copied(decoding, data).await?),
            Self::Writing(mut writing, mut part) => {
                if !part.push(&data) {
                    let (sink, empty) = joined(writing).await?;
                    writing = write(sink, std::mem::replace(&mut part, empty), data);
                }
                Self::Writing(writing, part)
            }
        })
    }

    /// The body, all of which has come.
    async fn finish(self) -> Result<Upload, Problem> {
        Ok(match self {
            Self::Memory(bytes) => Upload::Received(Received::Memory(bytes)),
            Self::Copying(decoding) => Upload::Decoded(decoding),
            Self::Writing(writing, last) => {
                let (sink, _) = joined(writing).await?;
                joined(write(sink, last, Bytes::new())).await?.0.into_upload()
            }
        })
    }
}

/// Lets a thread give a part to a sink, and bytes that follow it.
fn write(mut sink: Sink, mut part: BodyBuffer, more: Bytes) -> Writing {
    spawn_blocking(move || {
        sink.write(&part)?;
        sink.write(&more)?;
        part.clear(PART);
        Ok((sink, part))
    })
}

async fn joined(writing: Writing) -> Result<(Sink, BodyBuffer), Problem> {
    writing.await.map_err(Problem::internal)?
}

/// Copies bytes to a decoder, and lets a thread decode those that are not only copied.
async fn copied(mut decoding: Box<Decoding>, data: Bytes) -> Result<Box<Decoding>, Problem> {
    let rest = data.slice(decoding.copy(&data)..);
    if rest.is_empty() { Ok(decoding) } else { pushed(decoding, rest).await }
}

/// Decodes bytes on a thread, where memory may be asked for and waited for.
async fn pushed(mut decoding: Box<Decoding>, bytes: Bytes) -> Result<Box<Decoding>, Problem> {
    let pushed = spawn_blocking(move || decoding.push(&bytes).map(|()| decoding));
    pushed.await.map_err(Problem::internal)?
}

/// A body that comes, within its limits.
pub(crate) struct Incoming<'a> {
    body: Body,
    received: u64,
    limit: u64,
    started: Instant,
    limits: &'a Limits,
}

impl<'a> Incoming<'a> {
    pub(crate) fn new(body: Body, limit: u64, limits: &'a Limits) -> Self {
        Self { body, received: 0, limit, started: Instant::now(), limits }
    }

    /// The next bytes, in time.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let limits = self.limits;
        while let Some(frame) =
            timeout(limits.idle_time, self.body.frame()).await.map_err(|_| too_slow(limits))?
        {
            let frame = frame.map_err(|error| broken_off(&error))?;
            let Ok(data) = frame.into_data() else { continue };
            self.received += data.len() as u64;
            if self.received > self.limit {
                let _rest = timeout(limits.idle_time, discard(&mut self.body)).await;
                return Err(Problem::too_large(self.limit));
            }
            check_rate(self.received, self.started.elapsed(), limits)?;
            return Ok(Some(data));
        }
        Ok(None)
    }

    /// Receives the rest of a body that is refused: a connection that is closed while its client writes can lose the
    /// answer.
    async fn discard_rest(&mut self) {
        while let Ok(Some(_)) = self.next().await {}
    }
}

/// Reads some more of a body that is too large.
async fn discard(body: &mut Body) {
    let mut discarded = 0;
    while discarded < IN_MEMORY
        && let Some(Ok(frame)) = body.frame().await
    {
        discarded += frame.data_ref().map_or(0, Bytes::len);
    }
}

/// Fails if a client sends so slowly that it only occupies the connection.
fn check_rate(received: u64, elapsed: Duration, limits: &Limits) -> Result<(), Problem> {
    let counted = elapsed.saturating_sub(limits.idle_time).as_secs();
    if received < counted.saturating_mul(limits.least_rate) { Err(too_slow(limits)) } else { Ok(()) }
}

/// The problem of a body that ends before its length, or whose chunks are none, with every cause that is known.
fn broken_off(error: &axum::Error) -> Problem {
    Problem::bad_request(format!("the body broke off: {}", with_causes(error)))
}

fn too_slow(limits: &Limits) -> Problem {
    let detail = format!(
        "the body came too slowly: after {:?} it must reach {} bytes per second",
        limits.idle_time, limits.least_rate
    );
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;
    use std::fmt::{Display, Formatter};

    #[derive(Debug)]
    struct Reading(std::io::Error);

    impl Display for Reading {
        fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
            f.write_str("reading")
        }
    }

    impl Error for Reading {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn a_body_that_breaks_off_is_refused_with_every_cause() {
        let error = axum::Error::new(Reading(std::io::Error::other("a chunk without a size")));
        let problem = serde_json::to_string(&broken_off(&error).document()).unwrap();
        assert!(problem.contains("the body broke off: reading: a chunk without a size"), "{problem}");
    }
}
