//! Requests that are answered before their body was read, as those that are refused by their header are: the connection
//! ends with the answer, which says so, once the client has it (`lingering`). A client that uses it for its next request
//! loses that one.

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

/// True once the body that it belongs to has been read to its end.
#[derive(Debug)]
pub(crate) struct Ending(Arc<AtomicBool>);

impl Ending {
    pub(crate) fn is_reached(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A body, and whether it has been read; nothing is watched of one that has no bytes.
pub(crate) fn watched(body: Body) -> (Body, Option<Ending>) {
    if body.is_end_stream() {
        return (body, None);
    }
    let is_read = Arc::<AtomicBool>::default();
    (Body::new(WatchedBody { body, is_read: is_read.clone() }), Some(Ending(is_read)))
}

struct WatchedBody {
    body: Body,
    is_read: Arc<AtomicBool>,
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.is_read.store(true, Ordering::Relaxed);
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
