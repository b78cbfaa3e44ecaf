//! The time limit of what is sent to a client.
//!
//! The system takes megabytes of an answer before the client has them, and is ready for more once a third of them has
//! gone. At 30 KB/s that takes longer than a client may pause, so that the time between two writes says nothing of it:
//! what counts are the bytes that leave the system's queue.

use super::layered::Layer;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// Lets the writes of a connection fail once the client has taken too few bytes in a while.
#[derive(Debug)]
pub(crate) struct WriteTimeout {
    time: Duration,
    /// The bytes that a client must take in that time.
    least_bytes: u64,
    wait: Option<Wait>,
}

/// The wait of a write.
#[derive(Debug)]
struct Wait {
    end: Pin<Box<Sleep>>,
    /// The bytes that the client did not have when this period began.
    unsent: Option<u64>,
}

impl WriteTimeout {
    /// The limit of a client that must take `least_rate` bytes per second, looked at after each `time`.
    pub(crate) fn new(time: Duration, least_rate: u64) -> Self {
        let least_bytes = (least_rate as f64 * time.as_secs_f64()) as u64;
        Self { time, least_bytes: least_bytes.max(1), wait: None }
    }
}

impl Layer<TcpStream> for WriteTimeout {
    /// Fails if the write has waited while the client took too few bytes.
    fn after_write(
        &mut self,
        stream: &TcpStream,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.wait = None;
            return written;
        }
        let Self { time, least_bytes, wait } = self;
        let wait =
            wait.get_or_insert_with(|| Wait { end: Box::pin(sleep(*time)), unsent: unsent_bytes(stream) });
        while wait.end.as_mut().poll(context).is_ready() {
            let unsent = unsent_bytes(stream);
            let taken = wait.unsent.zip(unsent).map_or(0, |(before, now)| before.saturating_sub(now));
            if taken < *least_bytes {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            wait.unsent = unsent;
            wait.end.as_mut().reset(Instant::now() + *time);
        }
        Poll::Pending
    }
}

/// The bytes that were written and that the other end has not acknowledged, where the system tells.
#[cfg(target_os = "linux")]
fn unsent_bytes(stream: &TcpStream) -> Option<u64> {
    use std::os::fd::AsRawFd;
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open, and the call writes one number.
    let status = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    (status == 0).then(|| u64::try_from(bytes).ok()).flatten()
}

/// Nothing: the time between two writes is limited.
#[cfg(not(target_os = "linux"))]
fn unsent_bytes(_: &TcpStream) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::connection::layered::Layered;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpSocket;

    const TIME: Duration = Duration::from_millis(200);

    /// A connection that holds megabytes which its client, the second, has not read.
    async fn connection() -> (Layered<TcpStream, WriteTimeout>, TcpStream) {
        let listener = TcpSocket::new_v4().unwrap();
        listener.set_send_buffer_size(2 << 20).unwrap();
        listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = listener.listen(1).unwrap();
        let client = TcpSocket::new_v4().unwrap();
        client.set_recv_buffer_size(64 << 10).unwrap();
        let client = client.connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        (Layered::new(stream, WriteTimeout::new(TIME, 1024)), client)
    }

    #[tokio::test]
    async fn a_slow_client_has_all_and_one_that_stops_is_left() {
        let (mut server, mut client) = connection().await;
        let sent = vec![7; 8 << 20];
        let expected = sent.len();
        let sending = tokio::spawn(async move { server.write_all(&sent).await });
        let (mut received, mut part) = (0, vec![0; 40 << 10]);
        while received < expected {
            received += client.read(&mut part).await.unwrap();
            sleep(TIME / 10).await;
        }
        sending.await.unwrap().unwrap();

        let (mut server, client) = connection().await;
        let failed = server.write_all(&vec![7; 8 << 20]).await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
        drop(client);
    }
}
