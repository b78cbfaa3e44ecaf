//! Connections that end with the answer to a request whose body was not read.
//!
//! A socket that is closed with unread bytes, or that bytes reach afterwards, is reset: a client that is still sending
//! then learns that, and not the answer. So the server ends its own direction, and reads and discards what comes until
//! the client closes the connection, too (RFC 9112, section 9.6).

use super::layered::Layer;
use std::io;
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

const TIMES: Times = Times { pause: Duration::from_secs(2), longest: Duration::from_secs(10) };

/// True from the first byte of a request until its answer, and after an answer that left the body unread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unfinished(Arc<AtomicBool>);

impl Unfinished {
    pub(crate) fn set(&self, is_unfinished: bool) {
        self.0.store(is_unfinished, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Lets the shutdown of a stream wait for the end of the other direction, and discards what comes before it, if a request
/// is unfinished or bytes wait to be read. It does not wait where there is no answer, as for a header that came too slowly.
#[derive(Debug)]
pub(crate) struct Lingering {
    unfinished: Unfinished,
    /// True if bytes were sent since the last request began.
    is_answered: bool,
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

impl Lingering {
    pub(crate) fn new(unfinished: Unfinished) -> Self {
        Self { unfinished, is_answered: false, times: TIMES, discarding: None }
    }

    /// Ready once the client has closed the connection, or has had enough time to.
    fn poll_discard(&mut self, stream: &mut (impl AsyncRead + Unpin), context: &mut Context<'_>) -> Poll<()> {
        let mut part = [0; PART];
        loop {
            let mut buffer = ReadBuf::new(&mut part);
            let read = Pin::new(&mut *stream).poll_read(context, &mut buffer);
            let has_bytes = !buffer.filled().is_empty();
            match read {
                Poll::Ready(Ok(())) if has_bytes => (),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending if self.discarding.is_none() && !self.unfinished.is_set() => {
                    return Poll::Ready(());
                }
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

impl<S: AsyncRead + AsyncWrite + Unpin> Layer<S> for Lingering {
    fn after_read(&mut self, bytes: usize) {
        if bytes > 0 {
            self.is_answered &= self.unfinished.is_set();
            self.unfinished.set(true);
        }
    }

    fn after_write(
        &mut self,
        _: &S,
        written: Poll<io::Result<usize>>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.is_answered |= matches!(written, Poll::Ready(Ok(1..)));
        written
    }

    fn poll_shutdown(&mut self, stream: &mut S, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.discarding.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
        }
        if self.is_answered { self.poll_discard(stream, context).map(Ok) } else { Poll::Ready(Ok(())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::layered::Layered;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    const SHORT: Times = Times { pause: Duration::from_secs(1), longest: Duration::from_secs(2) };

    fn lingering(is_unfinished: bool) -> (DuplexStream, Layered<DuplexStream, Lingering>) {
        let (client, server) = duplex(64);
        let unfinished = Unfinished::default();
        unfinished.set(is_unfinished);
        let layer = Lingering { times: SHORT, is_answered: true, ..Lingering::new(unfinished) };
        (client, Layered::new(server, layer))
    }

    #[tokio::test]
    async fn what_comes_is_discarded_until_the_client_closes_or_pauses() {
        for (is_unfinished, closes) in [(true, true), (true, false), (false, false)] {
            let (mut client, mut server) = lingering(is_unfinished);
            let began = Instant::now();
            let shutdown = tokio::spawn(async move { server.shutdown().await.map(|()| began.elapsed()) });
            assert_eq!(client.read(&mut [0; 8]).await.unwrap(), 0, "the other direction ends first");
            if is_unfinished {
                client.write_all(&[1; 100_000]).await.unwrap();
            }
            let client = (!closes).then_some(client);
            let time = shutdown.await.unwrap().unwrap();
            assert_eq!(time >= SHORT.pause, is_unfinished && !closes, "{is_unfinished} {closes} {time:?}");
            drop(client);
        }
    }

    #[tokio::test]
    async fn a_request_is_unfinished_once_it_has_begun_and_waited_for_if_it_is_answered() {
        for is_answered in [false, true] {
            let (mut client, mut server) = lingering(false);
            client.write_all(b"GET").await.unwrap();
            server.read_exact(&mut [0; 3]).await.unwrap();
            if is_answered {
                server.write_all(b"HTTP").await.unwrap();
            }
            let began = Instant::now();
            server.shutdown().await.unwrap();
            assert_eq!(began.elapsed() >= SHORT.pause, is_answered);
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
