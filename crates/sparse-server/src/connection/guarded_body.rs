//! Bodies of answers with something that lasts until the client has all of them.

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};

/// An answer whose `guard` is dropped with its body.
pub(crate) fn guarded(response: Response, guard: impl Send + Unpin + 'static) -> Response {
    response.map(|body| Body::new(GuardedBody { body, _guard: guard }))
}

struct GuardedBody<G> {
    body: Body,
    _guard: G,
}

impl<G: Unpin> HttpBody for GuardedBody<G> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
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
    use axum::response::IntoResponse;
    use http_body_util::BodyExt;
    use std::sync::Arc;

    #[tokio::test]
    async fn the_guard_lasts_as_long_as_the_body() {
        let guard = Arc::new(());
        let response = guarded("answer".into_response(), guard.clone());
        assert_eq!((response.body().size_hint().exact(), Arc::strong_count(&guard)), (Some(6), 2));
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "answer");
        assert_eq!(Arc::strong_count(&guard), 1);
    }
}
