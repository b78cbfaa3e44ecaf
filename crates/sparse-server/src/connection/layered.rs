//! A stream around another one.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The part of a [`Layered`] stream that is not forwarded.
pub(crate) trait Layer<S: AsyncWrite + Unpin> {
    /// Ready once the stream may be read.
    fn poll_before_read(&mut self, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    /// Learns how many bytes were read.
    fn after_read(&mut self, _bytes: usize) {}

    /// The result of a write, by that of the stream.
    fn after_write(
        &mut self,
        _stream: &S,
        written: Poll<io::Result<usize>>,
        _context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        written
    }

    /// Shuts down the stream.
    fn poll_shutdown(&mut self, stream: &mut S, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(stream).poll_shutdown(context)
    }
}

/// A stream whose reads and writes pass a layer.
#[derive(Debug)]
pub(crate) struct Layered<S, L> {
    stream: S,
    pub(super) layer: L,
}

impl<S, L> Layered<S, L> {
    pub(crate) fn new(stream: S, layer: L) -> Self {
        Self { stream, layer }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, L: Layer<S> + Unpin> AsyncRead for Layered<S, L> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.layer.poll_before_read(context));
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.layer.after_read(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin, L: Layer<S> + Unpin> AsyncWrite for Layered<S, L> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { stream, layer } = self.get_mut();
        let written = Pin::new(&mut *stream).poll_write(context, bytes);
        layer.after_write(stream, written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, layer } = self.get_mut();
        layer.poll_shutdown(stream, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { stream, layer } = self.get_mut();
        let written = Pin::new(&mut *stream).poll_write_vectored(context, slices);
        layer.after_write(stream, written, context)
    }
}
