//! Connections of clients, some of which send a few bytes at a time.

use super::layered::Layer;
use crate::observability::metrics::Link;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::AsyncWrite;
use tokio::time::{Sleep, sleep};

/// Bytes of a read that counts as small: no request has fewer.
const SMALL: usize = 16;
/// Small reads after one another until the next one waits. The last part of a body may be small, and is one.
const SEVERAL: u32 = 4;
/// Time before the next read: 500 clients that send a byte each 50 ms are read from 1000 times a second, not 10 000.
const PAUSE: Duration = Duration::from_millis(500);

/// Lets a stream be read less often while its bytes come one by one: each read costs as much as one of many bytes, and
/// the system gathers those that come meanwhile. With TLS it reads what was decrypted, since a byte has a record of 23.
/// Its bytes are counted.
#[derive(Debug)]
pub(crate) struct Trickle {
    link: Link,
    /// Small reads since the last one that was not.
    small_reads: u32,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Trickle {
    pub(crate) fn new(link: Link) -> Self {
        Self { link, small_reads: 0, pause: None }
    }
}

impl<S: AsyncWrite + Unpin> Layer<S> for Trickle {
    fn poll_before_read(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        Poll::Ready(())
    }

    fn after_read(&mut self, bytes: usize) {
        self.link.received.inc_by(bytes as u64);
        self.small_reads = if (1..SMALL).contains(&bytes) { self.small_reads + 1 } else { 0 };
        if self.small_reads >= SEVERAL {
            self.pause = Some(Box::pin(sleep(PAUSE)));
        }
    }

    fn after_write(
        &mut self,
        _: &S,
        written: Poll<io::Result<usize>>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = written {
            self.link.sent.inc_by(bytes as u64);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::layered::Layered;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn reads_wait_after_several_small_ones_alone() {
        let (mut client, server) = duplex(1024);
        let link = Link::default();
        let (mut server, mut sent) = (Layered::new(server, Trickle::new(link.clone())), 0);
        let large = [0; SMALL];
        for (part, reads) in [(&large[..], 9), (b"a", SEVERAL), (b"ab", 1), (&large, 1), (b"a", SEVERAL - 1)]
        {
            for read in 1..=reads {
                client.write_all(part).await.unwrap();
                sent += part.len() as u64;
                assert_eq!(server.read(&mut [0; 1024]).await.unwrap(), part.len());
                let is_slow = part.len() < SMALL && (read == SEVERAL || part == b"ab");
                assert_eq!(server.layer.pause.is_some(), is_slow, "read {read} of {part:?}");
            }
        }
        server.write_all(b"answer").await.unwrap();
        assert_eq!((link.received.get(), link.sent.get()), (sent, 6));
    }
}
