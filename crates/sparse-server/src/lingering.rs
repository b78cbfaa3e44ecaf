//! Connections that end with the answer to a request whose body was not read.
//!
//! A socket that is closed with unread bytes, or that bytes reach afterwards, is reset: a client that is still sending
//! then learns that, and not the answer. So the server ends its own direction, and reads and discards what comes until
//! the client closes the connection, too (RFC 9112, section 9.6).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Bytes that are discarded at once.
const PART: usize = 16 << 10;

/// The times for which a connection is read after its last answer.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// Time without a byte after which a client that does not close the connection is no longer waited for.
    pause: Duration,
    /// The longest time in which bytes are discarded.
    longest: Duration,
}

const TIMES: Times = Times { pause: Duration::from_secs(2), longest: Duration::from_secs(30) };

/// Set by a request that is answered before its body was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnreadBody(Arc<AtomicBool>);

impl UnreadBody {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stream whose shutdown waits for the end of the other direction, and discards what comes before it, if a request
/// on it has an unread body or bytes wait to be read.
#[derive(Debug)]
pub(crate) struct Lingering<S> {
    stream: S,
    unread: UnreadBody,
    times: Times,
    discarding: Option<Discarding>,
}

#[derive(Debug)]
struct Discarding {
    times: Times,
    /// Ends with the pause in which no byte comes, or with the time for all of them.
    wait: Pin<Box<Sleep>>,
    end: Instant,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Lingering<S> {
    pub(crate) fn new(stream: S, unread: UnreadBody) -> Self {
        Self { stream, unread, times: TIMES, discarding: None }
    }

    /// Ready once the client has closed the connection, or has had enough time to.
    fn poll_discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut part = [0; PART];
        loop {
            let mut buffer = ReadBuf::new(&mut part);
            let read = Pin::new(&mut self.stream).poll_read(context, &mut buffer);
            let has_bytes = !buffer.filled().is_empty();
            match read {
                Poll::Ready(Ok(())) if has_bytes => (),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending if self.discarding.is_none() && !self.unread.is_set() => return Poll::Ready(()),
                Poll::Pending => (),
            }
            let times = self.times;
            let discarding = self.discarding.get_or_insert_with(|| Discarding::new(times));
            if !has_bytes {
                return discarding.wait.as_mut().poll(context);
            }
            if !discarding.goes_on() {
                return Poll::Ready(());
            }
        }
    }
}

impl Discarding {
    fn new(times: Times) -> Self {
        Self { times, wait: Box::pin(sleep(times.pause)), end: Instant::now() + times.longest }
    }

    /// False once the time is over; else the pause begins anew.
    fn goes_on(&mut self) -> bool {
        let now = Instant::now();
        self.wait.as_mut().reset((now + self.times.pause).min(self.end));
        now < self.end
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.discarding.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        }
        self.poll_discard(context).map(Ok)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const SHORT: Times = Times { pause: Duration::from_millis(100), longest: Duration::from_millis(400) };

    fn lingering(is_unread: bool) -> (tokio::io::DuplexStream, Lingering<tokio::io::DuplexStream>) {
        let (client, server) = duplex(64);
        let unread = UnreadBody::default();
        if is_unread {
            unread.set();
        }
        (client, Lingering { times: SHORT, ..Lingering::new(server, unread) })
    }

    #[tokio::test]
    async fn what_comes_is_discarded_until_the_client_closes_or_pauses() {
        for (is_unread, closes) in [(true, true), (true, false), (false, false)] {
            let (mut client, mut server) = lingering(is_unread);
            let began = Instant::now();
            let shutdown = tokio::spawn(async move { server.shutdown().await.map(|()| began.elapsed()) });
            assert_eq!(client.read(&mut [0; 8]).await.unwrap(), 0, "the other direction ends first");
            if is_unread {
                client.write_all(&[1; 100_000]).await.unwrap();
            }
            let client = (!closes).then_some(client);
            let time = shutdown.await.unwrap().unwrap();
            assert_eq!(time >= SHORT.pause, is_unread && !closes, "{is_unread} {closes} {time:?}");
            drop(client);
        }
    }

    #[tokio::test]
    async fn bytes_that_wait_are_discarded_whatever_requests_said() {
        let (mut client, mut server) = lingering(false);
        client.write_all(b"bytes of a header that is too long").await.unwrap();
        let shutdown = tokio::spawn(async move { server.shutdown().await });
        client.write_all(&[1; 100_000]).await.unwrap();
        drop(client);
        shutdown.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_client_that_never_stops_is_cut_off() {
        let (mut client, mut server) = lingering(true);
        let sending = tokio::spawn(async move {
            while client.write_all(b"more").await.is_ok() {
                sleep(SHORT.pause / 4).await;
            }
        });
        let began = Instant::now();
        server.shutdown().await.unwrap();
        assert!(began.elapsed() >= SHORT.longest);
        drop(server);
        sending.await.unwrap();
    }
}
